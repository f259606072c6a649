"""Sort columns once: radix sort of float32 keys, with marks where values differ.

float32 numbers, read as unsigned integers with the sign bit flipped (and all bits where it was
set), compare as the numbers do. Three counting passes of 11 bits sort them in linear time; equal
values stay in the order of their rows, so the result is the same everywhere.
"""

import numpy as np

from algorithms._kernels.jit import inner_kernel, kernel
from algorithms._kernels.layout import CLOSE, DISTINCT, EXACT, FLAG, NEAR, ROW

BITS = 11
BUCKETS = 1 << BITS
PASSES = 3
SIGN = np.uint32(31)
ONE = np.uint32(1)
LAST = np.uint32(0xFFFFFFFF)  # the key of missing values
KEY = np.uint64(32)  # an item holds its row below, its key above this bit
IN_DIGIT = np.uint64(BUCKETS - 1)
UNUSED = np.uint32(0xFFFFFFFF)
ROW_HALF = np.uint64(0xFFFFFFFF)
RARE = 16  # DISTINCT: at most one value in so many is close to the one before it


@kernel
def sort_columns(values, order, kind, missing, items, counts, first, last):
    """Fill ``order``, ``kind`` and ``missing`` for the columns first … last − 1.

    Parameters
    ----------
    values : (n_columns, n_rows) float32, NaN where missing, otherwise finite
    order, kind, missing : as in `Table`, written
    items : (2, n_rows) uint64, scratch
    counts : (PASSES, BUCKETS) uint32, scratch
    """
    n = np.uint64(values.shape[1])
    for f in range(first, last):
        missing[f] = read_keys(values[f], items, counts)
        here = 0
        for digit in range(PASSES):
            if start_buckets(counts, digit, n):
                fill_buckets(items, here, counts, digit)
                here = 1 - here
        bits = items[1 - here].view(np.uint32)
        for i in range(n):
            key = np.uint32(items[here, i] >> KEY)
            order[f, i] = np.uint32(items[here, i] & ROW_HALF)
            bits[i] = np.uint32(key & ROW) if key >> SIGN else np.uint32(~key)
        kind[f] = flag_entries(bits.view(np.float32), order[f], values.shape[1] - missing[f])


@inner_kernel
def read_keys(values, items, counts):
    """Write each row with its key above it, and how often each digit occurs; count missing."""
    for digit in range(PASSES):
        for b in range(BUCKETS):
            counts[digit, b] = 0
    bits = values.view(np.uint32)
    n_missing = 0
    for i in range(np.uint64(len(values))):
        key = np.uint32(~bits[i]) if bits[i] >> SIGN else np.uint32(bits[i] | FLAG)
        if np.isnan(values[i]):
            key = LAST
            n_missing += 1
        items[0, i] = (np.uint64(key) << KEY) | i
        for digit in range(PASSES):
            bucket = (np.uint64(key) >> np.uint64(digit * BITS)) & IN_DIGIT
            counts[digit, bucket] += ONE
    return n_missing


@inner_kernel
def start_buckets(counts, digit, n):
    """Turn counts of a digit into where each bucket starts; return whether there are two."""
    start = np.uint32(0)
    largest = np.uint32(0)
    for b in range(BUCKETS):
        size = counts[digit, b]
        counts[digit, b] = start
        start = np.uint32(start + size)
        largest = max(largest, size)
    return largest < n


@inner_kernel
def fill_buckets(items, here, counts, digit):
    """Move items to the buckets of a digit, those of one bucket in the order they came."""
    shift = KEY + np.uint64(digit * BITS)
    for i in range(np.uint64(items.shape[1])):
        item = items[here, i]
        bucket = (item >> shift) & IN_DIGIT
        to = counts[digit, bucket]
        counts[digit, bucket] = np.uint32(to + ONE)
        items[1 - here, to] = item


@inner_kernel
def flag_entries(ordered, order, n_present):
    """Set the flags of a column's present values, given in their order; return its kind."""
    n_close = 0
    kind = EXACT
    for i in range(1, n_present):
        if ordered[i] > ordered[i - 1] + CLOSE:
            order[i] |= FLAG
        else:
            n_close += 1
            if ordered[i] != ordered[i - 1]:
                kind = NEAR
    if n_close * RARE > n_present:
        return kind
    for i in range(n_present):  # alone: apart from the value before it and the one after it
        apart = i == 0 or order[i] >> SIGN
        if not (apart and (i + 1 == n_present or order[i + 1] >> SIGN)):
            order[i] &= ROW
        elif i == 0:
            order[i] |= FLAG
    return DISTINCT


@kernel
def pick_rows(order, kind, columns, place, lists, first, last):
    """Write the lists of the rows that a tree uses, renumbered, for features first … last − 1.

    Parameters
    ----------
    order, kind : of the table
    columns : (n_features,) int64, the table's column of each feature
    place : (n_rows,) uint32, new number of each row of the table, or UNUSED
    lists : (n_features, m) uint32, written
    """
    m = np.uint64(lists.shape[1])
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
            lists[f, to] = row | flag  # written again unless the row is used
            used = row != UNUSED
            to += np.uint64(used)
            flag = np.uint32(0) if used else flag
