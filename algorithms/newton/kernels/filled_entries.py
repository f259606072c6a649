"""Filled entries of histograms of vectors: bit sets that let passes skip all other entries.

Each column of a histogram has `WORDS` words of 64 bits. An entry whose bit is not set counts as 0;
its memory is not initialized. Nodes of few rows fill few entries, so that clearing, subtraction and
the search for a split take less time than passes over all entries.
"""

import numpy as np

from algorithms.newton.kernels.vector_arrays import WORDS
from algorithms.runtime.intrinsics import first_bit
from algorithms.runtime.jit import inner_kernel
from algorithms.runtime.vector_lanes import WIDTH, clear_eight, is_zero, subtract_eight

MAX_ROWS_MARKED = 128  # with more rows, all entries are cleared and tested
ONE, WORD_BITS = np.uint64(1), np.uint64(64)
IN_WORD, WORD_SHIFT = np.uint64(63), np.uint64(6)


@inner_kernel
def is_filled(filled, entry):
    """Return whether an entry of a column, uint64, has a bit."""
    return (filled[entry >> WORD_SHIFT] >> (entry & IN_WORD)) & ONE != np.uint64(0)


@inner_kernel
def mark_entry(filled, entry):
    """Set the bit of an entry of a column, uint64."""
    filled[entry >> WORD_SHIFT] |= ONE << (entry & IN_WORD)


@inner_kernel
def clear_column(c, slot, rows, bins, growth):
    """Set the entries of column c to 0.

    In a node of few rows, set only the entries of its rows to 0, and mark them.

    Parameters
    ----------
    slot : int, slot of the histogram
    rows : uint32, rows of the node
    """
    cells, lanes = growth.cells[slot], np.uint64(growth.sums.shape[1])
    first, own = np.uint64(growth.offsets[c]) * lanes, np.uint64(c)
    if len(rows) > MAX_ROWS_MARKED:
        cells[first : first + np.uint64(bins.layout.length[c]) * lanes] = 0
        return
    filled = growth.filled[slot, c]
    filled[:] = np.uint64(0)
    for i in range(np.uint64(len(rows))):
        entry = np.uint64(bins.rows[np.uint64(rows[i]), own])
        mark_entry(filled, entry)
        for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
            clear_eight(cells, first + entry * lanes + lane)


@inner_kernel
def mark_column(c, at, bins, growth):
    """Mark the filled entries of column c in the histogram of node ``at``.

    A node of few rows has them marked by `clear_column`.
    """
    node, lanes = growth.nodes[at], np.uint64(growth.sums.shape[1])
    if node["end"] - node["start"] <= MAX_ROWS_MARKED:
        return
    cells, filled = growth.cells[node["slot"]], growth.filled[node["slot"], c]
    first, length = np.uint64(growth.offsets[c]), np.uint64(bins.layout.length[c])
    for word in range(np.uint64(WORDS)):
        start = word * WORD_BITS
        bits = np.uint64(0)
        for entry in range(start, min(start + WORD_BITS, length)):
            empty = is_empty(cells, (first + entry) * lanes, lanes)
            bits |= np.uint64(not empty) << (entry - start)
        filled[word] = bits


@inner_kernel
def is_empty(cells, at, lanes):
    """Return whether all sums of the entry that begins at cells[at] are 0."""
    width = np.uint64(WIDTH)
    if lanes == width + width:
        return is_zero(cells, at) & is_zero(cells, at + width)
    empty = True
    for lane in range(np.uint64(0), lanes, width):
        empty &= is_zero(cells, at + lane)
    return empty


@inner_kernel
def subtract_column(c, slot, other, growth):
    """Subtract column c of the histogram in slot ``other``; remove the bits of empty entries."""
    cells, subtracted = growth.cells[slot], growth.cells[other]
    lanes, first = np.uint64(growth.sums.shape[1]), np.uint64(growth.offsets[c])
    for word in range(np.uint64(WORDS)):
        bits, kept = growth.filled[other, c, word], growth.filled[slot, c, word]
        while bits != np.uint64(0):
            bit = np.uint64(first_bit(bits))
            at = (first + word * WORD_BITS + bit) * lanes
            for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
                subtract_eight(cells, at + lane, subtracted, at + lane)
            empty = is_empty(cells, at, lanes)
            kept = (kept & ~(ONE << bit)) | (np.uint64(not empty) << bit)
            bits &= bits - ONE
        growth.filled[slot, c, word] = kept


@inner_kernel
def list_bins(filled, last, missing_left, numbers):
    """Write the numbers of the filled bins of ``last`` thresholds in scan order; return how many.

    The order is descending if ``missing_left``: bins ``last`` … 1. Otherwise it is ascending: bins
    0 … ``last`` − 1.
    """
    count = np.uint64(0)
    for word in range(np.uint64(WORDS)):
        bits = filled[word]
        while bits != np.uint64(0):
            numbers[count] = np.int64(word * WORD_BITS) + first_bit(bits)
            count += ONE
            bits &= bits - ONE
    end = last if missing_left else last - 1
    while count > np.uint64(0) and numbers[count - ONE] > end:
        count -= ONE
    if missing_left:
        for k in range(count // np.uint64(2)):
            other = count - ONE - k
            numbers[k], numbers[other] = numbers[other], numbers[k]
        if count > np.uint64(0) and numbers[count - ONE] == 0:
            count -= ONE
    return count
