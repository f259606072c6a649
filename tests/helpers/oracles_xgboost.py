"""Slow plain twins of the kernels that follow XGBoost's rules."""

import ctypes
import ctypes.util

import numpy as np

f32 = np.float32
libm = ctypes.CDLL(ctypes.util.find_library("m"))
libm.expf.restype = ctypes.c_float
libm.expf.argtypes = [ctypes.c_float]


def expf(x):
    """Return the C library's exponential of a float32."""
    return f32(libm.expf(f32(x)))


def sort_like_gnu(pairs):
    """Return pairs in the order that GNU's std::sort gives them, comparing the first of each."""
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
    if h >= rules.min_child_weight and h > 0:
        w = -soften(g, rules.reg_alpha) / (h + float(rules.reg_lambda))
        step = float(rules.max_delta_step)
        w = min(max(w, -step), step) if step else w
    return min(max(f32(w), bounds[0]), bounds[1]) if len(rules.monotone) else f32(w)


def gain_of(rules, g, h, bounds):
    """Return what a leaf brings, float32."""
    if h <= 0:
        return f32(0)
    if rules.max_delta_step or len(rules.monotone):
        w = weight_of(rules, g, h, bounds)
        return -(f32(2) * f32(g) * w + (f32(h) + rules.reg_lambda) * (w * w))
    return f32(soften(g, rules.reg_alpha) ** 2) / f32(h + float(rules.reg_lambda))


def gain_of_split(rules, feature, left, right, bounds, own):
    """Return what a split brings over its node, or None where it breaks an order."""
    if len(rules.monotone):
        w = [weight_of(rules, *side, bounds) for side in (left, right)]
        if rules.monotone[feature] * (w[1] - w[0]) < 0:
            return None
    return (gain_of(rules, *left, bounds) + gain_of(rules, *right, bounds)) - own


def best_exact_split(X, rows, order, g, h, rules, whole, bounds):
    """Return (gain, feature, threshold, missing_left) of a node; a gain of zero where none is.

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
    return (np.sign(z) if name == "ABSOLUTE" else z), one


def class_slopes(score, y):
    """Return g and h of a row's classes, float32, without its weight."""
    most = max([np.finfo(f32).tiny, *score])
    powers = [expf(s - most) for s in score]
    p = [power / f32(sum(map(float, powers))) for power in powers]
    h = [f32(2) * value * (f32(1) - value) for value in p]
    return [value - f32(1) if k == y else value for k, value in enumerate(p)], h
