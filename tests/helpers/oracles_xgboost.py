"""Oracles of the kernels that follow XGBoost."""

import ctypes
import ctypes.util

import numpy as np

f32 = np.float32
libm = ctypes.CDLL(ctypes.util.find_library("m"))
for name, n_arguments in (("expf", 1), ("tanhf", 1), ("hypotf", 2)):
    getattr(libm, name).restype = ctypes.c_float
    getattr(libm, name).argtypes = [ctypes.c_float] * n_arguments


def expf(x):
    """Return the C library's exponential of a float32."""
    return f32(libm.expf(f32(x)))


def sort_like_gnu(pairs):
    """Return pairs in the order of GNU's std::sort, comparing the first of each."""
    pairs = list(pairs)
    if len(pairs) > 1:
        introsort(pairs, 0, len(pairs), 2 * (len(pairs).bit_length() - 1))
    return sorted(pairs, key=lambda pair: pair[0])  # the insertion sort at the end is stable


def introsort(pairs, first, last, depth):
    """Sort pairs[first:last] up to parts of 16, in place."""
    if last - first <= 16:
        return
    if depth == 0:
        pairs[first:last] = heapsort(pairs[first:last])
        return
    key = [value for value, _ in pairs]
    middle = first + (last - first) // 2
    x, y, z = key[first + 1], key[middle], key[last - 1]
    if x < y:  # which of equal ones is taken follows from the order of the questions
        trio = middle if y < z else (last - 1 if x < z else first + 1)
    else:
        trio = first + 1 if x < z else (last - 1 if y < z else middle)
    pairs[first], pairs[trio] = pairs[trio], pairs[first]
    pivot = pairs[first][0]
    i, j = first, last
    while True:
        i = next(k for k in range(i + 1, last) if not pairs[k][0] < pivot)
        j = next(k for k in range(j - 1, first - 1, -1) if not pivot < pairs[k][0])
        if i >= j:
            break
        pairs[i], pairs[j] = pairs[j], pairs[i]
    introsort(pairs, i, last, depth - 1)
    introsort(pairs, first, i, depth - 1)


