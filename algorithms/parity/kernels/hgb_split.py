"""The best split of a leaf by one feature, as scikit-learn's HistGradientBoosting finds it.

    v = −G / (H + λ)              gain = G v − G_L v_L − G_R v_R

Bins are added up from the lowest, with missing values on the right; where the feature has any, a
second time from the highest, with missing values on the left, which has to gain more. Categories
are sorted by Σg / (Σh + 10) and taken from either end up to the middle; missing values are one.
"""

from algorithms.parity.kernels.hgb_arrays import LEAST_H, SUPPORT, TINY
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def value_of(g, h, ridge):
    """Return v."""
    return -g / (h + ridge + TINY)


@inner_kernel
def gain_of(left_g, left_h, right_g, right_h, whole, ridge):
    """Return the gain of two sides over the whole's G v."""
    gain = whole - left_g * value_of(left_g, left_h, ridge)
    return gain - right_g * value_of(right_g, right_h, ridge)


@inner_kernel
def scan(cells, last, steps, down, leaf, n, least, rules):
    """Return the best split that gains more than ``least``: gain, bin, left g and left h.

    Parameters
    ----------
    cells : (n_bins, 3) float64
    last : the last bin of values
    steps : how many bins are added up, one after another
    down : whether they are the highest ones and go right, else the lowest, which go left
    leaf, n : LEAF, and its rows
    """
    best, at, best_g, best_h = least, -1, 0.0, 0.0
    own_g, own_h, own_n = 0.0, 0.0, 0.0
    whole = leaf["g"] * leaf["value"]
    for i in range(steps):
        b = last - i if down else i
        own_g += cells[b, 0]
        own_h += cells[b, 1]
        own_n += cells[b, 2]
        other_g, other_h, other_n = leaf["g"] - own_g, leaf["h"] - own_h, n - own_n
        if own_n < rules.min_rows:
            continue
        if other_n < rules.min_rows:
            break
        if own_h < LEAST_H:
            continue
        if other_h < LEAST_H:
            break
        left_g, left_h = (other_g, other_h) if down else (own_g, own_h)
        right_g, right_h = (own_g, own_h) if down else (other_g, other_h)
        gain = gain_of(left_g, left_h, right_g, right_h, whole, rules.ridge)
        if gain > best and gain > 0.0:
            best, at, best_g, best_h = gain, b - 1 if down else b, left_g, left_h
    return best, at, best_g, best_h


@inner_kernel
def split_numbers(cells, count, has_missing, leaf, n, rules, split):
    """Write the best split by a numeric feature; its gain is −1 where there is none.

    Parameters are those of `scan`, and:
    count : bins of values
    has_missing : whether any value is missing
    """
    split["gain"] = -1.0
    for down in range(1 + has_missing):
        steps = count - 1 if down else count - 1 + has_missing
        gain, at, g, h = scan(cells, count - 1, steps, down, leaf, n, split["gain"], rules)
        if at >= 0:
            split["gain"], split["bin"], split["missing_left"] = gain, at, down
            split["g"], split["h"] = g, h


@inner_kernel
def sort_categories(cells, count, has_missing, per_h, scores, order):
    """Write the categories of enough rows by their scores; return how many.

    Of equal ones the last comes first: such is what the library's comparison makes of the C
    library's merge sort.
    """
    used = 0
    for i in range(count + has_missing):
        b = i if i < count else len(cells) - 1
        if cells[b, 1] * per_h < SUPPORT:
            continue
        score = cells[b, 0] / (cells[b, 1] + SUPPORT)
        place = used
        while place > 0 and score <= scores[place - 1]:
            scores[place], order[place] = scores[place - 1], order[place - 1]
            place -= 1
        scores[place], order[place] = score, b
        used += 1
    return used


@inner_kernel
def split_set(cells, count, has_missing, leaf, n, rules, split, members, scores, order):
    """Write the best split by a categorical feature, as `split_numbers`, and its members.

    Parameters
    ----------
    members : uint8 (n_bins,), written: which bins go left
    scores, order : scratch space, an entry a bin
    """
    split["gain"], split["bin"] = -1.0, 0
    used = sort_categories(cells, count, has_missing, n / leaf["h"], scores, order)
    middle = (used + 1) // 2
    whole = leaf["g"] * leaf["value"]
    first, stop = 0, 0  # which of the order go left
    for step in range(2 * middle - 1 if used > 1 else 0):
        i = step if step < middle else step - middle
        if i == 0:
            g, h, rows, is_over = 0.0, 0.0, 0.0, False
        if is_over:
            continue
        b = order[i] if step < middle else order[used - 1 - i]
        g += cells[b, 0]
        h += cells[b, 1]
        rows += cells[b, 2]
        if rows < rules.min_rows or h < LEAST_H:
            continue
        other_h = leaf["h"] - h
        is_over = n - rows < rules.min_rows or other_h < LEAST_H
        if is_over:
            continue
        gain = gain_of(g, h, leaf["g"] - g, other_h, whole, rules.ridge)
        if gain > split["gain"] and gain > 0.0:
            split["gain"], split["g"], split["h"] = gain, g, h
            first, stop = (0, i + 1) if step < middle else (used - 1 - i, used)
    members[:] = 0
    for i in range(first, stop):
        members[order[i]] = 1
    split["missing_left"] = members[len(cells) - 1]
