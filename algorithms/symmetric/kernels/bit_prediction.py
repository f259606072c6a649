"""Predict with symmetric trees by the bits of their splits.

All rows of a block answer one split at a time: a comparison of bytes, which the compiler turns
into vector instructions. The answers are the bits of the leaf's index.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

BLOCK = 512  # rows whose leaf indices are found together
BYTE = 8  # splits whose answers fit into a byte


@kernel
def add_trees(columns, features, split_bins, starts, values, leaf_starts, leaf_of, out, n_rows):
    """Add the values of trees to the scores of the rows.

    Parameters
    ----------
    columns : uint8 (n_features, at least n_rows), bins
    features, split_bins : int64, of all splits of all trees; bins above are true
    starts : int64 (n_trees + 1,), start of each tree's splits
    values : float64 (n_leaves, n_scores), of all trees
    leaf_starts : int64 (n_trees,), start of each tree's leaves
    leaf_of : uint8 (2, BLOCK), scratch space: low and high byte of the leaf's index
    out : float64 (n_rows, n_scores), added to
    n_rows : int
    """
    flat, scores, n_scores = values.reshape(-1), out.reshape(-1), values.shape[1]
    for first in range(0, n_rows, BLOCK):
        count = np.uint64(min(BLOCK, n_rows - first))
        for tree in range(len(leaf_starts)):
            start, end = starts[tree], starts[tree + 1]
            middle = min(start + BYTE, end)
            answer(columns, features, split_bins, start, middle, leaf_of[0], first, count)
            answer(columns, features, split_bins, middle, end, leaf_of[1], first, count)
            base = np.uint64(leaf_starts[tree])
            if n_scores == 1 and end == middle:
                for i in range(count):
                    scores[np.uint64(first) + i] += flat[base + np.uint64(leaf_of[0, i])]
            else:
                for i in range(count):
                    leaf = base + np.uint64(leaf_of[0, i]) + (np.uint64(leaf_of[1, i]) << BYTE)
                    for k in range(n_scores):
                        out[np.uint64(first) + i, k] += values[leaf, k]


@inner_kernel
def answer(columns, features, split_bins, start, end, leaf_of, first, count):
    """Write the answers of a block of rows to at most eight splits as the bits of a byte."""
    begin, zero = np.uint64(first), np.uint8(0)
    for i in range(count):
        leaf_of[i] = zero
    for split in range(start, end):
        column, border = columns[features[split]], np.uint8(split_bins[split])
        bit = np.uint8(1 << (split - start))
        for i in range(count):
            leaf_of[i] |= bit if column[begin + i] > border else zero
