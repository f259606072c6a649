"""Pack trees whose leaves are found by masks: see `kernels.leaf_masks`."""

import numpy as np

from algorithms.prediction.kernels.leaf_masks import (
    EVERY,
    FIRST_CODE,
    FOUR,
    LOOK,
    MOST_LEAVES,
    NUMBER,
    add_masked_trees,
    fill_tables,
    lay_rows,
)
from algorithms.prediction.kernels.numeric_walk import GAPS_LEFT
from algorithms.prediction.kernels.walk import BLOCK, IS_SET, MISSING_LEFT, STEP, ZERO_MISSING
from algorithms.prediction.numeric_nodes import levels_of

WORD = 64  # codes
VALUES = 1 << 15  # of rows that are laid out at once: half a second-level cache
MOST_ENTRIES = 1 << 21  # of all tables
ENTRIES_A_WALK = 16  # that are filled while a row walks down a tree


class LeafMasks:
    """The trees of an ensemble, by the leaves that their questions leave over.

    Parameters
    ----------
    steps : walk.STEP (n_nodes,)
    bits : uint64, the words of all sets
    roots : int64 (n_trees,)

    Attributes
    ----------
    fits : bool, whether no tree has too many leaves, or questions for numbers that no comparison
        answers, and no table is too large
    """

    def __init__(self, steps, bits, roots):
        self._steps, self._bits, self._tables = steps, bits, None
        n_trees, here = len(roots), np.arange(len(steps))
        is_leaf, asks_set = steps["left"] == here, steps["kind"] & IS_SET > 0
        tree = np.searchsorted(roots, here, side="right") - 1
        self.asked, column = np.unique(steps["feature"], return_inverse=True)
        self.asked = self.asked.astype(np.int64)
        self._asking = np.flatnonzero(asks_set)
        self.sizes = np.zeros(len(self.asked), np.int64)
        entries = WORD * steps["words"][asks_set] + FIRST_CODE + 1
        np.maximum.at(self.sizes, column[asks_set], entries)
        pairs, self._table = np.unique(
            tree[asks_set] * len(self.asked) + column[asks_set], return_inverse=True
        )
        numbers = np.flatnonzero(~is_leaf & ~asks_set)
        self._n_entries = self.sizes[pairs % len(self.asked)]
        to_left = steps["kind"][numbers] & MISSING_LEFT > 0
        n_leaves = np.bincount(tree[is_leaf], minlength=n_trees)
        self.fits = (
            n_leaves.max(initial=0) <= MOST_LEAVES
            and self._n_entries.sum() <= MOST_ENTRIES
            and not (steps["kind"][numbers] & ZERO_MISSING).any()
            and not np.isnan(steps["threshold"][numbers][to_left]).any()  # only NaN goes left
        )
        if not self.fits:
            return
        place, self._keeps = leaves_left_over(steps, roots, is_leaf)
        self.looks = np.zeros(len(pairs), LOOK)
        self.looks["column"] = pairs % len(self.asked)
        self.looks["first"] = np.cumsum(self._n_entries) - self._n_entries
        places, ends = fours(2 * tree[numbers] + to_left, 2 * n_trees)
        self.numbers = np.zeros(ends.max(initial=0), NUMBER)
        self.numbers["right"] = EVERY
        self.numbers["threshold"][places] = steps["threshold"][numbers]
        self.numbers["column"][places] = column[numbers]
        self.numbers["right"][places] = self._keeps[numbers]
        looks = np.bincount(pairs // len(self.asked), minlength=n_trees)
        begins = np.append(0, ends)[:-1].reshape(n_trees, 2)
        last = looks.cumsum()
        self.bounds = np.column_stack([last - looks, last, begins, ends[1::2]])
        self.first_leaves = np.cumsum(n_leaves) - n_leaves
        self.leaves = np.empty(n_leaves.sum(), np.int64)
        self.leaves[self.first_leaves[tree[is_leaf]] + place[is_leaf]] = here[is_leaf]

    def are_worth_it(self, n_walks):
        """Return whether so many walks of a row down a tree take longer, tables included."""
        if not self.fits:
            return False
        to_fill = 0 if self._tables is not None else self._n_entries[self._table].sum()
        return to_fill <= ENTRIES_A_WALK * n_walks

    def fill(self):
        """Write the tables, where that has not been done."""
        if self._tables is None:
            tables = np.full(self._n_entries.sum(), EVERY)
            firsts, sizes = self.looks["first"][self._table], self._n_entries[self._table]
            keeps = self._keeps[self._asking]
            fill_tables(self._steps, self._asking, firsts, sizes, keeps, self._bits, tables)
            self._tables = tables

    def of(self, trees):
        """Return what `add_masked_trees` takes of some trees, once tables are filled."""
        own = self.looks, self.numbers, self.bounds[trees], self.leaves, self.first_leaves[trees]
        return *own, self._tables, self.sizes

    def add_rows(self, trees, adding, X, out):
        """Add the scores of some trees for rows of dense X.

        Parameters
        ----------
        trees : slice
        adding : what `add_masked_trees` takes of values, outputs and reading
        X : (n_rows, n_features) float32 or float64, C-contiguous
        out : float64 (n_rows, n_scores), added to
        """
        width = len(self.asked)
        step = max(1, VALUES // (width * BLOCK)) * BLOCK
        laid = np.empty(min(step, -(-len(X) // BLOCK) * BLOCK) * width)
        for first in range(0, len(X), step):
            last = min(first + step, len(X))
            lay_rows(X, self.asked, laid, first, last)
            self.add_laid(trees, adding, laid, width, out[first:last])

    def add_laid(self, trees, adding, laid, width, out):
        """Add the scores of some trees for rows that are laid out: see `add_masked_trees`."""
        codes = np.empty(len(self.asked) * BLOCK if self.sizes.any() else 0, np.int64)
        room = codes, np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64)
        add_masked_trees(*self.of(trees), *adding, laid, width, *room, out)


def fours(owner, n_owners):
    """Return places for questions by their owners, who each begin at a multiple of FOUR.

    Parameters
    ----------
    owner : int64 (n_questions,)

    Returns
    -------
    places : int64 (n_questions,)
    ends : int64 (n_owners,), where the places of each owner end
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
    """Return plain_walk.NODE as walk.STEP."""
    steps, here = np.zeros(len(nodes), STEP), np.arange(len(nodes))
    steps["threshold"], steps["left"] = nodes["threshold"], nodes["left"]
    steps["right"] = np.where(nodes["left"] == here, here, nodes["left"] + 1)
    steps["feature"] = nodes["asks"] >> 1
    steps["kind"] = MISSING_LEFT * (nodes["asks"] & GAPS_LEFT)
    return steps


def leaves_left_over(steps, roots, is_leaf):
    """Return the place of each node's first leaf in its tree, and which leaves it leaves over.

    Parameters
    ----------
    steps, roots, is_leaf : as of `levels_of`; a tree has at most MOST_LEAVES leaves

    Returns
    -------
    place : int64 (n_nodes,)
    keeps : uint64 (n_nodes,), a bit for each leaf of the tree, 0 for those on the node's left
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
