"""Candidate thresholds of a column: its quantiles, weighted by the hessians.

A candidate is placed wherever the sum of h along the sorted cells passes the next multiple of ε H,
so that two consecutive candidates have at most about ε H between them (Chen & Guestrin 2016,
section 3.3): in the objective, a weighted sum of squares Σ h (F − g/h)² / 2, rows have weight h.
"""

import numpy as np

from algorithms.gbdt.kernels.bin_edges import end_of_run, middle
from algorithms.runtime.intrinsics import prefetch
from algorithms.runtime.jit import kernel

CELLS = 4096  # number of cells of a column without frequent values
MAX_CELLS = 2 * CELLS + 1
AHEAD = 24
ROWS_AT_ONCE = 256


@kernel
def count_runs(value, enough):
    """Return the number of distinct values of a sorted column; counting stops above ``enough``."""
    count = start = 0
    while start < len(value) and count <= enough:
        start = end_of_run(value, start)
        count += 1
    return count


@kernel
def cut_cells(order, value, h, per_row, per_h, fewest, large, codes, edges, counts, several):
    """Divide a sorted column into cells between distinct values; return the number of cells.

    A cell ends when its size is at least ``fewest``, and before a value of size ``large`` or more.
    So cells of several values are smaller than ``fewest`` + ``large``.

    Parameters
    ----------
    order : (n,) uint32, rows of the column's present entries
    value : (n,) float32, their values, ascending
    h : (n_rows,) float32, weights, negative ones count as 0; or (0,)
    per_row, per_h : the size of an entry is per_row + per_h h
    fewest, large : float; the size of the column is at most `CELLS` times ``fewest``, and ``large``
        is not smaller than ``fewest``, so that there are at most `MAX_CELLS` cells
    codes : (n_rows,) uint16, written for present values; or (0,)
    edges : (MAX_CELLS,) float64, written: edge between each cell and the next one
    counts : (MAX_CELLS,) int64, written: number of entries of each cell
    several : (MAX_CELLS,) bool, written: whether a cell has more than one value
    """
    if len(value) == 0:
        return 0
    cell = first = start = 0
    in_cell = 0.0
    while start < len(value):
        end = end_of_run(value, start)
        size = per_row * (end - start)
        if len(h):
            for i in range(start, end):
                size += per_h * max(np.float64(h[np.uint64(order[i])]), 0.0)
        if start > first and (in_cell >= fewest or size >= large):
            edges[cell] = middle(value[start - 1], value[start])
            counts[cell] = start - first
            cell += 1
            first = start
            in_cell = 0.0
        several[cell] = start > first
        in_cell += size
        if len(codes):
            for i in range(start, end):
                codes[np.uint64(order[i])] = np.uint16(cell)
        start = end
    counts[cell] = len(value) - first
    return cell + 1


@kernel
def weigh_runs(order, value, weight, per_weight, counts):
    """Replace sorted values by the distinct ones, and weigh each; return the number of them.

    Parameters
    ----------
    order : (n,) uint32, rows of the column's present entries
    value : (n,) float32, their values, ascending; written
    weight : (n_rows,) float64
    per_weight : number of parts of a unit of weight
    counts : (n,) int64, written: number of whole parts of each value, at least one
    """
    n_runs = start = 0
    while start < len(value):
        end = end_of_run(value, start)
        total = 0.0
        for i in range(start, end):
            total += weight[np.uint64(order[i])]
        value[n_runs] = value[start]
        counts[n_runs] = max(np.int64(per_weight * total), 1)
        n_runs += 1
        start = end
    return n_runs


@kernel
def weigh_rows(codes, h, sums):
    """Add each row's h, float32, to the sum of its cell; ``sums`` is float64 (n_cells + 1,)."""
    for i in range(np.uint64(len(codes))):
        sums[np.uint64(codes[i])] += np.float64(h[i])


@kernel
def weigh_entries(order, counts, h, sums):
    """Add h to the sums of cells by sorted entries; parameters are those of `cut_cells`."""
    last = np.uint64(len(order)) - np.uint64(1)
    i = np.uint64(0)
    for cell in range(len(counts)):
        for _ in range(counts[cell]):
            prefetch(h, np.uint64(order[min(i + np.uint64(AHEAD), last)]))
            sums[cell] += np.float64(h[np.uint64(order[i])])
            i += np.uint64(1)


@kernel
def choose_ends(weights, room, ends):
    """Write the last cell of each bin, for bins of about equal weight; return how many.

    Parameters
    ----------
    weights : (n_cells,) float64
    room : maximum number of bins, 1/ε; with at most so many cells, each cell is a bin
    ends : (room,) int64, written, ascending; without the last cell of all
    """
    total = 0.0
    for cell in range(len(weights)):
        total += weights[cell]
    step = 0.0 if len(weights) <= room else total / room  # ε H
    passed = 0.0
    target = step
    count = 0
    for cell in range(len(weights) - 1):
        passed += weights[cell]
        if passed >= target and count < room - 1:
            ends[count] = cell
            count += 1
            target = max(target + step, step * np.ceil(passed / step)) if step > 0.0 else 0.0
    return count


@kernel
def code_rows(codes, bins, column):
    """Write the bin of each row's cell: ``column`` is uint8 (n_rows,), ``bins`` uint8 by cell."""
    for i in range(np.uint64(len(codes))):
        column[i] = bins[np.uint64(codes[i])]


@kernel
def lay_rows(columns, rows, first, last):
    """Copy columns (n_features, n_rows) into rows (n_rows, n_features), for rows first … last − 1.

    Rows are copied in blocks, so that the written rows stay in the first-level cache.
    """
    for start in range(np.uint64(first), np.uint64(last), np.uint64(ROWS_AT_ONCE)):
        end = min(start + np.uint64(ROWS_AT_ONCE), np.uint64(last))
        for f in range(np.uint64(columns.shape[0])):
            for i in range(start, end):
                rows[i, f] = columns[f, i]
