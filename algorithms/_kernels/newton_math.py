"""What a node is worth, by sums G of gradients and H of hessians of its rows.

T(G) = sign(G) max(|G| − α, 0)
w* = −T(G) / (H + λ)                       within its bounds
gain = −(2 T(G) w* + (H + λ) w*²)          which is T(G)² / (H + λ) where nothing binds w*
"""

import numpy as np

from algorithms._kernels.jit import inner_kernel


@inner_kernel
def shrink(g, alpha):
    """Return T(G)."""
    return np.sign(g) * max(abs(g) - alpha, 0.0)


@inner_kernel
def weigh(g, h, lower, upper, rules):
    """Return w*."""
    value = -shrink(g, rules.alpha) / (h + rules.ridge)
    if rules.max_step > 0.0:
        value = min(max(value, -rules.max_step), rules.max_step)
    return min(max(value, lower), upper)


@inner_kernel
def gain_of(g, h, value, rules):
    """Return the gain of a node that has a value."""
    return -(2.0 * shrink(g, rules.alpha) * value + (h + rules.ridge) * value * value)
