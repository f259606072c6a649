"""Find the best split with constrained or regularized leaf values, and the best categorical split.

With v the value that the leaf of a side would get (`value_of`),

    gain of a side = −(2 G v + 2 α |v| + (H + λ) v²)

which is T(G)² / (H + λ) if v is not constrained, with T as in `split`. A split that violates the
monotone constraint of its feature is not taken.

Categories are sorted by G / (H + s), s = `cat_smooth`. Every prefix and every suffix of this order
is tried as the left side (Fisher 1958: the best partition is among them); if there are few
categories, each one alone. Categories that training has not seen, or rarely, go right, and so do
missing values. If a bin holds several categories (`high_cardinality`), "rarely" refers to their
mean count. Extra trees draw one category, or draw the size of the set that is tried at either end.
Second-order boosting uses other categorical splits, see `categorical_split`.
"""

import numpy as np

from algorithms.gbdt.kernels.leaf_values import value_of
from algorithms.gbdt.kernels.split import (
    draw_one,
    is_better_split,
    parts_of_score,
    sum_left,
    update_best_split,
)
from algorithms.runtime.jit import inner_kernel, linked_kernel

NEARLY = 1.0 - 2.0**-30  # a score below this share of another is smaller in spite of rounding


@inner_kernel
def gain_of(g, h, reg_lambda, value, rules):
    """Return the gain of a leaf with a given value."""
    first = g * value + rules.reg_alpha * abs(value)
    return -(2.0 * first + (h + reg_lambda) * value * value)


@linked_kernel
def gain_of_sides(g, h, reg_lambda, direction, stats, rules, scale):
    """Return the gain of a split, or −inf if it violates a monotone constraint.

    Parameters
    ----------
    g, h : sums of the left side, in steps
    reg_lambda : λ
    direction : −1, 0, 1: values must decrease, are free, must increase
    """
    share = stats.n_rows / np.float64(stats.h)
    g_left, h_left = g * scale.g, h * scale.h
    g_right, h_right = (stats.g - g) * scale.g, (stats.h - h) * scale.h
    bounds = stats.value, stats.lower, stats.upper
    left = value_of(g_left, h_left, h * share, reg_lambda, *bounds, rules)
    right = value_of(g_right, h_right, (stats.h - h) * share, reg_lambda, *bounds, rules)
    if direction * (right - left) < 0.0:
        return -np.inf
    sides = gain_of(g_left, h_left, reg_lambda, left, rules)
    sides += gain_of(g_right, h_right, reg_lambda, right, rules)
    g_all, h_all = stats.g * scale.g, stats.h * scale.h
    return sides - gain_of(g_all, h_all, rules.reg_lambda, stats.value, rules)


