"""Build the histogram of a leaf: sums of its rows' records by feature and bin.

    cell[f, b] = Σ record[i]        over the leaf's rows i whose feature f is in bin b

Training spends two thirds of its time here. The bins of a row are contiguous, and its record is
loaded once for all features. Rows are prefetched, because those of a leaf are scattered. One packed
sum instead of two sums (g, h) halves the writes.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import (
    CACHE_LINE,
    FLUSHED,
    HALF,
    LOW,
    MAX_BINS,
    MAX_G,
    MAX_H,
    SPREAD,
    TOTAL_G,
    TOTAL_H,
)
from algorithms.runtime.intrinsics import prefetch
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel

AHEAD = 16  # rows
LINE = 64  # bytes of a cache line
MAX_BYTES_WITHOUT_PREFETCH = 1 << 17  # so many bytes of bins stay in the second-level cache
SHORT = np.uint64(16)  # features; so few bins of a row are rarely in two cache lines
FULL = (MAX_BINS // CACHE_LINE | 1) * CACHE_LINE  # usual stride, for columns with MAX_BINS bins
CHUNK = 512  # rows between overflow checks; a check for each row takes 25 % longer


@inner_kernel
def fetch_ahead(bins, records, rows, i, last, low, high):
    """Prefetch the bins and the record of a later row."""
    row = np.uint64(rows[min(i + np.uint64(AHEAD), last - np.uint64(1))])
    at, line = row * np.uint64(bins.shape[1]), np.uint64(LINE)
    prefetch(records, row)
    prefetch(bins, at + low)
    if high - low > SHORT:
        prefetch(bins, at + high - np.uint64(1))
    if high - low > line + line:
        for byte in range(low + line, high, line):
            prefetch(bins, at + byte)


@linked_kernel
def add_rows(bins, records, rows, first, last, features, low, high, stride, cells):
    """Add the records of rows[first : last] to their cells of the features low … high − 1.

    Features ascend: if features[high − 1] = high − 1, none before it is left out. Rows ascend, too:
    consecutive rows, like those of the root, are read without an index.
    """
    if first == last:
        return
    end, row, n = high - np.uint64(1), np.uint64(rows[first]), last - first
    is_run = np.uint64(rows[last - np.uint64(1)]) - row == n - np.uint64(1)
    whole = high - low == np.uint64(bins.shape[1])  # else the hardware does not prefetch
    if high > low and np.uint64(features[end]) != end:
        add_some(bins, records, rows, first, last, features, low, high, stride, cells)
    elif stride == np.uint64(FULL) and is_run and whole:
        add_run(bins, records, row, row + n, low, high, np.uint64(FULL), cells)
    elif stride == np.uint64(FULL):
        add_all(bins, records, rows, first, last, low, high, np.uint64(FULL), cells)
    else:
        add_all(bins, records, rows, first, last, low, high, stride, cells)


@inner_kernel
def add_all(bins, records, rows, first, last, low, high, stride, cells):
    """Add rows to the cells of consecutive features, two rows at a time.

    The address of a feature's cells is then computed once for two rows. A constant stride is
    folded into the addresses by the compiler.
    """
    one = np.uint64(1)
    i, is_far = first, bins.size > MAX_BYTES_WITHOUT_PREFETCH
    while i + one < last:
        if is_far:
            fetch_ahead(bins, records, rows, i, last, low, high)
            fetch_ahead(bins, records, rows, i + one, last, low, high)
        row, next_row = np.uint64(rows[i]), np.uint64(rows[i + one])
        record, next_record = records[row], records[next_row]
        cell = low * stride
        for f in range(low, high):
            cells[cell + np.uint64(bins[row, f])] += record
            cells[cell + np.uint64(bins[next_row, f])] += next_record
            cell += stride
        i += np.uint64(2)
    if i < last:
        row = np.uint64(rows[i])
        record = records[row]
        for f in range(low, high):
            cells[f * stride + np.uint64(bins[row, f])] += record


@inner_kernel
def add_run(bins, records, first, last, low, high, stride, cells):
    """Add the rows first … last − 1 of the table to the cells of consecutive features.

    The hardware prefetches consecutive rows by itself.
    """
    one = np.uint64(1)
    i = first
    while i + one < last:
        record, next_record = records[i], records[i + one]
        cell = low * stride
        for f in range(low, high):
            cells[cell + np.uint64(bins[i, f])] += record
            cells[cell + np.uint64(bins[i + one, f])] += next_record
            cell += stride
        i += np.uint64(2)
    if i < last:
        record = records[i]
        for f in range(low, high):
            cells[f * stride + np.uint64(bins[i, f])] += record


@inner_kernel
def add_some(bins, records, rows, first, last, features, low, high, stride, cells):
    """Add rows to the cells of the features in a list."""
    for i in range(first, last):
        fetch_ahead(bins, records, rows, i, last, low, high)
        row = np.uint64(rows[i])
        record = records[row]
        for j in range(low, high):
            f = np.uint64(features[j])
            cells[f * stride + np.uint64(bins[row, f])] += record


@kernel
def build_narrow(bins, records, rows, first, last, features, low, high, stride, cells):
    """Add rows to the cells of features[low : high], if no cell can overflow.

    Parameters
    ----------
    bins : (n_rows, n_features) uint8
    records : (n_rows,) int64
    rows : uint32; rows[first : last] are added
    features : int64, ascending
    low, high : range in ``features``
    stride : number of cells from one feature to the next
    cells : (n_cells,) int64, added to
    """
    first, last, stride = np.uint64(first), np.uint64(last), np.uint64(stride)
    low, high = np.uint64(low), np.uint64(high)
    add_rows(bins, records, rows, first, last, features, low, high, stride, cells)


@linked_kernel
def build_bounded(bins, records, rows, first, last, features, low, high, stride, cells, wide, room):
    """Add rows like `build_wide`, without checking sums, if any ``room`` rows fit into a cell.

    Returns
    -------
    1 if cells were moved to the wide planes, else 0
    """
    first, last, stride = np.uint64(first), np.uint64(last), np.uint64(stride)
    low, high, room = np.uint64(low), np.uint64(high), np.uint64(room)
    for start in range(first, last, room):
        if start > first:
            flush(cells, wide, features, low, high, stride)
        end = min(start + room, last)
        add_rows(bins, records, rows, start, end, features, low, high, stride, cells)
    return 1 if last > first + room else 0


@kernel
def build_wide(bins, records, rows, first, last, features, low, high, stride, cells, wide, sums):
    """Add rows like `build_narrow`; cells are moved to the wide planes before they could overflow.

    Parameters
    ----------
    wide : (2, n_cells) int64, added to
    sums : int64, written: SPREAD, TOTAL_G, TOTAL_H of the rows, and FLUSHED: whether cells were
        moved
    """
    first, last, stride = np.uint64(first), np.uint64(last), np.uint64(stride)
    low, high = np.uint64(low), np.uint64(high)
    spread = total_g = total_h = spread_here = h_here = 0
    flushed = 0
    start, step = first, np.uint64(CHUNK)
    while start < last:
        end = min(start + step, last)
        more_spread, more_g, more_h = sum_rows(records, rows, start, end)
        if spread_here + more_spread > MAX_G or h_here + more_h > MAX_H:
            if spread_here or h_here:
                flush(cells, wide, features, low, high, stride)
                spread_here = h_here = 0
                flushed = 1
            elif step > np.uint64(1):  # a chunk can overflow, a single row cannot
                step = np.uint64(1)
            continue
        add_rows(bins, records, rows, start, end, features, low, high, stride, cells)
        spread_here += more_spread
        h_here += more_h
        spread += more_spread
        total_g += more_g
        total_h += more_h
        start, step = end, np.uint64(CHUNK)
    sums[SPREAD] = spread
    sums[TOTAL_G] = total_g
    sums[TOTAL_H] = total_h
    sums[FLUSHED] = flushed


@inner_kernel
def sum_rows(records, rows, start, end):
    """Return Σ|g|, Σg and Σh of some rows."""
    spread = total_g = total_h = 0
    for i in range(start, end):
        record = records[np.uint64(rows[i])]
        g = record >> HALF
        spread += abs(g)
        total_g += g
        total_h += record & LOW
    return spread, total_g, total_h


@linked_kernel
def flush(cells, wide, features, low, high, stride):
    """Move the cells of some features into the wide planes."""
    for j in range(low, high):
        first = np.uint64(features[j]) * stride
        for i in range(first, first + stride):
            cell = cells[i]
            wide[0, i] += cell >> HALF
            wide[1, i] += cell & LOW
            cells[i] = 0


@inner_kernel
def sum_totals(bins, records, growth, scratch, rank, first, last, column):
    """Write Σg and Σh of a thread's rows: the sums over all cells of a dense column.

    Parameters
    ----------
    first, last : range of the rows; their records are summed if the column is sparse
    column : a column whose cells the thread has summed
    """
    sums, cells, planes = scratch.sums[rank], scratch.cells[rank], scratch.wide[rank]
    if column >= bins.rows.shape[1]:
        _, sums[TOTAL_G], sums[TOTAL_H] = sum_rows(records, growth.rows, first, last)
        return
    total_g = total_h = np.int64(0)
    at = np.uint64(column * (growth.cells.shape[1] // len(bins.layout.length)))
    for i in range(at, at + np.uint64(bins.layout.length[column])):
        total_g += cells[i] >> HALF
        total_h += cells[i] & LOW
        if sums[FLUSHED]:
            total_g += planes[0, i]
            total_h += planes[1, i]
    sums[TOTAL_G], sums[TOTAL_H] = total_g, total_h
