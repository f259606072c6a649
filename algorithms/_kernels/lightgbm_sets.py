"""The best split of a leaf by one categorical feature, by LightGBM's rules.

Few categories are tried alone against all others. More are sorted by Σg / (Σh + `set_smooth`) and
taken from either end; categories of few rows stand aside. The first bin is of no category.
"""

import numpy as np

from algorithms._kernels.jit import inner_kernel
from algorithms._kernels.lightgbm_gain import gain_at, gain_of, note, rows_in
from algorithms._kernels.lightgbm_layout import EPSILON


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
        if rows_in(cells[b, 1], per_h) < rules.set_smooth:
            continue
        score = cells[b, 0] / (cells[b, 1] + rules.set_smooth)
        place = count
        while place > 0 and score < scores[place - 1]:
            scores[place], order[place] = scores[place - 1], order[place - 1]
            place -= 1
        scores[place], order[place] = score, b
        count += 1
    return count


@inner_kernel
def split_sorted(cells, order, used, backwards, g, h, n, shift, parent, rules):
    """Return the best split of the first bins in an order from the rest.

    As `lightgbm_split.scan_down`, with the number of bins on the left for ``bin``.
    """
    best, at, best_g, best_h, best_n, usable = -np.inf, 0, 0.0, 0.0, 0, False
    per_h = n / h
    ridge = rules.ridge + rules.set_ridge
    left_g, left_h, left_n, fresh = 0.0, EPSILON, 0, 0
    for i in range(min(used, rules.most_in_set, (used + 1) // 2)):
        b = order[used - 1 - i] if backwards else order[i]
        own = rows_in(cells[b, 1], per_h)
        left_g += cells[b, 0]
        left_h += cells[b, 1]
        left_n += own
        fresh += own
        if left_n < rules.min_rows or left_h < rules.min_h:
            continue
        right_n = n - left_n
        right_h = h - left_h
        if right_n < max(rules.min_rows, rules.min_rows_of_category) or right_h < rules.min_h:
            break
        if fresh < rules.min_rows_of_category:
            continue
        fresh = 0
        gain = gain_of(left_g, left_h, left_n, parent, ridge, rules) + gain_of(
            g - left_g, right_h, right_n, parent, ridge, rules
        )
        if gain <= shift:
            continue
        usable = True
        if gain > best:
            best, at, best_g, best_h, best_n = gain, i + 1, left_g, left_h, left_n
    return best, at, best_g, best_h, best_n, usable


@inner_kernel
def split_set(cells, g, h, n, parent, rules, split, members, scores, order):
    """Write the best split by a categorical feature; return whether any split gains.

    Parameters are those of `lightgbm_split.split_numbers`, and:
    members : uint8, written: which bins go left
    scores, order : scratch space, an entry a bin
    """
    if rules.smooth > EPSILON:
        shift = gain_at(g, h, parent, rules.ridge, rules) + rules.min_gain
    else:
        shift = gain_of(g, h, n, parent, rules.ridge, rules) + rules.min_gain
    alone = len(cells) <= rules.few_bins
    ridge = rules.ridge if alone else rules.ridge + rules.set_ridge
    used, backwards = 0, False
    if alone:
        best, at, left_g, left_h, left_n, usable = split_alone(cells, g, h, n, shift, parent, rules)
    else:
        used = sort_bins(cells, n / h, rules, scores, order)
        best, at, left_g, left_h, left_n, usable = split_sorted(
            cells, order, used, False, g, h, n, shift, parent, rules
        )
        other = split_sorted(cells, order, used, True, g, h, n, shift, parent, rules)
        usable |= other[5]
        if other[0] > best:
            backwards = True
            best, at, left_g, left_h, left_n = other[0], other[1], other[2], other[3], other[4]
    if best > -np.inf:
        note(split, best - shift, left_g, left_h, left_n, g, h, n, parent, ridge, rules)
        split["missing_left"] = 0
        members[:] = 0
        if alone:
            members[at] = 1
        for i in range(0 if alone else at):
            members[order[used - 1 - i] if backwards else order[i]] = 1
    return usable
