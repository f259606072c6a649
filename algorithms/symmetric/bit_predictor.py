"""Predictor of symmetric trees by bits; bitwise equal to `harness.TreeEnsemble.raw`."""

import numpy as np

from algorithms.gbdt.gradient_quantization import IN_ORDER
from algorithms.gbdt.kernels.binning import ROWS_AT_ONCE, bin_rows
from algorithms.runtime.threads import Workers
from algorithms.symmetric.kernels.bit_prediction import BLOCK, add_trees

MAX_BORDERS = 255  # of a column, so that bins are bytes
FEW_WALKS = 1 << 14  # rows × trees below which binning does not pay
ROWS = 1 << 13  # rows that are binned together
MANY_WALKS = 1 << 20  # rows × trees from which several threads are faster


class BitPredictor:
    """Trees by splits, borders by column.

    Parameters
    ----------
    trees : list of SymmetricTree
    n_scores : int

    Raises
    ------
    ValueError
        If a column has too many borders, or missing values on both sides.
    """

    def __init__(self, trees, n_scores):
        features = join([tree.features for tree in trees], np.int64)
        borders = join([tree.borders for tree in trees], np.float32)
        nan_right = join([tree.nan_right for tree in trees], bool)
        self.used = np.unique(features)
        self.features = np.searchsorted(self.used, features)
        edges, self.missing = [], np.full(len(self.used), -1)
        self.bins = np.empty(len(features), np.int64)
        for j in range(len(self.used)):
            own = self.features == j
            distinct = np.unique(borders[own])
            if len(distinct) > MAX_BORDERS or nan_right[own].any() != nan_right[own].all():
                raise ValueError("the borders of a column do not fit into bytes")
            self.bins[own] = np.searchsorted(distinct, borders[own])
            self.missing[j] = len(distinct) if nan_right[own].all() else -1
            edges.append(np.full((1 << len(distinct).bit_length()) - 1, np.inf, np.float32))
            edges[-1][: len(distinct)] = distinct
        self.edges = join([*edges, np.full(1, np.inf)], np.float32)
        self.indptr = np.cumsum([0, *(len(own) for own in edges)])
        self.starts = np.cumsum([0, *(tree.depth for tree in trees)])
        self.values = np.concatenate([np.empty((0, n_scores)), *(tree.values for tree in trees)])
        self.leaf_starts = np.cumsum([0, *(len(tree.values) for tree in trees)])[:-1]

    def is_faster(self, n_rows, trees):
        """Return whether bits are faster than a traversal for so many rows and a slice of trees."""
        return n_rows * len(self.leaf_starts[trees]) >= FEW_WALKS

    def add(self, X, out, threads, trees=slice(None)):
        """Add the values of trees to the scores.

        Parameters
        ----------
        X : (n_rows, n_features) float32, C-contiguous, NaN where missing
        out : float64 (n_rows, n_scores)
        threads : int
        trees : slice of trees
        """
        first, last, _ = trees.indices(len(self.leaf_starts))
        given = (
            self.features, self.bins, self.starts[first : last + 1], self.values,
            self.leaf_starts[first:last],
        )  # fmt: skip
        binning = self.used, IN_ORDER[0], self.edges, self.indptr, self.missing

        def share(begin, end):
            rows = np.empty((ROWS, len(self.used)), np.uint8)
            columns = np.empty((len(self.used), ROWS), np.uint8)
            at, values = np.empty(ROWS_AT_ONCE, np.uint64), np.empty(ROWS_AT_ONCE, np.float32)
            leaf_of = np.empty((2, BLOCK), np.uint8)
            for start in range(begin * ROWS, min(end * ROWS, len(X)), ROWS):
                workers.check()
                part = X[start : start + ROWS]
                n_rows = len(part)
                bin_rows(part, *binning, rows, columns, at, values, 0, n_rows)
                add_trees(columns, *given, leaf_of, out[start : start + ROWS], n_rows)

        few = len(X) * (last - first) < MANY_WALKS
        with Workers(1 if few else threads) as workers:
            workers.share(share, -(-len(X) // ROWS))


def join(arrays, dtype):
    """Return arrays end to end in a dtype."""
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype)
