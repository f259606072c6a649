"""Subtract and scan the histograms of narrow leaves as packed cells.

A cell holds g and h in one integer, and so does a sum of cells, as long as the sums of the leaf
fit:

    cells of the larger child = cells of the leaf − cells of the smaller child
    left sums of a threshold  = sum of the cells of the bins up to it

Both take half the operations that separate g and h would take. g and h are unpacked only at
thresholds with enough rows on both sides; these are few in small leaves, which are the majority.

The histogram of a column of a numeric feature is stored as its left (cumulative) sums. These can be
subtracted, too: only the smaller child's cells are accumulated bin by bin, a chain of dependent
additions; those of the larger child result from a vectorized subtraction.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LOW
from algorithms.gbdt.kernels.split import (
    allowed,
    draw_one,
    find_highest,
    is_better_split,
    parts_of_floats,
    score_to_exceed,
    update_best_split,
)
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def take_cells(scratch, threads, first, n_bins, by_sums, cells):
    """Add up the threads' cells of a column, and clear them for the next histogram.

    Parameters
    ----------
    threads : (first, last + 1), range of ranks
    first : index of the column's first cell
    n_bins : number of its cells
    by_sums : whether cumulative sums are written
    cells : (n_bins,) int64, written
    """
    if by_sums and threads[1] == threads[0] + 1:
        total, own = np.int64(0), scratch.cells[threads[0]]
        for b in range(np.uint64(n_bins)):
            total += own[np.uint64(first) + b]
            cells[b] = total
            own[np.uint64(first) + b] = 0
        return
    for thread in range(threads[0], threads[1]):
        summed = scratch.cells[thread]
        for b in range(np.uint64(n_bins)):
            cell = summed[np.uint64(first) + b]
            cells[b] = cell + (cells[b] if thread > threads[0] else 0)
            summed[np.uint64(first) + b] = 0
    if by_sums:
        accumulate_cells(cells, n_bins)


@inner_kernel
def accumulate_cells(cells, n_bins):
    """Replace cells by their cumulative sums."""
    total = np.int64(0)
    for b in range(np.uint64(n_bins)):
        total += cells[b]
        cells[b] = total


@inner_kernel
def subtract_cells(plane, first, n_bins, cells):
    """Subtract the cells of one child from the parent's histogram, which becomes the other's."""
    for b in range(np.uint64(n_bins)):
        plane[np.uint64(first) + b] -= cells[b]


@inner_kernel
def unpack_cells(cells, n_bins, g, h):
    """Unpack the sums g and h of each cell; ``g`` and ``h`` are int64 (MAX_BINS,)."""
    for b in range(np.uint64(n_bins)):
        g[b] = cells[b] >> HALF
        h[b] = cells[b] & LOW


@inner_kernel
def is_plain(bins, c, rules):
    """Return whether a column is a single numeric feature, scanned with the plain gain."""
    layout = bins.layout
    f = layout.features[layout.start[c]]
    alone = layout.start[c + 1] == layout.start[c] + 1 and layout.default[f] < 0
    return alone and rules.plain and not bins.is_categorical[f]


@inner_kernel
def scan_sums(left, n_bins, missing_bin, feature, stats, rules, spare, scores, best):
    """Try every threshold of a feature, like `split.scan`.

    Parameters
    ----------
    left : (n_bins,) int64, cumulative sums of a narrow leaf's cells
    n_bins : number of bins of the feature, including that of missing values
    missing_bin : the last bin, or −1
    stats : NodeStats of the leaf
    spare : int64 (MAX_BINS,), scratch space
    scores : float64 (MAX_BINS,), scratch space
    best : BEST, updated if a split is better
    """
    values = n_bins - 1 if missing_bin >= 0 else n_bins
    lost = left[missing_bin] - left[missing_bin - 1] if missing_bin > 0 else np.int64(0)
    missing = (lost & LOW) > 0
    for to_left in range(2 if missing else 1):
        last = values if missing and not to_left else values - 1
        sums = left
        if to_left:
            sums = spare
            for b in range(np.uint64(last)):
                sums[b] = left[b] + lost
        low, high = allowed(sums, last, LOW, stats)
        if rules.extra_trees and low < high:
            low, high = draw_one(low, high, feature, stats)
        top = score_to_exceed(best, stats)
        if not may_exceed(sums, low, high, stats, top):
            continue
        for b in range(np.uint64(low), np.uint64(high)):
            over, under = parts_of_sum(sums[b], stats)
            scores[b] = over / under
        at = find_highest(scores, low, high, top)
        if at >= 0:
            gain = (scores[at] - stats.base) * stats.unit
            if is_better_split(gain, feature, best):
                g, h = sums[at] >> HALF, sums[at] & LOW
                update_best_split(best, gain, feature, at, to_left, g, h, rules.reg_lambda)


@inner_kernel
def may_exceed(sums, low, high, stats, top):
    """Return whether a score of the thresholds low … high − 1 may be above ``top``.

    If the rounded quotient is above ``top``, the numerator is at least the rounded product of the
    denominator and ``top``. Most features have no such threshold, and a product is faster than a
    division.
    """
    exceeds = False
    for b in range(np.uint64(low), np.uint64(high)):
        over, under = parts_of_sum(sums[b], stats)
        exceeds |= over >= under * top
    return exceeds


@inner_kernel
def parts_of_sum(packed, stats):
    """Return `split.parts_of_score` of packed left sums, with λ of the leaf.

    Both sums of a narrow leaf have 32 bits. AVX2 converts such integers faster than those of 64
    bits, with the same result.
    """
    g, h = np.float64(np.int32(packed >> HALF)), np.float64(np.uint32(packed & LOW))
    return parts_of_floats(g, h, stats.reg_lambda, stats)
