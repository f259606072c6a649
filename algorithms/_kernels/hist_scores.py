"""Add a grown tree to the scores of all rows.

The rows of a leaf stand together after growth, so each row's leaf is known without a walk; rows
that the tree was not grown on walk down its bins.
"""

from typing import NamedTuple

import numpy as np

from algorithms._kernels.hist_lists import cell_of
from algorithms._kernels.jit import inner_kernel, kernel


class Walk(NamedTuple):
    """What rows need that walk down a tree on dense columns."""

    children: np.ndarray  # int32 (n_nodes, 2): where not left, where left; of a leaf, itself twice
    column: np.ndarray  # int32 (n_nodes,), that a node asks; 0 of a leaf
    leaf: np.ndarray  # int64 (n_nodes,), number of the leaf that a node is


@kernel
def mark_leaves(growth, n_leaves, leaf_of, first, last):
    """Write the number of its leaf for each of growth.rows[first : last].

    Parameters
    ----------
    leaf_of : (n_rows,) uint16 or uint32, by row of the table
    """
    for k in range(n_leaves):
        leaf = growth.leaves[k]
        start, end = max(leaf["start"], first), min(leaf["end"], last)
        for i in range(np.uint64(start), np.uint64(max(end, start))):
            leaf_of[np.uint64(growth.rows[i])] = k


@kernel
def walk_rows(bins, walk, goes_left, others, leaf_of):
    """Write the number of its leaf for each of some rows, by walking the tree.

    Four rows walk at once, so that their waits for memory overlap; a leaf is its own child.

    Parameters
    ----------
    bins : (n_rows, n_columns) uint8
    walk : Walk
    goes_left : uint8 (n_nodes, MAX_BINS)
    others : uint32, rows of the table
    leaf_of : (n_rows,) uint16 or uint32, written
    """
    i, end = np.uint64(0), np.uint64(len(others))
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    while i + three < end:
        row_a, row_b = np.uint64(others[i]), np.uint64(others[i + one])
        row_c, row_d = np.uint64(others[i + two]), np.uint64(others[i + three])
        a = b = c = d = np.uint64(0)
        moving = True
        while moving:
            next_a = step(bins, walk, goes_left, row_a, a)
            next_b = step(bins, walk, goes_left, row_b, b)
            next_c = step(bins, walk, goes_left, row_c, c)
            next_d = step(bins, walk, goes_left, row_d, d)
            moving = next_a != a or next_b != b or next_c != c or next_d != d
            a, b, c, d = next_a, next_b, next_c, next_d
        leaf_of[row_a], leaf_of[row_b] = walk.leaf[a], walk.leaf[b]
        leaf_of[row_c], leaf_of[row_d] = walk.leaf[c], walk.leaf[d]
        i += np.uint64(4)
    while i < end:
        row = np.uint64(others[i])
        at = np.uint64(0)
        to = step(bins, walk, goes_left, row, at)
        while to != at:
            at = to
            to = step(bins, walk, goes_left, row, at)
        leaf_of[row] = walk.leaf[at]
        i += one


@inner_kernel
def step(bins, walk, goes_left, row, at):
    """Return the node that a row goes to from one, uint64."""
    is_left = goes_left[at, np.uint64(bins[row, np.uint64(walk.column[at])])]
    return np.uint64(walk.children[at, np.uint64(is_left)])


@kernel
def walk_listed(bins, growth, leaf, others, leaf_of):
    """Do as `walk_rows`, where some columns are listed.

    Parameters
    ----------
    leaf : int64 (n_nodes,), as of `Walk`
    """
    nodes = growth.nodes
    stride = growth.cells.shape[1] // len(bins.places.length)
    for i in range(np.uint64(len(others))):
        row = np.uint64(others[i])
        at = 0
        while nodes[at]["left"] >= 0:
            b = cell_of(bins, row, nodes[at]["feature"], stride)
            at = nodes[at]["left"] if growth.goes_left[at, b] else nodes[at]["right"]
        leaf_of[row] = leaf[at]


@kernel
def add_leaves(score, leaf_of, values, first, last):
    """Add the value of each row's leaf to its score.

    Parameters
    ----------
    score : (n_rows,) float64
    leaf_of : (n_rows,) uint16 or uint32
    values : (n_leaves,) float64
    """
    for i in range(np.uint64(first), np.uint64(last)):
        score[i] += values[np.uint64(leaf_of[i])]
