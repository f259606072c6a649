"""Find the best split of every slot of a level, over every distinct threshold.

With w_L, s_L the weight and the sum of w v left of a threshold, a split scores

    S = s_L² / (w_L + λ) + s_R² / (w_R + λ)

Thresholds between bins are scored first. S is convex in (w_L, s_L), so inside a bin it is at most
the largest S at the corners of any polygon that holds all (w_L, s_L) there. A bin of weight w with
values of sums p ≥ 0 and −m ≤ 0, none larger than g, begins at (W, Z) and keeps to the hexagon

    (W, Z)  (W + p/g, Z + p)  (W + w − m/g, Z + p)  (W + w, Z + p − m)  …  and the same below.

Only a bin whose hexagon passes the best score of the slot is looked into, entry by entry.
"""

import numpy as np

from algorithms._kernels.jit import inner_kernel, kernel
from algorithms._kernels.layout import CLOSE, ROW
from algorithms._kernels.level_layout import CODES, LARGEST, MISSING, ROWS, SUM, WEIGHT, value_at

SLACK = 1e-12  # relative; far above the rounding error of a score
COUNTED = 3  # sums a cell where rows are counted apart from weight
TWO = 2


@inner_kernel
def score_of(s_left, w_left, s_right, w_right, l2):
    """Return S."""
    return s_left * s_left / (w_left + l2) + s_right * s_right / (w_right + l2)


@inner_kernel
def read_cell(level, f, slot, b):
    """Return rows, weight, and the sums p and m, of a slot in a bin."""
    width = CODES >> level.shift
    above = np.uint64(2 * slot * width + b)
    below = np.uint64((2 * slot + 1) * width + b)
    sums = level.sums[f]
    w = sums[above, 0] + sums[below, 0]
    n = w
    if sums.shape[1] == COUNTED:
        n = sums[above, 2] + sums[below, 2]
    return n, w, sums[above, 1], sums[below, 1]


@inner_kernel
def first_entry(codes, level, f, b):
    """Return the first entry of a bin in the column's list; of the bin past the last, the end."""
    return codes.starts[f, min(b << level.shift, codes.bins[f])]


@inner_kernel
def before_bins(level, f, slot, turn):
    """Return rows, weight and sum left of all bins: of the missing values, in the second turn."""
    n, w, p, m = read_cell(level, f, slot, MISSING >> level.shift)
    if turn == 0:
        return 0.0, 0.0, 0.0
    return n, w, p - m


@inner_kernel
def count_turns(level, f, slot):
    """Return 2 where the slot has missing values, which go right first and left then; else 1."""
    return 1 + (read_cell(level, f, slot, MISSING >> level.shift)[0] > 0.0)


@inner_kernel
def keep_best(level, f, slot, score, n_left, turn, entry):
    """Note a split of a column where it is better, or comes before one that is as good."""
    best = level.score[f, slot]
    first = turn < level.to_left[f, slot] or (
        turn == level.to_left[f, slot] and entry < level.entry[f, slot]
    )
    if score > best or (score == best and first):
        level.score[f, slot] = score
        level.entry[f, slot] = entry
        level.to_left[f, slot] = turn
        level.n_left[f, slot] = n_left


@inner_kernel
def score_if_allowed(limits, totals, n_left, w_left, s_left):
    """Return S of a place, or -inf where a side has too few rows or weighs too little."""
    n_right = totals[ROWS] - n_left
    w_right = totals[WEIGHT] - w_left
    fewest = limits.min_samples_leaf
    if n_left < fewest or n_right < fewest:
        return -np.inf
    if w_left < limits.min_weight_leaf or w_right < limits.min_weight_leaf:
        return -np.inf
    return score_of(s_left, w_left, totals[SUM] - s_left, w_right, limits.l2)


