"""Find the best split where values are bounded, shrunk or moved, and of categories.

A side's value is what its leaf would get (`value_of`); with it

    gain of a side = −(2 G v + 2 α |v| + (H + λ) v²)

which is T(G)² / (H + λ) where nothing holds v back, T as in `hist.split`. Where a feature is
monotone, a split whose values lie the wrong way round is not taken.

Categories are sorted by G / (H + s), and every start and every end of that order is tried as the
left side (Fisher 1958: the best part of all is among them); where there are few categories,
each alone. What training has never seen, or seldom, goes right, and so do missing values. Where a
bin holds several categories (`hist.crowds`), seldom is said of their mean. Of extra trees one
category is drawn, or how many the set has that is tried at either end, where it is allowed.
Second-order boosting has sets of its own: see `newton.sets`.
"""

import numpy as np

from algorithms.gbdt.kernels.leaf_values import value_of
from algorithms.gbdt.kernels.split import beats, draw_one, improve, parts_of_score, sum_left
from algorithms.runtime.jit import inner_kernel, linked_kernel

NEARLY = 1.0 - 2.0**-30  # a score below this share of another is smaller, rounded or not


@inner_kernel
def gain_of(g, h, ridge, value, rules):
    """Return the gain of a leaf that has a value."""
    first = g * value + rules.alpha * abs(value)
    return -(2.0 * first + (h + ridge) * value * value)


@linked_kernel
def gain_of_sides(g, h, ridge, direction, facts, rules, scale):
    """Return the gain of a split, or −inf where a monotone feature forbids it.

    Parameters
    ----------
    g, h : sums of the left side, in steps
    ridge : λ
    direction : −1, 0, 1: how values must lie
    """
    share = facts.n_rows / np.float64(facts.h)
    g_left, h_left = g * scale.g, h * scale.h
    g_right, h_right = (facts.g - g) * scale.g, (facts.h - h) * scale.h
    bounds = facts.value, facts.lower, facts.upper
    left = value_of(g_left, h_left, h * share, ridge, *bounds, rules)
    right = value_of(g_right, h_right, (facts.h - h) * share, ridge, *bounds, rules)
    if direction * (right - left) < 0.0:
        return -np.inf
    sides = gain_of(g_left, h_left, ridge, left, rules)
    sides += gain_of(g_right, h_right, ridge, right, rules)
    g_all, h_all = facts.g * scale.g, facts.h * scale.h
    return sides - gain_of(g_all, h_all, rules.ridge, facts.value, rules)


@linked_kernel
def scan_careful(
    cells_g, cells_h, n_bins, missing_bin, feature, direction, facts, rules, scale, sums, best
):
    """Try every threshold of a feature with the gain of its values.

    Parameters are those of `hist.split.scan`; ``direction`` is that of a monotone feature.
    """
    missing = missing_bin >= 0 and cells_h[missing_bin] > 0
    values = n_bins - 1 if missing_bin >= 0 else n_bins
    sums_g, sums_h = sums[0], sums[1]
    for to_left in range(2 if missing else 1):
        g = cells_g[missing_bin] if to_left else 0
        h = cells_h[missing_bin] if to_left else 0
        last = values if missing and not to_left else values - 1
        low, high = sum_left(cells_g, cells_h, last, g, h, facts, sums_g, sums_h)
        if rules.extra and low < high:
            low, high = draw_one(low, high, feature, facts, rules)
        for b in range(low, high):
            found = gain_of_sides(sums_g[b], sums_h[b], rules.ridge, direction, facts, rules, scale)
            if found > facts.floor * facts.unit and beats(found, feature, best):
                improve(best, found, feature, b, to_left, sums_g[b], sums_h[b], rules.ridge)


