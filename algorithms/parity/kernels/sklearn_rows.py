"""Sorting and partitioning of a node's rows in place, with scikit-learn's order.

After sorting by a feature, its missing values are at the end. For the second pass of the search
they are moved to the start.
"""

import numpy as np

from algorithms.parity.kernels.sklearn_sort import sort_pairs
from algorithms.runtime.array_moves import swap
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.tree_arrays import CLOSE


@inner_kernel
def sort_rows(given, search, feature, start, end):
    """Sort a node's rows by a feature, missing values last; return the number of these."""
    values = given.values[given.columns[feature]]
    samples, x = search.samples, search.x
    last = end - 1
    if given.missing[feature]:
        last = move_missing_to_end(values, samples, x, start, last)
    else:
        for p in range(start, end):
            x[p] = values[samples[p]]
    sort_pairs(x, samples, start, last + 1, search.pending)
    return end - 1 - last


@inner_kernel
def move_missing_to_end(values, samples, x, start, last):
    """Read the values at start … last, moving missing ones to the end; return the last present."""
    p = start
    while p <= last:
        if np.isnan(values[samples[last]]):
            last -= 1
            continue
        if np.isnan(values[samples[p]]):
            swap(samples, p, last)
            last -= 1
        x[p] = values[samples[p]]
        p += 1
    return last


@inner_kernel
def move_missing_to_start(search, start, end, n_missing):
    """Move the missing values from the end to the start; both parts keep their order."""
    middle = end - n_missing
    rotate(search.samples, start, middle, end)
    rotate(search.x, start, middle, end)


@inner_kernel
def rotate(array, start, middle, end):
    """Move the entries middle … end − 1 before the entries start … middle − 1."""
    reverse(array, start, middle)
    reverse(array, middle, end)
    reverse(array, start, end)


@inner_kernel
def reverse(array, start, end):
    """Reverse the entries start … end − 1."""
    for i in range((end - start) // 2):
        swap(array, start + i, end - 1 - i)


@inner_kernel
def is_close(x, p):
    """Return whether the value at a position counts as equal to the one before it."""
    return np.float32(x[p]) <= np.float32(x[p - 1]) + CLOSE


@inner_kernel
def is_constant(x, start, stop, n_missing):
    """Return whether sorted values allow no split; ``stop`` is the end of the present ones."""
    if stop == start:
        return True
    return n_missing == 0 and np.float32(x[stop - 1]) <= np.float32(x[start]) + CLOSE


@inner_kernel
def partition_rows(given, search, split):
    """Partition a node's rows by its split, from both ends."""
    values = given.values[given.columns[split["feature"]]]
    samples = search.samples
    start, end = split["start"], split["end"]
    while start < end:
        value = values[samples[start]]
        to_left = split["missing_left"] if np.isnan(value) else value <= split["threshold"]
        if to_left:
            start += 1
        else:
            end -= 1
            swap(samples, start, end)
