"""Partition of a node's rows into its two sides, in every feature's list.

The rows of a node are numbered start … end − 1. When it is split they get new numbers: their
indices in the list of the splitting feature, so that the left side comes first. Every list is then
partitioned stably and its entries renumbered, with one look-up:

    list of f    b₁ a₁ a₂ b₂ a₃ b₃   →   a₁ a₂ a₃ │ b₁ b₂ b₃        (a: left, b: right)

The flag of an entry moves with it. If the flag compares the value with the one before, it is also
set if it was set on an entry between the two.
"""

import numpy as np

from algorithms.runtime.array_moves import move
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.trees.kernels.tree_arrays import DISTINCT, FLAG, ROW


@inner_kernel
def renumber(rows, bits, f, start, middle, stop, end, missing_left, place, scratch):
    """Renumber a node's rows by the list of its splitting feature, left side first.

    Parameters
    ----------
    bits : ``target`` and ``weight`` of the rows, as int64
    middle : first entry after the split
    stop : first entry whose value is missing
    missing_left : whether missing entries go left, after the others
    place : (m,) uint32, written: the new number of each row

    Returns
    -------
    int : first row of the right side
    """
    n_missing = end - stop if missing_left else 0
    f = np.uint64(f)
    for j in range(np.uint64(start), np.uint64(middle)):
        place[rows.lists[f, j] & ROW] = j
    for j in range(np.uint64(middle), np.uint64(stop)):
        place[rows.lists[f, j] & ROW] = j + np.uint64(n_missing)
    for j in range(stop, end):
        place[rows.lists[f, j] & ROW] = j - (stop - middle) if missing_left else j
    move(rows.source, start, end, place, scratch.entries)
    if len(rows.mark):
        move(rows.mark, start, end, place, scratch.wide)
    target, weight = bits
    if len(target):
        move(target, start, end, place, scratch.wide)
    if len(weight):
        move(weight, start, end, place, scratch.wide)
    return middle + n_missing


@inner_kernel
def reorder(rows, bits, f, start, middle, stop, end, missing_left, scratch):
    """Order a node's rows by a list, as `renumber` does, without renumbering other lists."""
    entries = rows.lists[f]
    if missing_left and stop < end:
        for j in range(start, end):
            scratch.entries[j] = entries[j]
        for j in range(stop, end):
            entries[middle + j - stop] = scratch.entries[j]
        for j in range(middle, stop):
            entries[end - stop + j] = scratch.entries[j]
    follow(rows.source, entries, start, end, scratch.entries)
    follow(rows.mark, entries, start, end if len(rows.mark) else start, scratch.wide)
    target, weight = bits
    follow(target, entries, start, end if len(target) else start, scratch.wide)
    follow(weight, entries, start, end if len(weight) else start, scratch.wide)


@inner_kernel
def follow(array, entries, start, end, spare):
    """Permute the data of each row into the order of the entries."""
    for j in range(np.uint64(start), np.uint64(end)):
        spare[j] = array[entries[j] & ROW]
    for j in range(np.uint64(start), np.uint64(end)):
        array[j] = spare[j]


@kernel
def partition_features(table, rows, start, middle, end, place, spare, first, last):
    """Partition lists of a node, see `partition_lists`; for threads that share a node."""
    node = (start, middle, end, True, True)
    partition_lists(rows.lists, table.kind, rows.columns, node, place, spare, first, last)


@linked_kernel
def partition_lists(lists, kind, columns, node, place, spare, first, last):
    """Partition the lists of the features first … last − 1, and renumber their entries.

    Parameters
    ----------
    lists, columns : of the tree's `Rows`
    kind : of the `Table`
    node : (start, middle, end, whether the left side is needed, whether the right side is needed)
        ``middle`` is the first row of the right side. The lists of a leaf are not needed.
    place : (m,) uint32, new number of each row
    spare : (end − start + 1,) uint32 or more, written to
    """
    start, middle, end, needs_left, needs_right = node
    for f in range(np.uint64(first), np.uint64(last)):
        kept = FLAG if kind[columns[f]] != DISTINCT else np.uint32(0)
        if not needs_right:
            keep_left(lists, f, start, middle, place, kept)
        elif not needs_left:
            pick_right(lists, f, start, middle, end, place, kept, spare)
        elif kept == 0:
            partition_distinct(lists, f, start, middle, end, place, spare)
        else:
            partition_graded(lists, f, start, middle, end, place, spare)
        if needs_right:
            for i in range(np.uint64(end - middle)):
                lists[f, np.uint64(middle) + i] = spare[i]


@inner_kernel
def keep_left(lists, f, start, middle, place, kept):
    """Keep the left entries of a list in place; flags are carried on if ``kept`` is FLAG."""
    to = np.uint64(start)
    flag = np.uint32(0)
    i = np.uint64(start)
    while to < np.uint64(middle):
        entry = lists[f, i]
        i += np.uint64(1)
        row = place[entry & ROW]
        flag = np.uint32(np.uint32(flag & kept) | np.uint32(entry & FLAG))
        lists[f, to] = row | flag
        is_left = row < middle
        to += np.uint64(is_left)
        flag = np.uint32(0) if is_left else flag


@inner_kernel
def pick_right(lists, f, start, middle, end, place, kept, spare):
    """Write the right entries of a list to ``spare``; flags are carried on if ``kept`` is FLAG."""
    to = np.uint64(0)
    flag = np.uint32(0)
    i = np.uint64(start)
    while to < np.uint64(end - middle):
        entry = lists[f, i]
        i += np.uint64(1)
        row = place[entry & ROW]
        flag = np.uint32(np.uint32(flag & kept) | np.uint32(entry & FLAG))
        spare[to] = row | flag
        is_right = row >= middle
        to += np.uint64(is_right)
        flag = np.uint32(0) if is_right else flag


@inner_kernel
def partition_distinct(lists, f, start, middle, end, place, spare):
    """Partition the list of a DISTINCT column: left entries in place, right ones to ``spare``."""
    to_left = np.uint64(start)
    to_right = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(end)):
        entry = lists[f, i]
        row = place[entry & ROW]
        entry = row | (entry & FLAG)
        lists[f, to_left] = entry
        spare[to_right] = entry
        is_left = np.uint64(row < middle)
        to_left += is_left
        to_right += np.uint64(1) - is_left


@inner_kernel
def partition_graded(lists, f, start, middle, end, place, spare):
    """Partition an EXACT or NEAR list: left entries in place, right ones to ``spare``."""
    to_left = np.uint64(start)
    to_right = np.uint64(0)
    flag_left = np.uint32(0)
    flag_right = np.uint32(0)
    for i in range(np.uint64(start), np.uint64(end)):
        entry = lists[f, i]
        row = place[entry & ROW]
        flag_left = np.uint32(flag_left | np.uint32(entry & FLAG))
        flag_right = np.uint32(flag_right | np.uint32(entry & FLAG))
        lists[f, to_left] = row | flag_left
        spare[to_right] = row | flag_right
        is_left = row < middle
        to_left += np.uint64(is_left)
        to_right += np.uint64(not is_left)
        flag_left = np.uint32(0) if is_left else flag_left
        flag_right = flag_right if is_left else np.uint32(0)
