"""Add a grown tree to the scores of all rows.

After growth the rows of each leaf are contiguous, so the leaves of training rows are known without
a traversal. Rows that the tree was not grown on are partitioned in the same way.
"""

import numpy as np

from algorithms.gbdt.kernels.partition import partition_alone
from algorithms.gbdt.kernels.sparse_columns import cell_of
from algorithms.runtime.jit import kernel


@kernel
def mark_leaves(growth, n_leaves, leaf_of, first, last):
    """Write the leaf index of each of growth.rows[first : last].

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
def list_unmarked(leaf_of, mark, first, last, out):
    """Write the rows among first … last − 1 whose leaf is ``mark``; return how many."""
    count = np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        out[count] = np.uint32(i)
        count += np.uint64(leaf_of[i] == mark)
    return np.int64(count)


@kernel
def partition_others(nodes, goes_left, columns, place, leaf, rows, spare, spans, leaf_of):
    """Write the leaf index of each of some rows, by partitioning them along the tree.

    This takes a third of the time of a traversal by row, because columns are read in order.

    Parameters
    ----------
    nodes : NODE (n_nodes,), parents before their children, each right child after its left sibling
    goes_left : uint8 (n_nodes, MAX_BINS)
    columns : uint8 (n_columns, n_rows)
    place : int64 (n_features,), column of each feature
    leaf : int64 (n_nodes,), index of the leaf that a node is
    rows : uint32, rows of the table; reordered
    spare : uint32, of the same length, scratch space
    spans : int64 (n_nodes, 2), scratch space: start and end of each node's rows
    leaf_of : (n_rows,) uint16 or uint32, written
    """
    spans[0, 0], spans[0, 1] = 0, len(rows)
    for at in range(len(nodes)):
        start, end, left = spans[at, 0], spans[at, 1], nodes[at]["left"]
        if left < 0:
            for i in range(np.uint64(start), np.uint64(end)):
                leaf_of[np.uint64(rows[i])] = leaf[at]
            continue
        column = columns[place[nodes[at]["feature"]]]
        n_left = partition_alone(rows, spare, column, np.uint64(1), goes_left[at], start, end)
        spans[left, 0], spans[left, 1] = start, start + n_left
        spans[left + 1, 0], spans[left + 1, 1] = start + n_left, end


@kernel
def find_leaves_by_traversal(bins, growth, leaf, others, leaf_of):
    """Write the leaf index of each of the rows ``others`` by traversal.

    Used for tables with sparse columns, or that are stored by rows only.

    Parameters
    ----------
    leaf : int64 (n_nodes,), index of the leaf that a node is
    """
    nodes = growth.nodes
    stride = growth.cells.shape[1] // len(bins.layout.length)
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
