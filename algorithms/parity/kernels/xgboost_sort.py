"""Sort of values and their rows with the steps of GNU's ``std::sort``.

This sort is not stable: the order of rows with equal values depends on its steps, and the exact
method sums gradients and hessians in this order. It is an introsort: the pivot is the median of the
second, the middle and the last entry; parts of up to 16 entries are not partitioned further; parts
at the maximum depth are sorted by heapsort; a final insertion sort covers all entries.
"""

from algorithms.runtime.array_moves import swap
from algorithms.runtime.jit import inner_kernel, kernel

SHORT = 16
PENDING = 128  # maximum number of parts to be sorted: twice the number of bits of a length


@kernel
def sort_columns(start, values, rows, pending):
    """Sort each column by its values.

    Parameters
    ----------
    start : (n_columns + 1,) int64
        First entry of each column.
    values : (n_entries,) float32, no NaN; sorted in place
    rows : (n_entries,) int32
        Moved with the values.
    pending : (PENDING, 3) int64, scratch space
    """
    for column in range(len(start) - 1):
        sort_like_gnu(values, rows, start[column], start[column + 1], pending)


@inner_kernel
def sort_like_gnu(values, rows, start, end, pending):
    """Sort the entries start … end − 1 of both arrays by value."""
    if end - start < 2:
        return
    depth = 0
    while (end - start) >> (depth + 1):
        depth += 1
    waiting = 1
    pending[0, 0], pending[0, 1], pending[0, 2] = start, end, 2 * depth
    while waiting:
        waiting -= 1
        first, last, depth = pending[waiting, 0], pending[waiting, 1], pending[waiting, 2]
        while last - first > SHORT and depth > 0:
            depth -= 1
            cut = partition(values, rows, first, last)
            pending[waiting, 0], pending[waiting, 1], pending[waiting, 2] = first, cut, depth
            waiting += 1
            first = cut
        if last - first > SHORT:
            sort_by_heap(values, rows, first, last)
    insert_all(values, rows, start, end)


@inner_kernel
def partition(values, rows, first, last):
    """Partition entries by a pivot; return the start of the second part."""
    pivot_to_first(values, rows, first, first + 1, first + (last - first) // 2, last - 1)
    pivot = values[first]
    i, j = first + 1, last
    while True:
        while values[i] < pivot:
            i += 1
        j -= 1
        while pivot < values[j]:
            j -= 1
        if i >= j:
            return i
        swap_pairs(values, rows, i, j)
        i += 1


@inner_kernel
def pivot_to_first(values, rows, first, a, b, c):
    """Exchange the first entry with the median of three."""
    x, y, z = values[a], values[b], values[c]
    low, high = (a, b) if x < y else (b, a)
    median = low  # if two are equal, the first one found here
    if values[high] < z:
        median = high
    elif values[low] < z:
        median = c
    swap_pairs(values, rows, first, median)


@inner_kernel
def swap_pairs(values, rows, a, b):
    """Exchange two entries of both arrays."""
    swap(values, a, b)
    swap(rows, a, b)


@inner_kernel
def insert_all(values, rows, start, end):
    """Sort all entries by insertion; each is close to its final position."""
    for i in range(start + 1, end):
        value, row = values[i], rows[i]
        j = i
        while j > start and value < values[j - 1]:
            values[j] = values[j - 1]
            rows[j] = rows[j - 1]
            j -= 1
        values[j] = value
        rows[j] = row


@inner_kernel
def sort_by_heap(values, rows, first, last):
    """Sort a part by a heap."""
    n = last - first
    for step in range(n // 2 + n - 1):
        top = max(n // 2 - 1 - step, 0)  # first all inner entries, from the last one on
        n_left = min(n // 2 + n - 1 - step, n)
        at = first + (top if n_left == n else n_left)
        value, row = values[at], rows[at]
        if n_left < n:  # then the largest entry moves behind the heap
            values[at], rows[at] = values[first], rows[first]
        fill_hole(values, rows, first, top, n_left, value, row)


@inner_kernel
def fill_hole(values, rows, first, top, n, value, row):
    """Move a hole of a heap of n entries to the bottom, then move an entry up from there."""
    hole = top
    child = 2 * hole + 2
    while child < n:
        if values[first + child] < values[first + child - 1]:
            child -= 1
        values[first + hole], rows[first + hole] = values[first + child], rows[first + child]
        hole = child
        child = 2 * hole + 2
    if child == n:
        values[first + hole] = values[first + n - 1]
        rows[first + hole] = rows[first + n - 1]
        hole = n - 1
    parent = (hole - 1) // 2
    while hole > top and values[first + parent] < value:
        values[first + hole], rows[first + hole] = values[first + parent], rows[first + parent]
        hole = parent
        parent = (hole - 1) // 2
    values[first + hole], rows[first + hole] = value, row