def heapsort(pairs):
    """Return sorted pairs: a hole moves to the bottom, by the left child only if it is larger."""

    def fill(top, end, pair):
        hole = top
        while 2 * hole + 1 < end:
            child = 2 * hole + 2
            if child == end or pairs[child][0] < pairs[child - 1][0]:
                child -= 1
            pairs[hole] = pairs[child]
            hole = child
        while hole > top and pairs[(hole - 1) // 2][0] < pair[0]:
            pairs[hole] = pairs[(hole - 1) // 2]
            hole = (hole - 1) // 2
        pairs[hole] = pair

    for top in reversed(range(len(pairs) // 2)):
        fill(top, len(pairs), pairs[top])
    for end in reversed(range(1, len(pairs))):
        last, pairs[end] = pairs[end], pairs[0]
        fill(0, end, last)
    return pairs


def soften(g, alpha):
    """Return sign(G) max(|G| − α, 0)."""
    return float(np.sign(g) * max(abs(g) - float(alpha), 0.0))


def weight_of(rules, g, h, bounds):
    """Return w*, float32."""
    w = 0.0
    if h > 0 and (rules.gain_by_weight or h >= rules.min_child_weight):
        w = -soften(g, rules.reg_alpha) / (h + float(rules.reg_lambda))
        step = float(rules.max_delta_step)
        w = min(max(w, -step), step) if step else w
    return min(max(f32(w), bounds[0]), bounds[1]) if len(rules.monotone) else f32(w)


def gain_of(rules, g, h, bounds):
    """Return the gain of a leaf, float32."""
    if h <= 0:
        return f32(0)
    if rules.gain_by_weight:
        w = weight_of(rules, g, h, bounds)
        square, penalty = float(w * w), 2 * float(rules.reg_alpha) * float(abs(w))
        return f32(-(2 * g * float(w) + (h + float(rules.reg_lambda)) * square + penalty))
    if rules.max_delta_step or len(rules.monotone):
        w = weight_of(rules, g, h, bounds)
        return -(f32(2) * f32(g) * w + (f32(h) + rules.reg_lambda) * (w * w))
    return f32(soften(g, rules.reg_alpha) ** 2) / f32(h + float(rules.reg_lambda))


def gain_of_split(rules, feature, left, right, bounds, own):
    """Return the gain of a split over its node, or None if it is not allowed."""
    if rules.gain_by_weight and min(left[1], right[1]) <= 0:
        return None
    if len(rules.monotone):
        w = [weight_of(rules, *side, bounds) for side in (left, right)]
        if rules.monotone[feature] * (w[1] - w[0]) < 0:
            return None
    return (gain_of(rules, *left, bounds) + gain_of(rules, *right, bounds)) - own


def best_exact_split(X, rows, order, g, h, rules, whole, bounds):
    """Return (gain, feature, threshold, missing_left) of a node; gain zero without a split.

    Parameters
    ----------
    rows : the node's rows, as a set
    order : for each feature, its present rows in the order of the sort
    whole : (G, H) of the node
    """
    own = gain_of(rules, *whole, bounds)
    best, last = (f32(0), 0, f32(0), False), f32(0)
    for feature, column in enumerate(order):
        values = X[column, feature]
        one_value = len(column) > 0 and values[0] == values[-1]
        for forward in (True, False):
            if forward and (len(column) == len(X) or one_value):
                continue
            walked = (0.0, 0.0)
            mine = [row for row in (column if forward else column[::-1]) if row in rows]
            for row in [*mine, None]:
                x = None if row is None else X[row, feature]
                if row is None:
                    gap = abs(last) + f32(1e-6)
                    threshold = last + gap if forward else last - gap
                elif walked[1] != 0 and x != last:
                    threshold = (x + last) * f32(0.5)
                    threshold = last if threshold == x else threshold
                else:
                    threshold = None
                rest = (whole[0] - walked[0], whole[1] - walked[1])
                if threshold is not None and min(walked[1], rest[1]) >= rules.min_child_weight:
                    sides = (walked, rest) if forward else (rest, walked)
                    gain = gain_of_split(rules, feature, *sides, bounds, own)
                    if gain is not None and np.isfinite(gain) and gain > best[0]:
                        best = (gain, feature, threshold, not forward)
                if row is not None:
                    walked = (walked[0] + float(g[row]), walked[1] + float(h[row]))
                    last = x
    return best


def best_bin_split(histogram, ends, least, rules, whole, bounds):
    """Return (gain, feature, threshold, missing_left) of a node, from a list of bins a feature."""
    own = gain_of(rules, *whole, bounds)
    best = (f32(0), 0, f32(0), False)
    for feature, bins in enumerate(histogram):
        walked = (0.0, 0.0)
        for forward in (True, False):
            if not forward and walked == tuple(whole):
                continue
            walked = (0.0, 0.0)
            below = ends[feature] if forward else [least[feature], *ends[feature][:-1]]
            places = range(len(bins)) if forward else reversed(range(len(bins)))
            for k in places:
                walked = (walked[0] + bins[k][0], walked[1] + bins[k][1])
                rest = (whole[0] - walked[0], whole[1] - walked[1])
                if min(walked[1], rest[1]) < rules.min_child_weight:
                    continue
                sides = (walked, rest) if forward else (rest, walked)
                gain = gain_of_split(rules, feature, *sides, bounds, own)
                if gain is not None and np.isfinite(gain) and gain > best[0]:
                    best = (gain, feature, below[k], not forward)
    return best


def slopes(name, a, score, y):
    """Return g and h of a row, float32, without its weight."""
    one = f32(1)
    if name == "LOGISTIC":
        p = one / (expf(min(-score, f32(88.7))) + one + f32(1e-16))
        return p - y, max(p * (one - p), f32(1e-16))
    if name == "POISSON":
        return expf(score) - y, expf(score + a)
    if name == "GAMMA":
        return one - y / expf(score), y / expf(score)
    if name == "TWEEDIE":
        low, high = expf((one - a) * score), expf((f32(2) - a) * score)
        return -y * low + high, -y * (one - a) * low + (f32(2) - a) * high
    z = score - y
    if name == "PSEUDO_HUBER":
        root = np.sqrt(one + z * z / (a * a))
        return z / root, a * a / ((a * a + z * z) * root)
    flat = {"ABSOLUTE": np.sign(z), "QUANTILE": one - a if z >= 0 else -a}
    return flat.get(name, z), one


def smoothed_slopes(name, a, score, y, weight):
    """Return g and h of all rows of a smoothed loss, two lists of float32."""
    residuals, one, half = score - y, f32(1), f32(0.5)
    roots = sum(float(w * np.sqrt(abs(r))) for w, r in zip(weight, residuals, strict=True))
    total = sum(map(float, weight))
    scale = f32((roots / total) ** 2) if total >= 1e-6 else f32(0)
    g, h = [], []
    for r, w in zip(residuals, weight, strict=True):
        if name == "ABSOLUTE":
            norm = f32(libm.hypotf(scale, r))
            curvature = scale / norm if norm else one
            g.append(w * r * curvature)
            h.append(w * curvature)
            continue
        if scale == 0 or w == 0:
            g.append(f32(0))
            h.append(f32(0))
            continue
        x = r / (f32(0.04) * scale)
        slope = f32(libm.tanhf(x))
        g.append(w * (half * scale * (slope + one - f32(2) * a)))
        h.append(w * (half / f32(0.04) * max(slope / x if x else one, f32(3e-4))))
    return g, h


def class_slopes(score, y):
    """Return g and h of a row's classes, float32, without its weight."""
    most = max([np.finfo(f32).tiny, *score])
    powers = [expf(s - most) for s in score]
    p = [power / f32(sum(map(float, powers))) for power in powers]
    h = [f32(2) * value * (f32(1) - value) for value in p]
    return [value - f32(1) if k == y else value for k, value in enumerate(p)], h


def summary_of(values, weights):
    """Return [(lowest rank, highest rank, weight, value)] of values in the order of the sort."""
    results, total = [], f32(0)
    for value, row in sort_like_gnu(zip(values, range(len(values)), strict=True)):
        if results and results[-1][3] == value:
            results[-1][2] += weights[row]
        else:
            results.append([f32(0), f32(0), weights[row], value])
    for entry in results:
        entry[:2] = total, total + entry[2]
        total += entry[2]
    return results


def pruned(summary, most):
    """Return entries nearest to evenly spaced ranks, each once, with both ends."""
    if len(summary) <= most:
        return summary
    begin, end, chosen = summary[0][1], len(summary) - 1, [0]
    span = summary[end][0] - begin
    for k in range(1, most - 1):
        twice = f32(2) * ((f32(k) * span) / f32(most - 1) + begin)
        i = next((i for i in range(1, end) if twice < summary[i + 1][1] + summary[i + 1][0]), end)
        if i == end:
            break
        between = (summary[i][0] + summary[i][2]) + (summary[i + 1][1] - summary[i + 1][2])
        chosen.append(i if twice < between else i + 1)
    return [summary[i] for i in dict.fromkeys([*chosen, end])]


def combined(first, second):
    """Return two summaries merged: ranks grow by those of the other one's neighbors."""
    results = []
    for value in sorted({entry[3] for entry in first + second}):
        entry = [f32(0), f32(0), f32(0), value]
        for side in (first, second):
            own = [e for e in side if e[3] == value]
            smaller, larger = ([e for e in side if e[3] < value], [e for e in side if e[3] > value])
            if own:
                entry[:3] = (entry[k] + own[0][k] for k in range(3))
            else:
                entry[0] += smaller[-1][0] + smaller[-1][2] if smaller else f32(0)
                entry[1] += larger[0][1] - larger[0][2] if larger else side[-1][1]
        results.append(entry)
    for before, entry in zip([[f32(0)] * 4, *results], results, strict=False):
        entry[0] = max(entry[0], before[0])
        entry[1] = max(entry[1], before[1], entry[0] + entry[2])
    return results


def picked_by_rank(summary, n_bins):
    """Return ascending values nearest to the ranks k / n_bins."""
    n, cuts, last = len(summary), [], summary[0][3]
    for k in range(1, n_bins):
        twice = 2.0 * (k * float(summary[-1][1]) / n_bins)
        i = next((i for i in range(n - 2) if twice < summary[i + 1][0] + summary[i + 1][1]), n - 2)
        low, high = summary[i], summary[i + 1]
        value = low[3] if twice < (low[0] + low[2]) + (high[1] - high[2]) else high[3]
        larger = [entry[3] for entry in summary if entry[3] > last]
        if not larger:
            break
        last = max(value, larger[0])
        cuts.append(last)
    return cuts


def sorted_summary(values, weights, most, keeps_few):
    """Return the summary of sorted values: at most so many of evenly spaced ranks, and the last.

    With ``keeps_few``, all values are in it if they are at most so many.
    """
    keeps_all = keeps_few and len(set(values)) <= most
    total, goal, rank, results = sum(map(float, weights)), 0.0, 0.0, []
    for value in dict.fromkeys(values):
        weight = sum(float(w) for v, w in zip(values, weights, strict=True) if v == value)
        entry = [f32(rank), f32(rank + weight), f32(weight), value]
        if keeps_all or value == values[-1] or (rank + weight >= goal and len(results) < most):
            results.append(entry)
            goal = float(f32(len(results) * total / most))
            if len(results) == most:
                goal = total * 2 + float(f32(1e-5))
        rank += weight
    return results


def pruned_between(summary, most):
    """Return all heavy entries, and light ones between them of evenly spaced ranks."""
    end, begin = len(summary) - 1, summary[0][1]
    span = summary[end][0] - begin
    if span == 0 or most <= 2:
        return [summary[0], summary[end]]
    above = [low + weight for low, _, weight, _ in summary]
    below = [high - weight for _, high, weight, _ in summary]
    chunk = f32(2) * max(span, f32(1e-3)) / f32(most - 2)
    heavy = [i for i in range(1, end) if above[i] > below[i] + chunk]
    parts, light = f32(most - 2 - len(heavy)), f32(0)
    for a, b in zip([0, *heavy], [*heavy, end], strict=True):
        light += below[b] - above[a] if b > a + 1 else f32(0)
    chosen, k = [0], 1
    for a, b in zip([0, *heavy], [*heavy, end], strict=True):
        i = a
        while b > a + 1 and k < parts:
            twice = f32(2) * ((f32(k) * light) / parts + begin)
            if twice >= below[b] * f32(2):
                break
            i = next((j for j in range(i, b) if twice < summary[j + 1][1] + summary[j + 1][0]), b)
            if i == b:
                break
            chosen.append(i if twice < above[i] + below[i + 1] else i + 1)
            k += 1
        chosen.append(b)
        begin += above[b] - below[b]
    return [summary[i] for i in dict.fromkeys(chosen)]
