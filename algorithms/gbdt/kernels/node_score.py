"""What a node is worth, by sums G of gradients and H of hessians of its rows.

T(G) = sign(G) max(|G| − α, 0)
w* = −T(G) / (H + λ)                       within its bounds
gain = −(2 G w* + 2 α |w*| + (H + λ) w*²)  which is T(G)² / (H + λ) where nothing binds w*

The gain is what the objective falls by, twice. With T(G) for G, as in the library, it is the same
as long as w* and G differ in sign. Where monotone constraints hold a value on the other side of 0,
that form would pay for every side that there is: for splits into sides of the same value, too.
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
    """Return the gain of a node that has a value."""
    first = g * value + rules.reg_alpha * abs(value)
    return -(2.0 * first + (h + rules.reg_lambda) * value * value)
