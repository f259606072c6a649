"""Full binary trees, the form of a symmetric tree whose nodes are numbered level by level."""

import numpy as np


def leaf_order(depth):
    """Return the index of each leaf from left to right, with the first split as lowest bit."""
    order = np.zeros(1 << depth, np.int64)
    for level in range(depth):
        order |= ((np.arange(1 << depth) >> (depth - 1 - level)) & 1) << level
    return order


def node_weights(weights):
    """Return the weight of each node from those of the leaves, left to right: (2 n_leaves − 1,)."""
    levels = [weights]
    while len(levels[0]) > 1:
        levels.insert(0, levels[0][0::2] + levels[0][1::2])
    return np.concatenate(levels)
