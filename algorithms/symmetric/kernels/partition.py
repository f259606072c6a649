"""Keep the rows of each leaf together, and find the leaf of every row.

Leaf k of a tree with d splits has the bits of its rows' answers: bit j is 1 where split j holds.
A further split sends the rows of leaf k to leaf k and to leaf k + 2ᵈ.
"""

import numpy as np

from algorithms.runtime.jit import kernel


@kernel
def count_sides(column, border, rows, starts, ends, n_leaves, counts, first, last):
    """Count, for each leaf, the rows on both sides among the positions first … last − 1.

    Parameters
    ----------
    column : uint8 (n_rows,), bins of the split's feature
    border : bins above it go to the true side
    rows : uint32, rows grouped by leaf
    starts, ends : int64, range of each leaf in ``rows``
    counts : int64 (2, n_leaves), written
    """
    for leaf in range(n_leaves):
        start, end = max(starts[leaf], first), min(ends[leaf], last)
        n_true = 0
        for i in range(start, end):
            n_true += np.int64(column[np.uint64(rows[i])] > border)
        counts[0, leaf] = max(end - start, 0) - n_true
        counts[1, leaf] = n_true


@kernel
def partition_rows(column, border, rows, starts, ends, n_leaves, places, spare, first, last):
    """Write the rows at positions first … last − 1 to their places after a split.

    Parameters
    ----------
    places : int64 (2, n_leaves), the next position of each side of each leaf; written
    spare : uint32, written; the other parameters are as in `count_sides`
    """
    for leaf in range(n_leaves):
        start, end = max(starts[leaf], first), min(ends[leaf], last)
        low, high = places[0, leaf], places[1, leaf]
        for i in range(start, end):
            row = rows[i]
            if column[np.uint64(row)] > border:
                spare[high] = row
                high += 1
            else:
                spare[low] = row
                low += 1


@kernel
def find_leaves(columns, features, split_bins, leaf_of, first, last):
    """Write the leaf of the rows first … last − 1.

    Parameters
    ----------
    columns : uint8 (n_features, n_rows)
    features : int64 (depth,), the feature of each split
    split_bins : int64 (depth,), bins above it go to the true side
    leaf_of : (n_rows,) uint16, written
    """
    for i in range(np.uint64(first), np.uint64(last)):
        leaf_of[i] = 0
    for level in range(len(features)):
        column = columns[features[level]]
        border, bit = np.uint8(split_bins[level]), np.uint16(1 << level)
        for i in range(np.uint64(first), np.uint64(last)):
            leaf_of[i] |= bit * np.uint16(column[i] > border)
