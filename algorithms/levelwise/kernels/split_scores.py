"""Score of a split of a slot, and its upper bound inside a bin.

With w_L, s_L the weight and the sum of w v left of a threshold, the score of a split is

    S = s_L² / (w_L + λ) + s_R² / (w_R + λ)

S is convex in (w_L, s_L). So inside a bin it is at most the largest S at the corners of any polygon
that contains all (w_L, s_L) of the bin. Let a bin have weight w and values with the sums p ≥ 0 and
−m ≤ 0, none larger than g in size. It starts at (W, Z) and stays inside the hexagon

    (W, Z)  (W + p/g, Z + p)  (W + w − m/g, Z + p)  (W + w, Z + p − m)  …  and the same below.

The first and the last corner are thresholds between bins, which are scored anyway.
"""

import numpy as np

from algorithms.levelwise.kernels.level_arrays import LARGEST, ROWS, SHIFT, SUM, WEIGHT
from algorithms.runtime.jit import inner_kernel

SLACK = 1e-11  # relative tolerance, far above the rounding error of a score


@inner_kernel
def score_of(s_left, w_left, s_right, w_right, l2):
    """Return S."""
    return s_left * s_left / (w_left + l2) + s_right * s_right / (w_right + l2)


@inner_kernel
def score_if_allowed(limits, totals, n_left, w_left, s_left):
    """Return S, or -inf if a side has too few rows or too little weight."""
    n_right = totals[ROWS] - n_left
    w_right = totals[WEIGHT] - w_left
    fewest, least = limits.min_samples_leaf, limits.min_weight_leaf
    score = score_of(s_left, w_left, totals[SUM] - s_left, w_right, limits.l2)
    few = (n_left < fewest) | (n_right < fewest)
    return -np.inf if few | (w_left < least) | (w_right < least) else score


@inner_kernel
def passes(totals, w_left, s_left, l2, least):
    """Return whether S is above ``least``, without a division; True if S is not a number."""
    a = w_left + l2
    c = max(totals[WEIGHT] - w_left, 0.0) + l2
    s_right = totals[SUM] - s_left
    return not s_left * s_left * c + s_right * s_right * a <= least * a * c


@inner_kernel
def bin_may_pass(totals, at, held, l2, least):
    """Return whether S inside a bin can exceed ``least``, by the corners of the hexagon.

    Parameters
    ----------
    at : (W, Z); held : (w, p, m)
    """
    left, s = at
    w, p, m = held
    end, per_g = left + w, 1.0 / totals[LARGEST]
    may_pass = passes(totals, left + p * per_g, s + p, l2, least)
    may_pass |= passes(totals, end - m * per_g, s + p, l2, least)
    may_pass |= passes(totals, left + m * per_g, s - m, l2, least)
    may_pass |= passes(totals, end - p * per_g, s - m, l2, least)
    return may_pass


@inner_kernel
def least_of(level, best, f, slot):
    """Return the score that a threshold of a column must exceed."""
    known = max(best[slot], level.score[f, slot])
    return known - SLACK * abs(known)


@inner_kernel
def keep_best(level, f, slot, score, n_left, turn, entry):
    """Store a split of a column if it is better, or if it comes first among equals."""
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
def first_entry(codes, level, f, b):
    """Return the first entry of a bin in the column's list; for the bin after the last, the end."""
    return codes.starts[f, min(b << level.state[SHIFT], codes.bins[f])]
