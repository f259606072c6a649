"""Oracles of categorical splits and category groups of the Newton booster."""

import numpy as np


def shrink(g, alpha):
    """Return T(G)."""
    return np.sign(g) * max(abs(g) - alpha, 0.0)


def slope_of(g, h, rules):
    """Return T(G) / (H + λ), 0 if a category is too light for a leaf."""
    fits = h > 0 and h >= rules["min_h"]
    return shrink(g, rules["alpha"]) / (h + rules["ridge"]) if fits else 0.0


def worth(g, h, rules):
    """Return the gain of a leaf."""
    top = shrink(g, rules["alpha"])
    value = -top / (h + rules["ridge"])
    if rules["max_step"]:
        value = np.clip(value, -rules["max_step"], rules["max_step"])
    return -(2 * top * value + (h + rules["ridge"]) * value**2)


def candidates(g, h, sizes, rules):
    """Yield the bins on one side of a split: the lower slopes, or all but one."""
    used = [b for b in range(len(h)) if h[b] > 0]
    if len(h) < rules["few"]:
        for b in used:
            yield [other for other in range(len(h)) if other != b], True
        yield used, True
        return
    order = sorted(used, key=lambda b: slope_of(g[b], h[b], rules))
    for n in range(1, len(order) + 1):
        low, high = order[:n], order[n:]
        fewest = min(sizes[low].sum(), sizes[high].sum()) if high else 0
        if fewest <= rules["most"] or min(len(low), len(high)) == 1:
            holds_zero = not high or slope_of(g[high[0]], h[high[0]], rules) >= 0
            yield low, holds_zero


def best_set(g, h, missing, sizes, rules):
    """Return the best gain of a feature's categories, and each (left bins, missing_left) of it.

    Parameters
    ----------
    g, h : (n_bins,), sums of each category's rows
    missing : (g, h) of rows whose category is missing
    sizes : (n_bins,), categories of each bin
    rules : dict of ridge, alpha, max_step, min_h, few, most
    """
    every = set(range(len(h)))
    total_g, total_h = g.sum() + missing[0], h.sum() + missing[1]
    best, results = 0.0, []
    for missing_low in (False, True) if missing[1] else (False,):
        for low, holds_zero in candidates(g, h, sizes, rules):
            own_g = g[low].sum() + missing_low * missing[0]
            own_h = h[low].sum() + missing_low * missing[1]
            if min(own_h, total_h - own_h) < max(rules["min_h"], 1):
                continue
            gain = worth(own_g, own_h, rules) + worth(total_g - own_g, total_h - own_h, rules)
            gain -= worth(total_g, total_h, rules)
            if gain <= 0.0 or gain < best * (1 - 1e-12):
                continue
            if gain > best * (1 + 1e-12):
                best, results = gain, []
            absent = {b for b in every if h[b] == 0}
            left = set(low) if holds_zero else every - set(low)
            to_left = missing_low == holds_zero if missing[1] else True
            results.append((left | absent, to_left))
    return best, results


def cut(weight, slope, room):
    """Return the groups of neighbors, as lists of places.

    Parameters
    ----------
    weight : (n,) int64; slope : (n,) ascending
    """
    n = len(weight)
    alone = [w * room >= 2 * weight.sum() > 0 for w in weight]
    width = [
        (slope[min(i + 1, n - 1)] - slope[max(i - 1, 0)]) / (min(i + 1, n - 1) - max(i - 1, 0))
        for i in range(n)
    ]
    worths = [0.0 if a else (w * d) ** 0.5 for a, w, d in zip(alone, weight, width, strict=True)]
    room -= 2 * sum(alone)
    passed, groups, last = 0.0, [], None
    for i, own in enumerate(worths):
        middle = (passed + own / 2) / max(sum(worths), 1e-300)
        passed += own
        part = min(int(middle * room), room - 1)
        if last is None or alone[i] or alone[i - 1] or part != last:
            groups.append([])
        groups[-1].append(i)
        last = part
    return groups
