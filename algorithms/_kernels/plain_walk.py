"""Walk rows down trees that ask numbers alone: eight rows at once, a node in 16 bytes.

A step waits for the node, then for the value it asks, then for the comparison: some twenty cycles,
in which seven other rows take theirs. Where they stand is a tuple, which stays in registers; an
array of eight would be stored and loaded in every step. The right child lies behind the left, so
the comparison is added to its number. A leaf is its own left child.

Where a block of rows has no gaps, a step needs no look at NaN, which is a third of its time.
"""

import numpy as np

from algorithms._kernels.hist_predict import BLOCK, add_leaves
from algorithms._kernels.jit import inner_kernel, kernel

EIGHT = 8
BURST = 12  # steps after which is seen whether all rows have arrived
GAPS_LEFT = 1  # the lowest bit of what a node asks: NaN goes left
NODE = np.dtype(
    [
        ("threshold", np.float64),  # x <= threshold goes left
        ("left", np.int32),  # the right child is the next one
        ("asks", np.int32),  # twice the feature, and GAPS_LEFT
    ]
)


@kernel
def add_plain_trees(
    nodes, roots, depth, values, output, x, width, rounds_sums, at, out, first, last
):
    """Add the trees' leaves to the scores of the rows first … last − 1.

    Parameters
    ----------
    nodes : (n_nodes,) NODE
    roots, depth : (n_trees,) int64, the first node and the most steps to a leaf
    values : (n_nodes, n_values) float64, times the weights of the trees
    output : (n_trees,) int64, the first score that a tree adds to
    x : (n_rows · width,) float32 or float64, X row by row
    width : int, number of columns of X
    rounds_sums : bool, whether sums are rounded to float32
    at : (BLOCK,) int64, scratch space
    out : (n_rows, n_scores) float64, added to
    """
    worth_a_look = width <= EIGHT * len(roots)
    for start in range(first, last, BLOCK):
        n = min(BLOCK, last - start)
        gaps = True
        if worth_a_look:
            gaps = has_gaps(x, start * width, (start + n) * width)
        for t in range(len(roots)):
            root, steps, whole = roots[t], depth[t], n - n % EIGHT
            for i in range(0, whole, EIGHT):
                row = (start + i) * width
                if gaps:
                    descend(nodes, x, row, width, root, steps, True, at, i)
                else:
                    descend(nodes, x, row, width, root, steps, False, at, i)
            for i in range(whole, n):
                here = root
                for _ in range(steps):
                    here = go(nodes, x, (start + i) * width, here, True)
                at[i] = here
            add_leaves(values, at, output[t], rounds_sums, out, start, n)


@inner_kernel
def has_gaps(x, first, last):
    """Return whether some of the values are NaN."""
    found = np.int64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        found |= np.int64(x[i] != x[i])
    return found != 0


@inner_kernel
def descend(nodes, x, row, width, root, steps, gaps, at, first):
    """Write the leaves of eight rows, the first of which begins at ``row`` of x."""
    here = (root, root, root, root, root, root, root, root)
    left = steps
    while left > 0:
        for _ in range(min(left, BURST)):
            here = go_all(nodes, x, row, width, here, gaps)
        left -= BURST
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
def go_all(nodes, x, row, width, here, gaps):
    """Return where eight rows stand after a step."""
    return (
        go(nodes, x, row, here[0], gaps),
        go(nodes, x, row + width, here[1], gaps),
        go(nodes, x, row + 2 * width, here[2], gaps),
        go(nodes, x, row + 3 * width, here[3], gaps),
        go(nodes, x, row + 4 * width, here[4], gaps),
        go(nodes, x, row + 5 * width, here[5], gaps),
        go(nodes, x, row + 6 * width, here[6], gaps),
        go(nodes, x, row + 7 * width, here[7], gaps),
    )


@inner_kernel
def go(nodes, x, row, here, gaps):
    """Return where a row stands after a step."""
    node = nodes[np.uint64(here)]
    asks = node["asks"]
    value = np.float64(x[np.uint64(row + (asks >> 1))])
    to_left = np.int64(value <= node["threshold"])
    if gaps:
        to_left |= np.int64(value != value) & asks & GAPS_LEFT  # noqa: PLR0124 - as above
    return np.int64(node["left"]) + (to_left ^ 1)


@inner_kernel
def have_arrived(nodes, here):
    """Return whether eight rows stand at leaves."""
    away = np.int64(nodes[np.uint64(here[0])]["left"]) ^ here[0]
    away |= np.int64(nodes[np.uint64(here[1])]["left"]) ^ here[1]
    away |= np.int64(nodes[np.uint64(here[2])]["left"]) ^ here[2]
    away |= np.int64(nodes[np.uint64(here[3])]["left"]) ^ here[3]
    away |= np.int64(nodes[np.uint64(here[4])]["left"]) ^ here[4]
    away |= np.int64(nodes[np.uint64(here[5])]["left"]) ^ here[5]
    away |= np.int64(nodes[np.uint64(here[6])]["left"]) ^ here[6]
    away |= np.int64(nodes[np.uint64(here[7])]["left"]) ^ here[7]
    return away == 0
