"""Traversal of trees with numeric splits: eight rows at once, 16 bytes per node.

A step waits for the node, then for its feature value, then for the comparison: some twenty cycles,
during which seven other rows take their steps. A single row traverses eight trees at once; its
leaf values are still added tree by tree. The eight positions are a tuple, which stays in registers;
an array would be stored and loaded in every step. The right child follows the left one, so the
result of the comparison is added to its index. A leaf is its own left child.

If a block of rows has no missing values, a step needs no check for NaN, which is a third of its
time. The same check tests whether values are within bounds, so X is read only once.
"""

import numpy as np

from algorithms.prediction.kernels.walk import BLOCK, add_leaves
from algorithms.runtime.jit import inner_kernel, kernel

EIGHT = 8
GAPS_LEFT = 1  # lowest bit of the field ``asks``: NaN goes left
HAS_NAN, FAR = 1, 2  # results of `check_values`: NaN, out of bounds
NODE = np.dtype(
    [
        ("threshold", np.float64),  # x <= threshold goes left
        ("left", np.int32),  # the right child is the next one
        ("asks", np.int32),  # 2 × feature + GAPS_LEFT
    ]
)


@kernel
def add_numeric_trees(nodes, roots, paths, values, output, x, width, most, rounds_sums, at, out):
    """Add the trees' leaf values to the scores of all rows.

    Parameters
    ----------
    nodes : (n_nodes,) NODE
    roots : (n_trees,) int64, root nodes
    paths : (n_trees, 2) int64, the maximum number of steps to a leaf, and the number of steps
        between two checks whether all rows have arrived
    values : (n_nodes, n_values) float64, times the weights of the trees
    output : (n_trees,) int64, the first score that a tree adds to
    x : (n_rows · width,) float32 or float64, X row by row
    width : int, number of columns of X
    most : of the dtype of x, the largest absolute value that is allowed, or infinity
    rounds_sums : bool, whether sums are rounded to float32
    at : (BLOCK,) int64, scratch space
    out : (n_rows, n_scores) float64, added to

    Returns
    -------
    bool, whether a value is larger than ``most``
    """
    is_checked = np.isfinite(most) or width <= EIGHT * len(roots)
    all_flags = np.int64(0)
    for start in range(0, len(out), BLOCK):
        n = min(BLOCK, len(out) - start)
        flags = np.int64(HAS_NAN)
        if is_checked:
            flags = check_values(x, start * width, (start + n) * width, most)
            all_flags |= flags
        has_nan = flags & HAS_NAN != 0
        whole = n - n % EIGHT
        for t in range(len(roots) if whole else 0):
            for i in range(0, whole, EIGHT):
                row = (start + i) * width
                if has_nan:
                    descend(nodes, x, row, width, eight_of(roots[t]), paths[t], True, at, i)
                else:
                    descend(nodes, x, row, width, eight_of(roots[t]), paths[t], False, at, i)
            add_leaves(values, at, output[t], rounds_sums, out, start, whole)
        for row in range(start + whole, start + n):
            add_to_row(nodes, roots, paths, values, output, x, width, rounds_sums, at, out, row)
    return all_flags & FAR != 0


@inner_kernel
def add_to_row(nodes, roots, paths, values, output, x, width, rounds_sums, at, out, row):
    """Add the trees' leaf values to the scores of one row, traversing eight trees at once."""
    n_trees = len(roots)
    for t in range(0, n_trees - n_trees % EIGHT, EIGHT):
        most = at_once = 0
        for k in range(t, t + EIGHT):
            most, at_once = max(most, paths[k, 0]), max(at_once, paths[k, 1])
        descend(nodes, x, row * width, 0, roots_from(roots, t), (most, at_once), True, at, 0)
        for k in range(EIGHT):
            add_leaf(values, at[k], output[t + k], rounds_sums, out, row)
    for t in range(n_trees - n_trees % EIGHT, n_trees):
        here = roots[t]
        for _ in range(paths[t, 0]):
            here = go(nodes, x, row * width, here, True)
        add_leaf(values, here, output[t], rounds_sums, out, row)


