"""Children of a narrow leaf: their histograms are subtracted and scanned as cells.

A cell holds g and h in one number, and so does a sum of cells, as long as the leaf's own sums fit:

    cells of the larger child = cells of the leaf − cells of the smaller child
    left sums of a threshold  = cells of the bins up to it, added up

So both take half the steps that g and h would apart, and g and h are only parted at thresholds that
leave enough on both sides. In leaves of few rows, which are most, these are few.

The histogram of a column that is scanned by thresholds is kept as its left sums. They too are the
leaf's less the smaller child's, so only the smaller child's are added up bin by bin, each of which
waits for the one before; the larger child's come of a subtraction, which is done by vectors.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LOW
from algorithms.gbdt.kernels.split import (
    allowed,
    draw_one,
    find_highest,
    is_better_split,
    parts_of_score,
    score_of,
    score_to_exceed,
    update_best_split,
)
from algorithms.runtime.jit import inner_kernel, linked_kernel


@inner_kernel
def take_cells(scratch, threads, first, n_bins, by_sums, cells):
    """Write the cells that threads have summed of a column, and clear them for the next histogram.

    Parameters
    ----------
    threads : (first, last + 1)
    first : the column's first cell
    n_bins : how many cells it has
    by_sums : whether each is written with all before it
    cells : (n_bins,) int64, written
    """
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
    """Make cells the sums of all up to them."""
    total = np.int64(0)
    for b in range(np.uint64(n_bins)):
        total += cells[b]
        cells[b] = total


@inner_kernel
def subtract_cells(plane, first, n_bins, cells):
    """Leave in a leaf's histogram the cells of its other child."""
    for b in range(np.uint64(n_bins)):
        plane[np.uint64(first) + b] -= cells[b]


@inner_kernel
def unpack_cells(cells, n_bins, g, h):
    """Write the two sums of each cell; ``g`` and ``h`` are int64 (MAX_BINS,)."""
    for b in range(np.uint64(n_bins)):
        g[b] = cells[b] >> HALF
        h[b] = cells[b] & LOW


@inner_kernel
def is_plain(bins, c, rules):
    """Return whether a column is one feature, to be scanned by thresholds with the plain gain."""
    layout = bins.layout
    f = layout.features[layout.start[c]]
    alone = layout.start[c + 1] == layout.start[c] + 1 and layout.default[f] < 0
    return alone and rules.plain and not bins.is_categorical[f]


@linked_kernel
def scan_sums(left, n_bins, missing_bin, feature, stats, rules, spare, scores, best):
    """Try every threshold of a feature, as `hist.split.scan` does.

    Parameters
    ----------
    left : (n_bins,) int64, cells of a narrow leaf's bins, each with all before it
    n_bins : of the feature, that of missing values included
    missing_bin : the last bin, or −1
    stats : of the leaf
    spare : int64 (MAX_BINS,), scratch space
    scores : float64 (MAX_BINS,), scratch space
    best : BEST, improved where a split is better
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
            low, high = draw_one(low, high, feature, stats, rules)
        top = score_to_exceed(best, stats)
        if not may_exceed(sums, low, high, stats, top):
            continue
        for b in range(np.uint64(low), np.uint64(high)):
            scores[b] = score_of(sums[b] >> HALF, sums[b] & LOW, stats)
        at = find_highest(scores, low, high, top)
        if at >= 0:
            gain = (scores[at] - stats.base) * stats.unit
            if is_better_split(gain, feature, best):
                g, h = sums[at] >> HALF, sums[at] & LOW
                update_best_split(best, gain, feature, at, to_left, g, h, rules.reg_lambda)


@inner_kernel
def may_exceed(sums, low, high, stats, top):
    """Return whether a score of the thresholds low … high − 1 may be above ``top``.

    A fraction above it, rounded, has a numerator of at least its denominator times ``top``,
    rounded. Most features have no such threshold, and a product takes less than a division.
    """
    found = False
    for b in range(np.uint64(low), np.uint64(high)):
        over, under = parts_of_score(sums[b] >> HALF, sums[b] & LOW, stats.reg_lambda, stats)
        found |= over >= under * top
    return found
