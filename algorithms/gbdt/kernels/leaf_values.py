"""Leaf values: −T(G) / (H + λ), limited by `max_delta_step`, path smoothing and bounds."""

import numpy as np

from algorithms.runtime.jit import inner_kernel, linked_kernel


@linked_kernel
def value_of(g, h, n_rows, reg_lambda, parent, lower, upper, rules):
    """Return the value of a leaf with sums g and h (not in steps).

    Parameters
    ----------
    n_rows : number of rows of the leaf, or an estimate of it
    reg_lambda : λ
    parent : value of the parent, for path smoothing
    lower, upper : bounds on the value
    """
    shrunk = np.sign(g) * max(abs(g) - rules.reg_alpha, 0.0)  # T(G)
    value = -shrunk / (h + reg_lambda)
    if rules.max_delta_step > 0.0:
        value = min(max(value, -rules.max_delta_step), rules.max_delta_step)
    if rules.path_smooth > 0.0:
        share = n_rows / (n_rows + rules.path_smooth)
        value = share * value + (1.0 - share) * parent
    return min(max(value, lower), upper)


@inner_kernel
def standing_value(leaf, g, h, rules, scale):
    """Return the value of a leaf before it is split; ``g`` and ``h`` are its sums, in steps.

    The root stores no value; it is computed from the sums, as in LightGBM.
    """
    if leaf["depth"] > 0:
        return leaf["value"]
    n_rows = np.float64(leaf["end"] - leaf["start"])
    bounds = leaf["lower"], leaf["upper"]
    return value_of(g * scale.g, h * scale.h, n_rows, rules.reg_lambda, 0.0, *bounds, rules)
