"""Prediction with boosted trees: scores plus the learning rate times each row's leaf values."""

from itertools import pairwise

import numpy as np

from algorithms.boosting.kernels.leaf_sums import add_trees
from algorithms.prediction.columns import check_columns
from algorithms.prediction.kernels.predict import STEP, find_leaves
from algorithms.runtime.threads import Workers, threads_worth
from algorithms.runtime.value_checks import HAS_NAN, find_nonfinite

WALKS_AT_ONCE = 1 << 22  # a fraction of a second; Ctrl-C is handled between blocks
MIN_ROWS = 1024
WALKS_OF_A_THREAD = 1 << 16  # of small trees; fewer do not pay for starting a thread


class BoostedWalker:
    """Adds up a model's trees; joins them on first use, and again if the trees have changed."""

    def __init__(self):
        self._joined = [], ()  # trees, and the result of `join_steps` for them

    def __getstate__(self):
        return {"_joined": ([], ())}

    def add(self, stages, rate, X, raw, threads, *, missing=None):
        """Add the trees' predictions, in their order, to the scores.

        Parameters
        ----------
        stages : (n_rounds, n_outputs) object array of fitted trees
        rate : learning rate
        X : (n_rows, n_features) float32, C-contiguous, NaN where missing
        raw : (n_rows, n_outputs) float64, Fortran order, updated
        missing : whether X may have missing values; by default X is searched for them

        Raises
        ------
        ValueError
            If X has a different number of columns.
        """
        if not len(stages):
            return
        trees, joined = self._joined
        grown = [member.tree_ for member in stages.ravel()]
        if len(grown) != len(trees) or any(a is not b for a, b in zip(grown, trees, strict=True)):
            for tree in grown:
                check_columns(X, tree.n_features)
            joined = join_steps(grown, stages.shape[1])
            self._joined = grown, joined
        check_columns(X, grown[0].n_features)
        if any(tree.sets for tree in grown):
            for t, tree in enumerate(grown):
                raw[:, t % raw.shape[1]] += rate * tree.predict(X, threads)[:, 0]
            return
        if missing is None:
            missing = has_missing(X)

        def walk(first, last):
            if missing:
                add_one_by_one(grown, rate, X, raw, first, last)
            else:
                add_trees(*joined, rate, X, raw.T, first, last)

        with Workers(threads_worth(threads, len(X) * len(grown), WALKS_OF_A_THREAD)) as workers:
            workers.share_steps(walk, len(X), max(MIN_ROWS, WALKS_AT_ONCE // len(grown)))


def has_missing(X):
    """Return whether a C-contiguous X has missing values."""
    return bool(find_nonfinite(X.reshape(-1)) & HAS_NAN)


def add_one_by_one(trees, rate, X, raw, first, last):
    """Add the predictions of the rows first … last − 1, which may have missing values.

    Parameters
    ----------
    trees : list of Tree, those of a round one after the other
    rate, X, raw : as in `BoostedWalker.add`
    """
    rows, leaves = slice(first, last), np.empty(len(X), np.int64)
    for t, tree in enumerate(trees):
        find_leaves(*tree.steps, X, True, leaves, first, last)
        raw[rows, t % raw.shape[1]] += rate * tree.values[leaves[rows], 0]


def join_steps(trees, n_outputs):
    """Return the arrays that `BoostedWalker` walks; ``n_outputs`` trees per round."""
    ends = np.cumsum([0] + [tree.node_count for tree in trees])
    steps, values = np.empty(ends[-1], STEP), np.empty(ends[-1])
    for tree, (root, end) in zip(trees, pairwise(ends.tolist()), strict=True):
        tree_steps, order = tree.steps
        steps[root:end] = tree_steps
        steps["left"][root:end] += np.uint32(root)
        values[root:end] = tree.values[order, 0]
    depth = np.array([tree.max_depth for tree in trees])
    return steps, ends[:-1], depth, values, np.arange(len(trees)) % n_outputs
