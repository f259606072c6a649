"""Predict with symmetric trees by the bits of their answers.

All rows of a block answer one split at a time: a comparison of bytes, which the compiler turns
into vector instructions. The answers are the bits of the leaf's index.
"""

import numpy as np

from algorithms.runtime.jit import kernel

BLOCK = 512  # rows whose leaf indices are found together


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
    leaf_of : uint16 (BLOCK,), scratch space
    out : float64 (n_rows, n_scores), added to
    n_rows : int
    """
    for first in range(0, n_rows, BLOCK):
        count = np.uint64(min(BLOCK, n_rows - first))
        begin = np.uint64(first)
        for tree in range(len(leaf_starts)):
            for i in range(count):
                leaf_of[i] = 0
            for split in range(starts[tree], starts[tree + 1]):
                column, border = columns[features[split]], np.uint8(split_bins[split])
                shift = np.uint16(split - starts[tree])
                for i in range(count):
                    leaf_of[i] |= np.uint16(column[begin + i] > border) << shift
            base = np.uint64(leaf_starts[tree])
            for k in range(np.uint64(values.shape[1])):
                for i in range(count):
                    out[begin + i, k] += values[base + np.uint64(leaf_of[i]), k]
