"""Prediction with boosted trees: scores plus the learning rate times each row's leaves."""

from itertools import pairwise

import numpy as np

from algorithms.boosting.kernels.leaf_sums import add_trees
from algorithms.prediction.columns import check_columns
from algorithms.prediction.kernels.predict import STEP
from algorithms.runtime.threads import Workers, threads_worth

WALKS_AT_ONCE = 1 << 22  # that take a fraction of a second: Ctrl-C waits for them
FEWEST_ROWS = 1024
WALKS_OF_A_THREAD = 1 << 16  # of small trees, that take longer than a thread takes to start


class BoostedWalker:
    """Adds up the trees of a model, joined when first used, and again where they are others."""

    def __init__(self):
        self._joined = [], ()  # trees, and what `join_steps` returns of them

    def __getstate__(self):
        return {"_joined": ([], ())}

    def add(self, stages, rate, X, raw, threads):
        """Add what trees say, in their order, to the scores.

        Parameters
        ----------
        stages : (n_rounds, n_outputs) object array of fitted trees
        rate : learning rate
        X : (n_rows, n_features) float32, C-contiguous, finite
        raw : (n_rows, n_outputs) float64, Fortran order, written

        Raises
        ------
        ValueError
            Where X has not as many columns as the trees know.
        """
        if not len(stages):
            return
        trees, joined = self._joined
        own = [member.tree_ for member in stages.ravel()]
        if len(own) != len(trees) or any(a is not b for a, b in zip(own, trees, strict=True)):
            for tree in own:
                check_columns(X, tree.n_features)
            joined = join_steps(own, stages.shape[1])
            self._joined = own, joined
        check_columns(X, own[0].n_features)

        def walk(first, last):
            add_trees(*joined, rate, X, raw.T, first, last)

        with Workers(threads_worth(threads, len(X) * len(own), WALKS_OF_A_THREAD)) as workers:
            workers.share_steps(walk, len(X), max(FEWEST_ROWS, WALKS_AT_ONCE // len(own)))


def join_steps(trees, n_outputs):
    """Return what `BoostedWalker` walks of a list of Tree, ``n_outputs`` of them a round."""
    ends = np.cumsum([0] + [tree.node_count for tree in trees])
    steps, values = np.empty(ends[-1], STEP), np.empty(ends[-1])
    for tree, (root, end) in zip(trees, pairwise(ends.tolist()), strict=True):
        own, order = tree.steps
        steps[root:end] = own
        steps["left"][root:end] += np.uint32(root)
        values[root:end] = tree.values[order, 0]
    depth = np.array([tree.max_depth for tree in trees])
    return steps, ends[:-1], depth, values, np.arange(len(trees)) % n_outputs
