"""Partition the rows of a leaf into left and right rows; the partition is stable.

Each thread partitions a share of the rows. To save copies, the first thread writes left rows
directly to the front of the list, and the last thread goes backwards and writes right rows directly
to its end. All other rows go to the spare list. Once the number of left rows of every thread is
known, each thread copies its rows from the spare list to their positions. The result does not
depend on the number of threads.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import TO_LEFT
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.thread_team import barrier_wait, share_of


@kernel
def begin_with(given, rows, first, last):
    """Write a range of the rows that a tree is grown on.

    Parameters
    ----------
    given : uint32, the rows; (0,): all rows
    rows : uint32; rows[first : last] are written
    """
    if len(given):
        for i in range(np.uint64(first), np.uint64(last)):
            rows[i] = given[i]
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            rows[i] = i


@linked_kernel
def partition_rows(rows, lefts, spare, column, step, goes_left, first, last):
    """Partition rows[first : last]; return how many go left.

    Parameters
    ----------
    lefts : receives the left rows, from the front: ``spare``, or ``rows`` itself
    spare : receives the right rows, from the back
    column : uint8, the bins of the splitting feature: that of row i is column[i · step]
    step : uint64
    goes_left : (256,) uint8, 0 or 1 for each bin
    """
    first, last = np.uint64(first), np.uint64(last)
    left = first
    right = last - np.uint64(1)
    for i in range(first, last):
        row = rows[i]
        is_left = np.uint64(goes_left[np.uint64(column[np.uint64(row) * step])])
        lefts[left] = row
        spare[right] = row
        left += is_left
        right += is_left - np.uint64(1)
    return np.int64(left - first)


@linked_kernel
def partition_backwards(rows, spare, column, step, goes_left, first, last):
    """Partition rows[first : last], starting with the last row; return how many go left.

    Right rows go to the back of ``rows``, left rows to the back of the share in ``spare``.
    """
    one = np.uint64(1)
    first, last = np.uint64(first), np.uint64(last)
    left = right = last - one
    for i in range(last - first):
        row = rows[last - one - i]
        is_left = np.uint64(goes_left[np.uint64(column[np.uint64(row) * step])])
        spare[left] = row
        rows[right] = row
        left -= is_left
        right += is_left - one
    return np.int64(last - one - left)


@inner_kernel
def move_right(rows, spare, first, last, n_left, to_right):
    """Copy the right rows of a share, which are in reverse order, to their positions."""
    for i in range(np.uint64(last - first - n_left)):
        rows[np.uint64(to_right) + i] = spare[np.uint64(last - 1) - i]


@inner_kernel
def move_left(rows, spare, begin, n_left, to_left):
    """Copy the left rows of a share to their positions."""
    for i in range(np.uint64(n_left)):
        rows[np.uint64(to_left) + i] = spare[np.uint64(begin) + i]


@inner_kernel
def partition_alone(rows, spare, column, step, goes_left, start, end):
    """Partition rows[start : end] in place, as `partition_rows`; return how many go left."""
    n_left = partition_rows(rows, rows, spare, column, step, goes_left, start, end)
    move_right(rows, spare, start, end, n_left, start + n_left)
    return n_left


@linked_kernel
def partition(team, rank, rows, spare, strided_column, goes_left, start, end, sums):
    """Partition rows[start : end] with all threads of a team; return how many go left.

    The rows may be read after another barrier.

    Parameters
    ----------
    strided_column : (bins, stride), the `column` and `step` of `partition_rows`
    sums : int64 (size, N_SUMS), numbers of each thread; TO_LEFT is written
    """
    column, step = strided_column
    if team.size == 1:
        return partition_alone(rows, spare, column, step, goes_left, start, end)
    first, last = share_of(team, rank, start, end)
    is_first, is_last = rank == 0, rank == team.size - 1
    if is_last:
        n_left_own = partition_backwards(rows, spare, column, step, goes_left, first, last)
    elif is_first:
        n_left_own = partition_rows(rows, rows, spare, column, step, goes_left, first, last)
    else:
        n_left_own = partition_rows(rows, spare, spare, column, step, goes_left, first, last)
    sums[rank, TO_LEFT] = n_left_own
    barrier_wait(team)
    before = n_left = 0
    for other in range(team.size):
        if other < rank:
            before += sums[other, TO_LEFT]
        n_left += sums[other, TO_LEFT]
    if not is_first:
        move_left(rows, spare, last - n_left_own if is_last else first, n_left_own, start + before)
    if not is_last:
        move_right(rows, spare, first, last, n_left_own, start + n_left + (first - start - before))
    return n_left
