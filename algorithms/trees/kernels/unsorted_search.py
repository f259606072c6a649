"""Exact search of the best split of one feature, without sorting its rows.

For two classes by gini with integer weights. The rows of a node are summed into *cells* of
neighboring ranks. With s the weight of class 1, the score of a split (see `scan`)

    S(n_L, s_L) = s_L² / n_L + (s − s_L)² / (n − n_L)

is convex. The sums left of a split inside a cell lie in a parallelogram with these corners: the
sums left of the cell, the sums including the cell, and the sums plus all of the cell's class 1, or
plus all of its class 0. So S inside a cell is at most its largest value at these four corners. Only
cells with a corner above the best known score (of an earlier feature, or of a split between two
cells) are searched: their few rows are sorted, and every split among them is evaluated as in
`scan`. The other cells contain no better split.
"""

import numpy as np

from algorithms.runtime.array_moves import swap
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.criteria import proxy_of_pair
from algorithms.trees.kernels.rank import KEY, ROW_HALF, are_apart, sort_items, span_of
from algorithms.trees.kernels.scan import LOW, is_above, slack_of
from algorithms.trees.kernels.tree_arrays import GINI

CELLS = 2048
MIN_CELLS = 16
ROWS_A_CELL = 4
SPARE = 8  # further entries of `Scratch.cells`
RANKS_A_ROW = 2  # up to so many ranks per row, each rank has its own cell
WEIGHT = 32  # a mark holds the weight above this bit
ONE = np.uint32(1)
ONE64 = np.uint64(1)
NONE = np.uint32(0xFFFFFFFF)  # larger than every rank


