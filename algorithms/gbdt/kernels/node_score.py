"""Optimal value and gain of a node, from the sums G of gradients and H of hessians of its rows.

T(G) = sign(G) max(|G| − α, 0)
w* = −T(G) / (H + λ)                       within its bounds
gain = −(2 G w* + 2 α |w*| + (H + λ) w*²)  which is T(G)² / (H + λ) if w* is not constrained

The gain is twice the decrease of the objective. XGBoost's formula, with T(G) instead of G, agrees
as long as w* and G have opposite signs. If a monotone constraint forces w* to the other side of 0,
XGBoost's formula would give a gain even to splits into children of the same value.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel


@inner_kernel
def shrink(g, reg_alpha):
    """Return T(G)."""
    return np.sign(g) * max(abs(g) - reg_alpha, 0.0)


@inner_kernel
def weigh(g, h, lower, upper, rules):
    """Return w*."""
    value = -shrink(g, rules.reg_alpha) / (h + rules.reg_lambda)
    if rules.max_delta_step > 0.0:
        value = min(max(value, -rules.max_delta_step), rules.max_delta_step)
    return min(max(value, lower), upper)


@inner_kernel
def gain_of(g, h, value, rules):
    """Return the gain of a node with a given value."""
    first = g * value + rules.reg_alpha * abs(value)
    return -(2.0 * first + (h + rules.reg_lambda) * value * value)
