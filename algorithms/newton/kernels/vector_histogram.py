"""Histograms of trees with vector leaves: rounded derivatives, and their sums by bin.

A row is read once for all outputs. Each thread builds the histograms of its own columns. See
`vector_arrays` for the layout of an entry.
"""

import numpy as np

from algorithms.newton.kernels.filled_entries import clear_column
from algorithms.newton.kernels.vector_arrays import BLOCK, LARGE, MIN_H
from algorithms.newton.kernels.vector_split import NEARLY
from algorithms.runtime.intrinsics import bits_of_double, double_of_bits, prefetch
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.math_functions import uniform
from algorithms.runtime.vector_lanes import (
    WIDTH,
    add_eight,
    add_sixteen,
    copy_eight,
    load_each,
    sum_sizes,
    transpose_eight,
)

AHEAD = np.uint64(8)  # rows
ROUNDED = 256  # rows that are rounded together
MAX_UNITS = (1 << 31) - 1  # largest sum of absolute values, in units
EXPONENT = 2047 << 52  # the bits of the exponent of a float64
SUMMED = 1 << 12  # rows of a partial sum; fixed, so that sums do not depend on the threads


@inner_kernel
def round_stochastically(value, number):
    """Return ⌊value + u⌋, int32, with u = number modulo 1 and 0 ≤ number < 2."""
    return np.int32(np.floor(value + (number - (1.0 if number >= 1.0 else 0.0))))


@inner_kernel
def round_lane(values, row, n, lane, rounding, numbers, whole):
    """Quantize values[row : row + n] by stochastic rounding; write them to a lane of ``whole``."""
    per_unit, shift, rounded = rounding.per_unit[lane], rounding.shifts[lane], whole[lane]
    for i in range(n):
        rounded[i] = round_stochastically(values[row + i] * per_unit, numbers[i] + shift)


@kernel
def round_derivatives(g, h, rounding, numbers, whole, first, last, pairs):
    """Quantize the derivatives of rows first … last − 1 to integer multiples of the units.

    Rounding is stochastic. Each lane is rounded in a loop over rows, which the compiler vectorizes;
    then the block is transposed.

    Parameters
    ----------
    g : float32 (n_outputs, n_rows)
    h : float32 (n_outputs or 1, n_rows)
    rounding : Rounding
    numbers : float64 (ROUNDED,), scratch space: the random numbers of a block of rows
    whole : int32 (lanes, ROUNDED), zeros; scratch space
    pairs : int32 (n_rows, lanes), written; lanes without an output are 0
    """
    seed = np.uint32(rounding.seed)
    for start in range(first, last, ROUNDED):
        row, n = np.uint64(start), np.uint64(min(ROUNDED, last - start))
        for i in range(n):
            numbers[i] = uniform(seed, np.uint32(row + i))
        for k in range(len(g)):
            round_lane(g[k], row, n, k, rounding, numbers, whole)
        for k in range(len(h)):
            round_lane(h[k], row, n, rounding.first_h + k, rounding, numbers, whole)
        transpose(whole, n, pairs, row)


@inner_kernel
def transpose(whole, n, pairs, row):
    """Write n columns of ``whole``, (lanes, ROUNDED), to pairs[row : row + n]."""
    lanes, width = np.uint64(pairs.shape[1]), np.uint64(WIDTH)
    n_whole = n // width * width
    for i in range(np.uint64(0), n_whole, width):
        for lane in range(np.uint64(0), lanes, width):
            transpose_eight(pairs, (row + i) * lanes + lane, whole, lane * np.uint64(ROUNDED) + i)
    for i in range(n_whole, n):
        for lane in range(lanes):
            pairs[row + i, lane] = whole[lane, i]


