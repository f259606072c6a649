"""Best split of a leaf by one feature, by the rules of scikit-learn's HistGradientBoosting.

    v = −G / (H + λ)              gain = G v − G_L v_L − G_R v_R

Bins are summed from the lowest up, with missing values on the right. If the feature has missing
values, bins are summed a second time from the highest down, with missing values on the left; such
a split must have a larger gain. Categories are sorted by Σg / (Σh + 10), and the first or last ones
up to the middle go left; missing values count as a category.
"""

from algorithms.parity.kernels.hgb_arrays import MIN_H, SUPPORT, TINY
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def value_of(g, h, reg_lambda):
    """Return the value v of a leaf."""
    return -g / (h + reg_lambda + TINY)


@inner_kernel
def gain_of(left_g, left_h, right_g, right_h, whole, reg_lambda):
    """Return the gain of a split; ``whole`` is G v of the parent."""
    gain = whole - left_g * value_of(left_g, left_h, reg_lambda)
    return gain - right_g * value_of(right_g, right_h, reg_lambda)


@inner_kernel
def scan(histogram, last, steps, down, leaf, n, least, rules):
    """Return the best split with a gain above ``least``: gain, bin, left Σg and left Σh.

    Parameters
    ----------
    histogram : (n_bins, 3) float64, Σg, Σh and number of rows of each bin
    last : the last bin, except for that of missing values
    steps : number of bins that are summed, one after another
    down : whether these are the highest bins, which go right; otherwise the lowest, which go left
    leaf, n : LEAF, and its number of rows
    """
    best, at, best_g, best_h = least, -1, 0.0, 0.0
    sum_g, sum_h, sum_n = 0.0, 0.0, 0.0
    whole = leaf["g"] * leaf["value"]
    for i in range(steps):
        b = last - i if down else i
        sum_g += histogram[b, 0]
        sum_h += histogram[b, 1]
        sum_n += histogram[b, 2]
        other_g, other_h, other_n = leaf["g"] - sum_g, leaf["h"] - sum_h, n - sum_n
        if sum_n < rules.min_child_samples:
            continue
        if other_n < rules.min_child_samples:
            break
        if sum_h < MIN_H:
            continue
        if other_h < MIN_H:
            break
        left_g, left_h = (other_g, other_h) if down else (sum_g, sum_h)
        right_g, right_h = (sum_g, sum_h) if down else (other_g, other_h)
        gain = gain_of(left_g, left_h, right_g, right_h, whole, rules.reg_lambda)
        if gain > best and gain > 0.0:
            best, at, best_g, best_h = gain, b - 1 if down else b, left_g, left_h
    return best, at, best_g, best_h


@inner_kernel
def find_numeric_split(histogram, count, has_missing, leaf, n, rules, split):
    """Write the best split by a numeric feature; its gain is −1 if there is none.

    Parameters are those of `scan`, and:
    count : number of bins, without that of missing values
    has_missing : whether any value is missing
    """
    split["gain"] = -1.0
    for down in range(1 + has_missing):
        steps = count - 1 if down else count - 1 + has_missing
        gain, at, g, h = scan(histogram, count - 1, steps, down, leaf, n, split["gain"], rules)
        if at >= 0:
            split["gain"], split["bin"], split["missing_left"] = gain, at, down
            split["g"], split["h"] = g, h


@inner_kernel
def sort_categories(histogram, count, has_missing, per_h, scores, order):
    """Write the categories with enough rows, sorted by score; return their number.

    Of equal scores the last category comes first. This is the result of scikit-learn's comparison
    function with the merge sort of the C library.
    """
    used = 0
    for i in range(count + has_missing):
        b = i if i < count else len(histogram) - 1
        if histogram[b, 1] * per_h < SUPPORT:
            continue
        score = histogram[b, 0] / (histogram[b, 1] + SUPPORT)
        place = used
        while place > 0 and score <= scores[place - 1]:
            scores[place], order[place] = scores[place - 1], order[place - 1]
            place -= 1
        scores[place], order[place] = score, b
        used += 1
    return used


@inner_kernel
def find_categorical_split(
    histogram, count, has_missing, leaf, n, rules, split, members, scores, order
):
    """Write the best split by a categorical feature, and the bins that go left.

    Parameters are those of `find_numeric_split`, and:
    members : uint8 (n_bins,), written: whether a bin goes left
    scores, order : scratch space, one entry per bin
    """
    split["gain"], split["bin"] = -1.0, 0
    used = sort_categories(histogram, count, has_missing, n / leaf["h"], scores, order)
    middle = (used + 1) // 2
    whole = leaf["g"] * leaf["value"]
    first, stop = 0, 0  # positions in the order that go left
    for step in range(2 * middle - 1 if used > 1 else 0):
        i = step if step < middle else step - middle
        if i == 0:
            g, h, rows, is_over = 0.0, 0.0, 0.0, False
        if is_over:
            continue
        b = order[i] if step < middle else order[used - 1 - i]
        g += histogram[b, 0]
        h += histogram[b, 1]
        rows += histogram[b, 2]
        if rows < rules.min_child_samples or h < MIN_H:
            continue
        other_h = leaf["h"] - h
        is_over = n - rows < rules.min_child_samples or other_h < MIN_H
        if is_over:
            continue
        gain = gain_of(g, h, leaf["g"] - g, other_h, whole, rules.reg_lambda)
        if gain > split["gain"] and gain > 0.0:
            split["gain"], split["g"], split["h"] = gain, g, h
            first, stop = (0, i + 1) if step < middle else (used - 1 - i, used)
    members[:] = 0
    for i in range(first, stop):
        members[order[i]] = 1
    split["missing_left"] = members[len(histogram) - 1]
