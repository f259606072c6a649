"""Traversal of one tree, sixteen rows at a time, so that memory latencies overlap.

Thresholds are float32, rounded down: for a float32 x, x ≤ t is equivalent to the comparison with
the largest float32 that is not above t. A leaf is its own child, so a row that has arrived stays
there until the other rows of its group have arrived.

The child is computed without a branch, because half the branches would be mispredicted: siblings
are adjacent, so it is the left one plus the result of x > threshold. Pairs of siblings are in the
order of their parents; in depth-first order a path then touches few cache lines. The positions of
the rows are two tuples, which stay in registers.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

GROUP = 16
STEP = np.dtype(
    [
        ("threshold", np.float32),  # x > threshold goes to child ``left`` + 1
        ("feature", np.uint32),  # the high bit is MISSING_RIGHT
        ("left", np.uint32),
    ]
)
MISSING_RIGHT = np.uint32(1 << 31)
FEATURE = np.uint32((1 << 31) - 1)


@kernel
def pack_steps(nodes, place, steps, order):
    """Convert the nodes of a tree to the steps of `find_leaves`.

    Parameters
    ----------
    nodes : (n_nodes,) NODE, parents before their children
    place : (n_nodes,) uint32, scratch space
    steps : (n_nodes,) STEP, written
    order : (n_nodes,) uint32, node index of each step, written
    """
    free = np.uint32(1)
    place[0] = 0
    for i in range(len(nodes)):
        node, at = nodes[i], place[i]
        step = steps[at]
        order[at] = i
        if node["left"] < 0:
            step["threshold"] = np.float32(np.inf)
            step["feature"] = np.uint32(0)
            step["left"] = at
            continue
        step["threshold"] = round_down(node["threshold"])
        step["feature"] = np.uint32(node["feature"])
        if not node["missing_left"]:
            step["feature"] |= MISSING_RIGHT
        step["left"] = place[node["left"]] = free
        place[node["right"]] = free + np.uint32(1)
        free += np.uint32(2)


@inner_kernel
def round_down(threshold):
    """Return the largest float32 that is not above a float64."""
    rounded = np.float32(threshold)
    if np.float64(rounded) > threshold:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return rounded


@inner_kernel
def next_step(steps, X, row, at, missing):
    """Return the next step of a row; ``missing`` is a constant: the row may have NaN."""
    step = steps[at]
    feature = step["feature"]
    x = X[row, np.uint64(feature & FEATURE)]
    to_right = np.uint64(x > step["threshold"])
    if missing:
        to_right |= np.uint64(np.isnan(x)) & np.uint64(feature >> np.uint32(31))
    return np.uint64(step["left"]) + to_right


@kernel
def has_missing(X, first, last):
    """Return whether one of the rows first … last − 1 of X has a missing value."""
    result = False
    for row in range(first, last):
        for j in range(X.shape[1]):
            result |= np.isnan(X[row, j])
    return result


@kernel
def find_leaves(steps, order, X, missing, leaves, first, last):
    """Write the leaf of each of the rows first … last − 1 of X.

    Parameters
    ----------
    steps : (n_nodes,) STEP
    order : (n_nodes,) uint32, node index of each step
    X : (n_rows, n_features) float32, C-contiguous
    missing : whether these rows may have missing values; the check takes a quarter of the time
    leaves : (n_rows,) int64, written
    """
    whole = last - (last - first) % GROUP
    for row in range(first, whole, GROUP):
        if missing:
            find_sixteen(steps, order, X, leaves, np.uint64(row), True)
        else:
            find_sixteen(steps, order, X, leaves, np.uint64(row), False)
    for row in range(whole, last):
        find_one(steps, order, X, leaves, np.uint64(row))


@inner_kernel
def find_one(steps, order, X, leaves, row):
    """Write the leaf of one row."""
    at, to = np.uint64(1), np.uint64(0)
    while to != at:
        at = to
        to = next_step(steps, X, row, at, True)
    leaves[row] = order[at]


@inner_kernel
def find_sixteen(steps, order, X, leaves, row, missing):
    """Write the leaves of sixteen rows; arrival is checked after every second step."""
    root, other = np.uint64(0), row + np.uint64(8)
    low = high = (root, root, root, root, root, root, root, root)
    moving = np.uint64(1)
    while moving != np.uint64(0):
        from_low = step_eight(steps, X, row, low, missing)
        from_high = step_eight(steps, X, other, high, missing)
        low = step_eight(steps, X, row, from_low, missing)
        high = step_eight(steps, X, other, from_high, missing)
        moving = differ(from_low, low) | differ(from_high, high)
    write_eight(order, low, leaves, row)
    write_eight(order, high, leaves, other)


@inner_kernel
def write_eight(order, at, leaves, row):
    """Write the nodes of eight rows."""
    leaves[row] = order[at[0]]
    leaves[row + np.uint64(1)] = order[at[1]]
    leaves[row + np.uint64(2)] = order[at[2]]
    leaves[row + np.uint64(3)] = order[at[3]]
    leaves[row + np.uint64(4)] = order[at[4]]
    leaves[row + np.uint64(5)] = order[at[5]]
    leaves[row + np.uint64(6)] = order[at[6]]
    leaves[row + np.uint64(7)] = order[at[7]]


@inner_kernel
def step_eight(steps, X, row, at, missing):
    """Return the next steps of eight rows."""
    return (
        next_step(steps, X, row, at[0], missing),
        next_step(steps, X, row + np.uint64(1), at[1], missing),
        next_step(steps, X, row + np.uint64(2), at[2], missing),
        next_step(steps, X, row + np.uint64(3), at[3], missing),
        next_step(steps, X, row + np.uint64(4), at[4], missing),
        next_step(steps, X, row + np.uint64(5), at[5], missing),
        next_step(steps, X, row + np.uint64(6), at[6], missing),
        next_step(steps, X, row + np.uint64(7), at[7], missing),
    )


@inner_kernel
def differ(a, b):
    """Return a non-zero number if any of the eight pairs differs."""
    low = (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])
    high = (a[4] ^ b[4]) | (a[5] ^ b[5]) | (a[6] ^ b[6]) | (a[7] ^ b[7])
    return low | high


@kernel
def add_values(values, leaves, out, first, last):
    """Add the value of each row's leaf to ``out``, for the rows first … last − 1."""
    for row in range(first, last):
        for k in range(values.shape[1]):
            out[row, k] += values[leaves[row], k]
