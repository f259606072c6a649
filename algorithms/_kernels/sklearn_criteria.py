"""Impurities and proxies, each operation in scikit-learn's order.

With n_k the weight of class k, n = Σ n_k, s = Σ w y and q = Σ w y² over the rows of a node:

    gini           H = 1 − Σ n_k² / n²
    entropy        H = −Σ (n_k / n) log₂ (n_k / n)
    squared error  H = q / n − (s / n)²

Splits of a node are ordered by a proxy: −n_R H_R − n_L H_L, for squared error s_L² / n_L +
s_R² / n_R.
"""

import math

from algorithms._kernels.jit import inner_kernel
from algorithms._kernels.layout import GINI, SQUARED_ERROR
from algorithms._kernels.sklearn_layout import LEFT, RIGHT, SQUARES, WHOLE
from algorithms._kernels.sklearn_sums import weight_of

LN2 = math.log(2.0)


@inner_kernel
def class_impurity(rules, sums, weight):
    """Return H of a node or a side from the weight of each class."""
    if rules.criterion == GINI:
        squares = 0.0
        for k in range(len(sums)):
            squares += sums[k] * sums[k]
        return 1.0 - squares / (weight * weight)  # H = 1 − Σ n_k² / n²
    entropy = 0.0
    for k in range(len(sums)):
        if sums[k] > 0.0:
            share = sums[k] / weight
            entropy -= share * (math.log(share) / LN2)  # H = −Σ (n_k / n) log₂ (n_k / n)
    return entropy


@inner_kernel
def node_impurity(given, rules, work, start, end):
    """Return H of the node at hand."""
    weight = work.weights[WHOLE]
    if rules.n_classes:
        return class_impurity(rules, work.sums[WHOLE], weight)
    mean = work.sums[WHOLE, 0] / weight
    return work.weights[SQUARES] / weight - mean * mean  # H = q / n − (s / n)²


@inner_kernel
def side_impurities(given, rules, work, start, place, end):
    """Return H of the two sides of the split at a place."""
    n_left, n_right = work.weights[LEFT], work.weights[RIGHT]
    if rules.n_classes:
        left = class_impurity(rules, work.sums[LEFT], n_left)
        return left, class_impurity(rules, work.sums[RIGHT], n_right)
    squares = 0.0
    for p in range(start, place):
        row = work.samples[p]
        squares += weight_of(given, row) * given.y[row] * given.y[row]
    mean_left = work.sums[LEFT, 0] / n_left
    mean_right = work.sums[RIGHT, 0] / n_right
    left = squares / n_left - mean_left * mean_left
    right = (work.weights[SQUARES] - squares) / n_right - mean_right * mean_right
    return left, right


@inner_kernel
def proxy(rules, work):
    """Return what orders the splits of a node as the decrease of impurity does."""
    n_left, n_right = work.weights[LEFT], work.weights[RIGHT]
    if rules.criterion == SQUARED_ERROR:
        s_left, s_right = work.sums[LEFT, 0], work.sums[RIGHT, 0]
        return s_left * s_left / n_left + s_right * s_right / n_right
    h_left = class_impurity(rules, work.sums[LEFT], n_left)
    h_right = class_impurity(rules, work.sums[RIGHT], n_right)
    return -n_right * h_right - n_left * h_left


@inner_kernel
def middle_value(work):
    """Return the mean of the values of the two sides, by which monotonic features bound them."""
    left = work.sums[LEFT, 0] / (2.0 * work.weights[LEFT])
    return left + work.sums[RIGHT, 0] / (2.0 * work.weights[RIGHT])


@inner_kernel
def keeps_order(work, sign, lower, upper):
    """Return whether the values of the sides are in order and within the bounds of the node."""
    left = work.sums[LEFT, 0] / work.weights[LEFT]
    right = work.sums[RIGHT, 0] / work.weights[RIGHT]
    inside = left >= lower and right >= lower and left <= upper and right <= upper
    return inside and (left - right) * sign <= 0
