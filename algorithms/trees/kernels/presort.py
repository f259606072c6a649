"""Radix sort of float32 columns, once per fit, with flags where values differ.

float32 numbers, read as unsigned integers with the sign bit flipped (all bits if it was set),
compare like the numbers. Three counting passes of 11 bits sort them in linear time. Equal values
stay in the order of their rows, so the result is deterministic.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.tree_arrays import DISTINCT, EXACT, FLAG, NEAR, ROW

BITS = 11
BUCKETS = 1 << BITS
PASSES = 3
SIGN = np.uint32(31)
ONE = np.uint32(1)
LAST = np.uint32(0xFFFFFFFF)  # the key of missing values
INFINITE = np.uint32(0x7F800000)  # larger bit patterns are NaN
KEY = np.uint64(32)  # an item holds its row below this bit, its key above
IN_DIGIT = np.uint64(BUCKETS - 1)
UNUSED = np.uint32(0xFFFFFFFF)
ROW_HALF = np.uint64(0xFFFFFFFF)
RARE = 16  # DISTINCT: at most one in RARE values is close to the one before it


class SortScratch(NamedTuple):
    """Scratch space to sort a column; the memory of the list itself is used as well."""

    items: np.ndarray  # uint64 (n_rows,): row in the low bits, key in the high bits
    ordered: np.ndarray  # float32 (n_rows,): the values of a list
    counts: np.ndarray  # uint32 (PASSES, BUCKETS)


@kernel
def sort_columns(values, order, kind, missing, scratch, close, first, last):
    """Fill ``order``, ``kind`` and ``missing`` for the columns first … last − 1.

    A pass reads the column, the items or the list, and writes items and list alternately, so that
    the last pass writes the list. Digits that all values share are skipped.

    Parameters
    ----------
    values : (n_columns, n_rows) float32, NaN where missing, otherwise finite
    order, kind, missing : as in `Table`, written
    scratch : SortScratch; on return it holds the sorted values of the last column
    close : float32, values at most this far apart count as equal
    """
    items, counts = scratch.items, scratch.counts
    ordered = scratch.ordered.view(np.uint32)
    for f in range(first, last):
        column, rows = values[f].view(np.uint32), order[f]
        missing[f] = count_digits(column, counts)
        differ = 0
        for digit in range(PASSES):
            differ |= start_buckets(counts, digit, np.uint64(len(column))) << digit
        differ = max(differ, 1)  # all values are equal: one pass keeps their order
        is_first = True
        for digit in range(PASSES):
            if not (differ >> digit) & 1:
                continue
            later = differ >> (digit + 1)
            to_items = later in (1, 2)  # exactly one pass follows
            if is_first and to_items:
                column_to_items(column, items, counts, digit)
            elif is_first:
                column_to_list(column, rows, ordered, counts, digit)
            elif to_items:
                list_to_items(rows, ordered, items, counts, digit)
            else:
                items_to_list(items, rows, ordered, counts, digit)
            is_first = False
        kind[f] = flag_entries(scratch.ordered, rows, len(column) - missing[f], close)


@inner_kernel
def key_of(bits):
    """Return the key of a float32, read as an unsigned integer."""
    if bits & ROW > INFINITE:
        return LAST
    return np.uint32(~bits) if bits >> SIGN else np.uint32(bits | FLAG)


@inner_kernel
def count_digits(column, counts):
    """Count how often each digit occurs among a column's keys; return how many are missing."""
    for digit in range(PASSES):
        for b in range(BUCKETS):
            counts[digit, b] = 0
    n_missing = 0
    for i in range(np.uint64(len(column))):
        key = key_of(column[i])
        n_missing += key == LAST
        for digit in range(PASSES):
            bucket = (np.uint64(key) >> np.uint64(digit * BITS)) & IN_DIGIT
            counts[digit, bucket] += ONE
    return n_missing


