"""Find the best split of a leaf in its histogram.

With G, H the sums of a leaf's g and h, L and R its two sides, λ `reg_lambda` and α `reg_alpha`:

    T(G) = sign(G) max(|G| − α, 0)
    value v = −T(G) / (H + λ)
    gain = T(G_L)² / (H_L + λ) + T(G_R)² / (H_R + λ) − T(G)² / (H + λ)

The missing values go to the side where that is larger. A side must have H ≥ `least`, which
stands for both the least hessian and the least number of rows: the rows of a bin are estimated
as h · n / H, as in LightGBM (exactly so where every row's h is 1).

Among equal gains the lowest feature, then the lowest bin is taken, missing values to the right:
features may be scanned in any order. Of one feature's thresholds scores are compared, of features
gains: a gain is a score less the leaf's own, rounded.

Sums are counted in steps (`Scale`): with them, gains are in units of Δg² / Δh.
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import NO_FEATURE
from algorithms.gbdt.kernels.leaf_values import standing_value
from algorithms.runtime.jit import inner_kernel, linked_kernel
from algorithms.runtime.math_functions import hash_of

ALL = -1  # bits of a number
NEAR = 1.0 - 2.0**-50  # scores below this share of another have smaller gains, rounded or not


class NodeStats(NamedTuple):
    """What a scan must know of a leaf."""

    g: int  # sums, in steps
    h: int
    n_rows: int
    least: int  # fewest steps of h on a side
    base: float  # T(G)² / (H + λ), in units of gains
    floor: float  # gain to exceed, in units
    reg_lambda: float  # λ in steps of h
    unit: float  # Δg² / Δh
    lower: float  # bounds on values
    upper: float
    value: float  # of the leaf
    node: int


@inner_kernel
def node_stats(leaf, g, h, rules, scale):
    """Return the facts of a leaf whose sums are g and h."""
    n_rows = leaf["end"] - leaf["start"]
    unit = scale.g * scale.g / scale.h
    reg_lambda = rules.reg_lambda / scale.h
    by_rows = (rules.min_child_samples - 0.5) * h / n_rows
    asked = np.ceil(max(by_rows, rules.min_child_weight / scale.h))
    least = max(np.int64(min(asked, h + 1.0)), 1)  # more than all there is cannot overflow
    base = np.float64(g) * np.float64(g) / (h + reg_lambda)
    floor = max(rules.min_split_gain / unit, rules.noise * n_rows / h)
    bounds = leaf["lower"], leaf["upper"], standing_value(leaf, g, h, rules, scale)
    return NodeStats(g, h, n_rows, least, base, floor, reg_lambda, unit, *bounds, leaf["node"])


@inner_kernel
def reset_split(best):
    """Forget the best split."""
    best["gain"] = 0.0
    best["feature"] = NO_FEATURE


@inner_kernel
def is_better_split(gain, feature, best):
    """Return whether a split is better than the best one."""
    return gain > best["gain"] or (gain == best["gain"] and feature < best["feature"])


@inner_kernel
def score_to_exceed(best, stats):
    """Return a score below which no split can be the best one."""
    known = (stats.base + best["gain"] / stats.unit) * NEAR
    return max(known, stats.base + stats.floor)


@inner_kernel
def update_best_split(best, gain, feature, last_bin, missing_left, g, h, reg_lambda):
    """Take a split on a threshold as the best one."""
    best["gain"] = gain
    best["feature"] = feature
    best["bin"] = last_bin
    best["missing_left"] = missing_left
    best["g"] = np.int64(g)
    best["h"] = np.int64(h)
    best["ridge"] = reg_lambda
    best["is_set"] = 0


@inner_kernel
def sum_left(cells_g, cells_h, last, g, h, stats, sums_g, sums_h):
    """Write the left side's sums for each threshold; return the first and last + 1 allowed.

    Parameters
    ----------
    last : number of thresholds
    g, h : sums with which the left side starts
    """
    for b in range(np.uint64(last)):
        g += cells_g[b]
        h += cells_h[b]
        sums_g[b] = g
        sums_h[b] = h
    return allowed(sums_h, last, ALL, stats)


@inner_kernel
def allowed(sums, last, bits, stats):
    """Return the first and last + 1 of the thresholds that leave enough h on both sides.

    Parameters
    ----------
    sums : int64, of the left sides
    last : number of thresholds
    bits : of a sum, those that hold h
    """
    low = count_below(sums, last, bits, stats.least)
    high = count_below(sums, last, bits, stats.h - stats.least + 1)
    return min(low, high), high


@inner_kernel
def count_below(ascending, last, bits, bound):
    """Return how many of the first ``last`` numbers, whose bits never fall, are below a bound.

    A shift adds each half, not a choice: LLVM would make that a branch, and every other one would
    be foretold wrongly.
    """
    low, end = np.uint64(0), np.uint64(last)
    bit = np.uint64(0)
    while end >> bit > np.uint64(0):
        bit += np.uint64(1)
    while bit > np.uint64(0):
        bit -= np.uint64(1)
        at = min(low + (np.uint64(1) << bit), end) - np.uint64(1)
        low += np.uint64((ascending[at] & bits) < bound) << bit
    return np.int64(min(low, end))


@inner_kernel
def score_splits(sums_g, sums_h, low, high, stats, scores):
    """Write G_L² / (H_L + λ) + G_R² / (H_R + λ) for the thresholds low … high − 1."""
    for b in range(np.uint64(low), np.uint64(high)):
        scores[b] = score_of(sums_g[b], sums_h[b], stats)


@inner_kernel
def score_of(g, h, stats):
    """Return G_L² / (H_L + λ) + G_R² / (H_R + λ) of a left side whose sums are g and h."""
    over, under = parts_of_score(g, h, stats.reg_lambda, stats)
    return over / under


@inner_kernel
def parts_of_score(g, h, reg_lambda, stats):
    """Return the numerator and the denominator of `score_of`, with λ in steps."""
    g_left, h_left = np.float64(g), h + reg_lambda
    g_right, h_right = np.float64(stats.g) - g_left, (stats.h + 2.0 * reg_lambda) - h_left
    return g_left * g_left * h_right + g_right * g_right * h_left, h_left * h_right


@inner_kernel
def find_highest(scores, low, high, top):
    """Return where the highest score above ``top`` is first, or −1 where there is none.

    Four maxima side by side: one alone would wait for itself at every score.
    """
    a = b = c = d = top
    first, one, two, three = np.uint64(low), np.uint64(1), np.uint64(2), np.uint64(3)
    for i in range(first, np.uint64(max(high - 3, low)), np.uint64(4)):
        a = max(a, scores[i])
        b = max(b, scores[i + one])
        c = max(c, scores[i + two])
        d = max(d, scores[i + three])
    for i in range(np.uint64(high - (high - low) % 4), np.uint64(high)):
        a = max(a, scores[i])
    highest = max(a, b, c, d)
    if not highest > top:
        return -1
    at = low
    while scores[at] != highest:
        at += 1
    return at


@linked_kernel
def scan(cells_g, cells_h, n_bins, missing_bin, feature, stats, rules, sums, scores, best):
    """Try every threshold of a feature, with the plain gain.

    Parameters
    ----------
    cells_g, cells_h : (MAX_BINS,) int64, sums of each bin, in steps
    n_bins : of the feature, that of missing values included
    missing_bin : the last bin, or −1
    facts : of the leaf
    sums : int64 (2, MAX_BINS), scratch space
    scores : float64 (MAX_BINS,), scratch space
    best : BEST, improved where a split is better
    """
    missing = missing_bin >= 0 and cells_h[missing_bin] > 0
    values = n_bins - 1 if missing_bin >= 0 else n_bins
    sums_g, sums_h = sums[0], sums[1]
    for to_left in range(2 if missing else 1):
        g = cells_g[missing_bin] if to_left else 0
        h = cells_h[missing_bin] if to_left else 0
        last = values if missing and not to_left else values - 1
        low, high = sum_left(cells_g, cells_h, last, g, h, stats, sums_g, sums_h)
        if rules.extra_trees and low < high:
            low, high = draw_one(low, high, feature, stats, rules)
        score_splits(sums_g, sums_h, low, high, stats, scores)
        at = find_highest(scores, low, high, score_to_exceed(best, stats))
        if at >= 0:
            gain = (scores[at] - stats.base) * stats.unit
            if is_better_split(gain, feature, best):
                update_best_split(
                    best, gain, feature, at, to_left, sums_g[at], sums_h[at], rules.reg_lambda
                )


@inner_kernel
def draw_one(low, high, feature, stats, rules):
    """Return the range of one threshold drawn for a node and a feature."""
    drawn = hash_of(rules.seed ^ stats.node, feature)
    at = low + np.int64(drawn) % (high - low)
    return at, at + 1
