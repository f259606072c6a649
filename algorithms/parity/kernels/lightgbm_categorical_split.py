"""Best split of a leaf by one categorical feature, by LightGBM's rules.

Up to `max_cat_to_onehot` categories are split one against all others. More are sorted by
Σg / (Σh + `cat_smooth`), and the first or last ones go left; categories with few rows are left out.
The first bin is for values without a category.
"""

import numpy as np

from algorithms.parity.kernels.lightgbm_arrays import EPSILON
from algorithms.parity.kernels.lightgbm_gain import gain_of, rows_in
from algorithms.parity.kernels.lightgbm_sort import sort_by_keys
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def find_one_vs_rest_split(histogram, g, h, n, shift, parent, rules):
    """Return the best split of one category from all others; see `lightgbm_split.scan_down`."""
    best, at, best_g, best_h, best_n, usable = -np.inf, 0, 0.0, 0.0, 0, False
    per_h = n / h
    for b in range(1, len(histogram)):
        own_g, own_h = histogram[b, 0], histogram[b, 1]
        own_n = rows_in(own_h, per_h)
        other_n = n - own_n
        other_h = h - own_h - EPSILON
        if (
            min(own_n, other_n) < rules.min_child_samples
            or own_h < rules.min_child_weight
            or other_h < rules.min_child_weight
        ):
            continue
        gain = gain_of(g - own_g, other_h, other_n, parent, rules.reg_lambda, rules) + gain_of(
            own_g, own_h + EPSILON, own_n, parent, rules.reg_lambda, rules
        )
        if gain <= shift:
            continue
        usable = True
        if gain > best:
            best, at, best_g, best_h, best_n = gain, b, own_g, own_h + EPSILON, own_n
    return best, at, best_g, best_h, best_n, usable


@inner_kernel
def sort_bins(histogram, per_h, rules, scores, order):
    """Write the bins with enough rows, sorted by Σg / (Σh + smoothing); return their number."""
    count = 0
    for b in range(1, len(histogram)):
        if rows_in(histogram[b, 1], per_h) >= rules.cat_smooth:
            scores[b] = histogram[b, 0] / (histogram[b, 1] + rules.cat_smooth)
            order[count] = b
            count += 1
    sort_by_keys(scores, order, order[len(order) // 2 :], count)
    return count


@inner_kernel
def find_sorted_split(histogram, order, used, g, h, n, shift, parent, rules):
    """Return the best split of the first, or of the last, sorted bins from the others.

    The result is that of `lightgbm_split.scan_down`, except that ``bin`` is the number of bins on
    the left, negative if these are the last ones.
    """
    best, at, best_g, best_h, best_n, usable = -np.inf, 0, 0.0, 0.0, 0, False
    per_h = n / h
    reg_lambda = rules.reg_lambda + rules.cat_l2
    most = min(used, rules.max_cat_threshold, (used + 1) // 2)
    left_g, left_h, left_n, fresh, is_over = 0.0, EPSILON, 0, 0, False
    for step in range(2 * most):
        i = step if step < most else step - most
        if i == 0:
            left_g, left_h, left_n, fresh, is_over = 0.0, EPSILON, 0, 0, False
        if is_over:
            continue
        b = order[i] if step < most else order[used - 1 - i]
        rows = rows_in(histogram[b, 1], per_h)
        left_g += histogram[b, 0]
        left_h += histogram[b, 1]
        left_n += rows
        fresh += rows
        if left_n < rules.min_child_samples or left_h < rules.min_child_weight:
            continue
        right_n = n - left_n
        right_h = h - left_h
        least = max(rules.min_child_samples, rules.min_data_per_group)
        is_over = right_n < least or right_h < rules.min_child_weight
        if is_over or fresh < rules.min_data_per_group:
            continue
        fresh = 0
        gain = gain_of(left_g, left_h, left_n, parent, reg_lambda, rules) + gain_of(
            g - left_g, right_h, right_n, parent, reg_lambda, rules
        )
        if gain <= shift:
            continue
        usable = True
        if gain > best:
            at = i + 1 if step < most else -i - 1
            best, best_g, best_h, best_n = gain, left_g, left_h, left_n
    return best, at, best_g, best_h, best_n, usable


@inner_kernel
def find_categorical_split(histogram, g, h, n, shift, parent, rules, members, scores, order):
    """Find the best split by a categorical feature, and write which bins go left.

    Parameters and result are those of `lightgbm_split.find_numeric_split`, and:
    members : uint8, written: whether a bin goes left
    scores, order : scratch space, one and two entries per bin
    """
    members[:] = 0
    if len(histogram) <= rules.max_cat_to_onehot:
        best, at, left_g, left_h, left_n, usable = find_one_vs_rest_split(
            histogram, g, h, n, shift, parent, rules
        )
        members[at] = 1
        return best - shift, left_g, left_h, left_n, usable
    used = sort_bins(histogram, n / h, rules, scores, order)
    best, at, left_g, left_h, left_n, usable = find_sorted_split(
        histogram, order, used, g, h, n, shift, parent, rules
    )
    for i in range(abs(at)):
        members[order[i] if at > 0 else order[used - 1 - i]] = 1
    return best - shift, left_g, left_h, left_n, usable
