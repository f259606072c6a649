"""The best split of a leaf by one numeric feature, in LightGBM's order of sums and comparisons.

Bins are added up from the highest down, so that of equal gains the highest threshold is kept.
Where the last bin is for missing values they are on the left in this pass, and a second pass from
the lowest bin up has them on the right; it has to be strictly better.
"""

import numpy as np

from algorithms.parity.kernels.lightgbm_arrays import EPSILON
from algorithms.parity.kernels.lightgbm_gain import gain_of, rows_in
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def scan_down(cells, last, g, h, n, shift, parent, rules):
    """Return the best split with the bins b … last on the right, b from last to 1.

    Returns
    -------
    gain, bin, left_g, left_h, left_n, and whether any split gains
    """
    best, at, best_g, best_h, best_n, usable = -np.inf, 0, 0.0, 0.0, 0, False
    per_h = n / h
    right_g, right_h, right_n = 0.0, EPSILON, 0
    for b in range(last, 0, -1):
        right_g += cells[b, 0]
        right_h += cells[b, 1]
        right_n += rows_in(cells[b, 1], per_h)
        if right_n < rules.min_rows or right_h < rules.min_h:
            continue
        left_n = n - right_n
        left_h = h - right_h
        if left_n < rules.min_rows or left_h < rules.min_h:
            break
        left_g = g - right_g
        gain = gain_of(left_g, left_h, left_n, parent, rules.ridge, rules) + gain_of(
            right_g, right_h, right_n, parent, rules.ridge, rules
        )
        if gain <= shift:
            continue
        usable = True
        if gain > best:
            best, at, best_g, best_h, best_n = gain, b - 1, left_g, left_h, left_n
    return best, at, best_g, best_h, best_n, usable


@inner_kernel
def scan_up(cells, last, filler, g, h, n, shift, parent, rules):
    """Return the best split with the bins 0 … b on the left, b to last − 1; see `scan_down`.

    Where the first bin has no cell, its sums are what all others leave.
    """
    best, at, best_g, best_h, best_n, usable = -np.inf, 0, 0.0, 0.0, 0, False
    per_h = n / h
    left_g, left_h, left_n = 0.0, EPSILON, 0
    if filler == 0:
        left_g, left_h, left_n = g, h - EPSILON, n
        for b in range(1, last + 1):
            left_g -= cells[b, 0]
            left_h -= cells[b, 1]
            left_n -= rows_in(cells[b, 1], per_h)
    for b in range(last):
        if b > 0 or filler != 0:
            left_g += cells[b, 0]
            left_h += cells[b, 1]
            left_n += rows_in(cells[b, 1], per_h)
        if left_n < rules.min_rows or left_h < rules.min_h:
            continue
        right_n = n - left_n
        right_h = h - left_h
        if right_n < rules.min_rows or right_h < rules.min_h:
            break
        right_g = g - left_g
        gain = gain_of(left_g, left_h, left_n, parent, rules.ridge, rules) + gain_of(
            right_g, right_h, right_n, parent, rules.ridge, rules
        )
        if gain <= shift:
            continue
        usable = True
        if gain > best:
            best, at, best_g, best_h, best_n = gain, b, left_g, left_h, left_n
    return best, at, best_g, best_h, best_n, usable


@inner_kernel
def split_numbers(cells, filler, has_missing, g, h, n, shift, parent, rules, split):
    """Find the best split of a leaf by a numeric feature, and write where it is.

    Parameters
    ----------
    cells : (n_bins, 2) float64
    filler : see `lightgbm_layout`
    has_missing : 1 where the last bin is for missing values
    g, h, n : the leaf's sums and rows, h with the ε of both sides
    shift : what the gains of both sides have to exceed
    parent : the leaf's own value
    split : SPLIT record, of which the bin and the side of missing values are written

    Returns
    -------
    gain above the shift, left_g, left_h, left_n, and whether any split gains
    """
    last = len(cells) - 1
    both_ways = has_missing and last > 1
    top = last - 1 if both_ways else last
    best, at, left_g, left_h, left_n, usable = scan_down(cells, top, g, h, n, shift, parent, rules)
    gain = best - shift
    split["bin"] = at
    split["missing_left"] = not has_missing or both_ways
    if both_ways:
        other = scan_up(cells, last, filler, g, h, n, shift, parent, rules)
        usable |= other[5]
        if other[0] > gain + shift:
            gain, left_g, left_h, left_n = other[0] - shift, other[2], other[3], other[4]
            split["bin"] = other[1]
            split["missing_left"] = 0
    return gain, left_g, left_h, left_n, usable
