"""Predictions of boosted trees in blocks of rows: sums of votes, and weighted medians."""

import numpy as np

from algorithms.forest.bagged_trees import Walker
from algorithms.prediction.columns import check_columns
from algorithms.prediction.kernels.predict import find_leaves
from algorithms.runtime.threads import Workers
from algorithms.trees.tree import may_have_missing

ROWS_AT_ONCE = 4096  # rows per block; all trees' predictions of a block are stored


class VotingTree:
    """A tree whose leaf values are its contributions to the score, as a `Walker` sums them.

    Parameters
    ----------
    tree : Tree of classes
    vote : its weight
    """

    def __init__(self, tree, vote):
        self._tree = tree
        chosen = tree.values.argmax(axis=1)[:, None] == np.arange(tree.max_n_classes)
        others = max(1, tree.max_n_classes - 1)
        given = np.where(chosen, vote, -1.0 / others * vote)
        self.values = given[:, 1:].copy() if tree.max_n_classes == 2 else given  # C-contiguous
        self.max_n_classes = self.values.shape[1]
        self.max_depth = tree.max_depth

    @property
    def steps(self):
        """Return the nodes in the layout used for prediction, and the node of each step."""
        return self._tree.steps


def voting_walker(trees, votes, n_features):
    """Return the `Walker` that sums the votes: of the second of two classes, or of each class."""
    voting = [VotingTree(tree, vote) for tree, vote in zip(trees, votes, strict=True)]
    return Walker(voting, [np.arange(n_features)] * len(trees), n_features)


def median_of_trees(trees, votes, X, threads):
    """Return the weighted median of the trees' values, float64 (n_rows,).

    Parameters
    ----------
    trees : list of Tree of values; votes : (n_trees,) float64
    X : (n_rows, n_features) float32, C-contiguous

    Raises
    ------
    ValueError
        If X has a different number of columns.
    """
    for tree in trees:
        check_columns(X, tree.n_features)
    out = np.empty(len(X))
    leaves = np.empty(len(X), np.int64)
    depth = sum(tree.max_depth for tree in trees)

    def walk(first, last):
        for start in range(first * ROWS_AT_ONCE, min(last * ROWS_AT_ONCE, len(X)), ROWS_AT_ONCE):
            end = min(start + ROWS_AT_ONCE, len(X))
            predictions = np.empty((end - start, len(trees)))
            missing = may_have_missing(X, start, end, depth)
            for t, tree in enumerate(trees):
                workers.check()
                find_leaves(*tree.steps, X, missing, leaves, start, end)
                predictions[:, t] = tree.values[leaves[start:end], 0]
            out[start:end] = weighted_median(predictions, votes)

    with Workers(threads) as workers:
        workers.share(walk, -(-len(X) // ROWS_AT_ONCE))
    return out


def weighted_median(predictions, votes):
    """Return the smallest prediction of each row at which half of the votes is reached.

    Parameters
    ----------
    predictions : float64 (n_rows, n_models), predictions
    votes : float64 (n_models,)
    """
    order = np.argsort(predictions, axis=1)
    reached = np.cumsum(votes[order], axis=1)
    middle = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
    rows = np.arange(len(predictions))
    return predictions[rows, order[rows, middle]]
