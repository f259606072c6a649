"""Traversal of trees with any kind of split, and the sum of their leaf values.

A block of rows traverses each tree while the tree is in the cache; within a block several rows are
traversed together, so that memory latencies overlap. A leaf is its own child: a row that has
arrived stays there until the other rows of its group have arrived. Values are added tree by tree,
so a row's sum is the same alone and in a batch. Trees with numeric splits only have a faster
traversal (`numeric_walk`), and so have those with a few other splits (`categorical_walk`).

Float32 sums are computed in float64: the float64 sum of two float32 numbers, rounded to float32, is
the float32 sum.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

BLOCK = 128  # rows
GROUP = 8  # rows that are traversed together
STEP = np.dtype(
    [
        (
            "threshold",
            np.float64,
        ),  # x <= threshold goes left; for a set the index of its first word
        ("feature", np.int32),
        ("kind", np.int32),  # bits: MISSING_LEFT, IS_SET, MEMBERS_LEFT, ZERO_MISSING
        ("left", np.int32),
        ("right", np.int32),
        ("words", np.int64),  # number of words of a set, 64 codes each
    ]
)
MISSING_LEFT, IS_SET, MEMBERS_LEFT, ZERO_MISSING = 1, 2, 4, 8


class Reading(NamedTuple):
    """Rules by which an ensemble reads values and sums them."""

    rounds_values: bool  # values are rounded to float32
    zero: float  # values up to this absolute value are read as 0
    rounds_sums: bool  # sums are rounded to float32


@inner_kernel
def goes_left(step, x, bits, reading):
    """Return whether a value goes left at a step."""
    kind = step["kind"]
    if np.isnan(x):
        return (kind & MISSING_LEFT) != 0
    if kind & (IS_SET | ZERO_MISSING) == 0:
        return x <= step["threshold"]
    if reading.rounds_values:
        x = np.float64(np.float32(x))
    if abs(x) <= reading.zero:
        x = 0.0
    if kind & ZERO_MISSING and x == 0.0:
        return (kind & MISSING_LEFT) != 0
    if kind & IS_SET:
        is_member = False
        if 0.0 <= x < 64.0 * step["words"]:
            code = np.int64(x)
            word = bits[np.int64(step["threshold"]) + (code >> 6)]
            is_member = (word >> np.uint64(code & 63)) & np.uint64(1) != 0
        return is_member == ((kind & MEMBERS_LEFT) != 0)
    return x <= step["threshold"]


@kernel
def add_trees(steps, bits, roots, values, output, X, reading, at, out):
    """Add the trees' leaf values to the scores of the rows of X.

    Parameters
    ----------
    steps : (n_nodes,) STEP
    bits : uint64, the words of all sets
    roots : (n_trees,) int64
    values : (n_nodes, n_values) float64, times the weights of the trees
    output : (n_trees,) int64, the first score that a tree adds to
    X : (n_rows, n_features) float32 or float64, C-contiguous
    reading : Reading
    at : (BLOCK,) int64, scratch space
    out : (n_rows, n_scores) float64, added to
    """
    for start in range(0, len(out), BLOCK):
        n = min(BLOCK, len(out) - start)
        for t in range(len(roots)):
            for i in range(n):
                at[i] = roots[t]
            for group in range(0, n, GROUP):
                walk(steps, bits, X, reading, at, start, group, min(group + GROUP, n))
            add_leaves(values, at, output[t], reading.rounds_sums, out, start, n)


@inner_kernel
def add_leaves(values, at, output, rounds_sums, out, start, n):
    """Add the leaf values of a block of rows to their scores."""
    first, column = np.uint64(start), np.uint64(output)
    for k in range(np.uint64(values.shape[1])):
        for i in range(np.uint64(n)):
            total = out[first + i, column + k] + values[np.uint64(at[i]), k]
            if rounds_sums:
                total = np.float64(np.float32(total))
            out[first + i, column + k] = total


@inner_kernel
def walk(steps, bits, X, reading, at, start, first, last):
    """Route some rows of a block down a tree to their leaves."""
    moving = True
    while moving:
        moving = False
        for i in range(np.uint64(first), np.uint64(last)):
            here = np.uint64(at[i])
            step = steps[here]
            x = np.float64(X[np.uint64(start) + i, np.uint64(step["feature"])])
            to = step["left"] if goes_left(step, x, bits, reading) else step["right"]
            at[i] = to
            moving |= np.uint64(to) != here
