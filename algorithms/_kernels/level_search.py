"""Find the best split of every slot of a level, over every distinct threshold.

With w_L, s_L the weight and the sum of w v left of a threshold, a split scores

    S = s_L² / (w_L + λ) + s_R² / (w_R + λ)

Thresholds between bins are scored first. S is convex in (w_L, s_L), so inside a bin it is at most
the largest S at the corners of any polygon that holds all (w_L, s_L) there. A bin of weight w with
values of sums p ≥ 0 and −m ≤ 0, none larger than g, begins at (W, Z) and keeps to the hexagon

    (W, Z)  (W + p/g, Z + p)  (W + w − m/g, Z + p)  (W + w, Z + p − m)  …  and the same below.

Only a bin whose hexagon passes the best score of the slot is looked into, entry by entry.
"""

from typing import NamedTuple

import numpy as np

from algorithms._kernels.jit import inner_kernel, kernel
from algorithms._kernels.layout import ROW
from algorithms._kernels.level_layout import (
    ABOVE,
    BELOW,
    CELL,
    CODES,
    LARGEST,
    MISSING,
    OF_ROWS,
    OF_WEIGHT,
    ROWS,
    SUM,
    WEIGHT,
    value_at,
)

SLACK = 1e-11  # relative; far above the rounding error of a score
TWO = 2
# A line: of each bin of a slot what lies left of it, what it holds, and its score or mark.
N_LEFT, W_LEFT, S_LEFT, N, W, P, M, FOUND = range(8)
LINE = 8


class Space(NamedTuple):
    """Scratch space for some entries of a bin."""

    line: np.ndarray  # float64 (LINE, CODES), as a line of bins
    row: np.ndarray  # int64 (CODES,)
    entry: np.ndarray  # int64 (CODES,), places in the column's list


@inner_kernel
def score_of(s_left, w_left, s_right, w_right, l2):
    """Return S."""
    return s_left * s_left / (w_left + l2) + s_right * s_right / (w_right + l2)


@inner_kernel
def read_cell(level, f, slot, b):
    """Return rows, weight, and the sums p and m, of a slot in a bin."""
    width = np.uint64(CODES >> level.shift)
    at = (np.uint64(level.plane[slot]) * width + np.uint64(b)) * np.uint64(CELL)
    sums = level.sums[f]
    n, w = sums[at + np.uint64(OF_ROWS)], sums[at + np.uint64(OF_WEIGHT)]
    return n, w, sums[at + np.uint64(ABOVE)], sums[at + np.uint64(BELOW)]


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
def lay_line(level, f, slot, turn, n_bins, line):
    """Write what each bin holds of a slot, and what lies left of it, into a line.

    Then scores and bounds of all bins are computed side by side.
    """
    n_left, w_left, s_left = before_bins(level, f, slot, turn)
    for b in range(np.uint64(n_bins)):
        n, w, p, m = read_cell(level, f, slot, b)
        w, p, m = max(w, 0.0), max(p, 0.0), max(m, 0.0)  # subtraction leaves rounding errors
        if n == 0.0:
            w = p = m = 0.0
        line[N_LEFT, b], line[W_LEFT, b], line[S_LEFT, b] = n_left, w_left, s_left
        line[N, b], line[W, b], line[P, b], line[M, b] = n, w, p, m
        n_left += n
        w_left += w
        s_left += p - m


@inner_kernel
def score_if_allowed(limits, totals, n_left, w_left, s_left):
    """Return S of a place, or -inf where a side has too few rows or weighs too little."""
    n_right = totals[ROWS] - n_left
    w_right = totals[WEIGHT] - w_left
    fewest, least = limits.min_samples_leaf, limits.min_weight_leaf
    score = score_of(s_left, w_left, totals[SUM] - s_left, w_right, limits.l2)
    few = (n_left < fewest) | (n_right < fewest)
    return -np.inf if few | (w_left < least) | (w_right < least) else score


@kernel
def search_borders(codes, limits, level, line, first, last):
    """Score the thresholds between bins, of the columns first … last − 1; write the best.

    ``line`` is float64 (LINE, CODES), scratch space.
    """
    for f in range(first, last):
        n_bins = ((codes.bins[f] - 1) >> level.shift) + 1
        for slot in range(len(level.open)):
            level.score[f, slot] = -np.inf
            if level.open[slot] == 0:
                continue
            for turn in range(count_turns(level, f, slot)):
                lay_line(level, f, slot, turn, n_bins, line)
                score_borders(limits, level.totals[slot], line, n_bins)
                keep_best_border(codes, level, f, slot, turn, line, n_bins)


@inner_kernel
def score_borders(limits, totals, line, n_bins):
    """Write the score of the threshold behind each bin."""
    for b in range(np.uint64(n_bins)):
        n_left = line[N_LEFT, b] + line[N, b]
        w_left = line[W_LEFT, b] + line[W, b]
        s_left = line[S_LEFT, b] + (line[P, b] - line[M, b])
        score = score_if_allowed(limits, totals, n_left, w_left, s_left)
        line[FOUND, b] = -np.inf if line[N, b] == 0.0 else score


