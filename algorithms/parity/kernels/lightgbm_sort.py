"""The order that the C++ library's stable sort leaves, also where keys cannot be compared.

LightGBM sorts categories by Σg / (Σh + smoothing). Without smoothing that is 0 / 0 where a leaf has
no row of one; NaN is neither below nor above a number, so the order follows from which keys are
compared. These are the steps of libstdc++ (`std::stable_sort`, bits/stl_algo.h), which LightGBM's
wheels for Linux are built with: two halves, in each of which runs of seven are sorted by insertion
and merged to and fro, and then the two are merged.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, linked_kernel

RUN = 7


@linked_kernel
def sort_by_keys(keys, order, spare, n):
    """Sort numbers by their keys.

    Parameters
    ----------
    keys : float64, that of each number; NaN allowed
    order : int64, whose first n entries, numbers of keys, are sorted
    spare : int64, scratch space of n entries
    n : int
    """
    middle = (n + 1) // 2
    sort_half(keys, order, spare, np.int64(0), middle)
    sort_half(keys, order, spare, middle, n)
    for i in range(n):
        spare[i] = order[i]
    if middle == n - middle:
        merge(keys, spare, np.int64(0), middle, n, order)
    else:
        merge_from_behind(keys, spare, middle, n, order)


@inner_kernel
def sort_half(keys, order, spare, first, last):
    """Sort the entries first … last − 1 of an order."""
    for start in range(first, last, RUN):
        insert(keys, order, start, min(start + RUN, last))
    step = RUN
    while step < last - first:
        merge_runs(keys, order, first, last, step, spare)
        merge_runs(keys, spare, first, last, 2 * step, order)
        step *= 4


@inner_kernel
def insert(keys, order, first, last):
    """Sort a run by insertion: what is below the first goes there unseen."""
    for i in range(first + 1, last):
        own, at = order[i], i
        if keys[own] < keys[order[first]]:
            while at > first:
                order[at] = order[at - 1]
                at -= 1
        else:
            while at > first and keys[own] < keys[order[at - 1]]:
                order[at] = order[at - 1]
                at -= 1
        order[at] = own


@inner_kernel
def merge_runs(keys, source, first, last, step, out):
    """Merge neighbouring runs of a length, the last of which may be shorter, or alone."""
    for start in range(first, last, 2 * step):
        merge(keys, source, start, min(start + step, last), min(start + 2 * step, last), out)


@inner_kernel
def merge(keys, source, first, middle, last, out):
    """Merge two runs; of equal keys the first run's come first."""
    i, j = first, middle
    for at in range(first, last):
        if j == last or (i < middle and not keys[source[j]] < keys[source[i]]):
            out[at] = source[i]
            i += 1
        else:
            out[at] = source[j]
            j += 1


@inner_kernel
def merge_from_behind(keys, source, middle, last, out):
    """Merge two runs from their ends, the first of which is longer."""
    i, j = middle - 1, last - 1
    for at in range(last - 1, -1, -1):
        if i >= 0 and (j < middle or keys[source[j]] < keys[source[i]]):
            out[at] = source[i]
            i -= 1
        else:
            out[at] = source[j]
            j -= 1
