"""Find the best splits of trees with vector leaves: the gains of all thresholds of a feature.

See `vector_arrays` for the gain.
"""

import numpy as np

from algorithms.newton.kernels.filled_entries import is_empty, is_filled, list_bins, mark_entry
from algorithms.newton.kernels.vector_arrays import MIN_H
from algorithms.runtime.jit import inner_kernel, linked_kernel
from algorithms.runtime.vector_lanes import (
    WIDTH,
    copy_eight,
    score_eight,
    score_group,
    subtract_eight,
    sum_prefixes,
    sum_squares,
)

NEARLY = 1.0 - 1e-5  # factor of a score, more than the rounding errors of float32
TIE = 2.0**-24  # relative difference of gains that counts as a tie: XGBoost compares float32


@inner_kernel
def score_sums(g, h, rules):
    """Return the score of one output: the gain of its best value."""
    if h < max(rules.min_child_weight, MIN_H):
        return 0.0
    size = max(abs(g) - rules.reg_alpha, 0.0)
    if rules.max_delta_step == 0.0:
        return size * size / (h + rules.reg_lambda)
    value = min(size / (h + rules.reg_lambda), rules.max_delta_step)
    return 2.0 * size * value - (h + rules.reg_lambda) * value * value


@inner_kernel
def h_lane(k, rules):
    """Return the lane of the hessian of output k."""
    return rules.first_h if rules.shared_h else rules.first_h + k


@inner_kernel
def score_node(sums, units, rules):
    """Return the score of a node, summed over the outputs."""
    total = 0.0
    for k in range(rules.n_outputs):
        at = h_lane(k, rules)
        total += score_sums(sums[k] * units[k], sums[at] * units[at], rules)
    return total


@inner_kernel
def total_h(sums, units, rules):
    """Return the sum of the hessians of all outputs; H itself if they share it."""
    total = 0.0
    for k in range(1 if rules.shared_h else rules.n_outputs):
        at = rules.first_h + k
        total += sums[at] * units[at]
    return total


@inner_kernel
def gather_bins(f, column, bins, sums, scratch):
    """Write the sums of all bins of a bundled feature to scratch space, and mark the filled ones.

    Parameters
    ----------
    column : as in `scan_feature`
    sums : (lanes,), of the node
    """
    (cells, entry, filled), layout = column, bins.layout
    default, out, lanes = layout.default[f], scratch.bins, np.uint64(len(sums))
    rest = np.uint64(default) * lanes
    scratch.bins_filled[:] = np.uint64(0)
    mark_entry(scratch.bins_filled, np.uint64(default))
    for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
        copy_eight(out, rest + lane, sums, lane)
    for b in range(bins.count[f]):
        own = np.uint64(layout.first[f] + b - (1 if b > default else 0))
        if b == default or not is_filled(filled, own):
            continue
        mark_entry(scratch.bins_filled, np.uint64(b))
        at, place = (np.uint64(entry) + own) * lanes, np.uint64(b) * lanes
        for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
            copy_eight(out, place + lane, cells, at + lane)
            subtract_eight(out, rest + lane, cells, at + lane)


@inner_kernel
def score_separate_h(side, totals, units, limits, rules):
    """Return the score of a threshold if each output has its own H.

    Parameters
    ----------
    side, totals : (lanes,), sums of one side and of the node
    units : float64 (lanes,)
    limits : minimum H of a side that has a value, λ and α
    """
    first_h, total = np.uint64(rules.first_h), 0.0
    for at in range(np.uint64(0), first_h, np.uint64(WIDTH)):
        total += score_eight(side, totals, units, at, at + first_h, limits)
    return total


@inner_kernel
def score_shared(side, totals, scratch, limits, rules):
    """Return the score of a threshold if all outputs have the same H; see `score_separate_h`."""
    first, other, first_h = 0.0, 0.0, np.uint64(rules.first_h)
    for at in range(np.uint64(0), np.uint64(len(side)), np.uint64(WIDTH)):
        one, two = sum_squares(side, totals, scratch.g_units, at, limits)
        first += one
        other += two
    h, other_h = side[first_h], totals[first_h] - side[first_h]
    unit, (least, reg_lambda, _) = scratch.units[first_h], limits
    size = h * unit + reg_lambda if h * unit >= least else np.inf
    other_size = other_h * unit + reg_lambda if other_h * unit >= least else np.inf
    return first / size + other / other_size


