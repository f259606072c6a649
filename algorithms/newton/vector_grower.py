"""Grower of trees whose leaves hold one value for each output (``multi_output_tree``).

    gain = Σ_k gain_k        the sum of the gains of all outputs k

Bins are those of `newton.histogram_grower`. Derivatives are rounded to integers whose sum fits into
int32, so each has about 31 − log₂ n bits for n rows. On small tables the trees equal XGBoost's if
the bins are the same. See `newton.kernels.vector_arrays`.
"""

import numpy as np

from algorithms.gbdt.binning import bin_table, find_bins
from algorithms.gbdt.bundles import Layout
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS
from algorithms.gbdt.sampling import seed_of
from algorithms.gbdt.split_table import split_columns
from algorithms.newton.binned_exact_grower import next_floats
from algorithms.newton.exact_grower import Grown
from algorithms.newton.histogram_grower import SAMPLE
from algorithms.newton.kernels.softmax import ROWS
from algorithms.newton.kernels.vector_arrays import (
    BEST_FIRST,
    LEVEL_ORDER,
    LIFO,
    N_NODES,
    STATES,
    WORDS,
    ApproximateScore,
    Rounding,
    VectorGrowth,
    VectorRoundArrays,
    VectorRules,
)
from algorithms.newton.kernels.vector_arrays import BLOCK as COPIED
from algorithms.newton.kernels.vector_arrays import LINE as NUMBERS
from algorithms.newton.kernels.vector_arrays import NODE as GROWN_NODE
from algorithms.newton.kernels.vector_growth import grow_vector_trees
from algorithms.newton.kernels.vector_histogram import (
    ROUNDED,
    SUMMED,
    round_derivatives,
    sum_absolute_values,
    write_units,
)
from algorithms.newton.kernels.vector_leaves import find_nodes, mark_nodes, write_tree
from algorithms.newton.sampling import read_feature_weights
from algorithms.newton.tree import NODE
from algorithms.newton.weighted_bins import weigh_edges
from algorithms.runtime.interrupt_flag import check_interrupt
from algorithms.runtime.threads import ALONE, make_team
from algorithms.runtime.vector_lanes import WIDTH

MAX_BYTES = 1 << 30  # of histograms; leaves without one are built from their rows
SMALL = 1 << 18  # number of values of X below which one thread is faster
BLOCK = 1 << 12  # rows
LINE = 64  # bytes of a cache line
FEW, EVERY = slice(64), slice(None)  # rows that are compared: first a few, then all
ROUNDING = 9  # purpose of derived seeds
DERIVATIVES = ("gradients", "hessians")
GOLDEN = 0.6180339887498949  # difference of the random numbers of two lanes, modulo 1


