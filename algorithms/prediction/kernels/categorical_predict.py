"""Traversal of a tree with categorical splits; `predict` is the one for numeric splits."""

import numpy as np

from algorithms.prediction.kernels.predict import FEATURE, next_step
from algorithms.runtime.jit import inner_kernel, kernel

GROUP = 8  # rows that are traversed together
SET = np.dtype(  # category set of a step, as a bit set of 32-bit words
    [
        ("first", np.int64),  # index of its first word
        ("words", np.int32),  # number of words; -1: numeric split
        ("to_left", np.int32),
    ]
)


@inner_kernel
def next_by_set(steps, sets, bits, X, row, at):
    """Return the next step of a row."""
    category_set, step = sets[at], steps[at]
    x = X[row, np.uint64(step["feature"] & FEATURE)]
    if category_set["words"] < 0 or np.isnan(x):
        return next_step(steps, X, row, at, True)
    is_member = np.int32(0)
    if 0.0 <= x < 32.0 * category_set["words"]:
        code = np.int64(x)
        is_member = np.int32(
            (bits[category_set["first"] + (code >> 5)] >> np.uint32(code & 31)) & 1
        )
    return np.uint64(step["left"]) + np.uint64(is_member != category_set["to_left"])


@kernel
def find_leaves_by_sets(steps, order, sets, bits, X, leaves, first, last):
    """Write the leaf of each of the rows first … last − 1 of X.

    Parameters
    ----------
    steps : (n_nodes,) predict.STEP
    order : (n_nodes,) uint32, node index of each step
    sets : (n_nodes,) SET, one per step
    bits : uint32, the words of all sets
    X : (n_rows, n_features) float32, C-contiguous, codes in categorical columns
    leaves : (n_rows,) int64, written
    """
    for start in range(first, last, GROUP):
        end = min(start + GROUP, last)
        for row in range(start, end):
            leaves[row] = 0
        moving = True
        while moving:
            moving = False
            for row in range(np.uint64(start), np.uint64(end)):
                at = np.uint64(leaves[row])
                to = next_by_set(steps, sets, bits, X, row, at)
                leaves[row] = to
                moving |= to != at
        for row in range(start, end):
            leaves[row] = order[leaves[row]]
