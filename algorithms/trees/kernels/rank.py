"""Ranks of columns, computed once, by which a node's rows are sorted if few features are searched.

If a node searches few of many features, partitioning the lists of all features costs more than
sorting the few. Values are ranked once: equal values share a rank, missing values have the last.
The ranks of a row are contiguous, so a node reads a row's cache line once for all features.

A node's rows are sorted by ranks minus the smallest one: few rows by comparing all pairs, others by
counting passes over as few bits as the ranks in this node need. Both methods are stable and use
integers only, so the lists are deterministic.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.trees.kernels.tree_arrays import FLAG, ROW

FEW_BITS = np.uint32(6)
FEW = 1 << FEW_BITS  # maximum number of items sorted by comparing all pairs
SHORT = np.uint32(32 - FEW_BITS)  # maximum key bits for this sort
LANES = 32  # numbers compared at once
HIGHEST = np.uint32(0xFFFFFFFF)
GATHERED = 128  # rows read at once for all features: their cache lines stay in the cache
PASSES = 3
BITS = 11
BUCKETS = 1 << BITS
KEY = np.uint64(32)  # an item holds its row below this bit, its rank above
ROW_HALF = np.uint64(0xFFFFFFFF)
ONE = np.uint32(1)
ONE64 = np.uint64(1)


@kernel
def write_ranks(values, order, n_missing, ranks, distinct, close):
    """Write the ranks of one column, and the value of each rank; return its `Table.reach`.

    Parameters
    ----------
    values : (n_rows,) float32, NaN where missing; overwritten with the value of each rank
    order : (n_rows,) uint32, rows sorted by value, in the low 31 bits; missing ones last
    ranks : (n_rows,) uint32, written
    distinct : (n_rows,) float32, scratch
    close : float32, values at most this far apart count as equal
    """
    n_present = len(order) - n_missing
    count = 0
    for i in range(n_present):
        row = order[i] & ROW
        here = values[row]
        if count == 0 or here != distinct[count - 1]:
            distinct[count] = here
            count += 1
        ranks[row] = np.uint32(count - 1)
    for i in range(n_present, len(order)):
        ranks[order[i] & ROW] = np.uint32(count)
    for rank in range(len(order)):
        values[rank] = distinct[rank] if rank < count else np.nan
    reach = 0
    last = 0
    for rank in range(count):
        last = max(last, rank)
        while last + 1 < count and not distinct[last + 1] > distinct[rank] + close:
            last += 1
        reach = max(reach, last - rank)
    return reach


@inner_kernel
def is_constant_unsorted(table, rows, c, start, end):
    """Return whether a column is constant in a node, as `search.is_constant` does."""
    rank = table.ranks[rows.source[start], c]
    low = np.float32(np.inf)
    high = np.float32(-np.inf)
    for row in range(np.uint64(start), np.uint64(end)):
        other = table.ranks[rows.source[row], c]
        if other == rank:
            continue
        if max(rank, other) - min(rank, other) > table.reach[c]:
            return False
        x = table.values[c, other]
        first = table.values[c, rank]
        low = min(low, x, first)
        high = max(high, x, first)
        if np.isnan(x) or np.isnan(first) or not high <= low + table.close:
            return False
    return True


@inner_kernel
def value_of(table, rows, c, row):
    """Return the value of a row of the tree in column c of the table."""
    source = rows.source[row]
    return table.values[c, table.ranks[source, c] if len(table.ranks) else source]


@inner_kernel
def are_apart(table, c, below, above):
    """Return whether the values of two ranks are far enough apart to split between them."""
    if above - below > table.reach[c]:
        return True
    return table.values[c, above] > table.values[c, below] + table.close


@inner_kernel
def gather_ranks(table, rows, visit, start, end, first, last):
    """Write the ranks of a node's rows into the lists first … last − 1, in the order of rows."""
    for begin in range(start, end, GATHERED):
        stop = min(begin + GATHERED, end)
        for v in range(np.uint64(first), np.uint64(last)):
            c = np.uint64(rows.columns[visit[v]])
            for row in range(np.uint64(begin), np.uint64(stop)):
                rows.lists[v, row] = table.ranks[rows.source[row], c]