@inner_kernel
def keep_best_border(codes, level, f, slot, turn, line, n_bins):
    """Note the first of the best thresholds of a line."""
    best, at = -np.inf, -1
    for b in range(n_bins):
        if line[FOUND, b] > best:
            best, at = line[FOUND, b], b
    if at >= 0:
        n_left = line[N_LEFT, at] + line[N, at]
        keep_best(level, f, slot, best, n_left, turn, first_entry(codes, level, f, at + 1))


@kernel
def search_inside(table, codes, limits, level, best, line, space, first, last):
    """Search the bins that may hold a better split, in the columns first … last − 1.

    Parameters
    ----------
    best : (K,) float64, the best score of each slot over all columns so far
    line : float64 (LINE, CODES), scratch space
    space : Space, likewise
    """
    for f in range(first, last):
        n_bins = ((codes.bins[f] - 1) >> level.shift) + 1
        for slot in range(len(level.open)):
            if level.open[slot] == 0:
                continue
            for turn in range(count_turns(level, f, slot)):
                lay_line(level, f, slot, turn, n_bins, line)
                least = least_of(level, best, f, slot)
                mark_bins(level.totals[slot], line, n_bins, limits.l2, least)
                for b in range(n_bins):
                    plain = level.shift == 0 and codes.plain[f, b]
                    if line[FOUND, b] != 0.0 and line[N, b] >= TWO and not plain:
                        where = (f, slot, turn, b)
                        left = (line[N_LEFT, b], line[W_LEFT, b], line[S_LEFT, b])
                        least = least_of(level, best, f, slot)
                        search_bin(table, codes, limits, level, where, left, least, space)


@inner_kernel
def least_of(level, best, f, slot):
    """Return the score that a threshold must pass."""
    known = max(best[slot], level.score[f, slot])
    return known - SLACK * abs(known)


@inner_kernel
def passes(totals, w_left, s_left, l2, least):
    """Return whether S is above ``least``, without a division; True where it is no number."""
    a = w_left + l2
    c = max(totals[WEIGHT] - w_left, 0.0) + l2
    s_right = totals[SUM] - s_left
    return not s_left * s_left * c + s_right * s_right * a <= least * a * c


@inner_kernel
def mark_bins(totals, line, n_bins, l2, least):
    """Mark the bins inside which a place can score above ``least``: the corners of the hexagon."""
    per_g = 1.0 / totals[LARGEST]
    for b in range(np.uint64(n_bins)):
        w, s, p, m = line[W_LEFT, b], line[S_LEFT, b], line[P, b], line[M, b]
        end = w + line[W, b]
        found = passes(totals, w + p * per_g, s + p, l2, least)
        found |= passes(totals, end - m * per_g, s + p, l2, least)
        found |= passes(totals, w + m * per_g, s - m, l2, least)
        found |= passes(totals, end - p * per_g, s - m, l2, least)
        line[FOUND, b] = 1.0 if found else 0.0


@inner_kernel
def search_bin(table, codes, limits, level, where, left, least, space):
    """Score every threshold inside a bin that may be better than what is known.

    Some entries at a time: those of the slot are listed, what lies left of each is summed, all are
    held against the bound, and the few that pass are scored.

    Parameters
    ----------
    where : (f, slot, turn, b)
    left : rows, weight and sum left of the bin
    least : scores up to it are no better
    """
    f, slot, turn, b = where
    n_left, w_left, s_left = left
    totals, line = level.totals[slot], space.line
    end = first_entry(codes, level, f, b + 1)
    before = np.int64(-1)
    for start in range(first_entry(codes, level, f, b), end, CODES):
        count = list_rows(table, level, f, slot, start, min(start + CODES, end), space)
        w_left, s_left = sum_left(level, space, count, w_left, s_left)
        for k in range(np.uint64(count)):
            found = passes(totals, line[W_LEFT, k], line[S_LEFT, k], limits.l2, least)
            line[FOUND, k] = 1.0 if found else 0.0
        for k in range(count):
            row = space.row[k]
            if line[FOUND, k] != 0.0 and are_apart(table, f, before, row):
                at = n_left + k, line[W_LEFT, k], line[S_LEFT, k]
                score = score_if_allowed(limits, totals, *at)
                if score > -np.inf:
                    keep_best(level, f, slot, score, n_left + k, turn, space.entry[k])
            before = row
        n_left += count


@inner_kernel
def list_rows(table, level, f, slot, first, last, space):
    """List a slot's entries among those from first to last − 1; return how many there are."""
    count = np.uint64(0)
    for j in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(table.order[f, j] & ROW)
        space.row[count] = np.int64(row)
        space.entry[count] = np.int64(j)
        count += np.uint64(level.slot[row] == slot)
    return np.int64(count)


@inner_kernel
def sum_left(level, space, count, w_left, s_left):
    """Write weight and sum left of each listed entry; return those left of what follows."""
    for k in range(np.uint64(count)):
        row = np.uint64(space.row[k])
        space.line[W_LEFT, k], space.line[S_LEFT, k] = w_left, s_left
        w_left += level.pair[row, 0]
        s_left += level.pair[row, 1]
    return w_left, s_left


@inner_kernel
def are_apart(table, f, before, row):
    """Return whether two rows that follow each other can be parted; not so the first of a bin."""
    return before >= 0 and value_at(table, f, row) > value_at(table, f, before) + table.close
