"""Walk rows down a tree, eight at a time, so that the waits for memory overlap.

Thresholds are kept in float32, rounded down: x ≤ t holds for a float32 x exactly where it holds
for the largest float32 that is not above t. A leaf is its own child, so that a row which has
arrived stays there until the others of its group have.

Which child comes next is computed, as half of all guesses would be wrong; written as a choice it
is compiled to a branch. Where eight rows stand is a tuple, which stays in registers.
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
    asks = step["feature"]
    x = X[row, np.uint64(asks & FEATURE)]
    to_left = np.int64(x <= step["threshold"])
    to_left |= np.int64(x != x) & np.int64(asks >> np.uint32(31))  # noqa: PLR0124 - NaN alone is
    left, right = np.int64(step["left"]), np.int64(step["right"])
    return np.uint64(right ^ ((left ^ right) & -to_left))


@kernel
def find_leaves(steps, X, leaves, first, last):
    """Write the leaf of each of the rows first … last − 1 of X.

    Parameters
    ----------
    steps : (n_nodes,) STEP
    X : (n_rows, n_features) float32, C-contiguous
    leaves : (n_rows,) int64, written
    """
    whole = last - (last - first) % GROUP
    for row in range(first, whole, GROUP):
        find_eight(steps, X, leaves, np.uint64(row))
    for row in range(whole, last):
        find_one(steps, X, leaves, np.uint64(row))


@inner_kernel
def find_one(steps, X, leaves, row):
    """Write the leaf of a row."""
    at, to = np.uint64(1), np.uint64(0)
    while to != at:
        at = to
        to = next_step(steps, X, row, at)
    leaves[row] = at


@inner_kernel
def find_eight(steps, X, leaves, row):
    """Write the leaves of eight rows."""
    root = np.uint64(0)
    at = (root, root, root, root, root, root, root, root)
    moving = True
    while moving:
        to = step_eight(steps, X, row, at)
        moving = differ(at, to)
        at = to
    leaves[row] = at[0]
    leaves[row + np.uint64(1)] = at[1]
    leaves[row + np.uint64(2)] = at[2]
    leaves[row + np.uint64(3)] = at[3]
    leaves[row + np.uint64(4)] = at[4]
    leaves[row + np.uint64(5)] = at[5]
    leaves[row + np.uint64(6)] = at[6]
    leaves[row + np.uint64(7)] = at[7]


@inner_kernel
def step_eight(steps, X, row, at):
    """Return where eight rows go from their nodes."""
    return (
        next_step(steps, X, row, at[0]),
        next_step(steps, X, row + np.uint64(1), at[1]),
        next_step(steps, X, row + np.uint64(2), at[2]),
        next_step(steps, X, row + np.uint64(3), at[3]),
        next_step(steps, X, row + np.uint64(4), at[4]),
        next_step(steps, X, row + np.uint64(5), at[5]),
        next_step(steps, X, row + np.uint64(6), at[6]),
        next_step(steps, X, row + np.uint64(7), at[7]),
    )


@inner_kernel
def differ(a, b):
    """Return whether one of eight numbers is another one."""
    low = (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])
    high = (a[4] ^ b[4]) | (a[5] ^ b[5]) | (a[6] ^ b[6]) | (a[7] ^ b[7])
    return (low | high) != np.uint64(0)


@kernel
def add_values(values, leaves, out, first, last):
    """Add the value of each row's leaf to ``out``, for the rows first … last − 1."""
    for row in range(first, last):
        for k in range(values.shape[1]):
            out[row, k] += values[leaves[row], k]
