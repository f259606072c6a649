"""Find the best split of a leaf in its histogram.

With G, H the sums of a leaf's g and h, L and R its two sides, λ `reg_lambda` and α `reg_alpha`:

    T(G) = sign(G) max(|G| − α, 0)
    value v = −T(G) / (H + λ)
    gain = T(G_L)² / (H_L + λ) + T(G_R)² / (H_R + λ) − T(G)² / (H + λ)

Missing values go to the side with the larger gain. Each side must have H ≥ `least`, which combines
`min_child_weight` and `min_child_samples`: the number of rows of a bin is estimated as h · n / H,
as in LightGBM (this is exact if every row has h = 1).

Ties are broken by the lowest feature, then the lowest bin, then missing values to the right, so
features can be scanned in any order. Thresholds of one feature are compared by score, features by
gain: the score minus that of the leaf, rounded.

Sums are integers in quantization steps (`Scale`), and gains are in units of Δg² / Δh.
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import NO_FEATURE
from algorithms.gbdt.kernels.leaf_values import standing_value
from algorithms.runtime.jit import inner_kernel, linked_kernel
from algorithms.runtime.math_functions import hash_of

ALL = -1  # mask of all bits
NEAR = 1.0 - 2.0**-50  # scores below this share of another have smaller gains despite rounding
FEW_SUMS = 96  # sums up to which counting all is faster than two binary searches


class NodeStats(NamedTuple):
    """Sums and bounds of a leaf that a scan for splits uses."""

    g: int  # sums, in steps
    h: int
    n_rows: int
    least: int  # minimum h of a side, in steps
    base: float  # T(G)² / (H + λ), in units of gains
    floor: float  # a gain must exceed this, in units of gains
    reg_lambda: float  # λ in steps of h
    unit: float  # Δg² / Δh
    lower: float  # bounds on values
    upper: float
    value: float  # value of the leaf
    seed: int  # of its random thresholds
    slope: float  # G / (H + 2 λ), λ of both sides
    per_h: float  # 1 / (H + 2 λ)


@inner_kernel
def node_stats(leaf, g, h, rules, scale):
    """Return the `NodeStats` of a leaf with sums g and h."""
    n_rows = leaf["end"] - leaf["start"]
    unit = scale.g * scale.g / scale.h
    reg_lambda = rules.reg_lambda / scale.h
    by_rows = (rules.min_child_samples - 0.5) * h / n_rows
    asked = np.ceil(max(by_rows, rules.min_child_weight / scale.h))
    least = max(np.int64(min(asked, h + 1.0)), 1)  # min: no overflow
    base = np.float64(g) * np.float64(g) / (h + reg_lambda)
    floor = max(rules.min_split_gain / unit, rules.noise * n_rows / h)
    bounds = leaf["lower"], leaf["upper"], standing_value(leaf, g, h, rules, scale)
    seed = scale.seed ^ leaf["node"]
    per_h = 1.0 / (h + 2.0 * reg_lambda)
    ratios = g * per_h, per_h
    return NodeStats(g, h, n_rows, least, base, floor, reg_lambda, unit, *bounds, seed, *ratios)


@inner_kernel
def may_split(leaf, rules):
    """Return whether a leaf has enough rows for two children and is not too deep."""
    shallow = rules.max_depth <= 0 or leaf["depth"] < rules.max_depth
    return shallow and leaf["end"] - leaf["start"] >= max(2 * rules.min_child_samples, 2)


@inner_kernel
def copy_best(to, best):
    """Copy a split field by field, because numba copies structured scalars through Python."""
    to["gain"], to["feature"], to["bin"] = best["gain"], best["feature"], best["bin"]
    to["missing_left"], to["is_categorical"] = best["missing_left"], best["is_categorical"]
    to["g"], to["h"], to["reg_lambda"] = best["g"], best["h"], best["reg_lambda"]


@inner_kernel
def reset_split(best, gain=0.0):
    """Reset a split to none; a better one must exceed ``gain``."""
    best["gain"] = gain
    best["feature"] = NO_FEATURE


@inner_kernel
def is_better_split(gain, feature, best):
    """Return whether a split is better than the best split."""
    return gain > best["gain"] or (gain == best["gain"] and feature < best["feature"])


@inner_kernel
def score_to_exceed(best, stats):
    """Return a lower bound on the score of a split that is better than the best split."""
    known = (stats.base + best["gain"] / stats.unit) * NEAR
    return max(known, stats.base + stats.floor)


@inner_kernel
def update_best_split(best, gain, feature, last_bin, missing_left, g, h, reg_lambda):
    """Set the best split to a split on a threshold."""
    best["gain"] = gain
    best["feature"] = feature
    best["bin"] = last_bin
    best["missing_left"] = missing_left
    best["g"] = np.int64(g)
    best["h"] = np.int64(h)
    best["reg_lambda"] = reg_lambda
    best["is_categorical"] = 0


@inner_kernel
def sum_left(cells_g, cells_h, last, g, h, stats, sums_g, sums_h):
    """Write the left side's sums for each threshold; return the first and last + 1 allowed one.

    Parameters
    ----------
    last : number of thresholds
    g, h : initial sums of the left side: those of missing values, or 0
    """
    for b in range(np.uint64(last)):
        g += cells_g[b]
        h += cells_h[b]
        sums_g[b] = g
        sums_h[b] = h
    return allowed(sums_h, last, ALL, stats)


@inner_kernel
def allowed(sums, last, bits, stats):
    """Return the first and last + 1 of the thresholds with enough h on both sides.

    Few sums are all compared with both bounds, several at a time.

    Parameters
    ----------
    sums : int64, sums of the left sides
    last : number of thresholds
    bits : mask of the bits of a sum that hold h
    """
    bound = stats.h - stats.least + 1
    if last > FEW_SUMS:
        low, high = count_below(sums, last, bits, stats.least), count_below(sums, last, bits, bound)
        return min(low, high), high
    n_low = n_high = np.uint64(0)
    for b in range(np.uint64(last)):
        h = sums[b] & bits
        n_low += np.uint64(h < stats.least)
        n_high += np.uint64(h < bound)
    return np.int64(min(n_low, n_high)), np.int64(n_high)


@inner_kernel
def count_below(ascending, last, bits, bound):
    """Return how many of the first ``last`` numbers, ascending by ``bits``, are below a bound.

    The binary search adds by a shift instead of a conditional, which LLVM would turn into a branch;
    half the branches would be mispredicted.
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
    """Return the numerator and the denominator of `score_of`; λ is in steps."""
    return parts_of_floats(np.float64(g), np.float64(h), reg_lambda, stats)


