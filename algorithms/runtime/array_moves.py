"""Copy, swap and permute entries of arrays without the temporary array of a slice assignment."""

import numpy as np

from algorithms.runtime.jit import inner_kernel


@inner_kernel
def copy(source, target, first, last):
    """Copy the entries first … last − 1 to the same positions."""
    for i in range(first, last):
        target[i] = source[i]


@inner_kernel
def swap(array, a, b):
    """Exchange two entries."""
    kept = array[a]
    array[a] = array[b]
    array[b] = kept


@inner_kernel
def move(array, start, end, place, spare):
    """Move each entry i of start … end − 1 to position ``place[i]``."""
    for i in range(np.uint64(start), np.uint64(end)):
        spare[i] = array[i]
    for i in range(np.uint64(start), np.uint64(end)):
        array[place[i]] = spare[i]
