"""Search of the best split of one feature in one node, for any number of classes.

With integer weights the sums needed for a score are updated entry by entry, so a split costs the
same for any number of classes K. With l_k and r_k the weight of class k left and right of a split,
t_k = l_k + r_k, and f(x) = x log₂ x:

    gini      n + proxy = Σ l_k² / n_L + Σ r_k² / n_R,    Σ r_k² = Σ t_k² − 2 Σ t_k l_k + Σ l_k²
    entropy       proxy = Σ f(l_k) − f(n_L) + Σ f(r_k) − f(n_R)

As in `scan`, only the splits with the highest scores are evaluated by the criterion itself. With
other weights such sums accumulate rounding errors, so every split is evaluated.
"""

import math

import numpy as np

from algorithms.runtime.array_moves import copy
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.criteria import proxy_of_classes
from algorithms.trees.kernels.scan import LOW, ROUNDING, best_score, fits, may_split, places
from algorithms.trees.kernels.tree_arrays import BLOCK, GINI, ROW

EPSILON = 2.0**-52


@inner_kernel
def class_of(rows, row, n_classes):
    """Return the class code and the weight of a row."""
    mark = rows.mark[row]
    if len(rows.weight):
        return mark & LOW, rows.weight[row]
    return min(mark & LOW, n_classes - 1), np.float64(mark >> 32)


@inner_kernel
def score_by_squares(rows, f, p, m, left, totals, sums, block):
    """Write the gini score of m splits and update ``left`` and ``sums``."""
    n_left, left_squares, crossed, all_squares = sums
    n_classes = len(left)
    for i in range(m):
        k, w = class_of(rows, rows.lists[f, p + i] & ROW, n_classes)
        left_squares += w * (2.0 * left[k] + w)  # Σ l_k²
        crossed += w * totals[1 + k]  # Σ t_k l_k
        left[k] += w
        n_left += w
        block[0, i] = left_squares
        block[1, i] = n_left
        block[2, i] = crossed
    n = totals[0]
    for i in range(m):
        right_squares = all_squares - 2.0 * block[2, i] + block[0, i]  # Σ r_k²
        block[2, i] = block[0, i] / block[1, i] + right_squares / (n - block[1, i]) - n
    return n_left, left_squares, crossed, all_squares


@inner_kernel
def score_by_table(rows, f, p, m, left, totals, sums, block, x_log_x):
    """Write the entropy score of m splits and update ``left`` and ``sums``."""
    n_left, total, _, _ = sums
    n_classes = len(left)
    for i in range(m):
        k, w = class_of(rows, rows.lists[f, p + i] & ROW, n_classes)
        before = np.int64(left[k])
        after = np.int64(left[k] + w)
        whole = np.int64(totals[1 + k])
        total += x_log_x[after] - x_log_x[before]
        total += x_log_x[whole - after] - x_log_x[whole - before]  # Σ f(l_k) + Σ f(r_k)
        left[k] += w
        n_left += w
        n_right = totals[0] - n_left
        block[1, i] = n_left
        block[2, i] = total - x_log_x[np.int64(n_left)] - x_log_x[np.int64(n_right)]
    return n_left, total, 0.0, 0.0


@inner_kernel
def score_by_proxy(criterion, rows, f, p, m, left, totals, sums, block):
    """Write the criterion's own proxy of m splits, at a cost of K each."""
    n_left = sums[0]
    for i in range(m):
        k, w = class_of(rows, rows.lists[f, p + i] & ROW, len(left))
        left[k] += w
        n_left += w
        block[1, i] = n_left
        block[2, i] = proxy_of_classes(criterion, left, totals, n_left)
    return n_left, 0.0, 0.0, 0.0


@inner_kernel
def first_sums(rules, left, totals, by_squares, by_table):
    """Return the running sums for the class weights left of the first entry."""
    n_left = 0.0
    a = 0.0
    b = 0.0
    c = 0.0
    for k in range(len(left)):
        n_left += left[k]
        if by_squares:
            a += left[k] * left[k]
            b += totals[1 + k] * left[k]
            c += totals[1 + k] * totals[1 + k]
        elif by_table:
            a += rules.x_log_x[np.int64(left[k])]
            a += rules.x_log_x[np.int64(totals[1 + k] - left[k])]
    return n_left, a, b, c


@inner_kernel
def evaluate_split(rules, rows, f, p, i, before, left, totals, n_left):
    """Return the proxy of a split, from the class weights before its block; write ``left``."""
    copy(before, left, 0, len(left))
    for e in range(i + 1):
        k, w = class_of(rows, rows.lists[f, p + e] & ROW, len(left))
        left[k] += w
    return proxy_of_classes(rules.criterion, left, totals, n_left)


@inner_kernel
def scan_classes(table, rows, rules, f, node, rows_left, totals, best, scratch):
    """Return the best proxy of a feature above ``best``, and its entry in the list, or 0.

    Parameters are as in `scan_pairs`; the weight of each class left of the first entry is in the
    first row of ``scratch.classes``.
    """
    start, stop, n_rows, lower, upper, column, sign = node
    block = scratch.block
    left, before, judged = scratch.classes[0], scratch.classes[1], scratch.classes[2]
    n = totals[0]
    integers = len(rows.weight) == 0
    by_squares = integers and rules.criterion == GINI
    by_table = integers and rules.criterion != GINI and len(rules.x_log_x) > 0
    slack = 0.0
    if by_squares:
        slack = ROUNDING * n
    elif by_table:
        slack = (n_rows + BLOCK) * 2.0 * EPSILON * n * math.log2(n + 1.0)
    first, last, _ = places(table, rules, column, start, stop, n_rows, rows_left)
    sums = first_sums(rules, left, totals, by_squares, by_table)
    threshold = best - slack
    place = 0
    p = start
    while p < last:
        m = min(BLOCK, last - p)
        copy(left, before, 0, len(left))
        if by_squares:
            sums = score_by_squares(rows, f, p, m, left, totals, sums, block)
        elif by_table:
            sums = score_by_table(rows, f, p, m, left, totals, sums, block, rules.x_log_x)
        else:
            sums = score_by_proxy(rules.criterion, rows, f, p, m, left, totals, sums, block)
        block[2, : max(0, min(m, first - p - 1))] = -np.inf
        i = best_score(block, m)
        while i >= 0 and block[2, i] > threshold:
            j = p + i + 1
            n_left = block[1, i]
            if fits(table, rows, f, column, j, stop) and (
                rules.min_weight_leaf <= n_left and rules.min_weight_leaf <= n - n_left
            ):
                proxy = evaluate_split(rules, rows, f, p, i, before, judged, totals, n_left)
                right = (totals[1] - judged[0]) / (n - n_left)
                if may_split(sign, judged[0] / n_left, right, lower, upper):
                    if proxy > best or (proxy == best and 0 < j < place):
                        best = proxy
                        place = j
                    threshold = max(threshold, block[2, i] - slack)
            block[2, i] = -np.inf
            i = best_score(block, m)
        p += BLOCK
    return best, place
