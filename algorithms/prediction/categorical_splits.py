"""Categorical splits, and splits with missing zeros, evaluated before the trees are traversed."""

import numpy as np

from algorithms.prediction.kernels.categorical_walk import BETWEEN
from algorithms.prediction.kernels.walk import (
    BLOCK,
    IS_SET,
    MEMBERS_LEFT,
    MISSING_LEFT,
    ZERO_MISSING,
)

FEW_ROWS = 8  # rows that are traversed together
EVALUATIONS_PER_STEP = 6  # evaluations that take as long as one categorical step of a traversal
COST_OF_ZERO = 3  # cost of a split that may treat zero as missing; a categorical split costs 1
MAX_PLACES = 2**31 - 1  # size of a block of rows, indexed by 32 bits
MAX_WORDS = 1 << 17  # of all bit sets, 64 codes each


class CategoricalSplits:
    """Non-numeric splits of trees, evaluated in advance by `kernels.categorical_walk`.

    Parameters
    ----------
    steps : STEP (n_nodes,)
    bits : uint64, the words of all bit sets
    roots : int64 (n_trees,)
    """

    def __init__(self, steps, bits, roots):
        at = np.flatnonzero(steps["kind"] & (IS_SET | ZERO_MISSING))
        self.used_columns, column = np.unique(steps["feature"], return_inverse=True)
        self.begins = np.searchsorted(at, roots)
        self.ends = np.append(self.begins[1:], len(at))
        self.splits = steps[at]
        self.splits["feature"] = column[at] * BLOCK
        self.coded = np.unique(column[at[self.splits["kind"] & IS_SET > 0]])
        results = np.arange(len(at)) - np.repeat(self.begins, self.ends - self.begins)
        column[at] = len(self.used_columns) + results
        self._numeric = steps.copy()
        self._numeric["feature"] = column * BLOCK
        self._numeric["threshold"][at] = BETWEEN
        self.used_columns = self.used_columns.astype(np.int64)
        is_categorical = self.splits["kind"] & IS_SET > 0
        self._cost = np.concatenate([[0], np.cumsum(np.where(is_categorical, 1, COST_OF_ZERO))])
        words = self.splits["words"][is_categorical]
        self.width = int(column.max()) + 1
        places_fit = self.width * BLOCK <= MAX_PLACES
        self.fits = places_fit and int((words + 2).sum()) <= MAX_WORDS
        self.bits = self._turn(bits) if self.fits else bits[:0]

    def _turn(self, bits):
        """Return bit sets of the codes that go right, one for each categorical split."""
        is_categorical = np.flatnonzero(self.splits["kind"] & IS_SET)
        splits = self.splits[is_categorical]
        words, of_members = splits["words"], (splits["kind"] & MEMBERS_LEFT == 0).astype(np.uint64)
        of_missing = (splits["kind"] & MISSING_LEFT == 0).astype(np.uint64)
        first = np.cumsum(words + 2) - (words + 2)
        goes_right = np.zeros((words + 2).sum(), np.uint64)
        to = np.arange(words.sum()) + np.repeat(2 * np.arange(len(splits)) + 1, words)
        source = np.arange(words.sum()) - np.repeat(np.cumsum(words) - words, words)
        members = bits[source + np.repeat(splits["threshold"].astype(np.int64), words)]
        goes_right[to] = np.where(np.repeat(of_members, words) == 1, members, ~members)
        of_zero = np.where(
            splits["kind"] & ZERO_MISSING, of_missing, goes_right[first + 1] & np.uint64(1)
        )
        goes_right[first] = of_missing + np.uint64(2) * of_zero
        goes_right[first + words + 1] = np.uint64(1) - of_members
        self.splits["threshold"][is_categorical] = first
        return goes_right

    def take_numeric_steps(self):
        """Return steps with numeric splits only, which read the results; the array is released."""
        plain, self._numeric = self._numeric, None
        return plain

    def is_faster(self, n_rows, depth, trees):
        """Return whether evaluating these splits in advance is faster than in the traversal.

        Parameters
        ----------
        depth : (n_trees,) int64, depth of these trees
        """
        cost = (self._cost[self.ends[trees]] - self._cost[self.begins[trees]]).sum()
        return (
            n_rows >= FEW_ROWS
            and cost <= EVALUATIONS_PER_STEP * depth.sum()
            and len(self.used_columns) <= EVALUATIONS_PER_STEP * depth.sum()
            and self.fits
        )

    def of(self, trees):
        """Return the arguments of the kernel about the given trees."""
        selected = self.splits, self.begins[trees], self.ends[trees]
        return *selected, self.used_columns, self.coded, self.bits

    def new_block(self):
        """Return buffers for a block of rows, and for their codes."""
        return np.empty(self.width * BLOCK), np.empty(len(self.used_columns) * BLOCK, np.int64)
