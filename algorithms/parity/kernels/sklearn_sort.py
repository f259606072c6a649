"""Sort of values together with rows, with scikit-learn's order of equal values.

An introsort (Musser: Introspective sorting and selection algorithms, 1997): quicksort with the
median of three as pivot, which partitions into smaller, equal and larger values; heapsort if the
recursion is too deep; insertion sort for short parts. It is not stable: the order of rows with
equal values, and so the rounding of sums over them, depends on these steps.
"""

from algorithms.runtime.array_moves import swap
from algorithms.runtime.jit import inner_kernel, linked_kernel

SHORT = 15  # maximum number of entries for insertion sort


@linked_kernel
def sort_pairs(values, rows, start, end, pending):
    """Sort the entries start … end − 1 of ``values``, float64, and ``rows``, int64, by value.

    Parameters
    ----------
    pending : int64 (PENDING, 3), scratch: parts to be sorted
    """
    if end - start < 1:
        return
    waiting = 1
    pending[0, 0], pending[0, 1], pending[0, 2] = start, end, 2 * floor_log2(end - start)
    while waiting:
        waiting -= 1
        first, last, depth = pending[waiting, 0], pending[waiting, 1], pending[waiting, 2]
        while last - first > SHORT and depth > 0:
            depth -= 1
            smaller, first_larger = partition_by_median(values, rows, first, last)
            pending[waiting, 0], pending[waiting, 1], pending[waiting, 2] = first, smaller, depth
            waiting += 1
            first = first_larger
        if last - first > SHORT:
            sort_by_heap(values, rows, first, last)
        else:
            sort_by_insertion(values, rows, first, last)


@inner_kernel
def floor_log2(n):
    """Return the largest k with 2ᵏ ≤ n, for n ≥ 1."""
    k = 0
    while n > 1:
        n >>= 1
        k += 1
    return k


@inner_kernel
def swap_pairs(values, rows, a, b):
    """Exchange two entries of both arrays."""
    swap(values, a, b)
    swap(rows, a, b)


@inner_kernel
def median_of_three(a, b, c):
    """Return the median of three numbers."""
    if a < b:
        return b if b < c else max(a, c)
    return b if b >= c else min(a, c)


@inner_kernel
def partition_by_median(values, rows, start, end):
    """Partition entries into smaller, equal and larger ones; return the start of the last two."""
    pivot = median_of_three(values[start], values[start + (end - start) // 2], values[end - 1])
    i = start
    equal = start
    larger = end
    while i < larger:
        if values[i] < pivot:
            swap_pairs(values, rows, i, equal)
            i += 1
            equal += 1
        elif values[i] > pivot:
            larger -= 1
            swap_pairs(values, rows, i, larger)
        else:
            i += 1
    return equal, larger


@inner_kernel
def sort_by_insertion(values, rows, start, end):
    """Sort a short part by insertion."""
    for i in range(start + 1, end):
        value, row = values[i], rows[i]
        j = i
        while j > start and values[j - 1] > value:
            values[j] = values[j - 1]
            rows[j] = rows[j - 1]
            j -= 1
        values[j] = value
        rows[j] = row


@inner_kernel
def sort_by_heap(values, rows, start, end):
    """Sort a part by a heap."""
    n = end - start
    for root in range((n - 2) // 2, -1, -1):
        sift_down(values, rows, start, root, n)
    for last in range(n - 1, 0, -1):
        swap_pairs(values, rows, start, start + last)
        sift_down(values, rows, start, 0, last)


@inner_kernel
def sift_down(values, rows, start, root, end):
    """Move an entry of a heap down until none below it is larger."""
    while True:
        left = 2 * root + 1
        largest = root
        if left < end and values[start + largest] < values[start + left]:
            largest = left
        if left + 1 < end and values[start + largest] < values[start + left + 1]:
            largest = left + 1
        if largest == root:
            return
        swap_pairs(values, rows, start + root, start + largest)
        root = largest