@kernel
def sum_absolute_values(values, first, last, totals):
    """Write Σ |values| of the blocks ``first`` … ``last`` − 1 of `SUMMED` rows.

    Parameters
    ----------
    values : float32 (n_lanes, n_rows)
    totals : float64 (n_blocks, n_lanes), written
    """
    for block in range(first, last):
        begin, end = block * SUMMED, min((block + 1) * SUMMED, values.shape[1])
        for k in range(len(values)):
            totals[block, k] = sum_absolute_rows(values[k], begin, end)


@inner_kernel
def sum_absolute_rows(own, begin, end):
    """Return Σ |own| of the rows ``begin`` … ``end`` − 1."""
    total, n_vectors = 0.0, (end - begin) // WIDTH
    if n_vectors:
        total = sum_sizes(own, np.uint64(begin), np.uint64(n_vectors * WIDTH))
    for i in range(np.uint64(begin + n_vectors * WIDTH), np.uint64(end)):
        total += np.float64(abs(own[i]))
    return total


@inner_kernel
def power_below(x):
    """Return the largest power of two that is at most x, a normal number above 0."""
    return double_of_bits(bits_of_double(x) & EXPONENT)


@inner_kernel
def write_lane_units(totals, first_lane, most, growth, per_unit):
    """Write the units of some lanes; return whether their derivatives are finite.

    A unit is the smallest power of two for which Σ |derivative| is at most ``most`` units.

    Parameters
    ----------
    totals : float64 (n_blocks, n_lanes), Σ |derivative| of blocks of rows
    """
    for k in range(totals.shape[1]):
        total, lane = 0.0, first_lane + k
        for block in range(len(totals)):
            total += totals[block, k]
        if not np.isfinite(total):
            return False
        per_unit[lane] = 1.0 if total == 0.0 else power_below(most / total)
        growth.units[lane] = 1.0 / per_unit[lane]
    return True


@kernel
def write_units(g_totals, h_totals, n_rows, growth, rules, per_unit):
    """Write the units of the derivatives, and the constants of approximate scores.

    Parameters
    ----------
    g_totals, h_totals : float64 (n_blocks, n_lanes), from `sum_absolute_values`
    per_unit : float64 (lanes,), ones; written

    Returns
    -------
    int
        0; 1 if an entry of g is not finite, 2 if one of h is not
    """
    most = np.float64(MAX_UNITS - n_rows)  # rounding adds less than one unit to each row
    if not write_lane_units(g_totals, 0, most, growth, per_unit):
        return 1
    if not write_lane_units(h_totals, rules.first_h, most, growth, per_unit):
        return 2
    n, units, approximate = rules.n_outputs, growth.units, growth.approximate
    for k in range(n):
        growth.g_units[k] = units[k]
    if rules.shared_h:
        return 0
    least, largest = max(rules.min_child_weight, MIN_H), 0.0
    for k in range(n):
        unit_h = units[rules.first_h + k]
        size = 0.5 / power_below(MAX_UNITS * unit_h + rules.reg_lambda)
        approximate.unit_h[k] = np.float32(unit_h * size)
        approximate.least[k] = np.float32(least * NEARLY * size)
        approximate.reg_lambda[k] = np.float32(rules.reg_lambda * size)
        largest = max(largest, units[k] ** 2 * size)
    growth.scale[0] = 1.0 / largest
    for k in range(n):
        size = 0.5 / power_below(MAX_UNITS * units[rules.first_h + k] + rules.reg_lambda)
        approximate.weight[k] = np.float32(units[k] ** 2 * size * growth.scale[0])
    approximate.least[n:] = np.inf
    return 0


