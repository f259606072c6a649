"""Search of the features of one node for its best split."""

import numpy as np

from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.rank import gather_ranks, sort_list, span_of, value_of
from algorithms.trees.kernels.scan import scan_pairs
from algorithms.trees.kernels.scan_classes import class_of, scan_classes
from algorithms.trees.kernels.tree_arrays import GINI, ROW, SQUARED_ERROR
from algorithms.trees.kernels.unsorted_search import (
    has_few_ranks,
    partition_by_rank,
    search_cells,
)

TWO = 2
FEW_FOR_CELLS = 64  # maximum number of rows for which sorting is faster
SIGN = np.uint32(31)


@inner_kernel
def sum_rows(rules, rows, start, end, totals):
    """Write the totals of the rows start … end − 1, see `Growth`."""
    totals[:] = 0.0
    if rules.criterion == SQUARED_ERROR:
        n = s = q = 0.0
        for row in range(np.uint64(start), np.uint64(end)):
            y = rows.target[row]
            w = rows.weight[row] if len(rows.weight) else 1.0
            n += w
            s += w * y
            q += w * y * y
        totals[0], totals[1], totals[2] = n, s, q
    else:
        for row in range(np.uint64(start), np.uint64(end)):
            k, w = class_of(rows, row, rules.n_classes)
            totals[0] += w
            totals[1 + k] += w


@inner_kernel
def add_entries(rules, rows, f, first, last, totals):
    """Add the totals of the rows in the entries first … last − 1 of a feature's list."""
    f = np.uint64(f)
    if rules.criterion == SQUARED_ERROR:
        n, s, q = totals[0], totals[1], totals[2]
        for j in range(np.uint64(first), np.uint64(last)):
            row = rows.lists[f, j] & ROW
            y = rows.target[row]
            w = rows.weight[row] if len(rows.weight) else 1.0
            n += w
            s += w * y
            q += w * y * y
        totals[0], totals[1], totals[2] = n, s, q
        return
    for j in range(np.uint64(first), np.uint64(last)):
        k, w = class_of(rows, rows.lists[f, j] & ROW, rules.n_classes)
        totals[0] += w
        totals[1 + k] += w


@inner_kernel
def first_missing(table, rows, f, c, start, end):
    """Return the first entry start … end of the list f of column c whose value is missing."""
    if table.missing[c] == 0:
        return end
    low = start
    while low < end:
        middle = (low + end) // 2
        if np.isnan(value_of(table, rows, c, rows.lists[f, middle] & ROW)):
            end = middle
        else:
            low = middle + 1
    return low


@inner_kernel
def is_constant(table, rows, f, start, end):
    """Return whether all values are missing, or none is missing and all are close together.

    A list of categories may be in any order; equal ones are contiguous there, too.
    """
    column = rows.columns[f]
    if table.missing[column] > 0:
        stop = first_missing(table, rows, f, column, start, end)
        if stop < end:
            return stop == start
    if rows.lists[f, end - 1] >> SIGN or (rows.lists[f, start + 1] >> SIGN):
        return False
    low = table.values[column, rows.source[rows.lists[f, start] & ROW]]
    high = table.values[column, rows.source[rows.lists[f, end - 1] & ROW]]
    return high <= low + table.close and low <= high + table.close


@kernel
def search_features(table, rows, rules, growth, scratch, bounds, first, last):
    """Search features of a node, see `search_visit`; for threads that share a node."""
    search_visit(table, rows, rules, growth, scratch, bounds, first, last)


