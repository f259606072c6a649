"""Full binary trees, the form of a symmetric tree whose nodes are numbered level by level."""

import numpy as np


def leaf_order(depth):
    """Return the index of each leaf from left to right, with the first split as lowest bit."""
    order = np.zeros(1 << depth, np.int64)
    for level in range(depth):
        order |= ((np.arange(1 << depth) >> (depth - 1 - level)) & 1) << level
    return order


def node_weights(weights):
    """Return the weight of each node, (…, 2 n_leaves − 1).

    Parameters
    ----------
    weights : float64 (…, n_leaves), of the leaves from left to right
    """
    levels = [weights]
    while levels[0].shape[-1] > 1:
        levels.insert(0, levels[0][..., 0::2] + levels[0][..., 1::2])
    return np.concatenate(levels, axis=-1)
