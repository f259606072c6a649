"""Weight of a leaf and gain of a split, with XGBoost's order of operations and dtypes.

With G, H the sums of a node, λ = reg_lambda, α = reg_alpha, and the soft threshold
T(G) = sign(G) max(|G| − α, 0):

    w* = −T(G) / (H + λ)                   float64, then float32
    gain = T(G)² / (H + λ)                 numerator and denominator float64, quotient float32
    gain = −(2 G w + (H + λ) w²)           float32, if steps or weights are bounded
    gain of a split = (gain_L + gain_R) − gain of the node                         float32

If ``rules.gain_by_weight``, there is one formula for the gain, whose w is float32 and whose other
terms are float64:

    gain = −(2 G w + (H + λ) w² + 2 α |w|)
"""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

NOTHING = np.float32(0.0)
TWO = np.float32(2.0)
FORBIDDEN = np.float32(-np.inf)


@inner_kernel
def soft_threshold(g, alpha):
    """Return T(G)."""
    if g > alpha:
        return g - alpha
    if g < -alpha:
        return g + alpha
    return 0.0


@inner_kernel
def weight_of(rules, g, h, lower, upper):
    """Return w*, float32; 0 if H is 0 or, by the older rules, below ``min_child_weight``."""
    w = 0.0
    too_light = not rules.gain_by_weight and h < rules.min_child_weight
    if not (too_light or h <= 0.0):
        w = -soft_threshold(g, rules.reg_alpha) / (h + rules.reg_lambda)
        if rules.max_delta_step != NOTHING and abs(w) > rules.max_delta_step:
            w = math.copysign(np.float64(rules.max_delta_step), w)
    bounded = np.float32(w)
    if len(rules.monotone):
        if bounded < lower:
            bounded = lower
        elif bounded > upper:
            bounded = upper
    return bounded


@inner_kernel
def gain_of(rules, g, h, w):
    """Return the gain of a leaf of weight w, float32."""
    if h <= 0.0:
        return NOTHING
    if rules.gain_by_weight:
        penalty = 2.0 * rules.reg_alpha * abs(w)
        return np.float32(-(2.0 * g * w + (h + rules.reg_lambda) * (w * w) + penalty))
    if rules.max_delta_step == NOTHING and not len(rules.monotone):
        t = soft_threshold(g, rules.reg_alpha)
        return np.float32(t * t) / np.float32(h + rules.reg_lambda)
    return -(TWO * np.float32(g) * w + (np.float32(h) + rules.reg_lambda) * (w * w))


@inner_kernel
def gain_of_sides(rules, node, feature, left_g, left_h, right_g, right_h):
    """Return the sum of the children's gains; −∞ if the split is not allowed.

    A split that violates a monotone constraint is not allowed, nor, if ``rules.gain_by_weight``,
    one with a child without hessians.
    """
    if rules.gain_by_weight and not (left_h > 0.0 and right_h > 0.0):
        return FORBIDDEN
    w_left = weight_of(rules, left_g, left_h, node["lower"], node["upper"])
    w_right = weight_of(rules, right_g, right_h, node["lower"], node["upper"])
    gain = gain_of(rules, left_g, left_h, w_left) + gain_of(rules, right_g, right_h, w_right)
    if len(rules.monotone):
        order = rules.monotone[feature]
        if (order > 0 and not w_left <= w_right) or (order < 0 and not w_left >= w_right):
            return FORBIDDEN
    return gain


@inner_kernel
def update_best_split(split, gain, feature, threshold, missing_left):
    """Store a split if it is better than the best one so far; return whether it is stored.

    Features are scanned in ascending order, so of equal gains the lowest feature is kept. A split
    with an infinite gain or NaN is never stored.
    """
    if math.isinf(gain) or not gain > split["gain"]:
        return False
    split["gain"] = gain
    split["feature"] = feature
    split["threshold"] = threshold
    split["missing_left"] = missing_left
    return True


@kernel
def compute_weights(rules, stats):
    """Write the weights and gains of nodes, given their sums and the bounds of their parents.

    Parameters
    ----------
    rules : xgboost_arrays.Rules
    stats : (n,) STATS, with sums and bounds set
    """
    for i in range(len(stats)):
        node = stats[i]
        w = weight_of(rules, node["g"], node["h"], node["lower"], node["upper"])
        node["weight"] = w
        node["gain"] = gain_of(rules, node["g"], node["h"], w)