@kernel
def search_borders(codes, limits, level, first, last):
    """Score the thresholds between bins, of the columns first … last − 1; write the best."""
    for f in range(first, last):
        n_bins = ((codes.bins[f] - 1) >> level.shift) + 1
        for slot in range(len(level.open)):
            level.score[f, slot] = -np.inf
            if level.open[slot] == 0:
                continue
            totals = level.totals[slot]
            for turn in range(count_turns(level, f, slot)):
                n_left, w_left, s_left = before_bins(level, f, slot, turn)
                for b in range(n_bins):
                    n, w, p, m = read_cell(level, f, slot, b)
                    if n == 0.0:
                        continue
                    n_left += n
                    w_left += w
                    s_left += p - m
                    if n_left == totals[ROWS]:
                        break
                    score = score_if_allowed(limits, totals, n_left, w_left, s_left)
                    if score > -np.inf:
                        entry = first_entry(codes, level, f, b + 1)
                        keep_best(level, f, slot, score, n_left, turn, entry)


@kernel
def search_inside(table, codes, limits, level, best, first, last):
    """Search the bins that may hold a better split, in the columns first … last − 1.

    Parameters
    ----------
    best : (K,) float64, the best score of each slot over all columns so far
    """
    for f in range(first, last):
        n_bins = ((codes.bins[f] - 1) >> level.shift) + 1
        for slot in range(len(level.open)):
            if level.open[slot] == 0:
                continue
            for turn in range(count_turns(level, f, slot)):
                n_left, w_left, s_left = before_bins(level, f, slot, turn)
                for b in range(n_bins):
                    n, w, p, m = read_cell(level, f, slot, b)
                    if n == 0.0:
                        continue
                    plain = level.shift == 0 and codes.plain[f, b]
                    if n >= TWO and not plain:
                        known = max(best[slot], level.score[f, slot])
                        start = (w_left, s_left)
                        least = known - SLACK * abs(known)
                        if may_pass(level.totals[slot], start, w, p, m, limits.l2, least):
                            where = (f, slot, turn, b)
                            left = (n_left, w_left, s_left)
                            search_bin(table, codes, limits, level, where, left, least)
                    n_left += n
                    w_left += w
                    s_left += p - m


@inner_kernel
def passes(totals, w_left, s_left, l2, least):
    """Return whether S is above ``least``, without a division; True where it is no number."""
    a = w_left + l2
    c = max(totals[WEIGHT] - w_left, 0.0) + l2
    s_right = totals[SUM] - s_left
    return not s_left * s_left * c + s_right * s_right * a <= least * a * c


@inner_kernel
def may_pass(totals, start, w, p, m, l2, least):
    """Return whether a place inside a bin can score above ``least``."""
    w_start, s_start = start
    g = totals[LARGEST]
    found = False
    for corner in range(4):
        up = corner < TWO
        s_left = s_start + p if up else s_start - m
        if corner == 0:
            w_left = w_start + p / g
        elif corner == 1:
            w_left = w_start + w - m / g
        elif corner == TWO:
            w_left = w_start + m / g
        else:
            w_left = w_start + w - p / g
        found |= passes(totals, w_left, s_left, l2, least)
    return found


@inner_kernel
def search_bin(table, codes, limits, level, where, left, least):
    """Score every threshold inside a bin that may be better than what is known.

    Parameters
    ----------
    where : (f, slot, turn, b)
    left : rows, weight and sum left of the bin
    least : scores up to it are no better
    """
    f, slot, turn, b = where
    n_left, w_left, s_left = left
    totals = level.totals[slot]
    before = np.uint64(0)
    is_first = True
    for j in range(first_entry(codes, level, f, b), first_entry(codes, level, f, b + 1)):
        row = np.uint64(table.order[f, j] & ROW)
        if level.lane[row] >> 1 != slot:
            continue
        if (
            not is_first
            and passes(totals, w_left, s_left, limits.l2, least)
            and value_at(table, f, row) > value_at(table, f, before) + CLOSE
        ):
            score = score_if_allowed(limits, totals, n_left, w_left, s_left)
            if score > -np.inf:
                keep_best(level, f, slot, score, n_left, turn, j)
        is_first = False
        before = row
        w = level.weight[row] if len(level.weight) else 1.0
        n_left += 1.0
        w_left += w
        s_left += w * level.value[row]
