"""Tree grower of the histogram booster: calls the kernels, on arrays reused for each tree."""

import numpy as np

from algorithms.gbdt.bundles import stride_of
from algorithms.gbdt.kernels import booster_arrays
from algorithms.gbdt.kernels.leaf_lookup import AT_ONCE, MAX_LEAVES, list_runs, place_rows
from algorithms.gbdt.kernels.partition import begin_with
from algorithms.gbdt.kernels.score_update import (
    add_leaves,
    find_leaves_by_traversal,
    list_unmarked,
    mark_leaves,
    partition_others,
)
from algorithms.gbdt.linear_leaves import GrownLeaves
from algorithms.gbdt.model import copy_tree
from algorithms.gbdt.phase_timer import GROWTH, SCORES, timed_phase
from algorithms.gbdt.resident_threads import ResidentThreads, grow
from algorithms.gbdt.thread_choice import (
    ROWS_TO_MARK,
    count_values,
    round_threads,
    tree_threads,
)
from algorithms.runtime.interrupt_flag import check_interrupt
from algorithms.runtime.threads import ALONE, make_team

EVERY = np.empty(0, np.uint32)  # means all rows
LARGE = 1 << 20  # values from which on starting threads takes little time beside growing a tree


class Grower:
    """Arrays and threads that grow one tree after another.

    Parameters
    ----------
    bins : booster_arrays.Bins
    binner : Binner
    rules : booster_arrays.Rules
    workers : Workers
    forced : int64 (n_forced, 4), from `forced_splits.find_forced_bins`
    weight : float64 (n_features,), factors of the features' gains; None: all are 1
    """

    def __init__(self, bins, binner, rules, workers, forced=booster_arrays.NO_FORCED, weight=None):
        n_rows, n_dense = bins.rows.shape
        n_features, n_columns = len(bins.count), len(bins.layout.length)
        deepest = min(rules.max_depth, 30) if rules.max_depth > 0 else 30
        leaves = max(2, min(rules.num_leaves, n_rows, 1 << deepest))  # upper bound of leaves
        rules = rules._replace(num_leaves=leaves)
        self.bins, self.binner, self.rules, self.workers = bins, binner, rules, workers
        self.codes = codes_with_bins(binner)
        self.size = tree_threads(bins, workers)
        self.is_large = n_rows >= ROWS_TO_MARK or count_values(bins) >= LARGE
        self.team = make_team(self.size)
        self._resident_threads = None
        self._leaf_of = np.zeros(n_rows, np.uint16 if leaves < 1 << 16 else np.uint32)
        self._is_marked = True
        n_cells = stride_of(bins.layout) * n_columns
        self.leaves = np.zeros(leaves, booster_arrays.LEAF)
        self.scratch = booster_arrays.Scratch(
            cells=np.zeros((self.size, n_cells), np.int64),
            wide=np.zeros((self.size, 2, n_cells), np.int64),
            sums=np.zeros((self.size, booster_arrays.N_SUMS), np.int64),
            small=np.zeros((self.size, 8, booster_arrays.MAX_BINS), np.int64),
            scores=np.zeros((self.size, booster_arrays.MAX_BINS)),
            order=np.zeros((self.size, booster_arrays.MAX_BINS), np.int64),
            best=np.zeros((self.size, 2), booster_arrays.BEST),
            left_bins=np.zeros((self.size, 2, booster_arrays.MAX_BINS), np.uint8),
        )
        weight = np.ones(n_features) if weight is None else weight
        self.growth = booster_arrays.Growth(
            rows=np.empty(n_rows, np.uint32),
            spare=np.empty(n_rows, np.uint32),
            columns=np.arange(n_columns),
            weight=weight,
            leaf_weight=np.stack([weight, weight]),
            column=np.zeros(n_rows if n_dense < n_columns else 0, np.uint8),
            leaves=self.leaves,
            groups=np.zeros((leaves, bins.groups.shape[1]), np.uint64),
            best=np.zeros(leaves, booster_arrays.BEST),
            left_bins=np.zeros((leaves, booster_arrays.MAX_BINS), np.uint8),
            nodes=np.zeros(2 * leaves - 1, booster_arrays.NODE),
            goes_left=np.zeros((2 * leaves - 1, booster_arrays.MAX_BINS), np.uint8),
            cells=np.empty((leaves, n_cells), np.int64),
            heavy=np.empty((leaves, n_cells), np.int64),  # the system allocates only pages in use
            state=np.zeros(booster_arrays.STATES, np.int64),
            forced=forced,
            queue=np.zeros_like(forced),
        )

    def grow(self, records, scale, seed, rows=None, features=None):
        """Grow a tree.

        Parameters
        ----------
        records : int64 (n_rows,), packed gradients
        scale : booster_arrays.Scale
        seed : int, seed of the draws in the nodes: features, and thresholds of extra trees
        rows : uint32, ascending; rows to grow on, by default all
        features : int64, ascending; features to use, by default all

        Returns
        -------
        GrownTree
            Its values are not multiplied with the learning rate.
        """
        growth = self.growth
        if rows is not None:
            growth = growth._replace(rows=growth.rows[: len(rows)])
        if features is not None:
            growth = growth._replace(**self._only(features))
        n_rows = len(growth.rows)
        growth.state[booster_arrays.ROWS] = n_rows
        scale = scale._replace(seed=int(seed))
        sample = EVERY if rows is None else rows
        draws = self.rules.extra_trees or self.rules.feature_fraction_bynode < 1.0
        if self.size == 1 or self.is_large or features is not None or draws:
            self._share_growing(sample, records, growth, scale)
        else:
            begin_with(sample, growth.rows, 0, n_rows)
            self._threads_for(records).grow(scale)
        check_interrupt(self.team.flag)
        self._own = growth
        self.n_leaves = int(growth.state[booster_arrays.LEAVES])
        self._is_marked = False
        return self._take()

    @property
    def leaf_of(self):
        """Leaf of each row in the last tree, uint16 or uint32 (n_rows,).

        It is computed at the first access after `grow`, which overwrites it. Not thread-safe.
        """
        if not self._is_marked:
            self._mark()
            self._is_marked = True
        return self._leaf_of

    def share_memory(self, g, records):
        """Reuse the memory of g while a tree grows, and that of records afterwards.

        Parameters
        ----------
        g : float32 (n_rows,)
            Its values are lost when a tree is grown.
        records : int64 (n_rows,), packed gradients of each tree
            They are lost when `leaf_of` is read.
        """
        self.growth = self.growth._replace(spare=g.view(np.uint32))
        self._leaf_of = records.view(self._leaf_of.dtype)[: len(records)]

    @property
    def _is_by_rows(self):
        """Whether the leaves of other rows are found by traversal."""
        return len(self.bins.sparse.cells) > 0 or not len(self.bins.columns)

    @timed_phase(GROWTH)
    def _share_growing(self, given, records, own, scale):
        """Grow a tree with all threads of the team, each of which copies a part of the rows."""
        n_rows = len(own.rows)

        def run(rank, _):
            first, last = n_rows * rank // self.size, n_rows * (rank + 1) // self.size
            begin_with(given, own.rows, first, last)
            grow(scale, self.team, rank, self.bins, records, own, self.scratch, self.rules)

        self.workers.share(run, self.size, self.team)

    def use_features(self, is_used):
        """Use only some features in all further trees, bool (n_features,).

        Columns after the last one that is used are left out of the histograms.
        """
        self.growth.weight[:] = is_used
        self.growth.leaf_weight[:] = is_used
        used = self.bins.layout.column[is_used]
        n_used = int(used.max()) + 1 if (used >= 0).any() else len(self.bins.layout.length)
        self.growth = self.growth._replace(columns=np.arange(n_used))

    def _threads_for(self, records):
        """Return the `ResidentThreads` for these packed gradients and all columns."""
        given = self.team, self.bins, records, self.growth, self.scratch, self.rules
        if self._resident_threads is None or not self._resident_threads.is_given(given):
            self._resident_threads = ResidentThreads(self.workers, given)
        return self._resident_threads

    def _only(self, features):
        """Return the fields of `Growth` that restrict the features.

        Histograms of sparse columns are always built, because their entries are stored by row.
        """
        places, n_dense = self.bins.layout, self.bins.rows.shape[1]
        weight = np.zeros(len(self.bins.count))
        weight[features] = self.growth.weight[features]
        used = np.unique(places.column[features])
        dense = used[(used >= 0) & (used < n_dense)]
        columns = np.concatenate([dense, np.arange(n_dense, len(places.length))])
        if not len(columns):  # no feature has two bins, but the root's sums are needed
            columns = np.zeros(1, np.int64)
        return {"columns": columns, "weight": weight, "leaf_weight": np.stack([weight, weight])}

    @timed_phase(SCORES)
    def _mark(self):
        """Write every row's leaf."""
        growth, leaf_of, columns = self._own, self._leaf_of, self.bins.columns
        runs = self._runs() if len(growth.rows) < len(leaf_of) else None
        if runs is not None:

            def place(first, last):
                place_rows(columns, runs, first, last, np.empty(AT_ONCE, np.uint8), leaf_of)

            self.share_rows(place, len(leaf_of))
            return
        mark_rows(self.share_rows, growth, self.n_leaves, leaf_of, growth.spare, self._of_others)

    def _runs(self):
        """Return the last tree's splits in the form of `place_rows`, or None if not supported."""
        growth, places = self._own, self.bins.layout
        are_few = 2 * len(growth.rows) > len(self._leaf_of)  # others: parting them costs less
        most = MAX_LEAVES // 2 if are_few else MAX_LEAVES
        if self._is_by_rows or self.n_leaves > most:
            return None
        nodes = growth.nodes[: 2 * self.n_leaves - 1]
        number, runs = np.empty(len(nodes), np.int64), np.empty((len(nodes) // 2, 4), np.int64)
        fits = list_runs(nodes, growth.goes_left, places.column, places.length, number, runs)
        return runs if fits else None

    def _of_others(self):
        """Return a task that writes the leaves of rows that the last tree was not grown on."""
        growth, bins, leaf_of = self._own, self.bins, self._leaf_of
        nodes, of_leaves = (
            growth.nodes[: 2 * self.n_leaves - 1],
            self.leaves["node"][: self.n_leaves],
        )
        if not self._is_by_rows:
            return make_partition_task(
                nodes, of_leaves, growth.goes_left, bins.columns, bins.layout.column, leaf_of
            )
        leaf = numbers_of_leaves(len(nodes), of_leaves)
        return lambda others: find_leaves_by_traversal(bins, growth, leaf, others, leaf_of)

    def grown_leaves(self):
        """Return the `GrownLeaves` of the last tree."""
        return GrownLeaves.of(self.leaves[: self.n_leaves], self._own.rows)

    def share_leaves(self, task, count):
        """Run a task over leaves, on several threads unless there are few rows."""
        if self.size == 1 or len(self._own.rows) < ROWS_TO_MARK:
            task(0, count)
        else:
            self.workers.share(task, count)

    def share_rows(self, task, count):
        """Run a task over rows, on several threads unless there are few rows."""
        if self.size == 1 or count < ROWS_TO_MARK:
            task(0, count)
        else:
            self.workers.share(task, count)

    def rows_of_leaves(self):
        """Return the rows of each leaf, a list of arrays, of those the last tree was grown on."""
        leaves = self.leaves[: self.n_leaves]
        spans = zip(leaves["start"].tolist(), leaves["end"].tolist(), strict=True)
        return [self._own.rows[start:end] for start, end in spans]

    @timed_phase(SCORES)
    def add_to(self, score, tree):
        """Add the last tree's values to the score of every row, float64 (n_rows,)."""
        values = tree.nodes["value"][self.leaves["node"][: self.n_leaves]]
        leaf_of = self.leaf_of
        self.share_rows(
            lambda first, last: add_leaves(score, leaf_of, values, first, last), len(score)
        )

    def _take(self):
        """Return a copy of the grown tree."""
        growth = self.growth
        return copy_tree(growth.nodes, growth.goes_left, self.codes, self.n_leaves)


def make_growers(binned, workers, n_trees):
    """Return the growers for the trees of a round: one `Grower`, or one for each thread.

    Parameters
    ----------
    binned : Binned
    workers : Workers
    n_trees : trees per round
    """
    given = binned.bins, binned.binner, binned.rules
    others = binned.forced, binned.weight
    threads = round_threads(binned, workers, n_trees)
    if threads == 1:
        return [Grower(*given, workers, *others)]
    return [Grower(*given, ALONE, *others) for _ in range(threads)]


def codes_with_bins(binner):
    """Return for each categorical feature its codes, ascending, and their bins; else None."""
    orders = [None if own is None else np.argsort(own) for own in binner.codes]
    pairs = zip(binner.codes, orders, strict=True)
    return [None if order is None else (own[order], order) for own, order in pairs]


def mark_rows(share, grown, n_leaves, leaf_of, spare, of_others):
    """Write every row's leaf.

    Parameters
    ----------
    share : callable (task, count), runs task(first, last) over parts of so many rows
    grown : object with the tree's ``leaves`` and the ``rows`` that it was grown on
    leaf_of : (n_rows,) uint16 or uint32, output
    spare : (n_rows,) uint32, scratch space
    of_others : callable, returns a task that writes the leaves of the other rows
        The task takes an ascending uint32 array of rows, which it may reorder. `of_others` is
        called only if there are other rows.
    """

    def mark_own(first, last):
        mark_leaves(grown, n_leaves, leaf_of, first, last)

    if len(grown.rows) == len(leaf_of):
        share(mark_own, len(leaf_of))
        return
    none = np.iinfo(leaf_of.dtype).max  # no leaf has this number
    leaf_of.fill(none)
    share(mark_own, len(grown.rows))
    task = of_others()

    def mark_others(first, last):
        others = spare[first:last]
        task(others[: list_unmarked(leaf_of, none, first, last, others)])

    share(mark_others, len(leaf_of))


def make_partition_task(nodes, leaf_nodes, goes_left, columns, place, leaf_of):
    """Return a task that writes the leaves of rows that the tree was not grown on.

    The task takes an array of rows, uint32, which it reorders.

    Parameters
    ----------
    leaf_nodes : int64 (n_leaves,), node of each leaf
    nodes, goes_left, columns, place, leaf_of : as in `partition_others`
    """
    leaf = numbers_of_leaves(len(nodes), leaf_nodes)

    def task(others):
        scratch = np.empty_like(others), np.empty((len(nodes), 2), np.int64)
        partition_others(nodes, goes_left, columns, place, leaf, others, *scratch, leaf_of)

    return task


def numbers_of_leaves(n_nodes, leaf_nodes):
    """Return the leaf number of each node, int64 (n_nodes,); 0 for inner nodes.

    Parameters
    ----------
    leaf_nodes : int64 (n_leaves,), node of each leaf
    """
    leaf = np.zeros(n_nodes, np.int64)
    leaf[leaf_nodes] = np.arange(len(leaf_nodes))
    return leaf
