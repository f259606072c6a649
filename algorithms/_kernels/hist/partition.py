"""Bring the rows of a leaf's two sides together, each side in the order it had.

Every member of a team parts a share of the rows into the spare list: left ones from the front of
its share, right ones from the back. When all know how many went left, each copies its rows to
where they belong. So the result does not depend on how many members there are.
"""

import numpy as np

from algorithms._kernels.hist.layout import TO_LEFT
from algorithms._kernels.jit import inner_kernel, kernel, linked_kernel
from algorithms._kernels.team import meet, share_of

FEW = 4096  # rows that one member parts alone


@kernel
def begin_with(given, rows, first, last):
    """Write some of the rows that a tree is grown on.

    Parameters
    ----------
    given : uint32, these rows; (0,): the numbers of all
    rows : uint32, of which those from first to last − 1 are written
    """
    if len(given):
        for i in range(np.uint64(first), np.uint64(last)):
            rows[i] = given[i]
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            rows[i] = i


@linked_kernel
def part(rows, spare, column, goes_left, first, last):
    """Part rows[first : last] into the spare list; return how many go left.

    Parameters
    ----------
    column : (n_rows,) uint8, the bins of the splitting feature
    goes_left : (256,) uint8, 0 or 1 for each bin
    """
    first, last = np.uint64(first), np.uint64(last)
    left = first
    right = last - np.uint64(1)
    for i in range(first, last):
        row = rows[i]
        is_left = np.uint64(goes_left[np.uint64(column[np.uint64(row)])])
        spare[left] = row
        spare[right] = row
        left += is_left
        right += is_left - np.uint64(1)
    return np.int64(left - first)


@linked_kernel
def move(rows, spare, first, last, n_left, to_left, to_right):
    """Copy a share that was parted to its places; the right side was written backwards."""
    for i in range(np.uint64(n_left)):
        rows[np.uint64(to_left) + i] = spare[np.uint64(first) + i]
    for i in range(np.uint64(last - first - n_left)):
        rows[np.uint64(to_right) + i] = spare[np.uint64(last - 1) - i]


@inner_kernel
def part_alone(rows, spare, column, goes_left, start, end):
    """Part rows[start : end] in place; return how many go left. Parameters are those of `part`."""
    n_left = part(rows, spare, column, goes_left, start, end)
    move(rows, spare, start, end, n_left, start, start + n_left)
    return n_left


@linked_kernel
def partition(team, rank, rows, spare, column, goes_left, start, end, sums):
    """Part rows[start : end], together; return how many go left.

    Parameters
    ----------
    sums : int64 (size, N_SUMS), the members' own numbers
    """
    if team.size == 1 or end - start <= FEW:
        if rank == 0:
            sums[0, TO_LEFT] = part_alone(rows, spare, column, goes_left, start, end)
        meet(team)
        return sums[0, TO_LEFT]
    first, last = share_of(team, rank, start, end)
    sums[rank, TO_LEFT] = part(rows, spare, column, goes_left, first, last)
    meet(team)
    before = n_left = 0
    for other in range(team.size):
        if other < rank:
            before += sums[other, TO_LEFT]
        n_left += sums[other, TO_LEFT]
    to_right = start + n_left + (first - start - before)
    move(rows, spare, first, last, sums[rank, TO_LEFT], start + before, to_right)
    meet(team)
    return n_left