@inner_kernel
def search_cells(table, rows, rules, scratch, v, c, start, end, totals, best):
    """Return the best proxy of a feature above ``best``, and the last rank on its left, or -1.

    Parameters
    ----------
    v : index of the list that holds the ranks of the node's rows, in the order of rows
    c : column of the table of these ranks
    totals : as in `criteria.impurity`
    best : proxy to exceed
    """
    keys, marks = rows.lists[v, start:end], rows.mark[start:end]
    n, s = totals[0], totals[2]
    low, high = span_of(keys)
    cells, open_cells = scratch.cells, scratch.open_cells
    slack = slack_of(rules, 0.0, n)
    known = s + 0.5 * best
    total = (np.int64(n) << WEIGHT) + np.int64(s)
    shift = np.uint32(0)
    if has_few_ranks(low, high, end - start):
        sum_cells(keys, marks, low, shift, cells, np.int64(high - low) + 1, total)
        known = (best, known - slack, slack)
        if not any_above(cells, np.int64(high - low), n, s, known[1]):
            return best, -1
        return evaluate_cells(table, rules, c, keys, low, high, cells, totals, known)
    most = min(CELLS, max((end - start) // ROWS_A_CELL, MIN_CELLS))
    while (high - low) >> shift >= most:
        shift += np.uint32(1)
    count = np.int64((high - low) >> shift) + 1
    sum_cells(keys, marks, low, shift, cells, count, total)
    top, b = best_between(cells, count, n, s, rules.min_weight_leaf)
    behind = low + np.uint32(np.uint32(b) << shift)  # the first rank of cell b
    if b > 0 and top > known and are_apart(table, c, behind - ONE, behind):
        known = top
    threshold = known - slack
    if not open_promising(cells, count, n, s, threshold, open_cells):
        return best, -1
    m = pick_items(keys, low, shift, open_cells, scratch.items)
    here = sort_items(scratch.items, m, high - low, scratch.counts, scratch.few)
    items = scratch.items[here, :m]
    known = (best, threshold, slack)
    return evaluate_items(table, rules, c, keys, marks, items, low, shift, cells, totals, known)


@inner_kernel
def has_few_ranks(low, high, n_rows):
    """Return whether each rank of a node has its own cell, for ranks low … high."""
    return np.int64(high - low) < min(CELLS, RANKS_A_ROW * n_rows)


@inner_kernel
def any_above(cells, count, n, s, threshold):
    """Return whether a split after one of the first cells scores above the threshold."""
    some = np.int64(0)
    for b in range(np.uint64(count)):
        n_left = np.float64(cells[b + np.uint64(1)] >> WEIGHT)
        s_left = np.float64(cells[b + np.uint64(1)] & LOW)
        some |= np.int64(is_above(s_left, n_left, s, n, threshold))
    return some != 0


@inner_kernel
def evaluate_cells(table, rules, c, keys, low, high, cells, totals, known):
    """Return the best proxy of the splits after each rank, and this rank, or -1."""
    best, threshold, slack = known
    n, s = totals[0], totals[2]
    cut = np.int64(-1)
    for b in range(np.uint64(high - low)):  # there is no split after the last rank
        left = cells[b + np.uint64(1)]
        n_left = np.float64(left >> WEIGHT)
        s_left = np.float64(left & LOW)
        if left == cells[b] or not is_above(s_left, n_left, s, n, threshold):
            continue
        s_right = s - s_left
        score = s_left * s_left / n_left + s_right * s_right / (n - n_left)  # S
        light = min(n_left, n - n_left) < rules.min_weight_leaf
        rank = low + np.uint32(b)
        if score > threshold and not light and is_place(table, c, keys, rank):
            proxy = proxy_of_pair(GINI, s_left, n_left, s, n)
            if proxy > best:
                best = proxy
                cut = np.int64(rank)
            threshold = max(threshold, score - slack)
    return best, cut


@inner_kernel
def sum_cells(keys, marks, low, shift, cells, count, total):
    """Write the sum of the marks left of each cell, then the total.

    Often most rows are in the first cell, and each sum would wait for the one before it. So marks
    of this cell are added to one of `SPARE` other entries, and its sum is the rest of the total.
    """
    for b in range(count + SPARE):
        cells[b] = 0
    for i in range(np.uint64(len(keys))):
        b = np.uint64(np.uint32(keys[i] - low) >> shift)
        cells[b or np.uint64(count) + (i & np.uint64(SPARE - 1))] += marks[i]
    others = np.int64(0)
    for b in range(1, count):
        others += cells[b]
    left = total - others  # of the cell b, here and below
    cells[0] = 0
    for b in range(1, count):
        here = cells[b]
        cells[b] = left
        left += here
    cells[count] = total


@inner_kernel
def best_between(cells, count, n, s, light):
    """Return the highest score of a split before a cell with enough weight per side, and it."""
    top = -np.inf
    at = 0
    for b in range(1, count):
        n_left = np.float64(cells[b] >> WEIGHT)
        s_left = np.float64(cells[b] & LOW)
        s_right = s - s_left
        score = s_left * s_left / n_left + s_right * s_right / (n - n_left)  # S
        heavy = n_left >= light and n - n_left >= light
        if heavy and score > top:
            top = score
            at = b
    return top, at


@inner_kernel
def open_promising(cells, count, n, s, threshold, open_cells):
    """Write which cells have a corner above the threshold; return whether any has."""
    some = np.uint8(0)
    for b in range(count):
        n_left = np.float64(cells[b] >> WEIGHT)
        s_left = np.float64(cells[b] & LOW)
        n_end = np.float64(cells[b + 1] >> WEIGHT)
        s_end = np.float64(cells[b + 1] & LOW)
        ones = s_end - s_left
        zeros = n_end - n_left - ones
        is_open = np.uint8(is_above(s_left, n_left, s, n, threshold))
        is_open |= np.uint8(is_above(s_end, n_left + ones, s, n, threshold))
        is_open |= np.uint8(is_above(s_left, n_left + zeros, s, n, threshold))
        is_open |= np.uint8(is_above(s_end, n_end, s, n, threshold))
        open_cells[b] = is_open
        some |= is_open
    return some > 0


@inner_kernel
def pick_items(keys, low, shift, open_cells, items):
    """Write the rows in open cells, with their rank minus ``low`` in the high bits; count them."""
    m = np.uint64(0)
    for i in range(np.uint64(len(keys))):
        key = np.uint32(keys[i] - low)
        items[0, m] = (np.uint64(key) << KEY) | i
        m += np.uint64(open_cells[np.uint64(key >> shift)])
    return np.int64(m)


@inner_kernel
def evaluate_items(table, rules, c, keys, marks, items, low, shift, cells, totals, known):
    """Return the best proxy of all splits after sorted items, and the rank before it, or -1."""
    best, threshold, slack = known
    n, s = totals[0], totals[2]
    cut = np.int64(-1)
    cell = np.int64(-1)
    left = np.int64(0)
    for i in range(len(items)):
        key = items[i] >> KEY
        if np.int64(key >> np.uint64(shift)) != cell:
            cell = np.int64(key >> np.uint64(shift))
            left = cells[cell]
        left += marks[items[i] & ROW_HALF]
        n_left = np.float64(left >> WEIGHT)
        if n_left == n or (i + 1 < len(items) and items[i + 1] >> KEY == key):
            continue
        s_left = np.float64(left & LOW)
        s_right = s - s_left
        score = s_left * s_left / n_left + s_right * s_right / (n - n_left)  # S
        light = min(n_left, n - n_left) < rules.min_weight_leaf
        rank = low + np.uint32(key)
        if score > threshold and not light and is_place(table, c, keys, rank):
            proxy = proxy_of_pair(GINI, s_left, n_left, s, n)
            if proxy > best:
                best = proxy
                cut = np.int64(rank)
            threshold = max(threshold, score - slack)
    return best, cut


@inner_kernel
def is_place(table, c, keys, rank):
    """Return whether a node's next rank is far enough from this one to split between them."""
    if are_apart(table, c, rank, rank + ONE):  # then all later ranks are, too
        return True
    above = NONE
    for i in range(np.uint64(len(keys))):
        above = min(above, keys[i] if keys[i] > rank else NONE)
    return are_apart(table, c, rank, above)


@inner_kernel
def partition_by_rank(lists, v, start, end, cut, spare):
    """Turn ranks into entries, those up to a rank first; return the first entry of the others.

    The entry before it has the largest rank of its side, and it has the smallest rank of its own
    side. So the values around the split are found there.
    """
    to_left = np.uint64(start)
    to_right = np.uint64(0)
    last = np.uint64(start)
    first = np.uint64(0)
    lowest = NONE
    for i in range(np.uint64(start), np.uint64(end)):
        key = lists[v, i]
        is_left = key <= cut
        last = to_left if key == cut else last
        lists[v, to_left] = np.uint32(i)
        spare[to_right] = np.uint32(i)
        if not is_left and key < lowest:
            lowest = key
            first = to_right
        to_left += np.uint64(is_left)
        to_right += np.uint64(not is_left)
    for i in range(to_right):
        lists[v, to_left + i] = spare[i]
    swap(lists[v], last, to_left - ONE64)
    swap(lists[v], to_left, to_left + first)
    return np.int64(to_left)
