"""Stable sort with the steps of libstdc++, so that NaN keys end in the same places.

LightGBM sorts categories by Σg / (Σh + smoothing). Without smoothing this is 0 / 0 for a category
without rows in the leaf. All comparisons with NaN are false, so the order depends on which keys
are compared. These are the steps of libstdc++ (`std::stable_sort`, bits/stl_algo.h), with which
LightGBM's wheels for Linux are built: each half is cut into runs of seven, which are sorted by
insertion and then merged between two buffers; at last the two halves are merged.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, linked_kernel

RUN = 7


@linked_kernel
def sort_by_keys(keys, order, spare, n):
    """Sort indices by their keys.

    Parameters
    ----------
    keys : float64, may have NaN
    order : int64, its first n entries are indices of keys; sorted in place
    spare : int64 (n,), scratch space
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
    """Sort a run by insertion; an entry below the first one moves there without comparisons."""
    for i in range(first + 1, last):
        entry, at = order[i], i
        if keys[entry] < keys[order[first]]:
            while at > first:
                order[at] = order[at - 1]
                at -= 1
        else:
            while at > first and keys[entry] < keys[order[at - 1]]:
                order[at] = order[at - 1]
                at -= 1
        order[at] = entry


@inner_kernel
def merge_runs(keys, source, first, last, step, out):
    """Merge pairs of adjacent runs of length ``step``; the last run may be shorter, or alone."""
    for start in range(first, last, 2 * step):
        merge(keys, source, start, min(start + step, last), min(start + 2 * step, last), out)


@inner_kernel
def merge(keys, source, first, middle, last, out):
    """Merge two runs; equal keys of the first run come first."""
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
    """Merge two runs from their ends; the first run is longer."""
    i, j = middle - 1, last - 1
    for at in range(last - 1, -1, -1):
        if i >= 0 and (j < middle or keys[source[j]] < keys[source[i]]):
            out[at] = source[i]
            i -= 1
        else:
            out[at] = source[j]
            j -= 1