@inner_kernel
def search_visit(table, rows, rules, growth, scratch, bounds, first, last):
    """Search the features visit[first … last − 1] of the current node.

    Parameters
    ----------
    bounds : (start, end, lower, upper) of the node
    growth : ``visit`` and ``totals`` are read; ``proxy``, ``position``, ``to_left`` are written
    """
    start, end, _, _ = bounds
    n_rows = end - start
    ranked = len(table.ranks) > 0
    best = -np.inf
    unpartitioned = -1  # the best feature, if its rows are not partitioned yet
    cut = -1
    growth.position[first:last] = 0
    if ranked:
        gather_ranks(table, rows, growth.visit, start, end, first, last)
    for v in range(first, last):
        c = rows.columns[growth.visit[v]]
        if ranked and uses_cells(table, rows, rules, v, c, start, end):
            proxy, place = search_cells(
                table, rows, rules, scratch, v, c, start, end, growth.totals, best
            )
            if place >= 0:
                best = proxy
                unpartitioned = v
                cut = place
        else:
            if ranked:
                sort_list(table, rows, scratch, v, c, start, end)
            proxy = scan_feature(table, rows, rules, growth, scratch, bounds, v, best)
            if proxy > best:
                best = proxy
                unpartitioned = -1
        if rules.by_ratio:
            best = -np.inf  # gain ratio needs the best split of every feature
        if is_perfect(rules, rows, best, n_rows) or is_interrupted(growth.flag):
            break
    if unpartitioned >= 0:
        growth.proxy[unpartitioned] = best
        growth.to_left[unpartitioned] = 0
        growth.position[unpartitioned] = partition_by_rank(
            rows.lists, unpartitioned, start, end, cut, scratch.entries
        )


@inner_kernel
def uses_cells(table, rows, rules, v, c, start, end):
    """Return whether a column of a ranked table is searched by `search_cells`."""
    if (
        rules.criterion != GINI
        or rules.n_classes != TWO
        or rules.min_samples_leaf != 1
        or len(rules.monotonic) > 0
        or len(rows.weight) > 0
        or table.missing[c] > 0
    ):
        return False
    if end - start > FEW_FOR_CELLS:
        return True
    low, high = span_of(rows.lists[v, start:end])
    return has_few_ranks(low, high, end - start)


@inner_kernel
def scan_feature(table, rows, rules, growth, scratch, bounds, v, best):
    """Scan the sorted list of a feature of `visit`; return its proxy if it exceeds ``best``."""
    start, end, lower, upper = bounds
    totals = growth.totals
    aside = scratch.sums[0]
    pairs = rules.criterion == SQUARED_ERROR or (rules.criterion == GINI and rules.n_classes == TWO)
    feature = growth.visit[v]
    f = v if len(table.ranks) else feature
    c = rows.columns[feature]
    sign = rules.monotonic[feature] if len(rules.monotonic) else np.int8(0)
    stop = first_missing(table, rows, f, c, start, end)
    node = (start, stop, end - start, lower, upper, c, sign)
    for turn in range(2 if stop < end else 1):  # missing values right, then left
        rows_left = 0
        aside[:] = 0.0
        if turn == 1:
            add_entries(rules, rows, f, stop, end, aside)
            rows_left = end - stop
        if pairs:
            s = aside[1] if rules.criterion == SQUARED_ERROR else aside[2]
            side = (rows_left, aside[0], s)
            proxy, place = scan_pairs(table, rows, rules, f, node, side, totals, best, scratch)
        else:
            for k in range(rules.n_classes):
                scratch.classes[0, k] = aside[1 + k]
            proxy, place = scan_classes(
                table, rows, rules, f, node, rows_left, totals, best, scratch
            )
        if place > 0:
            best = proxy
            growth.proxy[v] = proxy
            growth.position[v] = place
            growth.to_left[v] = turn
    return best


@inner_kernel
def is_perfect(rules, rows, best, n_rows):
    """Return whether no later feature can be better: both sides pure, or one row each.

    With float weights two such splits differ by rounding, and the larger proxy is taken, as when
    several threads search the features.
    """
    if n_rows == TWO:
        return best > -np.inf
    return rules.criterion != SQUARED_ERROR and len(rows.weight) == 0 and best >= 0.0
