"""Sum the records of a leaf's rows by feature and bin: the histogram.

    cell[f, b] = Σ record[i]        over the leaf's rows i whose feature f is in bin b

Two thirds of the time of training pass here. A row's bins lie together, and a row's record is
loaded once for all its features; rows to come are asked for ahead, as those of a leaf lie
scattered. One sum in place of two (g, h) halves what is written.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import (
    CACHE_LINE,
    FLUSHED,
    HALF,
    LOW,
    MAX_BINS,
    MOST_G,
    MOST_H,
    SPREAD,
    TOTAL_G,
    TOTAL_H,
)
from algorithms.runtime.intrinsics import prefetch
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel

AHEAD = 16  # rows
LINE = 64  # bytes of a cache line
FULL = (MAX_BINS // CACHE_LINE | 1) * CACHE_LINE  # the usual stride: of columns with most bins
CHUNK = 512  # rows whose sums are looked at together: a look at each row takes a quarter longer


@inner_kernel
def fetch_ahead(bins, records, rows, i, last, low, high):
    """Ask for the bins and the record of a row to come."""
    row = np.uint64(rows[min(i + np.uint64(AHEAD), last - np.uint64(1))])
    at, line = row * np.uint64(bins.shape[1]), np.uint64(LINE)
    prefetch(records, row)
    prefetch(bins, at + low)
    prefetch(bins, at + high - np.uint64(1))
    if high - low > line + line:
        for byte in range(low + line, high, line):
            prefetch(bins, at + byte)


@linked_kernel
def add_rows(bins, records, rows, first, last, features, low, high, stride, cells):
    """Add the records of rows[first : last] to their cells of the features low … high − 1.

    Features ascend: where the last of them has its own place, no feature before it is left out.
    Rows ascend, too: those of a root, and of a leaf that lost none between two, need no list.
    """
    if first == last:
        return
    end, row, n = high - np.uint64(1), np.uint64(rows[first]), last - first
    is_run = np.uint64(rows[last - np.uint64(1)]) - row == n - np.uint64(1)
    whole = high - low == np.uint64(bins.shape[1])  # of parts of rows none is foretold
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
    """Add rows to the cells of neighbouring features, two rows at a time.

    A feature's cells are then found once for two rows; a stride that the compiler knows becomes
    part of their addresses.
    """
    one = np.uint64(1)
    i = first
    while i + one < last:
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
    """Add the rows first … last − 1 of the table to the cells of neighbouring features.

    The processor foretells by itself what is read next.
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
    """Add rows to the cells of features that are numbered."""
    for i in range(first, last):
        fetch_ahead(bins, records, rows, i, last, low, high)
        row = np.uint64(rows[i])
        record = records[row]
        for j in range(low, high):
            f = np.uint64(features[j])
            cells[f * stride + np.uint64(bins[row, f])] += record


@kernel
def build_narrow(bins, records, rows, first, last, features, low, high, stride, cells):
    """Add rows to the cells of the features numbered low … high − 1; none can overflow.

    Parameters
    ----------
    bins : (n_rows, n_features) uint8
    records : (n_rows,) int64
    rows : uint32; rows[first : last] are added
    features : int64, ascending
    low, high : which of them
    stride : cells between two features
    cells : (n_cells,) int64, added to
    """
    first, last, stride = np.uint64(first), np.uint64(last), np.uint64(stride)
    low, high = np.uint64(low), np.uint64(high)
    add_rows(bins, records, rows, first, last, features, low, high, stride, cells)


@linked_kernel
def build_bounded(bins, records, rows, first, last, features, low, high, stride, cells, wide, room):
    """Add rows as `build_wide` does, where any `room` rows fit: no look at them is needed.

    Returns
    -------
    1 where cells were moved to the wide planes, else 0
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
    """Add rows as `build_narrow` does; cells that might overflow are moved to the wide planes.

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
        more_spread, more_g, more_h = tally(records, rows, start, end)
        if spread_here + more_spread > MOST_G or h_here + more_h > MOST_H:
            if spread_here or h_here:
                flush(cells, wide, features, low, high, stride)
                spread_here = h_here = 0
                flushed = 1
            elif step > np.uint64(1):  # too much for one chunk, never for one row
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
def tally(records, rows, start, end):
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
    """Write Σg and Σh of a member's rows, which are those of all cells of a dense column.

    Parameters
    ----------
    first, last : the rows, which are looked at where the column is listed
    column : one whose cells the member has summed
    """
    sums, cells, planes = scratch.sums[rank], scratch.cells[rank], scratch.wide[rank]
    if column >= bins.rows.shape[1]:
        _, sums[TOTAL_G], sums[TOTAL_H] = tally(records, growth.rows, first, last)
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