@linked_kernel
def scan_constrained(
    cells_g,
    cells_h,
    n_bins,
    missing_bin,
    feature,
    direction,
    weight,
    stats,
    rules,
    scale,
    sums,
    best,
):
    """Try every threshold of a feature, with the gain of constrained values.

    Parameters are those of `split.scan`; ``direction`` is the feature's monotone constraint, and
    ``weight`` the factor of its gains.
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
        for b in range(low, high):
            gain = gain_of_sides(
                sums_g[b], sums_h[b], rules.reg_lambda, direction, stats, rules, scale
            )
            weighted = gain * weight
            if gain > stats.floor * stats.unit and is_better_split(weighted, feature, best):
                update_best_split(
                    best, weighted, feature, b, to_left, sums_g[b], sums_h[b], rules.reg_lambda
                )


@inner_kernel
def scan_categorical(
    cells_g,
    cells_h,
    n_bins,
    missing_bin,
    sizes,
    feature,
    weight,
    stats,
    rules,
    scale,
    order,
    slopes,
    best,
    left_bins,
):
    """Try sets of categories.

    Parameters are those of `split.scan`; ``sizes`` int32 (MAX_BINS,) holds the number of categories
    of each bin, ``weight`` is the factor of the feature's gains, ``order`` int64 and ``slopes``
    float64 (MAX_BINS,) are scratch space, and ``left_bins`` uint8 (MAX_BINS,) is written with
    ``best``.
    """
    values = n_bins - 1 if missing_bin >= 0 else n_bins
    used = np.int64(0)
    is_onehot = n_bins <= rules.max_cat_to_onehot
    reg_lambda = rules.reg_lambda if is_onehot else rules.reg_lambda + rules.cat_l2
    draws_one = is_onehot and rules.extra_trees  # then there is one set, and no need for a bound
    if weight <= 1.0 and not draws_one:
        top = least_score(best, stats.floor * stats.unit, stats, rules, scale)
        if bound_sets(cells_g, cells_h, n_bins, reg_lambda / scale.h, stats) < top:
            return
    if is_onehot:
        given = feature, weight, stats, rules, scale
        try_each_category(cells_g, cells_h, values, order, *given, best, left_bins)
        return
    share = stats.n_rows / np.float64(stats.h)
    for b in range(values):
        if cells_h[b] * share + 0.5 >= rules.cat_smooth * sizes[b] and cells_h[b] > 0:
            order[used] = b
            used += 1
    cat_smooth_steps = rules.cat_smooth / scale.h
    sort_by_slope(cells_g, cells_h, cat_smooth_steps, order, slopes, used)
    most = min(rules.max_cat_threshold, (used + 1) // 2)
    for backward in range(2):
        if backward:
            for i in range(used // 2):
                order[i], order[used - 1 - i] = order[used - 1 - i], order[i]
        given = feature, weight, stats, rules, scale
        try_set(cells_g, cells_h, order, used, most, reg_lambda, *given, best, left_bins)


@inner_kernel
def bound_sets(cells_g, cells_h, n_bins, reg_lambda, stats):
    """Return an upper bound on the plain scores of all sets of bins.

    It also bounds the gains of constrained values, which have at most the gain of the best ones.

    By the inequality of Cauchy and Schwarz, a side with the bins B and the sums G_B, H_B has

        G_B² / (H_B + λ) ≤ H / (H + λ) Σ g_b² / h_b        over its bins b, H ≥ H_B

    Parameters
    ----------
    reg_lambda : λ in steps
    """
    total = 0.0
    for b in range(np.uint64(n_bins)):
        g, h = np.float64(cells_g[b]), np.float64(cells_h[b])
        total += g * g / h if g != 0.0 else 0.0
    h = np.float64(stats.h)
    return total * (h / (h + reg_lambda)) * (1.0 + 1e-12)


@inner_kernel
def try_each_category(
    cells_g, cells_h, values, order, feature, weight, stats, rules, scale, best, left_bins
):
    """Try each category alone as the left side; the parameters are those of `scan_categorical`."""
    low, high, one = np.int64(0), np.int64(values), np.int64(1)
    if rules.extra_trees and low < high:
        low, high = draw_one(low, high, feature, stats)
    given = feature, weight, stats, rules, scale
    top = least_score(best, stats.floor * stats.unit, stats, rules, scale)
    for b in range(low, high):
        if weight <= 1.0 and falls_short(top, cells_g[b], cells_h[b], stats.reg_lambda, stats):
            continue
        order[0] = b
        try_set(cells_g, cells_h, order, one, one, rules.reg_lambda, *given, best, left_bins)


@inner_kernel
def sort_by_slope(cells_g, cells_h, cat_smooth_steps, order, slopes, used):
    """Sort bins by G / (H + s), stably; ``slopes`` is float64 (MAX_BINS,), written."""
    for i in range(used):
        b = order[i]
        slope = cells_g[b] / (cells_h[b] + cat_smooth_steps)
        j = i
        while j > 0 and slopes[j - 1] > slope:
            order[j], slopes[j] = order[j - 1], slopes[j - 1]
            j -= 1
        order[j], slopes[j] = b, slope


@inner_kernel
def least_score(best, floor, stats, rules, scale):
    """Return the score, in units of gains, above which a split is better than the best one."""
    g, h = stats.g * scale.g, stats.h * scale.h
    leaf_gain = gain_of(g, h, rules.reg_lambda, stats.value, rules)
    return (max(best["gain"], floor) + leaf_gain) / stats.unit * NEARLY


@inner_kernel
def falls_short(top, g, h, reg_lambda, stats):
    """Return whether a split scores less than ``top``; a product avoids the division."""
    over, under = parts_of_score(g, h, reg_lambda, stats)
    return over < under * top


@linked_kernel
def try_set(
    cells_g,
    cells_h,
    order,
    used,
    most,
    reg_lambda,
    feature,
    weight,
    stats,
    rules,
    scale,
    best,
    left_bins,
):
    """Try the first 1, 2, … bins of an order, up to ``most``, as the left side."""
    share = stats.n_rows / np.float64(stats.h)
    g = h = group = 0
    at = 0
    drawn, end = np.int64(0), np.int64(min(used, most))
    if rules.extra_trees and end > 0:
        drawn, _ = draw_one(drawn, end, feature, stats)
    floor = stats.floor * stats.unit
    top = least_score(best, floor, stats, rules, scale)
    for i in range(end):
        g += cells_g[order[i]]
        h += cells_h[order[i]]
        group += cells_h[order[i]]
        if stats.h - h < stats.least:
            break
        few = most > 1 and group * share + 0.5 < rules.min_data_per_group
        if h < stats.least or few:
            continue
        group = 0
        if rules.extra_trees and i != drawn:
            continue
        if weight <= 1.0 and falls_short(top, g, h, reg_lambda / scale.h, stats):
            continue
        gain = gain_of_sides(g, h, reg_lambda, np.int64(0), stats, rules, scale)
        if gain > floor and is_better_split(gain * weight, feature, best):
            at = i + 1
            update_best_split(best, gain * weight, feature, 0, 0, g, h, reg_lambda)
            top = least_score(best, floor, stats, rules, scale)
    if at:
        best["is_categorical"] = 1
        left_bins[:] = 0
        for i in range(at):
            left_bins[order[i]] = 1
