"""Candidate thresholds of a column: its quantiles, weighted by the hessians.

Candidates are put wherever the sum of h along the sorted values passes the next multiple of ε H,
so that no two that follow each other have more than about ε H between them (Chen & Guestrin 2016,
section 3.3): a split of the weighted squares Σ h (F − g/h)² / 2 sees rows in this proportion.
"""

import numpy as np

from algorithms._kernels.hist_sketch import end_of_run, middle
from algorithms._kernels.intrinsics import prefetch
from algorithms._kernels.jit import inner_kernel, kernel

AHEAD = 24
ROWS_AT_ONCE = 256


@inner_kernel
def count_runs(value, enough):
    """Return how many distinct values there are; counting stops above ``enough``."""
    count = start = 0
    while start < len(value) and count <= enough:
        start = end_of_run(value, start)
        count += 1
    return count


@kernel
def weighted_edges(order, value, h, total, room, edges):
    """Write the edges between the bins of a column; return how many there are.

    Parameters
    ----------
    order : (n,) uint32, rows of the column's present entries
    value : (n,) float32, their values, ascending
    h : (n_rows,) float32
    total : float, their sum over the present rows; NaN: not known
    room : most bins, 1/ε; each distinct value has its own where there are no more
    edges : (room,) float64, written; a bin ends at the values that are at most its edge
    """
    if len(value) == 0:
        return 0
    n = np.uint64(len(value))
    last = n - np.uint64(1)
    if np.isnan(total):
        total = 0.0
        for i in range(n):
            prefetch(h, np.uint64(order[min(i + np.uint64(AHEAD), last)]))
            total += np.float64(h[np.uint64(order[i])])
    step = 0.0 if count_runs(value, room) <= room else total / room  # ε H
    passed = 0.0
    target = step
    count = 0
    for i in range(last):
        prefetch(h, np.uint64(order[min(i + np.uint64(AHEAD), last)]))
        passed += np.float64(h[np.uint64(order[i])])
        after = value[i + np.uint64(1)]
        if after != value[i] and passed >= target and count < room - 1:
            edges[count] = middle(value[i], after)
            count += 1
            target = max(target + step, step * np.ceil(passed / step)) if step > 0.0 else 0.0
    return count


@kernel
def code_column(order, value, edges, codes):
    """Write the bin of each present entry of a column: how many edges are below its value.

    Parameters
    ----------
    order, value : as in `weighted_edges`
    edges : float64, ascending
    codes : (n_rows,) uint8, written at the rows that are present
    """
    b = np.uint64(0)
    last = np.uint64(len(edges))
    for i in range(np.uint64(len(value))):
        while b < last and value[i] > edges[b]:
            b += np.uint64(1)
        codes[np.uint64(order[i])] = np.uint8(b)


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
