"""Sparse columns: columns stored by their entries outside the default bin.

The entries of a row are indices of histogram cells, so a histogram takes one addition per entry. To
partition rows by a sparse feature, its entries are written to a dense column, which is cleared
afterwards.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import (
    HALF,
    LOW,
    MAX_G,
    MAX_H,
    SPARSE_FLUSHED,
    SPREAD,
    TOTAL_G,
    TOTAL_H,
)
from algorithms.gbdt.kernels.histogram import CHUNK, sum_rows
from algorithms.runtime.intrinsics import prefetch
from algorithms.runtime.jit import inner_kernel, linked_kernel

AHEAD = 16  # rows


@inner_kernel
def add_sparse_entries(sparse, records, rows, start, end, last, cells):
    """Add rows[start : end] to their cells."""
    final = np.uint64(last) - np.uint64(1)
    for i in range(np.uint64(start), np.uint64(end)):
        far = np.uint64(rows[min(i + np.uint64(2 * AHEAD), final)])
        near = np.uint64(rows[min(i + np.uint64(AHEAD), final)])
        prefetch(sparse.start, far)
        prefetch(records, near)
        prefetch(sparse.cells, np.uint64(sparse.start[near]))
        row = np.uint64(rows[i])
        record = records[row]
        for k in range(np.uint64(sparse.start[row]), np.uint64(sparse.start[row + np.uint64(1)])):
            cells[np.uint64(sparse.cells[k])] += record


@linked_kernel
def build_sparse_histogram(sparse, records, rows, first, last, wide, cells, planes, begin, sums):
    """Add rows[first : last] to the cells of all sparse columns.

    Parameters
    ----------
    sparse : SparseColumns
    records : (n_rows,) int64
    rows : uint32
    wide : whether cells could overflow; then they are moved to the wide planes in time
    cells : (n_cells,) int64, added to
    planes : (2, n_cells) int64, added to
    begin : the first cell of the sparse columns
    sums : int64, written: SPREAD, TOTAL_G, TOTAL_H of the rows of a wide leaf, and SPARSE_FLUSHED:
        whether cells were moved
    """
    sums[SPREAD] = sums[SPARSE_FLUSHED] = 0
    if not wide:
        add_sparse_entries(sparse, records, rows, first, last, last, cells)
        return
    spread = total_g = total_h = spread_here = h_here = 0
    start, step = first, CHUNK
    while start < last:
        end = min(start + step, last)
        more_spread, more_g, more_h = sum_rows(records, rows, np.uint64(start), np.uint64(end))
        if spread_here + more_spread > MAX_G or h_here + more_h > MAX_H:
            if spread_here or h_here:
                flush_sparse_cells(cells, planes, begin)
                spread_here = h_here = 0
                sums[SPARSE_FLUSHED] = 1
            elif step > 1:  # a chunk can overflow, a single row cannot
                step = 1
            continue
        add_sparse_entries(sparse, records, rows, start, end, last, cells)
        spread_here += more_spread
        h_here += more_h
        spread += more_spread
        total_g += more_g
        total_h += more_h
        start, step = end, CHUNK
    sums[SPREAD], sums[TOTAL_G], sums[TOTAL_H] = spread, total_g, total_h


@inner_kernel
def flush_sparse_cells(cells, planes, begin):
    """Move the cells of all sparse columns into the wide planes."""
    for i in range(np.uint64(begin), np.uint64(len(cells))):
        planes[0, i] += cells[i] >> HALF
        planes[1, i] += cells[i] & LOW
        cells[i] = 0


@inner_kernel
def dense_column(bins, c, column):
    """Return the bins of a dense column and the step between two rows; `column` if c is sparse."""
    if c >= bins.rows.shape[1]:
        return column, np.uint64(1)
    if len(bins.columns):
        return bins.columns[c], np.uint64(1)
    return bins.flat_rows[c:], np.uint64(bins.rows.shape[1])


@inner_kernel
def spread_column(sparse, f, column):
    """Write a feature's entries to a dense column of zeros."""
    for k in range(np.uint64(sparse.of_feature[f]), np.uint64(sparse.of_feature[f + 1])):
        column[np.uint64(sparse.rows[k])] = sparse.bins[k]


@inner_kernel
def clear_column(sparse, f, column):
    """Set the entries that `spread_column` wrote back to zero."""
    for k in range(np.uint64(sparse.of_feature[f]), np.uint64(sparse.of_feature[f + 1])):
        column[np.uint64(sparse.rows[k])] = 0


@inner_kernel
def cell_of(bins, row, f, stride):
    """Return the cell index, within its column, of a row's bin of a feature."""
    column = bins.layout.column[f]
    if column < bins.rows.shape[1]:
        return np.int64(bins.rows[row, np.uint64(column)])
    sparse = bins.sparse
    begin = column * stride
    low = begin + bins.layout.first[f]
    high = low + bins.count[f] - 1
    for k in range(sparse.start[row], sparse.start[row + np.uint64(1)]):
        cell = np.int64(sparse.cells[k])
        if low <= cell < high:
            return cell - begin
    return np.int64(0)
