"""The weight of a leaf and the gain of a split, each operation as XGBoost rounds it.

With G, H the sums of a node, λ, α the prices of squares and of absolute values, and T the
soft threshold T(G) = sign(G) max(|G| − α, 0):

    w* = −T(G) / (H + λ)                   float64, then float32
    gain = T(G)² / (H + λ)                 numerator and denominator float64, quotient float32
    gain = −(2 G w + (H + λ) w²)           float32, where steps or weights are bounded
    gain of a split = (gain_L + gain_R) − gain of the node                         float32
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
    """Return w*, float32; a node that weighs less than a child must has none."""
    w = 0.0
    if not (h < rules.min_child_weight or h <= 0.0):
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
    """Return what a leaf of weight w brings, float32."""
    if h <= 0.0:
        return NOTHING
    if rules.max_delta_step == NOTHING and not len(rules.monotone):
        t = soft_threshold(g, rules.reg_alpha)
        return np.float32(t * t) / np.float32(h + rules.reg_lambda)
    return -(TWO * np.float32(g) * w + (np.float32(h) + rules.reg_lambda) * (w * w))


@inner_kernel
def gain_of_sides(rules, node, feature, left_g, left_h, right_g, right_h):
    """Return what the two sides of a split bring together; −∞ where it breaks an order."""
    w_left = weight_of(rules, left_g, left_h, node["lower"], node["upper"])
    w_right = weight_of(rules, right_g, right_h, node["lower"], node["upper"])
    gain = gain_of(rules, left_g, left_h, w_left) + gain_of(rules, right_g, right_h, w_right)
    if len(rules.monotone):
        order = rules.monotone[feature]
        if (order > 0 and not w_left <= w_right) or (order < 0 and not w_left >= w_right):
            return FORBIDDEN
    return gain


@inner_kernel
def offer(split, gain, feature, threshold, missing_left):
    """Take a split where it is better than the best so far; return whether it was taken.

    Features come in ascending order, so a tie leaves the lower one; an infinite gain is never
    taken, nor one that is not a number.
    """
    if math.isinf(gain) or not gain > split["gain"]:
        return False
    split["gain"] = gain
    split["feature"] = feature
    split["threshold"] = threshold
    split["missing_left"] = missing_left
    return True


@kernel
def weigh(rules, stats):
    """Write the weight and the gain of nodes, given their sums and the bounds of their parents.

    Parameters
    ----------
    rules : xgboost_layout.Rules
    stats : (n,) STATS, its sums and bounds set
    """
    for i in range(len(stats)):
        node = stats[i]
        w = weight_of(rules, node["g"], node["h"], node["lower"], node["upper"])
        node["weight"] = w
        node["gain"] = gain_of(rules, node["g"], node["h"], w)
