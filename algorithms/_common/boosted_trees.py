"""Prediction with boosted trees: scores plus the learning rate times each row's leaves."""

from algorithms._common.threads import Workers
from algorithms._kernels.boosted import add_tree

ROWS_AT_ONCE = 1024  # rows that pass all trees before the next ones do


def add_trees(trees, rate, X, raw, threads):
    """Add what trees say, in their order, to the scores.

    Parameters
    ----------
    trees : (n_rounds, n_outputs) nested lists of Tree
    rate : learning rate
    X : (n_rows, n_features) float32, C-contiguous, finite
    raw : (n_rows, n_outputs) float64, Fortran order, written
    """
    walked = []
    for stage in trees:
        for k, tree in enumerate(stage):
            steps, order = tree.steps
            walked.append((steps, tree.max_depth, tree.values[order, 0], rate, X, raw[:, k]))

    def walk(first, last):
        for block in range(first, last):
            start, end = block * ROWS_AT_ONCE, min((block + 1) * ROWS_AT_ONCE, len(X))
            for tree in walked:
                add_tree(*tree, start, end)

    blocks = -(-len(X) // ROWS_AT_ONCE)
    with Workers(min(threads, max(blocks, 1))) as workers:
        workers.share(walk, blocks)
