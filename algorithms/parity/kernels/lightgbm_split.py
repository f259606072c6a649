"""Best split of a leaf by one numeric feature, with LightGBM's order of sums and comparisons.

Bins are summed from the highest down, so of equal gains the highest threshold is kept. If the last
bin is for missing values, they go left in this pass; in a second pass, from the lowest bin up, they
go right. A split of the second pass must be strictly better.
"""

import numpy as np

from algorithms.parity.kernels.lightgbm_arrays import EPSILON
from algorithms.parity.kernels.lightgbm_gain import gain_of, rows_in
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def scan_down(histogram, last, g, h, n, shift, parent, rules):
    """Return the best split with the bins b … last on the right, b from last to 1.

    Returns
    -------
    gain, bin, left_g, left_h, left_n, and whether any split has a gain
    """
    best, at, best_g, best_h, best_n, usable = -np.inf, 0, 0.0, 0.0, 0, False
    per_h = n / h
    right_g, right_h, right_n = 0.0, EPSILON, 0
    for b in range(last, 0, -1):
        right_g += histogram[b, 0]
        right_h += histogram[b, 1]
        right_n += rows_in(histogram[b, 1], per_h)
        if right_n < rules.min_child_samples or right_h < rules.min_child_weight:
            continue
        left_n = n - right_n
        left_h = h - right_h
        if left_n < rules.min_child_samples or left_h < rules.min_child_weight:
            break
        left_g = g - right_g
        gain = gain_of(left_g, left_h, left_n, parent, rules.reg_lambda, rules) + gain_of(
            right_g, right_h, right_n, parent, rules.reg_lambda, rules
        )
        if gain <= shift:
            continue
        usable = True
        if gain > best:
            best, at, best_g, best_h, best_n = gain, b - 1, left_g, left_h, left_n
    return best, at, best_g, best_h, best_n, usable


@inner_kernel
def scan_up(histogram, last, most_freq_bin, g, h, n, shift, parent, rules):
    """Return the best split with the bins 0 … b on the left, b to last − 1; see `scan_down`.

    If ``most_freq_bin`` is 0, the sums of bin 0 are the leaf's total minus the other bins.
    """
    best, at, best_g, best_h, best_n, usable = -np.inf, 0, 0.0, 0.0, 0, False
    per_h = n / h
    left_g, left_h, left_n = 0.0, EPSILON, 0
    if most_freq_bin == 0:
        left_g, left_h, left_n = g, h - EPSILON, n
        for b in range(1, last + 1):
            left_g -= histogram[b, 0]
            left_h -= histogram[b, 1]
            left_n -= rows_in(histogram[b, 1], per_h)
    for b in range(last):
        if b > 0 or most_freq_bin != 0:
            left_g += histogram[b, 0]
            left_h += histogram[b, 1]
            left_n += rows_in(histogram[b, 1], per_h)
        if left_n < rules.min_child_samples or left_h < rules.min_child_weight:
            continue
        right_n = n - left_n
        right_h = h - left_h
        if right_n < rules.min_child_samples or right_h < rules.min_child_weight:
            break
        right_g = g - left_g
        gain = gain_of(left_g, left_h, left_n, parent, rules.reg_lambda, rules) + gain_of(
            right_g, right_h, right_n, parent, rules.reg_lambda, rules
        )
        if gain <= shift:
            continue
        usable = True
        if gain > best:
            best, at, best_g, best_h, best_n = gain, b, left_g, left_h, left_n
    return best, at, best_g, best_h, best_n, usable


@inner_kernel
def find_numeric_split(histogram, most_freq_bin, has_missing, g, h, n, shift, parent, rules, split):
    """Find the best split of a leaf by a numeric feature; write its bin and missing side.

    Parameters
    ----------
    histogram : (n_bins, 2) float64, Σg and Σh of each bin
    most_freq_bin : if 0, the sums of bin 0 are the leaf's total minus the other bins
    has_missing : 1 if the last bin is for missing values
    g, h, n : Σg, Σh and number of rows of the leaf; h includes the ε of both children
    shift : minimum of the sum of both children's gains
    parent : value of the leaf
    split : SPLIT record; ``bin`` and ``missing_left`` are written

    Returns
    -------
    gain above the shift, left_g, left_h, left_n, and whether any split has a gain
    """
    last = len(histogram) - 1
    both_ways = has_missing and last > 1
    top = last - 1 if both_ways else last
    best, at, left_g, left_h, left_n, usable = scan_down(
        histogram, top, g, h, n, shift, parent, rules
    )
    gain = best - shift
    split["bin"] = at
    split["missing_left"] = not has_missing or both_ways
    if both_ways:
        other = scan_up(histogram, last, most_freq_bin, g, h, n, shift, parent, rules)
        usable |= other[5]
        if other[0] > gain + shift:
            gain, left_g, left_h, left_n = other[0] - shift, other[2], other[3], other[4]
            split["bin"] = other[1]
            split["missing_left"] = 0
    return gain, left_g, left_h, left_n, usable
