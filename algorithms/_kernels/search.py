"""Search the features of one node for its best split."""

import numpy as np

from algorithms._kernels.jit import inner_kernel, kernel
from algorithms._kernels.layout import CLOSE, GINI, ROW, SQUARED_ERROR
from algorithms._kernels.scan import scan_pairs
from algorithms._kernels.scan_classes import class_of, scan_classes

TWO = 2
SIGN = np.uint32(31)


@inner_kernel
def sum_rows(rules, rows, start, end, totals):
    """Write the totals of the rows start … end − 1, see `Growth`."""
    totals[:] = 0.0
    if rules.criterion == SQUARED_ERROR:
        for row in range(start, end):
            y = rows.target[row]
            w = rows.weight[row] if len(rows.weight) else 1.0
            totals[0] += w
            totals[1] += w * y
            totals[2] += w * y * y
    else:
        for row in range(start, end):
            k, w = class_of(rows, np.uint64(row), rules.n_classes)
            totals[0] += w
            totals[1 + k] += w


@inner_kernel
def add_entries(rules, rows, f, first, last, totals):
    """Add the totals of the rows in the entries first … last − 1 of a feature's list."""
    for j in range(first, last):
        row = rows.lists[f, j] & ROW
        if rules.criterion == SQUARED_ERROR:
            y = rows.target[row]
            w = rows.weight[row] if len(rows.weight) else 1.0
            totals[1] += w * y
            totals[2] += w * y * y
        else:
            k, w = class_of(rows, row, rules.n_classes)
            totals[1 + k] += w
        totals[0] += w


@inner_kernel
def first_missing(table, rows, f, start, end):
    """Return the first entry start … end of a feature's list whose value is missing."""
    column = rows.columns[f]
    if table.missing[column] == 0:
        return end
    low = start
    while low < end:
        middle = (low + end) // 2
        if np.isnan(table.values[column, rows.source[rows.lists[f, middle] & ROW]]):
            end = middle
        else:
            low = middle + 1
    return low


@inner_kernel
def is_constant(table, rows, f, start, end):
    """Return whether all values are missing, or none is and all are close together."""
    if table.missing[rows.columns[f]] > 0:
        stop = first_missing(table, rows, f, start, end)
        if stop < end:
            return stop == start
    if rows.lists[f, end - 1] >> SIGN or (rows.lists[f, start + 1] >> SIGN):
        return False
    column = rows.columns[f]
    low = table.values[column, rows.source[rows.lists[f, start] & ROW]]
    high = table.values[column, rows.source[rows.lists[f, end - 1] & ROW]]
    return high <= low + CLOSE


@kernel
def search_features(table, rows, rules, growth, scratch, bounds, first, last):
    """Search the features visit[first … last − 1] of the node at hand.

    Parameters
    ----------
    bounds : (start, end, lower, upper) of the node
    growth : ``visit`` and ``totals`` are read; ``proxy``, ``position``, ``to_left`` are written
    """
    start, end, lower, upper = bounds
    totals = growth.totals
    aside = scratch.sums[0]
    pairs = rules.criterion == SQUARED_ERROR or (rules.criterion == GINI and rules.n_classes == TWO)
    n_rows = end - start
    best = -np.inf
    growth.position[first:last] = 0
    for v in range(first, last):
        f = growth.visit[v]
        stop = first_missing(table, rows, f, start, end)
        node = (start, stop, n_rows, lower, upper)
        for turn in range(2 if stop < end else 1):  # missing values right, then left
            rows_left = 0
            aside[:] = 0.0
            if turn == 1:
                add_entries(rules, rows, f, stop, end, aside)
                rows_left = end - stop
            if pairs:
                s = aside[1] if rules.criterion == SQUARED_ERROR else aside[2]
                side = (rows_left, aside[0], s)
                found, place = scan_pairs(table, rows, rules, f, node, side, totals, best, scratch)
            else:
                for k in range(rules.n_classes):
                    scratch.classes[0, k] = aside[1 + k]
                found, place = scan_classes(
                    table, rows, rules, f, node, rows_left, totals, best, scratch
                )
            if place > 0:
                best = found
                growth.proxy[v] = found
                growth.position[v] = place
                growth.to_left[v] = turn
        if is_perfect(rules, best, n_rows):
            break


@inner_kernel
def is_perfect(rules, best, n_rows):
    """Return whether no later feature can be better: both sides pure, or one row each."""
    if n_rows == TWO:
        return best > -np.inf
    return rules.criterion != SQUARED_ERROR and best >= 0.0