@linked_kernel
def scan_set(
    cells_g,
    cells_h,
    n_bins,
    missing_bin,
    sizes,
    feature,
    facts,
    rules,
    scale,
    order,
    slopes,
    best,
    members,
):
    """Try sets of categories.

    Parameters are those of `hist.split.scan`; ``sizes`` int32 (MAX_BINS,) tells how many categories
    a bin holds, ``order`` int64 and ``slopes`` float64 (MAX_BINS,) are scratch space, and
    ``members`` uint8 (MAX_BINS,) is written with ``best``.
    """
    values = n_bins - 1 if missing_bin >= 0 else n_bins
    one, used = np.int64(1), np.int64(0)
    if n_bins <= rules.few_bins:
        low, high = np.int64(0), np.int64(values)
        if rules.extra and low < high:
            low, high = draw_one(low, high, feature, facts, rules)
        for b in range(low, high):
            order[0] = b
            try_set(
                cells_g,
                cells_h,
                order,
                one,
                one,
                rules.ridge,
                feature,
                facts,
                rules,
                scale,
                best,
                members,
            )
        return
    share = facts.n_rows / np.float64(facts.h)
    for b in range(values):
        if cells_h[b] * share + 0.5 >= rules.set_smooth * sizes[b] and cells_h[b] > 0:
            order[used] = b
            used += 1
    smooth = rules.set_smooth / scale.h
    sort_by_slope(cells_g, cells_h, smooth, order, slopes, used)
    most = min(rules.most_in_set, (used + 1) // 2)
    ridge = rules.ridge + rules.set_ridge
    for backward in range(2):
        if backward:
            for i in range(used // 2):
                order[i], order[used - 1 - i] = order[used - 1 - i], order[i]
        try_set(
            cells_g, cells_h, order, used, most, ridge, feature, facts, rules, scale, best, members
        )


@inner_kernel
def sort_by_slope(cells_g, cells_h, smooth, order, slopes, used):
    """Sort bins by G / (H + s), stably; ``slopes`` is float64 (MAX_BINS,), written."""
    for i in range(used):
        b = order[i]
        slope = cells_g[b] / (cells_h[b] + smooth)
        j = i
        while j > 0 and slopes[j - 1] > slope:
            order[j], slopes[j] = order[j - 1], slopes[j - 1]
            j -= 1
        order[j], slopes[j] = b, slope


@inner_kernel
def least_score(best, floor, facts, rules, scale):
    """Return what two sides must score, in units of gains, to be better than the best split."""
    g, h = facts.g * scale.g, facts.h * scale.h
    own = gain_of(g, h, rules.ridge, facts.value, rules)
    return (max(best["gain"], floor) + own) / facts.unit * NEARLY


@inner_kernel
def falls_short(top, g, h, ridge, facts):
    """Return whether two sides score less than ``top``: a product tells it of most, undivided."""
    over, under = parts_of_score(g, h, ridge, facts)
    return over < under * top


@linked_kernel
def try_set(
    cells_g, cells_h, order, used, most, ridge, feature, facts, rules, scale, best, members
):
    """Try the first 1, 2, … bins of an order, up to ``most``, as the left side."""
    share = facts.n_rows / np.float64(facts.h)
    g = h = group = 0
    at = 0
    drawn, end = np.int64(0), np.int64(min(used, most))
    if rules.extra and end > 0:
        drawn, _ = draw_one(drawn, end, feature, facts, rules)
    floor = facts.floor * facts.unit
    top = least_score(best, floor, facts, rules, scale)
    for i in range(end):
        g += cells_g[order[i]]
        h += cells_h[order[i]]
        group += cells_h[order[i]]
        if facts.h - h < facts.least:
            break
        few = most > 1 and group * share + 0.5 < rules.min_rows_of_category
        if h < facts.least or few:
            continue
        group = 0
        if rules.extra and i != drawn:
            continue
        if rules.plain and falls_short(top, g, h, ridge / scale.h, facts):
            continue
        found = gain_of_sides(g, h, ridge, np.int64(0), facts, rules, scale)
        if found > floor and beats(found, feature, best):
            at = i + 1
            improve(best, found, feature, 0, 0, g, h, ridge)
            top = least_score(best, floor, facts, rules, scale)
    if at:
        best["is_set"] = 1
        members[:] = 0
        for i in range(at):
            members[order[i]] = 1
