"""Packed trees for prediction by leaf bit masks (QuickScorer); see `kernels.leaf_masks`."""

import numpy as np

from algorithms.prediction.kernels.leaf_masks import (
    EVERY,
    FIRST_CODE,
    FOUR,
    LOOKUP,
    MAX_LEAVES,
    NUMERIC_SPLIT,
    add_masked_trees,
    fill_tables,
    transpose_rows,
)
from algorithms.prediction.kernels.numeric_walk import GAPS_LEFT
from algorithms.prediction.kernels.walk import BLOCK, IS_SET, MISSING_LEFT, STEP, ZERO_MISSING
from algorithms.prediction.numeric_nodes import levels_of

WORD = 64  # codes
VALUES = 1 << 15  # values of rows that are transposed together: half a second-level cache
MAX_ENTRIES = 1 << 21  # of all lookup tables
ENTRIES_A_WALK = 16  # entries filled in the time of one row's traversal of a tree


class LeafMasks:
    """Trees of an ensemble, stored as the leaf masks of their splits.

    Parameters
    ----------
    steps : walk.STEP (n_nodes,)
    bits : uint64, the words of all bit sets
    roots : int64 (n_trees,)

    Attributes
    ----------
    fits : bool, whether all trees can be used: few enough leaves, numeric splits that are plain
        comparisons, and tables that are not too large
    """

    def __init__(self, steps, bits, roots):
        self._steps, self._bits, self._tables = steps, bits, None
        n_trees, here = len(roots), np.arange(len(steps))
        is_leaf, is_categorical = steps["left"] == here, steps["kind"] & IS_SET > 0
        tree = np.searchsorted(roots, here, side="right") - 1
        self.used_columns, column = np.unique(steps["feature"], return_inverse=True)
        self.used_columns = self.used_columns.astype(np.int64)
        self._categorical_nodes = np.flatnonzero(is_categorical)
        self.sizes = np.zeros(len(self.used_columns), np.int64)
        entries = WORD * steps["words"][is_categorical] + FIRST_CODE + 1
        np.maximum.at(self.sizes, column[is_categorical], entries)
        pairs, self._table = np.unique(
            tree[is_categorical] * len(self.used_columns) + column[is_categorical],
            return_inverse=True,
        )
        numeric_splits = np.flatnonzero(~is_leaf & ~is_categorical)
        self._n_entries = self.sizes[pairs % len(self.used_columns)]
        to_left = steps["kind"][numeric_splits] & MISSING_LEFT > 0
        n_leaves = np.bincount(tree[is_leaf], minlength=n_trees)
        self.fits = (
            n_leaves.max(initial=0) <= MAX_LEAVES
            and self._n_entries.sum() <= MAX_ENTRIES
            and not (steps["kind"][numeric_splits] & ZERO_MISSING).any()
            and not np.isnan(
                steps["threshold"][numeric_splits][to_left]
            ).any()  # splits that send only NaN left
        )
        if not self.fits:
            return
        place, self._keeps = leaf_masks_of_nodes(steps, roots, is_leaf)
        self.lookups = np.zeros(len(pairs), LOOKUP)
        self.lookups["column"] = pairs % len(self.used_columns)
        self.lookups["first"] = np.cumsum(self._n_entries) - self._n_entries
        places, ends = align_by_four(2 * tree[numeric_splits] + to_left, 2 * n_trees)
        self.numeric_splits = np.zeros(ends.max(initial=0), NUMERIC_SPLIT)
        self.numeric_splits["right"] = EVERY
        self.numeric_splits["threshold"][places] = steps["threshold"][numeric_splits]
        self.numeric_splits["column"][places] = column[numeric_splits]
        self.numeric_splits["right"][places] = self._keeps[numeric_splits]
        lookups = np.bincount(pairs // len(self.used_columns), minlength=n_trees)
        begins = np.append(0, ends)[:-1].reshape(n_trees, 2)
        last = lookups.cumsum()
        self.bounds = np.column_stack([last - lookups, last, begins, ends[1::2]])
        self.first_leaves = np.cumsum(n_leaves) - n_leaves
        self.leaves = np.empty(n_leaves.sum(), np.int64)
        self.leaves[self.first_leaves[tree[is_leaf]] + place[is_leaf]] = here[is_leaf]

    def is_faster(self, n_walks):
        """Return whether masks are faster than ``n_walks`` traversals, including filling tables."""
        if not self.fits:
            return False
        to_fill = 0 if self._tables is not None else self._n_entries[self._table].sum()
        return to_fill <= ENTRIES_A_WALK * n_walks

    def fill(self):
        """Fill the tables if that is not done yet."""
        if self._tables is None:
            tables = np.full(self._n_entries.sum(), EVERY)
            firsts, sizes = self.lookups["first"][self._table], self._n_entries[self._table]
            keeps = self._keeps[self._categorical_nodes]
            fill_tables(
                self._steps, self._categorical_nodes, firsts, sizes, keeps, self._bits, tables
            )
            self._tables = tables

    def of(self, trees):
        """Return the arguments of `add_masked_trees` about the given trees, after `fill`."""
        selected = (
            self.lookups,
            self.numeric_splits,
            self.bounds[trees],
            self.leaves,
            self.first_leaves[trees],
        )
        return *selected, self._tables, self.sizes

    def add_rows(self, trees, adding, X, out):
        """Add the scores of the given trees for rows of dense X.

        Parameters
        ----------
        trees : slice
        adding : values, outputs and reading, as in `add_masked_trees`
        X : (n_rows, n_features) float32 or float64, C-contiguous
        out : float64 (n_rows, n_scores), added to
        """
        width = len(self.used_columns)
        step = max(1, VALUES // (width * BLOCK)) * BLOCK
        transposed = np.empty(min(step, -(-len(X) // BLOCK) * BLOCK) * width)
        for first in range(0, len(X), step):
            last = min(first + step, len(X))
            transpose_rows(X, self.used_columns, transposed, first, last)
            self.add_transposed(trees, adding, transposed, width, out[first:last])

    def add_transposed(self, trees, adding, transposed, width, out):
        """Add the scores of the given trees for transposed rows; see `add_masked_trees`."""
        codes = np.empty(len(self.used_columns) * BLOCK if self.sizes.any() else 0, np.int64)
        buffers = codes, np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64)
        add_masked_trees(*self.of(trees), *adding, transposed, width, *buffers, out)


def align_by_four(owner, n_owners):
    """Return positions of splits grouped by owner; each group begins at a multiple of FOUR.

    Parameters
    ----------
    owner : int64 (n_splits,)

    Returns
    -------
    places : int64 (n_splits,)
    ends : int64 (n_owners,), end of each group
    """
    counts = np.bincount(owner, minlength=n_owners)
    ends = (-(-counts // FOUR) * FOUR).cumsum()
    order = np.argsort(owner, kind="stable")
    begins = np.append(0, ends)[owner[order]]
    firsts = counts.cumsum() - counts
    places = np.empty(len(owner), np.int64)
    places[order] = begins + np.arange(len(owner)) - firsts[owner[order]]
    return places, ends


def steps_of(nodes):
    """Return nodes of dtype numeric_walk.NODE as walk.STEP."""
    steps, here = np.zeros(len(nodes), STEP), np.arange(len(nodes))
    steps["threshold"], steps["left"] = nodes["threshold"], nodes["left"]
    steps["right"] = np.where(nodes["left"] == here, here, nodes["left"] + 1)
    steps["feature"] = nodes["asks"] >> 1
    steps["kind"] = MISSING_LEFT * (nodes["asks"] & GAPS_LEFT)
    return steps


def leaf_masks_of_nodes(steps, roots, is_leaf):
    """Return the index of each node's first leaf in its tree, and the mask of leaves it keeps.

    Parameters
    ----------
    steps, roots, is_leaf : as in `levels_of`; a tree has at most MAX_LEAVES leaves

    Returns
    -------
    place : int64 (n_nodes,)
    keeps : uint64 (n_nodes,), one bit per leaf of the tree, 0 for those left of the node
    """
    left, right = steps["left"], steps["right"]
    levels = [nodes[~is_leaf[nodes]] for nodes in levels_of(steps, roots, is_leaf)]
    below, place = is_leaf.astype(np.int64), np.zeros(len(steps), np.int64)
    for nodes in reversed(levels):
        below[nodes] = below[left[nodes]] + below[right[nodes]]
    for nodes in levels:
        place[left[nodes]] = place[nodes]
        place[right[nodes]] = place[nodes] + below[left[nodes]]
    on_left = np.where(is_leaf, 0, below[left]).astype(np.uint64)
    removed = (np.uint64(1) << on_left) - np.uint64(1)  # 64 leaves: at most 63 on the left
    return place, ~(removed << place.astype(np.uint64))
