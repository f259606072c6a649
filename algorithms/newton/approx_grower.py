"""Grower of the approximate method: candidate thresholds are proposed again for each tree.

"global" takes quantiles weighted by the current hessians, "random" the values of rows drawn at
random; both once per tree, for all its nodes. "local" proposes in every node: `ExactGrower` with a
step tries fewer thresholds. Categorical columns have no candidates: see `newton.categories`.
"""

import numpy as np
from scipy import sparse

from algorithms.gbdt.binning import Binner
from algorithms.gbdt.bundles import stride_of
from algorithms.gbdt.kernels.weighted_sketch import choose_ends, code_rows, lay_rows
from algorithms.gbdt.sampling import hash_numbers, seed_of
from algorithms.gbdt.split_table import split_columns
from algorithms.newton.categories import Categories
from algorithms.newton.histogram_grower import HistGrower
from algorithms.newton.value_cells import Cells

DRAWN = 8  # salt of the seed
BLOCK = 1 << 12  # rows


class ProposalGrower(HistGrower):
    """Grower whose trees have their own candidate thresholds.

    Parameters
    ----------
    X : (n_rows, n_features) float32, C-contiguous, NaN where missing; or CSR, whose absent entries
        are missing
    categorical : (n_features,) bool
    limits : newton.params.Limits
    params : the estimator
    workers : Workers
    name : name of the estimator, for error messages
    """

    def __init__(self, X, categorical, limits, params, workers, name):
        self.X = X
        self.categories = Categories(X, categorical)
        self.binned = self.categories.binned
        self.cells = Cells(X, workers, name)
        self.gaps = np.array([counts.sum() < X.shape[0] for counts in self.cells.counts])
        self.room = count_candidates(params)
        self.is_random = params.proposal == "random"
        self.limits, self.params, self.workers = limits, params, workers
        self.weighed_alike = None  # whether all rows had the same h in the last sketch
        self.table = split_columns(X, workers, absent=np.nan, bundles=False)
        binner = self.propose(np.ones(X.shape[0], np.float32), 0)
        self.start(X, self.table, binner, limits, params, workers)

    def grow(self, g, h, used, draws):
        """Return the `Grown` tree for derivatives g and h; see `ExactGrower.grow`."""
        weighs = h if used is None else h * used
        alike = not self.is_random and bool((weighs == weighs[0]).all())
        if not (alike and self.weighed_alike):
            self.take(self.propose(weighs, draws.seed))
        self.weighed_alike = alike
        return super().grow(g, h, used, draws)

    def take(self, binner):
        """Use other bins for the following trees."""
        if self.others is not None or sparse.issparse(self.X):
            if self.others is not None or not same_edges(binner, self.grower.binner):
                self.restart(binner)
            return
        grower = self.grower
        bins = grower.bins
        places = bins.layout._replace(length=binner.counts)
        if stride_of(places) * self.X.shape[1] > grower.growth.cells.shape[1]:
            self.restart(binner)
            return

        def code(first, last):
            for f in range(first, last):
                if binner.codes[f] is None:
                    own = self.number_cells(f, binner)
                    code_rows(self.cells.codes[f], own, bins.columns[f])

        def lay(first, last):
            lay_rows(bins.columns, bins.rows, first * BLOCK, min(last * BLOCK, len(self.X)))

        self.workers.share(code, len(binner.edges))
        self.workers.share(lay, -(-len(self.X) // BLOCK))
        grower.bins = bins._replace(count=binner.counts, missing=binner.missing, layout=places)
        grower.binner = binner

    def restart(self, binner):
        """Allocate the arrays of the grower again, for other bins."""
        self.start(self.X, self.table, binner, self.limits, self.params, self.workers)

    def propose(self, h, seed):
        """Return the `Binner` of new candidates.

        Parameters
        ----------
        h : (n_rows,) float32, weights of the quantiles
        seed : int, seed of random candidates
        """
        cells, gaps = self.cells, self.gaps

        def find(f):
            counts, room = cells.counts[f], self.room - gaps[f]
            if self.binned[f] is not None or len(counts) == 0:
                return np.empty(0)
            if self.is_random:
                return cells.edges[f][drawn_ends(counts, room, seed_of(seed, DRAWN, f))]
            weights, ends = cells.weigh_finely(f, h, room), np.empty(room, np.int64)
            return cells.edges[f][ends[: choose_ends(weights, room, ends)]]

        edges = tuple(self.workers.each(find, list(range(len(gaps)))))
        pairs = zip(edges, self.binned, strict=True)
        own = np.array([len(e) + 1 if c is None else len(c) for e, c in pairs], np.int64)
        last = gaps | [
            c is not None for c in self.binned
        ]  # the last bin holds missing values and unseen codes
        return Binner(edges, self.binned, np.where(last, own, -1))

    def number_cells(self, f, binner):
        """Return the bin of each cell of a column, uint8, followed by the bin of missing values."""
        edges = binner.edges[f]
        every = np.append(np.searchsorted(edges, self.cells.edges[f]), len(edges))
        own = every[: len(self.cells.counts[f])]
        return np.append(own, binner.missing[f]).astype(np.uint8)


def same_edges(one, other):
    """Return whether two binners have the same bin edges."""
    return all(map(np.array_equal, one.edges, other.edges))


def count_candidates(params):
    """Return the maximum number of bins per column: 1/ε, at most 256."""
    if params.sketch_eps is None:
        return params.max_bin
    wanted = round(1.0 / params.sketch_eps)
    if wanted > 256:
        raise ValueError(
            f"sketch_eps={params.sketch_eps} means {wanted} candidates; at most 256 are allowed, "
            "or any number with proposal='local'"
        )
    return max(2, wanted)


def drawn_ends(counts, room, seed):
    """Return the cells of randomly drawn entries, ascending, without the last cell.

    Parameters
    ----------
    counts : int64 (n_cells,), number of entries of each cell
    """
    ends = np.cumsum(counts)
    drawn = hash_numbers(seed, room - 1).astype(np.uint64) * np.uint64(ends[-1])
    found = np.unique(np.searchsorted(ends, drawn >> np.uint64(32), side="right"))
    return found[found < len(counts) - 1]
