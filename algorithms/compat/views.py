"""Base class of the views of a fitted model, and numbering of leaves and splits."""

import numpy as np


class BoosterView:
    """View of a fitted estimator with the methods of a library's Booster.

    Parameters
    ----------
    estimator : fitted estimator with ``ensemble_``
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def __copy__(self):
        return type(self)(self.estimator)


def leaf_numbers(trees):
    """Return the number of each leaf within its tree, int64 (n_nodes,); −1 at splits."""
    return numbers_of(trees, trees.left < 0)


def split_numbers(trees):
    """Return the number of each split within its tree, int64 (n_nodes,); −1 at leaves."""
    return numbers_of(trees, trees.left >= 0)


def numbers_of(trees, chosen):
    """Return the number of each chosen node within its tree."""
    total = np.cumsum(chosen)
    before = total[trees.offsets[:-1]] - chosen[trees.offsets[:-1]]
    numbers = total - 1 - np.repeat(before, np.diff(trees.offsets))
    return np.where(chosen, numbers, -1)
