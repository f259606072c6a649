"""Walk rows down a tree, eight at a time, so that the waits for memory overlap.

Thresholds are kept in float32, rounded down: x ≤ t holds for a float32 x exactly where it holds
for the largest float32 that is not above t. A leaf is its own child, so that a row which has
arrived stays there until the others of its group have.
"""

import numpy as np

from algorithms._kernels.jit import inner_kernel, kernel

GROUP = 8
STEP = np.dtype(
    [
        ("threshold", np.float32),
        ("feature", np.uint32),  # with MISSING_LEFT in the high bit
        ("left", np.uint32),
        ("right", np.uint32),
    ]
)
MISSING_LEFT = np.uint32(1 << 31)
FEATURE = np.uint32((1 << 31) - 1)


@kernel
def pack_steps(nodes, steps):
    """Write the nodes of a tree in the form that `find_leaves` walks."""
    for i in range(len(nodes)):
        node, step = nodes[i], steps[i]
        if node["left"] < 0:
            step["threshold"] = np.float32(np.inf)
            step["feature"] = np.uint32(0)
            step["left"] = np.uint32(i)
            step["right"] = np.uint32(i)
            continue
        threshold = np.float32(node["threshold"])
        if np.float64(threshold) > node["threshold"]:
            threshold = np.nextafter(threshold, np.float32(-np.inf))
        step["threshold"] = threshold
        step["feature"] = np.uint32(node["feature"])
        if node["missing_left"]:
            step["feature"] |= MISSING_LEFT
        step["left"] = np.uint32(node["left"])
        step["right"] = np.uint32(node["right"])


@inner_kernel
def next_step(steps, X, row, at):
    """Return where a row goes from a node."""
    step = steps[at]
    x = X[row, np.uint64(step["feature"] & FEATURE)]
    if x <= step["threshold"] or (np.isnan(x) and step["feature"] & MISSING_LEFT):
        return np.uint64(step["left"])
    return np.uint64(step["right"])


@kernel
def find_leaves(steps, X, leaves, first, last):
    """Write the leaf of each of the rows first … last − 1 of X.

    Parameters
    ----------
    steps : (n_nodes,) STEP
    X : (n_rows, n_features) float32, C-contiguous
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
                to = next_step(steps, X, row, at)
                leaves[row] = to
                moving |= to != at


@kernel
def add_values(values, leaves, out, first, last):
    """Add the value of each row's leaf to ``out``, for the rows first … last − 1."""
    for row in range(first, last):
        for k in range(values.shape[1]):
            out[row, k] += values[leaves[row], k]