@inner_kernel
def start_buckets(counts, digit, n):
    """Turn the counts of a digit into bucket starts; return whether two buckets are in use."""
    start = np.uint32(0)
    largest = np.uint32(0)
    for b in range(BUCKETS):
        size = counts[digit, b]
        counts[digit, b] = start
        start = np.uint32(start + size)
        largest = max(largest, size)
    return largest < n


@inner_kernel
def next_place(key, counts, digit):
    """Return the next index in a key's bucket, which keeps the order of equal digits."""
    bucket = (np.uint64(key) >> np.uint64(digit * BITS)) & IN_DIGIT
    to = counts[digit, bucket]
    counts[digit, bucket] = np.uint32(to + ONE)
    return to


@inner_kernel
def column_to_items(column, items, counts, digit):
    """Write the rows of a column as items, by one digit."""
    for i in range(np.uint64(len(column))):
        key = key_of(column[i])
        items[next_place(key, counts, digit)] = (np.uint64(key) << KEY) | i


@inner_kernel
def column_to_list(column, rows, ordered, counts, digit):
    """Write the rows of a column, and their values, by one digit."""
    for i in range(np.uint64(len(column))):
        to = next_place(key_of(column[i]), counts, digit)
        rows[to] = np.uint32(i)
        ordered[to] = column[i]


@inner_kernel
def list_to_items(rows, ordered, items, counts, digit):
    """Write rows and values as items, by one digit."""
    for i in range(np.uint64(len(rows))):
        key = key_of(ordered[i])
        items[next_place(key, counts, digit)] = (np.uint64(key) << KEY) | np.uint64(rows[i])


@inner_kernel
def items_to_list(items, rows, ordered, counts, digit):
    """Write the rows of items, and their values, by one digit."""
    for i in range(np.uint64(len(items))):
        key = np.uint32(items[i] >> KEY)
        to = next_place(key, counts, digit)
        rows[to] = np.uint32(items[i] & ROW_HALF)
        ordered[to] = np.uint32(key & ROW) if key >> SIGN else np.uint32(~key)


@inner_kernel
def flag_entries(ordered, order, n_present, close):
    """Set the flags of a column's present values, given in their order; return its kind."""
    n_close = 0
    kind = EXACT
    for i in range(1, n_present):
        if ordered[i] > ordered[i - 1] + close:
            order[i] |= FLAG
        else:
            n_close += 1
            if ordered[i] != ordered[i - 1]:
                kind = NEAR
    if n_close * RARE > n_present:
        return kind
    for i in range(n_present):  # flagged if distinct from the values before and after
        apart = i == 0 or order[i] >> SIGN
        if not (apart and (i + 1 == n_present or order[i + 1] >> SIGN)):
            order[i] &= ROW
        elif i == 0:
            order[i] |= FLAG
    return DISTINCT


@kernel
def pick_rows(order, kind, columns, place, lists, first, last):
    """Write the lists of the rows that a tree uses, see `write_lists`."""
    write_lists(order, kind, columns, place, lists, np.uint64(lists.shape[1]), first, last)


@inner_kernel
def write_lists(order, kind, columns, place, lists, m, first, last):
    """Write the lists of m rows that a tree uses, renumbered, for features first … last − 1.

    Parameters
    ----------
    order, kind : of the table
    columns : (n_features,) int64, the table's column of each feature
    place : (n_rows,) uint32, new number of each row of the table, or UNUSED
    lists : (n_features, m) uint32 or more, written
    m : uint64
    """
    for f in range(np.uint64(first), np.uint64(last)):
        column = np.uint64(columns[f])
        keep = np.uint32(0) if kind[column] == DISTINCT else FLAG
        flag = np.uint32(0)
        to = np.uint64(0)
        i = np.uint64(0)
        while to < m:
            entry = order[column, i]
            i += np.uint64(1)
            row = place[entry & ROW]
            flag = np.uint32(np.uint32(flag & keep) | np.uint32(entry & FLAG))
            lists[f, to] = row | flag  # overwritten by the next row if this one is unused
            used = row != UNUSED
            to += np.uint64(used)
            flag = np.uint32(0) if used else flag