@inner_kernel
def score_bounded(side, totals, scratch, rules):
    """Return the score of a threshold if the values of the leaves are bounded."""
    total, units = 0.0, scratch.units
    for k in range(rules.n_outputs):
        at = h_lane(k, rules)
        g, h = side[k] * units[k], side[at] * units[at]
        other_g, other_h = (totals[k] - side[k]) * units[k], (totals[at] - side[at]) * units[at]
        total += score_sums(g, h, rules) + score_sums(other_g, other_h, rules)
    return total


@inner_kernel
def score_threshold(side, totals, scratch, limits, rules):
    """Return the score of a threshold; the parameters are as in `score_separate_h`."""
    if rules.max_delta_step > 0.0:
        return score_bounded(side, totals, scratch, rules)
    if rules.shared_h:
        return score_shared(side, totals, scratch, limits, rules)
    return score_separate_h(side, totals, scratch.units, limits, rules)


@inner_kernel
def is_approximated(rules):
    """Return whether scores are approximated in float32 first."""
    return rules.max_delta_step == 0.0 and rules.reg_alpha == 0.0 and not rules.shared_h


@inner_kernel
def write_approximate_scores(own, entry, count, stats, scratch, rules):
    """Write approximate scores of the listed thresholds, float32; return the highest one.

    They are in units of 1 / scale, and infinite if they overflow.

    Parameters
    ----------
    own : sums of bins
    entry : number of the first bin
    count : number of thresholds, whose bins are in ``scratch.numbers``
    stats : NodeStats
    """
    bins, highest = (own, scratch.numbers), np.float32(0.0)
    sides = stats.sums, scratch.approximate_scores
    for lane in range(np.uint64(0), np.uint64(rules.first_h), np.uint64(WIDTH)):
        highest = score_group(bins, entry, count, sides, lane, scratch.approximate)
    return np.float64(highest)


@inner_kernel
def sum_sides(own, entry, count, scratch):
    """Write the sums of one side of each listed threshold.

    The parameters are those of `write_approximate_scores`.
    """
    left = scratch.left
    lanes, given = np.uint64(left.shape[1]), (own, scratch.numbers)
    for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
        sum_prefixes(left, given, entry, count, lane)


@inner_kernel
def find_highest(scores, first, last):
    """Return the highest of the scores ``first`` … ``last`` − 1; −∞ if there is none.

    Four partial maxima are faster than one, where each comparison waits for the last one.
    """
    highest = second = third = fourth = -np.inf
    middle = first + (last - first) // 4 * 4
    for n in range(first, middle, 4):
        highest, second = max(highest, scores[n]), max(second, scores[n + 1])
        third, fourth = max(third, scores[n + 2]), max(fourth, scores[n + 3])
    for n in range(middle, last):
        highest = max(highest, scores[n])
    return max(highest, second, third, fourth)


@inner_kernel
def scan_bins(column, last, missing_left, stats, scratch, rules, found):
    """Keep the best of the thresholds after some bins.

    Empty bins are skipped. Only scores that may be the best one of the node are computed in
    float64.

    Parameters
    ----------
    column : sums of bins, number of the first bin, and which are filled
    last : number of thresholds
    missing_left : 0, or 1: bins are summed from the other end, and the summed side is the right one
    stats : NodeStats
    """
    scale = scratch.scale[0] if is_approximated(rules) else 1.0
    known = (scratch.best[0] + stats.score) * scale
    own, entry, lanes = column[0], np.uint64(column[1]), np.uint64(len(stats.sums))
    count = list_bins(column[2], last, missing_left, scratch.numbers)
    if is_approximated(rules):
        highest = write_approximate_scores(own, entry, count, stats, scratch, rules)
        if highest < known * NEARLY and known < np.inf:
            return
    sum_sides(own, entry, count, scratch)
    first, last = score_sides(np.int64(count), stats, scratch, rules)
    highest = find_highest(scratch.scores, first, last)
    if highest < known * NEARLY and known < np.inf:
        return
    best = find_exact_best((first, last, highest), missing_left, stats, scratch, rules, found)
    scratch.best[0] = max(scratch.best[0], found[0])
    if best >= 0:
        for lane in range(lanes):
            side = scratch.left[best + 1, lane]
            scratch.found_left[lane] = stats.sums[lane] - side if missing_left else side


