"""Candidate thresholds of a column: its quantiles, weighted by the hessians.

Candidates are put wherever the sum of h along the sorted cells passes the next multiple of ε H, so
that no two that follow each other have more than about ε H between them (Chen & Guestrin 2016,
section 3.3): a split of the weighted squares Σ h (F − g/h)² / 2 sees rows in this proportion.
"""

import numpy as np

from algorithms._kernels.hist_sketch import end_of_run, middle
from algorithms._kernels.intrinsics import prefetch
from algorithms._kernels.jit import kernel

MOST_CELLS = 4096  # of a column
AHEAD = 24
ROWS_AT_ONCE = 256


@kernel
def count_runs(value, enough):
    """Return how many distinct values a sorted column has; counting stops above ``enough``."""
    count = start = 0
    while start < len(value) and count <= enough:
        start = end_of_run(value, start)
        count += 1
    return count


@kernel
def cut_cells(order, value, fewest, codes, edges, counts):
    """Part a sorted column into cells between distinct values; return how many there are.

    Parameters
    ----------
    order : (n,) uint32, rows of the column's present entries
    value : (n,) float32, their values, ascending
    fewest : entries of a cell, but of the last one
    codes : (n_rows,) uint16, written where a value is present; or (0,)
    edges : (MOST_CELLS,) float64, written: between a cell and the next one
    counts : (MOST_CELLS,) int64, written: entries of each
    """
    if len(value) == 0:
        return 0
    cell = start = 0
    for i in range(len(value)):
        if i - start >= fewest and value[i] != value[i - 1]:
            edges[cell] = middle(value[i - 1], value[i])
            counts[cell] = i - start
            cell += 1
            start = i
        if len(codes):
            codes[order[i]] = np.uint16(cell)
    counts[cell] = len(value) - start
    return cell + 1


@kernel
def weigh_rows(codes, h, sums):
    """Add each row's h, float32, to its cell of one column; ``sums`` is float64 (n_cells + 1,)."""
    for i in range(np.uint64(len(codes))):
        sums[np.uint64(codes[i])] += np.float64(h[i])


@kernel
def weigh_entries(order, counts, h, sums):
    """Do the same by the sorted entries of a column; parameters are those of `cut_cells`."""
    last = np.uint64(len(order)) - np.uint64(1)
    i = np.uint64(0)
    for cell in range(len(counts)):
        for _ in range(counts[cell]):
            prefetch(h, np.uint64(order[min(i + np.uint64(AHEAD), last)]))
            sums[cell] += np.float64(h[np.uint64(order[i])])
            i += np.uint64(1)


@kernel
def choose_ends(weights, room, ends):
    """Write the last cells of bins of about equal weight; return how many there are.

    Parameters
    ----------
    weights : (n_cells,) float64
    room : most bins, 1/ε; each cell is one where there are no more
    ends : (room,) int64, written, ascending; the last cell of all is not among them
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

    Some rows at a time, so that what is written stays in the first-level cache.
    """
    for start in range(np.uint64(first), np.uint64(last), np.uint64(ROWS_AT_ONCE)):
        end = min(start + np.uint64(ROWS_AT_ONCE), np.uint64(last))
        for f in range(np.uint64(columns.shape[0])):
            for i in range(start, end):
                rows[i, f] = columns[f, i]
