"""Histograms of trees with vector leaves: rounded derivatives, and their sums by bin.

A row is read once for all outputs. Each thread builds the histograms of its own columns. See
`vector_arrays` for the layout of an entry.
"""

import numpy as np

from algorithms.newton.kernels.vector_arrays import BLOCK
from algorithms.runtime.intrinsics import prefetch
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.math_functions import uniform
from algorithms.runtime.vector_lanes import WIDTH, add_eight, add_sixteen, copy_eight

AHEAD = np.uint64(8)  # rows


@inner_kernel
def round_up(value, number):
    """Return ⌊value + u⌋, int32, where u is a number from 0 to 2 modulo 1."""
    return np.int32(np.floor(value + (number - (1.0 if number >= 1.0 else 0.0))))


@kernel
def round_derivatives(g, h, rounding, first, last, pairs):
    """Write the derivatives of rows first … last − 1 in units, rounded at random.

    Parameters
    ----------
    g : float32 (n_outputs, n_rows)
    h : float32 (n_outputs or 1, n_rows)
    rounding : Rounding
    pairs : int32 (n_rows, lanes), written; other lanes remain
    """
    per_unit, shifts, first_h = rounding.per_unit, rounding.shifts, rounding.first_h
    for i in range(np.uint64(first), np.uint64(last)):
        number = uniform(np.uint32(rounding.seed), np.uint32(i))
        for k in range(len(g)):
            pairs[i, k] = round_up(g[k, i] * per_unit[k], number + shifts[k])
        for k in range(len(h)):
            lane = first_h + k
            pairs[i, lane] = round_up(h[k, i] * per_unit[lane], number + shifts[lane])


@linked_kernel
def build_histogram(at, low, high, bins, pairs, growth, rank):
    """Write the histogram of a node in growth.columns[low : high].

    The derivatives of a block of rows are copied to scratch space, where they are contiguous. Then
    one column after another reads them, so the histogram of a column stays in the first cache.

    Parameters
    ----------
    at : the node, which has a slot
    bins : Bins
    pairs : int32 (n_rows, lanes)
    growth : VectorGrowth
    rank : rank of the calling thread
    """
    node, lanes, work = growth.nodes[at], np.uint64(pairs.shape[1]), growth.work[rank]
    cells, columns = growth.cells[node["slot"]], growth.columns
    clear_columns(columns, low, high, growth.offsets, bins.layout.length, lanes, cells)
    for begin in range(node["start"], node["end"], BLOCK):
        rows = growth.rows[begin : min(begin + BLOCK, node["end"])]
        copy_block(rows, bins, pairs, work)
        for j in range(low, high):
            c = columns[j]
            add_block(bins.rows, rows, c, work, lanes, growth.offsets[c], cells)


@inner_kernel
def copy_block(rows, bins, pairs, work):
    """Copy the derivatives of some rows to scratch space, and prefetch their bins."""
    lanes, n_columns = np.uint64(pairs.shape[1]), np.uint64(bins.rows.shape[1])
    count = np.uint64(len(rows))
    for i in range(count):
        row = np.uint64(rows[i])
        later = np.uint64(rows[min(i + AHEAD, count - np.uint64(1))])
        prefetch(pairs, later * lanes)
        prefetch(bins.rows, later * n_columns)
        for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
            copy_eight(work, i * lanes + lane, pairs, row * lanes + lane)


@inner_kernel
def add_block(bins, rows, c, work, lanes, offset, cells):
    """Add the derivatives of some rows to the entries of a column.

    Parameters
    ----------
    bins : uint8 (n_rows, n_columns)
    rows : uint32
    c : the column
    work : int32 (BLOCK × lanes,), derivatives of the rows
    offset : first entry of the column
    cells : int32 (entries × lanes,), added to
    """
    width, two = np.uint64(WIDTH), np.uint64(2 * WIDTH)
    count, c, offset = np.uint64(len(rows)), np.uint64(c), np.uint64(offset)
    if lanes == two:
        for i in range(count):
            entry = offset + np.uint64(bins[np.uint64(rows[i]), c])
            add_sixteen(cells, entry * two, work, i * two)
    else:
        for i in range(count):
            entry = offset + np.uint64(bins[np.uint64(rows[i]), c])
            for lane in range(np.uint64(0), lanes, width):
                add_eight(cells, entry * lanes + lane, work, i * lanes + lane)


@inner_kernel
def sum_rows(pairs, growth, at):
    """Write the sums of a node."""
    node, sums, lanes = growth.nodes[at], growth.sums[at], np.uint64(pairs.shape[1])
    for lane in range(lanes):
        sums[lane] = 0
    for i in range(np.uint64(node["start"]), np.uint64(node["end"])):
        row = np.uint64(growth.rows[i])
        for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
            add_eight(sums, lane, pairs, row * lanes + lane)


@inner_kernel
def clear_columns(columns, low, high, offsets, lengths, lanes, cells):
    """Set the entries of columns[low : high] to 0."""
    for j in range(low, high):
        c = columns[j]
        cells[offsets[c] * lanes : (offsets[c] + lengths[c]) * lanes] = 0


@inner_kernel
def subtract_columns(columns, low, high, offsets, lengths, lanes, cells, other):
    """Subtract another histogram in columns[low : high]."""
    for j in range(low, high):
        c = columns[j]
        first, last = offsets[c] * lanes, (offsets[c] + lengths[c]) * lanes
        own, subtracted = cells[first:last], other[first:last]
        for at in range(len(own)):  # two slices: LLVM vectorizes this loop
            own[at] -= subtracted[at]