@inner_kernel
def parts_of_floats(g_left, h, reg_lambda, stats):
    """Return `parts_of_score` of a left side whose sums are g_left and h, as floats."""
    h_left = h + reg_lambda
    g_right, h_right = np.float64(stats.g) - g_left, (stats.h + 2.0 * reg_lambda) - h_left
    return g_left * g_left * h_right + g_right * g_right * h_left, h_left * h_right


@inner_kernel
def find_highest(scores, low, high, top):
    """Return the first position of the highest score above ``top``, or −1 if there is none.

    Four independent maxima avoid a chain of dependent operations.
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
    n_bins : number of bins of the feature, including that of missing values
    missing_bin : the last bin, or −1
    stats : NodeStats of the leaf
    sums : int64 (2, MAX_BINS), scratch space
    scores : float64 (MAX_BINS,), scratch space
    best : BEST, updated if a split is better
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
            low, high = draw_one(low, high, feature, stats)
        score_splits(sums_g, sums_h, low, high, stats, scores)
        at = find_highest(scores, low, high, score_to_exceed(best, stats))
        if at >= 0:
            gain = (scores[at] - stats.base) * stats.unit
            if is_better_split(gain, feature, best):
                update_best_split(
                    best, gain, feature, at, to_left, sums_g[at], sums_h[at], rules.reg_lambda
                )


@inner_kernel
def draw_one(low, high, feature, stats):
    """Draw one threshold for a node and a feature at random; return it as a range."""
    drawn = hash_of(stats.seed, feature)
    at = low + np.int64(drawn) % (high - low)
    return at, at + 1
