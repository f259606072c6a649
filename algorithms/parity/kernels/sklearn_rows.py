"""Order and part the rows of a node, in place and in scikit-learn's way.

Where a feature was sorted, its missing values stand behind the others. The search looks at them
there first, and then moved before all others.
"""

import numpy as np

from algorithms.parity.kernels.sklearn_sort import sort_pairs
from algorithms.runtime.array_moves import swap
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.tree_arrays import CLOSE


@inner_kernel
def sort_rows(given, search, feature, start, end):
    """Sort a node's rows by a feature, missing values last; return how many are missing."""
    values = given.values[given.columns[feature]]
    samples, x = search.samples, search.x
    last = end - 1
    if given.missing[feature]:
        last = set_missing_apart(values, samples, x, start, last)
    else:
        for p in range(start, end):
            x[p] = values[samples[p]]
    sort_pairs(x, samples, start, last + 1, search.pending)
    return end - 1 - last


@inner_kernel
def set_missing_apart(values, samples, x, start, last):
    """Read the values of places start … last, missing ones swapped to the end; return the last."""
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
def shift_missing(search, start, end, n_missing):
    """Move the missing values at the end before all others; each part keeps its order."""
    middle = end - n_missing
    exchange_parts(search.samples, start, middle, end)
    exchange_parts(search.x, start, middle, end)


@inner_kernel
def exchange_parts(array, start, middle, end):
    """Put the entries from ``middle`` on before those from ``start`` on."""
    turn(array, start, middle)
    turn(array, middle, end)
    turn(array, start, end)


@inner_kernel
def turn(array, start, end):
    """Reverse the entries start … end − 1."""
    for i in range((end - start) // 2):
        swap(array, start + i, end - 1 - i)


@inner_kernel
def is_close(x, p):
    """Return whether the value at a place is not told apart from the one before it."""
    return np.float32(x[p]) <= np.float32(x[p - 1]) + CLOSE


@inner_kernel
def is_constant(x, start, stop, n_missing):
    """Return whether sorted values, stop being the end of those present, allow no split."""
    if stop == start:
        return True
    return n_missing == 0 and np.float32(x[stop - 1]) <= np.float32(x[start]) + CLOSE


@inner_kernel
def part_rows(given, search, split):
    """Part a node's rows from both ends."""
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
