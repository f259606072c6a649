"""Small moves within arrays. A slice on both sides of ``=`` would allocate a copy; these do not."""

from algorithms.runtime.jit import inner_kernel


@inner_kernel
def copy(source, target, first, last):
    """Copy the entries first … last − 1 to the same places."""
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
    """Bring each entry start … end − 1 to its new place."""
    for i in range(start, end):
        spare[i] = array[i]
    for i in range(start, end):
        array[place[i]] = spare[i]