@inner_kernel
def span_of(keys):
    """Return the smallest and the largest key."""
    low = keys[0]
    high = keys[0]
    for i in range(np.uint64(len(keys))):
        low = min(low, keys[i])
        high = max(high, keys[i])
    return low, high


@inner_kernel
def sort_list(table, rows, scratch, v, c, start, end):
    """Turn the ranks in a list into the entries of a node's rows, sorted.

    Parameters
    ----------
    v : index of the list
    c : column of the table whose ranks it holds
    """
    n = np.uint64(end - start)
    keys = rows.lists[v, start:end]
    items = scratch.items
    low, high = span_of(keys)
    for i in range(n):
        items[0, i] = (np.uint64(keys[i] - low) << KEY) | (np.uint64(start) + i)
    here = sort_items(items, end - start, high - low, scratch.counts, scratch.few)
    before = items[here, 0] >> KEY
    for i in range(n):
        rank = items[here, i] >> KEY
        keys[i] = np.uint32(items[here, i] & ROW_HALF)
        if rank != before and are_apart(table, c, before + low, rank + low):
            keys[i] |= FLAG
        before = rank


@linked_kernel
def sort_items(items, n, span, counts, few):
    """Sort the first n items of the first row; return the row that holds the result.

    Parameters
    ----------
    items : (2, n) uint64 or more: a key ≤ ``span`` above the bit `KEY`; written
    counts : (PASSES, BUCKETS) uint32, scratch
    few : (FEW,) uint32, scratch
    """
    if n <= FEW and span >> SHORT == 0:
        sort_few(items, n, few)
        return 1
    passes, width = count_passes(n, span)
    count_digits(items, np.uint64(n), passes, np.uint64(width), counts)
    here = 0
    for p in range(passes):
        fill_buckets(items, here, np.uint64(n), p, np.uint64(width), counts)
        here = 1 - here
    return here


@inner_kernel
def sort_few(items, n, few):
    """Sort few items: the index of each is the number of smaller items, many compared at once."""
    padded = np.uint64((n + LANES - 1) // LANES * LANES)
    for i in range(np.uint64(n)):
        few[i] = np.uint32(np.uint32(items[0, i] >> KEY) << FEW_BITS) | np.uint32(i)
    for i in range(np.uint64(n), padded):
        few[i] = HIGHEST
    for i in range(np.uint64(n)):
        key = few[i]
        to = np.uint32(0)
        for j in range(padded):
            to = np.uint32(to + np.uint32(few[j] < key))
        items[1, to] = items[0, i]


@inner_kernel
def count_passes(n, span):
    """Return the cheapest number of counting passes, and the bits of each."""
    bits = 1
    while span >> np.uint32(bits):
        bits += 1
    best = PASSES
    for passes in range(PASSES - 1, 0, -1):
        if -(-bits // passes) <= BITS and steps(passes, bits, n) < steps(best, bits, n):
            best = passes
    return best, -(-bits // best)


@inner_kernel
def steps(passes, bits, n):
    """Return the approximate cost of the passes: an item costs as much as three buckets."""
    return passes * ((1 << -(-bits // passes)) + 3 * n)


@inner_kernel
def count_digits(items, n, passes, width, counts):
    """Count the digits of each pass."""
    mask = (ONE64 << width) - ONE64
    for p in range(passes):
        for b in range(mask + ONE64):
            counts[p, b] = 0
    for i in range(n):
        key = items[0, i] >> KEY
        for p in range(np.uint64(passes)):
            counts[p, (key >> (p * width)) & mask] += ONE


@inner_kernel
def fill_buckets(items, here, n, p, width, counts):
    """Move items to the buckets of a digit, stably."""
    mask = (ONE64 << width) - ONE64
    at = np.uint32(0)
    for b in range(mask + ONE64):
        size = counts[p, b]
        counts[p, b] = at
        at = np.uint32(at + size)
    shift = KEY + np.uint64(p) * width
    for i in range(n):
        item = items[here, i]
        b = (item >> shift) & mask
        to = counts[p, b]
        counts[p, b] = np.uint32(to + ONE)
        items[1 - here, to] = item