class VectorGrower:
    """Grower of trees with vector leaves on bins that are computed once.

    Parameters
    ----------
    X : (n_rows, n_features) float32, or float64 with the same order, C-contiguous, NaN where
        missing; or CSR, whose absent entries are missing
    limits : newton.params.Limits
    params : the estimator
    workers : Workers
    weight : (n_rows,) float64, above 0, or None if all weights are equal
    n_outputs : int

    Attributes
    ----------
    shares_h : bool, or None before the first tree
        Whether the arrays of growth have one H for all outputs.
    knows_h : bool
        Whether ``shares_h`` is given by the objective; otherwise derivatives are compared.
    """

    def __init__(self, X, limits, params, workers, weight, n_outputs):
        self.limits, self.params, self.n_outputs = limits, params, n_outputs
        table = split_columns(X, workers, absent=np.nan, rounds=X.dtype == np.float64)
        n_features = X.shape[1]
        categorical = np.zeros(n_features, bool)
        binner = find_bins(table, categorical, params.max_bin, SAMPLE, 1, workers)
        if weight is not None:
            name = type(params).__name__
            binner = weigh_edges(binner, X, weight, params.max_bin, workers, name)
        layout = Layout(sparse=False)
        bins = bin_table(table, binner, limits.monotone, limits.groups, workers, layout)
        self.bins = bins
        self.first_threshold = np.cumsum([0, *[len(one) + 1 for one in binner.edges]])
        edges = [number for one in binner.edges for number in (one, [np.inf])]
        with np.errstate(over="ignore"):  # infinite if above the largest float32
            self.thresholds = next_floats(np.concatenate(edges))
        is_large = bins.rows.size >= SMALL
        self.workers = workers if is_large else ALONE
        self.size = min(self.workers.threads, len(bins.layout.length))
        self.team = make_team(self.size)
        self.at = np.zeros(len(bins.rows), np.uint32)
        self.row_numbers = np.arange(len(bins.rows), dtype=np.uint32)
        self.weights = read_feature_weights(params.feature_weights, n_features)
        self.useful = (bins.layout.column >= 0) & (bins.count > 1)
        self.every = self.find_columns(np.arange(n_features))
        self.shares_h, self.knows_h = None, False

    def grow(self, g, h, used, draws):
        """Return the `Grown` tree for derivatives g and h of all outputs.

        Parameters
        ----------
        g, h : (n_outputs, n_rows) float32
        used : (n_rows,) bool, rows to grow on, or None for all
        draws : newton.sampling.Columns

        Raises
        ------
        FloatingPointError
            If a derivative is not finite; it names which: gradients or hessians.
        """
        if not self.knows_h:
            self.allocate(all(bool((h[1:, part] == h[0, part]).all()) for part in (FEW, EVERY)))
        rules = self.make_rules(draws)
        self.write_pairs(g, h, rules)
        rows = None if used is None else np.flatnonzero(used).astype(np.uint32)
        growth = self.start_growth(rows, draws)
        self.run(growth, rules, NO_ROUNDS)
        n_nodes = int(growth.state[N_NODES])
        grown = growth.nodes[:n_nodes]
        self.write_leaf_of_rows(grown, growth, used)
        nodes, values = np.zeros(n_nodes, NODE), np.empty((n_nodes, self.n_outputs), np.float32)
        write_tree(grown, growth, rules, (self.first_threshold, self.thresholds), nodes, values)
        return Grown(nodes, self.at, values=values)

    def run(self, growth, rules, rounds):
        """Grow a tree, or add rounds; the parameters are those of `grow_vector_trees`."""

        def run(rank, _):
            grow_vector_trees(self.team, rank, self.bins, self.pairs, growth, rules, rounds)

        self.workers.share(run, self.size, self.team)
        check_interrupt(self.team.flag)

    def set_shares_h(self, shares_h):
        """Set whether all outputs have the same hessians; derivatives are not compared then."""
        self.allocate(shares_h)
        self.knows_h = True

    def allocate(self, shares_h):
        """Allocate the arrays of growth; keep those of the last tree if ``shares_h`` is equal."""
        if shares_h is self.shares_h:
            return
        n, self.shares_h = self.n_outputs, shares_h
        self.first_h = n if shares_h else -(-n // WIDTH) * WIDTH
        lanes = -(-(n + 1) // WIDTH) * WIDTH if shares_h else 2 * self.first_h
        bins = self.bins
        n_rows, n_features = len(bins.rows), len(bins.count)
        n_words = bins.groups.shape[1]
        offsets = np.concatenate([[0], np.cumsum(bins.layout.length)])
        leaves = self.count_leaves()
        n_nodes, entries = 2 * leaves - 1, int(offsets[-1]) * lanes
        n_slots = 2 + max(1, min(self.count_slots(leaves), MAX_BYTES // (4 * entries)))
        self.pairs = aligned((n_rows, lanes), np.int32)
        self.pairs[:] = 0
        self.shifts = np.arange(lanes) * GOLDEN % 1.0
        self.growth = VectorGrowth(
            rows=np.empty(n_rows, np.uint32),
            spare=np.empty(n_rows, np.uint32),
            columns=np.arange(len(bins.layout.length)),
            allowed=np.zeros(n_features, np.uint8),
            weights=np.empty(0) if self.weights is None else self.weights,
            offsets=offsets[:-1].astype(np.int64),
            cells=aligned((n_slots, entries), np.int32),
            filled=np.zeros((n_slots, len(bins.layout.length), WORDS), np.uint64),
            free=np.empty(n_slots, np.int64),
            open=np.empty(leaves, np.int64),
            nodes=np.empty(n_nodes, GROWN_NODE),
            sums=np.empty((n_nodes, lanes), np.int32),
            left_sums=np.empty((n_nodes, lanes), np.int32),
            groups=np.empty((n_nodes, n_words), np.uint64),
            goes_left=np.empty((n_nodes, MAX_BINS), np.uint8),
            found=np.zeros((2, n_features, 3)),
            found_left=np.empty((2, n_features, lanes), np.int32),
            drawn=np.zeros((2, n_features), np.uint8),
            keys=np.empty(n_features),
            units=np.ones(lanes),
            g_units=np.zeros(lanes),
            approximate=ApproximateScore(*np.zeros((4, self.first_h), np.float32)),
            scale=np.empty(1),
            bins=np.empty((self.size, MAX_BINS * lanes), np.int32),
            bins_filled=np.empty((self.size, WORDS), np.uint64),
            left=aligned((self.size, MAX_BINS + 1, lanes), np.int32),
            approximate_scores=np.empty((self.size, MAX_BINS), np.float32),
            scores=np.empty((self.size, MAX_BINS)),
            numbers=np.empty((self.size, MAX_BINS), np.int64),
            best=np.empty((self.size, 2, NUMBERS)),
            work=aligned((self.size, COPIED, lanes), np.int32),
            state=np.zeros(STATES, np.int64),
        )

    def count_leaves(self):
        """Return the largest possible number of leaves."""
        depth, n_rows = self.limits.max_depth, len(self.bins.rows)
        leaves = min(1 << min(depth, 40), n_rows) if depth else n_rows
        return max(1, min(leaves, self.params.max_leaves or leaves))

    def count_slots(self, leaves):
        """Return the number of histograms that are needed at a time.

        Without `max_leaves` the smaller child is split first, so at most one leaf waits for each
        halving of the rows.
        """
        return leaves if self.params.max_leaves else min(leaves, leaves.bit_length() + 2)

    def write_pairs(self, g, h, rules):
        """Write the derivatives row by row, as integer multiples of units, and the units."""
        n_rows, h = g.shape[1], h[:1] if self.shares_h else h
        per_unit = np.ones(self.pairs.shape[1])
        totals = self.sum_sizes(g), self.sum_sizes(h)
        problem = write_units(*totals, n_rows, self.growth, rules, per_unit)
        if problem:
            raise FloatingPointError(DERIVATIVES[problem - 1])
        seed = np.uint32(seed_of(rules.seed, ROUNDING))
        rounding = Rounding(per_unit, self.shifts, self.first_h, seed)

        def write(first, last):
            numbers = np.empty(ROUNDED)
            whole = np.zeros((len(per_unit), ROUNDED), np.int32)
            span = first * BLOCK, min(last * BLOCK, n_rows)
            round_derivatives(g, h, rounding, numbers, whole, *span, self.pairs)

        self.workers.share(write, -(-n_rows // BLOCK))

    def sum_sizes(self, values):
        """Return the sums of absolute values of blocks of rows, float64 (n_blocks, n_lanes).

        Parameters
        ----------
        values : (n_lanes, n_rows) float32
        """
        n_lanes, n_rows = values.shape
        totals = np.empty((-(-n_rows // SUMMED), n_lanes))

        def add(first, last):
            sum_absolute_values(values, first, last, totals)

        self.workers.share(add, len(totals))
        return totals

    def start_growth(self, rows, draws):
        """Return the `VectorGrowth` of a tree on the given rows (None: all) and drawn columns."""
        growth = self.growth
        if rows is None:
            growth.rows[:] = self.row_numbers
        else:
            growth = growth._replace(rows=growth.rows[: len(rows)])
            growth.rows[:] = rows
        is_drawn = len(draws.of_tree) < len(self.useful)
        allowed, columns = self.find_columns(draws.of_tree) if is_drawn else self.every
        growth.allowed[:] = allowed
        growth.found[:] = 0.0
        return growth._replace(columns=columns)

    def find_columns(self, features):
        """Return which features a tree may use, bool (n_features,), and their columns, int64.

        Parameters
        ----------
        features : drawn features
        """
        allowed = np.zeros(len(self.useful), bool)
        allowed[features] = True
        allowed &= self.useful
        return allowed, np.unique(self.bins.layout.column[allowed]).astype(np.int64)

    def make_rules(self, draws):
        """Return the `VectorRules` of a tree."""
        params, limits = self.params, self.limits
        n_level = count_drawn(len(draws.of_tree), params.colsample_bylevel)
        n_node = count_drawn(n_level or len(draws.of_tree), params.colsample_bynode)
        order = BEST_FIRST if params.grow_policy == "lossguide" else LEVEL_ORDER
        return VectorRules(
            n_outputs=self.n_outputs,
            shared_h=int(self.shares_h),
            first_h=self.first_h,
            max_depth=limits.max_depth,
            max_leaves=len(self.growth.open),
            order=order if params.max_leaves else LIFO,
            min_child_weight=limits.min_child_weight,
            reg_lambda=limits.reg_lambda,
            reg_alpha=limits.reg_alpha,
            max_delta_step=limits.max_delta_step,
            least_gain=limits.least_gain,
            level_columns=n_level,
            node_columns=n_node,
            seed=int(draws.seed),
        )

    def write_leaf_of_rows(self, nodes, growth, used):
        """Write the leaf of every row."""
        mark_nodes(nodes, growth.rows, self.at)
        if used is None:
            return
        others = np.flatnonzero(~used).astype(np.uint32)
        given = nodes, self.bins.layout.column, growth.goes_left, self.bins.columns, others

        def find(first, last):
            find_nodes(*given, first, last, self.at)

        self.workers.share(find, len(others))


def work_arrays(size, n_outputs, lanes):
    """Return the arrays of `VectorRoundArrays` that are scratch space of the threads, by name."""
    return {
        "work": np.empty((size, n_outputs + 2, ROWS), np.float32),
        "numbers": np.empty((size, ROUNDED)),
        "whole": np.zeros((size, lanes, ROUNDED), np.int32),
    }


def no_rounds():
    """Return the `VectorRoundArrays` of a call that grows one tree."""
    numbers, singles, counts = np.empty((0, 0)), np.empty((0, 0), np.float32), np.empty(0, np.int64)
    return VectorRoundArrays(
        learning_rate=0.0,
        score=numbers,
        code=np.empty(0),
        weight=np.empty(0),
        g=singles,
        h=singles,
        seeds=np.empty(0, np.uint32),
        per_unit=np.empty(0),
        shifts=np.empty(0),
        g_totals=numbers,
        h_totals=numbers,
        **work_arrays(0, 0, 0),
        leaf_of=np.empty(0, np.uint32),
        added=numbers,
        first_threshold=counts,
        thresholds=np.empty(0, np.float32),
        nodes=np.empty((0, 0), NODE),
        values=np.empty((0, 0, 0), np.float32),
        n_nodes=counts,
        problem=counts,
    )


NO_ROUNDS = no_rounds()


def count_drawn(n_columns, share):
    """Return how many columns are drawn; 0 means that all are used."""
    return 0 if share == 1.0 else max(1, int(share * n_columns))


def aligned(shape, dtype):
    """Return an uninitialized array that starts at a multiple of `LINE` bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.empty(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size].view(dtype).reshape(shape)