@linked_kernel
def build_histogram(at, low, high, bins, pairs, growth, rank):
    """Write the histogram of a node in growth.columns[low : high].

    The rows of a node without a slot are subtracted from the histogram of the chosen larger node.

    The derivatives of a block of rows are copied to scratch space, where they are contiguous.
    They are then read for one column after another, or for four or two columns at a time: a core
    adds to several entries at once if they are not the same.

    Parameters
    ----------
    at : the node
    bins : Bins
    pairs : int32 (n_rows, lanes)
    growth : VectorGrowth
    rank : rank of the calling thread
    """
    node, lanes = growth.nodes[at], np.uint64(pairs.shape[1])
    columns, removes = growth.columns, node["slot"] < 0
    slot = growth.nodes[growth.state[LARGE]]["slot"] if removes else node["slot"]
    cells = growth.cells[slot]
    if not removes:
        for j in range(low, high):
            clear_column(columns[j], slot, growth.rows[node["start"] : node["end"]], bins, growth)
    n_grouped = high - low if lanes == np.uint64(2 * WIDTH) else 0
    end_of_fours = low + n_grouped // 4 * 4
    end_of_pairs = low + n_grouped // 2 * 2
    is_whole = node["end"] - node["start"] == len(pairs)  # then the rows are in order
    source = pairs if is_whole else growth.work[rank]
    for begin in range(node["start"], node["end"], BLOCK):
        rows = growth.rows[begin : min(begin + BLOCK, node["end"])]
        first = np.uint64(begin if is_whole else 0)
        if not is_whole:
            copy_block(rows, bins, pairs, growth.work[rank])
        if removes:
            negate(growth.work[rank, : len(rows)])
        for j in range(low, end_of_fours, 4):
            several = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
            add_columns(bins.rows, rows, several, source, first, growth.offsets, cells)
        for j in range(end_of_fours, end_of_pairs, 2):
            pair = columns[j], columns[j + 1]
            add_columns(bins.rows, rows, pair, source, first, growth.offsets, cells)
        for j in range(end_of_pairs, high):
            add_column(bins.rows, rows, columns[j], source, first, growth.offsets, cells)


@inner_kernel
def negate(work):
    """Change the signs of the derivatives of some rows."""
    for i in range(len(work)):
        for lane in range(work.shape[1]):
            work[i, lane] = -work[i, lane]


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
def add_column(bins, rows, c, source, first, offsets, cells):
    """Add the derivatives of some rows to the entries of a column.

    Parameters
    ----------
    bins : uint8 (n_rows, n_columns)
    rows : uint32
    c : the column
    source : int32 (n, lanes), derivatives of the rows, from row ``first``
    first : uint64
    offsets : int64 (n_columns,), first entry of each column
    cells : int32 (entries × lanes,), added to
    """
    width, c, offset = np.uint64(WIDTH), np.uint64(c), np.uint64(offsets[c])
    lanes = np.uint64(source.shape[1])
    for i in range(np.uint64(len(rows))):
        entry = offset + np.uint64(bins[np.uint64(rows[i]), c])
        for lane in range(np.uint64(0), lanes, width):
            add_eight(cells, entry * lanes + lane, source, (first + i) * lanes + lane)


@inner_kernel
def add_columns(bins, rows, columns, source, first, offsets, cells):
    """Do the same as `add_column` for a tuple of columns, if an entry has sixteen lanes."""
    lanes, n_columns = np.uint64(2 * WIDTH), np.uint64(bins.shape[1])
    firsts = load_each(offsets, columns)
    for i in range(np.uint64(len(rows))):
        codes = bins, np.uint64(rows[i]) * n_columns
        add_sixteen(cells, firsts, codes, columns, source, (first + i) * lanes)


@inner_kernel
def sum_all_rows(pairs, growth):
    """Write the sums of the root.

    Four partial sums are faster than one, where each addition waits for the previous one.
    """
    sums, lanes, partial = growth.sums[0], np.uint64(pairs.shape[1]), growth.work[0, :4]
    for k in range(4):
        for lane in range(lanes):
            partial[k, lane] = 0
    for i in range(np.uint64(len(growth.rows))):
        row, place = np.uint64(growth.rows[i]) * lanes, (i & np.uint64(3)) * lanes
        for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
            add_eight(partial, place + lane, pairs, row + lane)
    for lane in range(lanes):
        sums[lane] = partial[0, lane] + partial[1, lane] + partial[2, lane] + partial[3, lane]
