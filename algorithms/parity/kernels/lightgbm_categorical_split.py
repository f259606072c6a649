"""The best split of a leaf by one categorical feature, by LightGBM's rules.

Few categories are tried alone against all others. More are sorted by Σg / (Σh + `set_smooth`) and
taken from either end; categories of few rows stand aside. The first bin is of no category.
"""

import numpy as np

from algorithms.parity.kernels.lightgbm_arrays import EPSILON
from algorithms.parity.kernels.lightgbm_gain import gain_of, rows_in
from algorithms.parity.kernels.lightgbm_sort import sort_by_keys
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def split_alone(cells, g, h, n, shift, parent, rules):
    """Return the best split of one category from all others; see `lightgbm_split.scan_down`."""
    best, at, best_g, best_h, best_n, usable = -np.inf, 0, 0.0, 0.0, 0, False
    per_h = n / h
    for b in range(1, len(cells)):
        own_g, own_h = cells[b, 0], cells[b, 1]
        own_n = rows_in(own_h, per_h)
        other_n = n - own_n
        other_h = h - own_h - EPSILON
        if min(own_n, other_n) < rules.min_rows or own_h < rules.min_h or other_h < rules.min_h:
            continue
        gain = gain_of(g - own_g, other_h, other_n, parent, rules.ridge, rules) + gain_of(
            own_g, own_h + EPSILON, own_n, parent, rules.ridge, rules
        )
        if gain <= shift:
            continue
        usable = True
        if gain > best:
            best, at, best_g, best_h, best_n = gain, b, own_g, own_h + EPSILON, own_n
    return best, at, best_g, best_h, best_n, usable


@inner_kernel
def sort_bins(cells, per_h, rules, scores, order):
    """Write the bins of enough rows by Σg / (Σh + smoothing), ties by number; return how many."""
    count = 0
    for b in range(1, len(cells)):
        if rows_in(cells[b, 1], per_h) >= rules.set_smooth:
            scores[b] = cells[b, 0] / (cells[b, 1] + rules.set_smooth)
            order[count] = b
            count += 1
    sort_by_keys(scores, order, order[len(order) // 2 :], count)
    return count


@inner_kernel
def split_sorted(cells, order, used, g, h, n, shift, parent, rules):
    """Return the best split of the first or of the last bins in an order from the rest.

    As `lightgbm_split.scan_down`, with the number of bins on the left for ``bin``: below 0 where
    they are the last ones.
    """
    best, at, best_g, best_h, best_n, usable = -np.inf, 0, 0.0, 0.0, 0, False
    per_h = n / h
    ridge = rules.ridge + rules.set_ridge
    most = min(used, rules.most_in_set, (used + 1) // 2)
    left_g, left_h, left_n, fresh, is_over = 0.0, EPSILON, 0, 0, False
    for step in range(2 * most):
        i = step if step < most else step - most
        if i == 0:
            left_g, left_h, left_n, fresh, is_over = 0.0, EPSILON, 0, 0, False
        if is_over:
            continue
        b = order[i] if step < most else order[used - 1 - i]
        own = rows_in(cells[b, 1], per_h)
        left_g += cells[b, 0]
        left_h += cells[b, 1]
        left_n += own
        fresh += own
        if left_n < rules.min_rows or left_h < rules.min_h:
            continue
        right_n = n - left_n
        right_h = h - left_h
        least = max(rules.min_rows, rules.min_rows_of_category)
        is_over = right_n < least or right_h < rules.min_h
        if is_over or fresh < rules.min_rows_of_category:
            continue
        fresh = 0
        gain = gain_of(left_g, left_h, left_n, parent, ridge, rules) + gain_of(
            g - left_g, right_h, right_n, parent, ridge, rules
        )
        if gain <= shift:
            continue
        usable = True
        if gain > best:
            at = i + 1 if step < most else -i - 1
            best, best_g, best_h, best_n = gain, left_g, left_h, left_n
    return best, at, best_g, best_h, best_n, usable


@inner_kernel
def split_set(cells, g, h, n, shift, parent, rules, members, scores, order):
    """Find the best split by a categorical feature, and write which bins go left.

    Parameters and what is returned are those of `lightgbm_split.split_numbers`, and:
    members : uint8, written: which bins go left
    scores, order : scratch space, an entry and two a bin
    """
    members[:] = 0
    if len(cells) <= rules.few_bins:
        best, at, left_g, left_h, left_n, usable = split_alone(cells, g, h, n, shift, parent, rules)
        members[at] = 1
        return best - shift, left_g, left_h, left_n, usable
    used = sort_bins(cells, n / h, rules, scores, order)
    best, at, left_g, left_h, left_n, usable = split_sorted(
        cells, order, used, g, h, n, shift, parent, rules
    )
    for i in range(abs(at)):
        members[order[i] if at > 0 else order[used - 1 - i]] = 1
    return best - shift, left_g, left_h, left_n, usable