@inner_kernel
def score_sides(count, stats, scratch, rules):
    """Write the scores of the thresholds whose two sides have the minimum hessian.

    Returns
    -------
    first, last + 1 : of these thresholds
    """
    limits = max(rules.min_child_weight, MIN_H), rules.reg_lambda, rules.reg_alpha
    first, last = 0, count
    while first < last and not has_h(scratch.left[first + 1], stats, scratch, rules):
        first += 1
    while first < last and not has_h(scratch.left[last], stats, scratch, rules):
        last -= 1
    for n in range(first, last):
        if is_approximated(rules):
            scratch.scores[n] = np.float64(scratch.approximate_scores[n])
        else:
            score = score_threshold(scratch.left[n + 1], stats.sums, scratch, limits, rules)
            scratch.scores[n] = np.inf if np.isnan(score) else score
    return first, last


@inner_kernel
def find_exact_best(span, missing_left, stats, scratch, rules, found):
    """Compute those scores in float64 that may be the best; return the best one's number, or −1.

    Parameters
    ----------
    span : (first, last + 1, highest score) of the thresholds
    found : as in `scan_feature`, written if a threshold is better
    """
    first, last, highest = span
    limits = max(rules.min_child_weight, MIN_H), rules.reg_lambda, rules.reg_alpha
    scale = scratch.scale[0] if is_approximated(rules) else 1.0
    known = (scratch.best[0] + stats.score) * scale
    before_gain, before_bin, before_side, best = found[0], found[1], found[2], -1
    while True:
        top = max(known, highest)
        min_score = top * NEARLY if top < np.inf else -np.inf
        reached = -np.inf
        for n in range(first, last):
            if scratch.scores[n] < min_score:
                continue
            side = scratch.left[n + 1]
            exact = score_threshold(side, stats.sums, scratch, limits, rules)
            if not has_h(side, stats, scratch, rules):
                continue
            reached, better = max(reached, exact * scale), exact - stats.score
            if better > found[0] + TIE * found[0]:
                number, best = scratch.numbers[n], n
                found[0], found[1] = better, number - 1 if missing_left else number
                found[2] = missing_left
        if highest <= known or reached >= min_score:
            return best
        # The approximate score counts a side whose hessian is slightly below the minimum. If the
        # highest score is such a one, the thresholds below it are scored, too.
        highest, best = reached, -1
        found[0], found[1], found[2] = before_gain, before_bin, before_side


@inner_kernel
def has_h(side, stats, scratch, rules):
    """Return whether both sides of a threshold have hessians."""
    h_side = total_h(side, scratch.units, rules)
    return h_side > MIN_H and stats.h_total - h_side > MIN_H


@linked_kernel
def scan_feature(bins, f, column, stats, scratch, rules, found):
    """Write the best split of a feature: gain, bin and missing_left; a gain of 0 means none.

    It may also be 0 if another feature has a better split. Thresholds are tried in
    ascending order with missing values on the right side, then in descending order with missing
    values on the left side, as in XGBoost. One side is summed bin by bin; the other one is the rest
    of the node.

    Parameters
    ----------
    column : (cells, entry, filled)
        Histogram of the node, int32; first entry of the column; bits of its filled entries.
    stats : NodeStats
    scratch : ScanScratch of the thread
    found : float64 (3,), written
    """
    found[0], found[1], found[2] = 0.0, 0.0, 0.0
    missing_bin, n_bins, own = bins.missing[f], bins.count[f], column
    n_numeric = n_bins - (1 if missing_bin >= 0 else 0)
    if bins.layout.default[f] >= 0:
        gather_bins(f, column, bins, stats.sums, scratch)
        own = scratch.bins, 0, scratch.bins_filled
    has_missing = False
    if missing_bin >= 0 and is_filled(own[2], np.uint64(missing_bin)):
        lanes = np.uint64(len(stats.sums))
        has_missing = not is_empty(own[0], np.uint64(own[1] + missing_bin) * lanes, lanes)
    last = n_numeric if has_missing else n_numeric - 1
    scan_bins(own, last, 0, stats, scratch, rules, found)
    if has_missing:
        scan_bins(own, n_numeric - 1, 1, stats, scratch, rules, found)
