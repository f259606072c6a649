"""Value and gain of a leaf, with LightGBM's formulas and order of operations.

For a leaf with the sums G and H, α = reg_alpha and λ = reg_lambda:
    T(G) = sign(G) max(|G| − α, 0)
    v = −T(G) / (H + λ), clipped to ±`max_delta_step`, then smoothed towards the parent's value
    gain = T(G)² / (H + λ), or −(2 T(G) v + (H + λ) v²) if v is clipped or smoothed
"""

from algorithms.parity.kernels.lightgbm_arrays import EPSILON
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def sign(x):
    """Return −1, 0 or 1."""
    return (1.0 if x > 0.0 else 0.0) - (1.0 if x < 0.0 else 0.0)


@inner_kernel
def soft_threshold(g, reg_alpha):
    """Return T(G)."""
    return sign(g) * max(0.0, abs(g) - reg_alpha) if reg_alpha > 0.0 else g


@inner_kernel
def bounded_value(g, h, reg_lambda, rules):
    """Return the value of a leaf before path smoothing."""
    v = -soft_threshold(g, rules.reg_alpha) / (h + reg_lambda)
    if 0.0 < rules.max_delta_step < abs(v):
        v = sign(v) * rules.max_delta_step
    return v


@inner_kernel
def value_of(g, h, n, parent, reg_lambda, rules):
    """Return the value of a leaf with n rows."""
    v = bounded_value(g, h, reg_lambda, rules)
    if rules.path_smooth > EPSILON:
        share = n / rules.path_smooth
        v = v * share / (share + 1.0) + parent / (share + 1.0)
    return v


@inner_kernel
def gain_at(g, h, v, reg_lambda, rules):
    """Return the gain of a leaf with the value v."""
    return -(2.0 * soft_threshold(g, rules.reg_alpha) * v + (h + reg_lambda) * v * v)


@inner_kernel
def gain_of(g, h, n, parent, reg_lambda, rules):
    """Return the gain of a leaf with n rows."""
    if rules.max_delta_step > 0.0 or rules.path_smooth > EPSILON:
        return gain_at(g, h, value_of(g, h, n, parent, reg_lambda, rules), reg_lambda, rules)
    t = soft_threshold(g, rules.reg_alpha)
    return t * t / (h + reg_lambda)


@inner_kernel
def rows_in(h, per_h):
    """Return LightGBM's estimate of a bin's number of rows from Σh; it keeps no counts."""
    return int(h * per_h + 0.5)


@inner_kernel
def write_children(split, left_g, left_h, left_n, g, h, n, parent, reg_lambda, rules):
    """Write both children of a split; h includes the ε of both, left_h that of the left one."""
    split["left_g"], split["left_h"] = left_g, left_h - EPSILON
    split["right_g"], split["right_h"] = g - left_g, h - left_h - EPSILON
    split["left_value"] = value_of(left_g, left_h, left_n, parent, reg_lambda, rules)
    split["right_value"] = value_of(g - left_g, h - left_h, n - left_n, parent, reg_lambda, rules)
