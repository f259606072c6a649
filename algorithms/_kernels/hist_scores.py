"""Add a grown tree to the scores of all rows.

The rows of a leaf stand together after growth, so each row's leaf is known without a walk; rows
that the tree was not grown on walk down its bins.
"""

import numpy as np

from algorithms._kernels.hist_lists import cell_of
from algorithms._kernels.jit import kernel


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
def walk_bins(bins, growth, leaf_of_node, others, leaf_of, first, last):
    """Write the number of its leaf for each of others[first : last], by walking the tree.

    Parameters
    ----------
    leaf_of_node : (n_nodes,) int64
    others : uint32, rows of the table
    """
    nodes = growth.nodes
    stride = growth.planes.shape[2] // len(bins.places.length)
    for i in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(others[i])
        at = 0
        while nodes[at]["left"] >= 0:
            b = cell_of(bins, row, nodes[at]["feature"], stride)
            at = nodes[at]["left"] if growth.goes_left[at, b] else nodes[at]["right"]
        leaf_of[row] = leaf_of_node[at]


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
