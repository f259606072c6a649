"""The value and the gain of a side of a split, by LightGBM's formulas and order of operations.

Of a side with sums G and H:
    T(G) = sign(G) max(|G| − α, 0)
    v = −T(G) / (H + λ), at most `max_step` in size, then drawn to the parent's value
    gain = T(G)² / (H + λ), or −(2 T(G) v + (H + λ) v²) where v is bounded or drawn
"""

from algorithms.parity.kernels.lightgbm_arrays import EPSILON
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def sign(x):
    """Return −1, 0 or 1."""
    return (1.0 if x > 0.0 else 0.0) - (1.0 if x < 0.0 else 0.0)


@inner_kernel
def shrink(g, alpha):
    """Return T(G)."""
    return sign(g) * max(0.0, abs(g) - alpha) if alpha > 0.0 else g


@inner_kernel
def bounded_value(g, h, ridge, rules):
    """Return the value of a side before it is drawn to its parent's."""
    v = -shrink(g, rules.alpha) / (h + ridge)
    if 0.0 < rules.max_step < abs(v):
        v = sign(v) * rules.max_step
    return v


@inner_kernel
def value_of(g, h, n, parent, ridge, rules):
    """Return the value of a side of n rows."""
    v = bounded_value(g, h, ridge, rules)
    if rules.smooth > EPSILON:
        share = n / rules.smooth
        v = v * share / (share + 1.0) + parent / (share + 1.0)
    return v


@inner_kernel
def gain_at(g, h, v, ridge, rules):
    """Return the gain of a side that has a given value."""
    return -(2.0 * shrink(g, rules.alpha) * v + (h + ridge) * v * v)


@inner_kernel
def gain_of(g, h, n, parent, ridge, rules):
    """Return the gain of a side of n rows."""
    if rules.max_step > 0.0 or rules.smooth > EPSILON:
        return gain_at(g, h, value_of(g, h, n, parent, ridge, rules), ridge, rules)
    t = shrink(g, rules.alpha)
    return t * t / (h + ridge)


@inner_kernel
def rows_in(h, per_h):
    """Return how many rows LightGBM takes a sum of h for: it keeps no counts of bins."""
    return int(h * per_h + 0.5)


@inner_kernel
def note(split, left_g, left_h, left_n, g, h, n, parent, ridge, rules):
    """Write both sides of a split; h is the leaf's with both sides' ε, left_h with one."""
    split["left_g"], split["left_h"] = left_g, left_h - EPSILON
    split["right_g"], split["right_h"] = g - left_g, h - left_h - EPSILON
    split["left_value"] = value_of(left_g, left_h, left_n, parent, ridge, rules)
    split["right_value"] = value_of(g - left_g, h - left_h, n - left_n, parent, ridge, rules)
