"""Grow trees on candidates proposed anew for each tree: the approximate method.

"global" takes quantiles weighted by the present hessians, "random" values of rows drawn at random;
both once a tree, for all its nodes. "local" proposes again in every node: there exact growth tries
fewer thresholds (`ExactGrower` with a step).
"""

import numpy as np
from scipy import sparse

from algorithms._common.hist_bins import Binner
from algorithms._common.hist_bundles import stride_of
from algorithms._common.hist_parts import part_table
from algorithms._common.hist_sampling import hash_numbers, seed_of
from algorithms._common.newton_hist import HistGrower
from algorithms._common.newton_lists import sort_lists
from algorithms._kernels.newton_sketch import code_column, lay_rows, weighted_edges

DRAWN = 8  # what a seed is for
BLOCK = 1 << 12  # rows


class ProposalGrower(HistGrower):
    """Grows trees on candidates of their own.

    Parameters
    ----------
    X : (n_rows, n_features) float32, C-contiguous, NaN where missing; or CSR, whose absent entries
        are missing
    limits : newton_params.Limits
    params : the estimator
    workers : Workers
    name : name of the estimator, for error messages
    """

    def __init__(self, X, limits, params, workers, name):
        self.X = X
        self.codes = [None] * X.shape[1]
        self.lists = sort_lists(X, workers, name)
        self.room = count_candidates(params)
        self.is_random = params.proposal == "random"
        self.limits, self.params, self.workers = limits, params, workers
        self.weighed_alike = None  # whether the last sketch saw the same h for all rows
        self.table = part_table(X, workers, absent=np.nan, bundles=False)
        binner = self.propose(np.ones(X.shape[0], np.float32), 0)
        self.start(X, self.table, binner, limits, params, workers)

    def grow(self, g, h, used, draws):
        """Return the `Grown` tree of some derivatives; see `ExactGrower.grow`."""
        weighs = h if used is None else h * used
        alike = not self.is_random and bool((weighs == weighs[0]).all())
        if not (alike and self.weighed_alike):
            self.take(self.propose(weighs, draws.seed))
        self.weighed_alike = alike
        return super().grow(g, h, used, draws)

    def take(self, binner):
        """Let further trees grow on other bins."""
        if self.others is not None or sparse.issparse(self.X):
            if self.others is not None or not same_edges(binner, self.grower.binner):
                self.restart(binner)
            return
        grower = self.grower
        bins, lists = grower.bins, self.lists
        places = bins.places._replace(length=binner.counts)
        if stride_of(places) * self.X.shape[1] > grower.growth.planes.shape[2]:
            self.restart(binner)
            return

        def code(first, last):
            for f in range(first, last):
                own = slice(lists.start[f], lists.start[f + 1])
                if binner.missing[f] >= 0:
                    bins.columns[f] = binner.missing[f]
                code_column(lists.order[own], lists.value[own], binner.edges[f], bins.columns[f])

        def lay(first, last):
            lay_rows(bins.columns, bins.rows, first * BLOCK, min(last * BLOCK, len(self.X)))

        self.workers.share(code, len(binner.edges))
        self.workers.share(lay, -(-len(self.X) // BLOCK))
        grower.bins = bins._replace(count=binner.counts, missing=binner.missing, places=places)
        grower.binner = binner

    def restart(self, binner):
        """Make the arrays in which trees are grown anew, for other bins."""
        self.start(self.X, self.table, binner, self.limits, self.params, self.workers)

    def propose(self, h, seed):
        """Return the `Binner` of new candidates.

        Parameters
        ----------
        h : (n_rows,) float32, weights of quantiles
        seed : int, of random candidates
        """
        lists, n_rows = self.lists, self.X.shape[0]
        total = h.sum(dtype=np.float64)
        spans = list(zip(lists.start[:-1].tolist(), lists.start[1:].tolist(), strict=True))

        def find(f):
            first, last = spans[f]
            values = lists.value[first:last]
            room = self.room - (last - first < n_rows)
            if self.is_random:
                return drawn_edges(values, room, seed_of(seed, DRAWN, f))
            edges = np.empty(room)
            whole = total if last - first == n_rows else np.nan
            count = weighted_edges(lists.order[first:last], values, h, whole, room, edges)
            return edges[:count].copy()

        edges = tuple(self.workers.each(find, list(range(len(spans)))))
        own = np.array([len(e) + 1 for e in edges], np.int64)
        gaps = np.diff(lists.start) < n_rows
        return Binner(edges, (None,) * len(edges), np.where(gaps, own, -1))


def same_edges(one, other):
    """Return whether two binners put all values into the same bins."""
    return all(map(np.array_equal, one.edges, other.edges))


def count_candidates(params):
    """Return into how many bins candidates part a column: 1/ε, at most 256."""
    if params.sketch_eps is None:
        return params.max_bin
    wanted = round(1.0 / params.sketch_eps)
    if wanted > 256:
        raise ValueError(
            f"sketch_eps={params.sketch_eps} asks for {wanted} candidates; there may be 256, or "
            "any number with proposal='local'"
        )
    return max(2, wanted)


def drawn_edges(values, room, seed):
    """Return the values of entries drawn at random, ascending; the largest value is no edge."""
    if len(values) == 0:
        return np.empty(0)
    drawn = hash_numbers(seed, room - 1).astype(np.uint64) * np.uint64(len(values))
    edges = np.unique(values[drawn >> np.uint64(32)].astype(np.float64))
    return edges[edges < values[-1]]
