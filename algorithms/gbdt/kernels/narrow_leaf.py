"""Subtract and scan the histograms of narrow leaves as packed cells.

A cell holds g and h in one integer, and so does a sum of cells, as long as the sums of the leaf
fit:

    cells of the larger child = cells of the leaf − cells of the smaller child
    left sums of a threshold  = sum of the cells of the bins up to it

Both take half the operations that separate g and h would take. g and h are unpacked only at
thresholds with enough rows on both sides; these are few in small leaves, which are the majority.

The histogram of a column of a numeric feature is stored as its left (cumulative) sums. These can be
subtracted, too. One loop of vector instructions adds up the smaller child's histogram entries,
subtracts the sums from the parent's, and tests both children for a better split
(`cell_lanes.take_sums`).
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LOW
from algorithms.gbdt.kernels.constrained_split import falls_short, gain_of_sides, least_score
from algorithms.gbdt.kernels.split import (
    allowed,
    draw_one,
    find_highest,
    is_better_split,
    parts_of_floats,
    score_to_exceed,
    update_best_split,
)
from algorithms.runtime.cell_lanes import any_exceeds
from algorithms.runtime.jit import inner_kernel
from algorithms.runtime.vector_lanes import WIDTH

MAX_INT = (1 << 31) - 1
MARGIN = 2.0**-20  # bound on relative rounding errors of a few float32 operations


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
        total, own = np.int64(0), scratch.cells[threads[0], first : first + n_bins]
        for b in range(np.uint64(n_bins)):
            total += own[b]
            cells[b] = total
        own[:] = 0  # afterwards, because vector stores are faster
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
def sum_bundled(cells, first, default, n_bins, stats, left):
    """Write the cumulative sums of a bundled feature's bins; the leaf's sums give the default bin.

    Parameters
    ----------
    cells : int64, cells of the column
    first : index of the feature's first cell
    default : its default bin, which has no cell
    n_bins : number of its bins
    stats : NodeStats of the leaf
    left : (MAX_BINS,) int64, written
    """
    own, total = cells[first : first + n_bins - 1], np.int64(0)
    rest = (stats.g << HALF) + stats.h
    for b in range(np.uint64(n_bins - 1)):
        rest -= own[b]
    for b in range(np.uint64(default)):
        total += own[b]
        left[b] = total
    total += rest
    left[default] = total
    for b in range(np.uint64(default + 1), np.uint64(n_bins)):
        total += own[b - np.uint64(1)]
        left[b] = total


@inner_kernel
def unpack_cells(cells, n_bins, g, h):
    """Unpack the sums g and h of each cell; ``g`` and ``h`` are int64 (MAX_BINS,)."""
    for b in range(np.uint64(n_bins)):
        g[b] = cells[b] >> HALF
        h[b] = cells[b] & LOW


@inner_kernel
def has_cumulative_sums(bins, c):
    """Return whether narrow leaves store cumulative sums of a column.

    They do if the column holds one numeric feature.
    """
    layout, at = bins.layout, np.uint64(c)  # unsigned: no check for indices from the end
    first = layout.start[at]
    f = np.uint64(layout.features[np.uint64(first)])
    alone = layout.start[at + np.uint64(1)] == first + 1 and layout.default[f] < 0
    return alone and not bins.is_categorical[f]


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
        sums = add_missing(left, lost, last, spare) if to_left else left
        begin = np.int64(0) if rules.extra_trees else first_candidate_group(sums, last, stats, best)
        if begin >= last:
            continue
        low, high = candidates(sums, last, feature, stats, rules)
        low = max(low, begin)
        if low >= high:
            continue
        for b in range(np.uint64(low), np.uint64(high)):
            over, under = parts_of_sum(sums[b], stats)
            scores[b] = over / under
        at = find_highest(scores, low, high, score_to_exceed(best, stats))
        if at >= 0:
            gain = (scores[at] - stats.base) * stats.unit
            if is_better_split(gain, feature, best):
                g, h = sums[at] >> HALF, sums[at] & LOW
                update_best_split(best, gain, feature, at, to_left, g, h, rules.reg_lambda)


@inner_kernel
def add_missing(left, lost, last, spare):
    """Return the left sums of the first ``last`` thresholds if missing values go left."""
    for b in range(np.uint64(last)):
        spare[b] = left[b] + lost
    return spare


@inner_kernel
def candidates(sums, last, feature, stats, rules):
    """Return the first and last + 1 threshold to try; extra trees draw one of those allowed."""
    low, high = allowed(sums, last, LOW, stats)
    if rules.extra_trees and low < high:
        return draw_one(low, high, feature, stats)
    return low, high


@inner_kernel
def scan_constrained_sums(
    left, n_bins, missing_bin, feature, direction, weight, stats, rules, scale, spare, best
):
    """Try every threshold of a feature, like `constrained_split.scan_constrained`.

    A constrained value has at most the gain of the best one. So the gain is computed only if the
    plain score is high enough.

    Parameters are those of `scan_sums`; ``direction`` is the feature's monotone constraint, and
    ``weight`` the factor of its gains.
    """
    values = n_bins - 1 if missing_bin >= 0 else n_bins
    lost = left[missing_bin] - left[missing_bin - 1] if missing_bin > 0 else np.int64(0)
    missing, floor = (lost & LOW) > 0, stats.floor * stats.unit
    for to_left in range(2 if missing else 1):
        last = values if missing and not to_left else values - 1
        sums = add_missing(left, lost, last, spare) if to_left else left
        low, high = candidates(sums, last, feature, stats, rules)
        top = least_score(best, floor, stats, rules, scale)
        for b in range(low, high):
            g, h = sums[b] >> HALF, sums[b] & LOW
            if weight <= 1.0 and falls_short(top, g, h, stats.reg_lambda, stats):
                continue
            gain = gain_of_sides(g, h, rules.reg_lambda, direction, stats, rules, scale)
            if gain > floor and is_better_split(gain * weight, feature, best):
                update_best_split(best, gain * weight, feature, b, to_left, g, h, rules.reg_lambda)


@inner_kernel
def score_limits(stats):
    """Return the limits with which `cell_lanes` tests whether thresholds of a leaf may be better.

    With h including λ, and G, H the sums of both sides, a score is

        G² / H + H d² / (h_left h_right)          d = g_left − h_left G / H

    It is compared with that of the best split in float32, eight thresholds at a time, without a
    division. Margins for the rounding make the result True in case of doubt; most features have no
    better threshold.

    Returns
    -------
    Six float32: G / H, λ, the margin of d, H, and the least and the largest h_left without λ
    """
    if stats.h > MAX_INT:  # the result is always True
        zero, lowest, highest = np.float32(0.0), np.float32(-np.inf), np.float32(np.inf)
        return np.float32(np.nan), zero, zero, zero, lowest, highest
    return (
        np.float32(stats.slope),
        np.float32(stats.reg_lambda),
        np.float32(MARGIN * abs(np.float64(stats.g))),
        np.float32((stats.h + 2.0 * stats.reg_lambda) * (1.0 - MARGIN)),
        np.float32(stats.least * (1.0 - MARGIN)),
        np.float32((stats.h - stats.least) * (1.0 + MARGIN)),
    )


@inner_kernel
def factor_to_exceed(best, stats):
    """Return the factor of h_left h_right that d² must reach in a better split, float32."""
    top = score_to_exceed(best, stats) * (1.0 - 1e-12)
    factor = (top - stats.slope * stats.g) * stats.per_h
    return np.float32(max(factor * (1.0 - 4.0 * MARGIN), 0.0))


@inner_kernel
def first_candidate_group(sums, last, stats, best):
    """Return a threshold before which none is better; ``last`` if there is none at all.

    The sums must be followed by unused ones up to a multiple of eight.
    """
    limits, factor = score_limits(stats), factor_to_exceed(best, stats)
    for at in range(np.uint64(0), np.uint64(last), np.uint64(WIDTH)):
        if any_exceeds(sums, at, np.uint64(last), limits, factor):
            return np.int64(at)
    return np.int64(last)


@inner_kernel
def has_missing(sums, missing_bin):
    """Return whether a leaf has rows in the bin of missing values, given its cumulative sums."""
    return missing_bin > 0 and ((sums[missing_bin] - sums[missing_bin - 1]) & LOW) > 0


@inner_kernel
def parts_of_sum(packed, stats):
    """Return `split.parts_of_score` of packed left sums, with λ of the leaf.

    Both sums of a narrow leaf have 32 bits. AVX2 converts such integers faster than those of 64
    bits, with the same result.
    """
    g, h = np.float64(np.int32(packed >> HALF)), np.float64(np.uint32(packed & LOW))
    return parts_of_floats(g, h, stats.reg_lambda, stats)
