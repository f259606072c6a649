"""Prediction with boosted trees: scores plus the learning rate times each row's leaves."""

import numpy as np

from algorithms._common.threads import Workers
from algorithms._kernels.boosted import add_scaled
from algorithms._kernels.predict import find_leaves

ROWS_AT_ONCE = 4096  # rows that pass all trees before the next ones do


def add_trees(trees, rate, X, raw, threads):
    """Add what trees say, in their order, to the scores.

    Parameters
    ----------
    trees : (n_rounds, n_outputs) object array, or nested lists, of Tree
    rate : learning rate
    X : (n_rows, n_features) float32, C-contiguous
    raw : (n_rows, n_outputs) float64, Fortran order, written
    """
    walked = [(tree.steps, tree.values[:, 0], k) for stage in trees for k, tree in enumerate(stage)]
    leaves = np.empty(len(X), np.int64)

    def walk(first, last):
        for block in range(first, last):
            start, end = block * ROWS_AT_ONCE, min((block + 1) * ROWS_AT_ONCE, len(X))
            for steps, values, k in walked:
                find_leaves(steps, X, leaves, start, end)
                add_scaled(values, leaves, rate, raw[:, k], start, end)

    blocks = -(-len(X) // ROWS_AT_ONCE)
    with Workers(min(threads, max(blocks, 1))) as workers:
        workers.share(walk, blocks)