@inner_kernel
def add_leaf(values, here, output, rounds_sums, out, row):
    """Add the value of a leaf to the scores of a row."""
    for k in range(values.shape[1]):
        total = out[row, output + k] + values[here, k]
        out[row, output + k] = np.float64(np.float32(total)) if rounds_sums else total


@inner_kernel
def eight_of(root):
    """Return the root of one tree as the positions of eight rows."""
    return root, root, root, root, root, root, root, root


@inner_kernel
def roots_from(roots, t):
    """Return the roots of the eight trees from t on."""
    return (
        roots[t],
        roots[t + 1],
        roots[t + 2],
        roots[t + 3],
        roots[t + 4],
        roots[t + 5],
        roots[t + 6],
        roots[t + 7],
    )


@inner_kernel
def check_values(x, first, last, most):
    """Return flags: some values are NaN (HAS_NAN), some are larger than ``most`` (FAR)."""
    has_nan = np.int64(0)
    far = np.int64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        value = x[i]
        has_nan |= np.int64(value != value)  # noqa: PLR0124 - NaN alone is not itself
        far |= np.int64(abs(value) > most)
    return has_nan * HAS_NAN + far * FAR


@inner_kernel
def descend(nodes, x, row, width, here, path, has_nan, at, first):
    """Write the leaves of eight rows; the first begins at position ``row`` of x.

    Parameters
    ----------
    width : distance between rows; 0: a single row
    here : eight roots
    path : maximum number of steps, and number of steps between two checks for arrival
    """
    left, at_once = path[0], path[1]
    while left > 0:
        for _ in range(min(left, at_once)):
            here = go_all(nodes, x, row, width, here, has_nan)
        left -= at_once
        if left > 0 and have_arrived(nodes, here):
            break
    at[first] = here[0]
    at[first + 1] = here[1]
    at[first + 2] = here[2]
    at[first + 3] = here[3]
    at[first + 4] = here[4]
    at[first + 5] = here[5]
    at[first + 6] = here[6]
    at[first + 7] = here[7]


@inner_kernel
def go_all(nodes, x, row, width, here, has_nan):
    """Return the nodes of eight rows after a step."""
    return (
        go(nodes, x, row, here[0], has_nan),
        go(nodes, x, row + width, here[1], has_nan),
        go(nodes, x, row + 2 * width, here[2], has_nan),
        go(nodes, x, row + 3 * width, here[3], has_nan),
        go(nodes, x, row + 4 * width, here[4], has_nan),
        go(nodes, x, row + 5 * width, here[5], has_nan),
        go(nodes, x, row + 6 * width, here[6], has_nan),
        go(nodes, x, row + 7 * width, here[7], has_nan),
    )


@inner_kernel
def go(nodes, x, row, here, has_nan):
    """Return the node of a row after a step."""
    node = nodes[np.uint64(here)]
    packed = node["asks"]
    value = np.float64(x[np.uint64(row + (packed >> 1))])
    to_left = np.int64(value <= node["threshold"])
    if has_nan:
        to_left |= np.int64(value != value) & packed & GAPS_LEFT  # noqa: PLR0124 - as above
    return np.int64(node["left"]) + (to_left ^ 1)


@inner_kernel
def have_arrived(nodes, here):
    """Return whether eight rows are at leaves."""
    away = np.int64(nodes[np.uint64(here[0])]["left"]) ^ here[0]
    away |= np.int64(nodes[np.uint64(here[1])]["left"]) ^ here[1]
    away |= np.int64(nodes[np.uint64(here[2])]["left"]) ^ here[2]
    away |= np.int64(nodes[np.uint64(here[3])]["left"]) ^ here[3]
    away |= np.int64(nodes[np.uint64(here[4])]["left"]) ^ here[4]
    away |= np.int64(nodes[np.uint64(here[5])]["left"]) ^ here[5]
    away |= np.int64(nodes[np.uint64(here[6])]["left"]) ^ here[6]
    away |= np.int64(nodes[np.uint64(here[7])]["left"]) ^ here[7]
    return away == 0
