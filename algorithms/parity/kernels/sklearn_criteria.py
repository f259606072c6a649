"""Impurities and split proxies, with scikit-learn's order of operations.

With n_k the weight of class k, n = Σ w of the node, s = Σ w y, q = Σ w y², μ = s / n, and m the
weighted median:

    gini            H = 1 − Σ n_k² / n²
    entropy         H = −Σ (n_k / n) log₂ (n_k / n)
    squared error   H = q / n − μ²
    absolute error  H = Σ w |y − m| / n
    poisson         H = Σ w y ln (y / μ) / n

The splits of a node are compared by a proxy: −n_R H_R − n_L H_L; for squared error s_L² / n_L +
s_R² / n_R; for poisson s_L log₂ μ_L + s_R log₂ μ_R.
"""

import math

import numpy as np

from algorithms.parity.kernels.sklearn_arrays import (
    ERROR_LEFT,
    ERROR_RIGHT,
    LEFT,
    MEDIAN_LEFT,
    MEDIAN_RIGHT,
    RIGHT,
    SQUARES,
    WHOLE,
)
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.tree_arrays import ABSOLUTE_ERROR, GINI, POISSON, SQUARED_ERROR

LN2 = math.log(2.0)
LEAST_SUM = 10 * 2.0**-52  # the sum of a side must be larger


@inner_kernel
def class_impurity(rules, sums, side, weight):
    """Return H of a node or a side from the weight of each class."""
    total = 0.0
    if rules.criterion == GINI:
        for k in range(sums.shape[1]):
            total += sums[side, k] * sums[side, k]
        return 1.0 - total / (weight * weight)  # H = 1 − Σ n_k² / n²
    for k in range(sums.shape[1]):
        if sums[side, k] > 0.0:
            share = sums[side, k] / weight
            total -= share * (math.log(share) / LN2)  # H = −Σ (n_k / n) log₂ (n_k / n)
    return total


@inner_kernel
def poisson_impurity(given, search, side, start, end):
    """Return H of the rows at the positions start … end − 1, those of a node or a side."""
    total, weight = search.sums[side, 0], search.weights[side]
    if total <= LEAST_SUM:
        return np.inf
    mean = total / weight
    loss = 0.0
    for p in range(start, end):
        row = search.samples[p]
        y = given.y[row]
        if y != 0.0:
            loss += given.weight[row] * (y * math.log(y / mean))
    return loss / weight  # H = Σ w y ln (y / μ) / n


@inner_kernel
def node_impurity(given, rules, search, start, end):
    """Return H of the current node."""
    weight = search.weights[WHOLE]
    if rules.n_classes:
        return class_impurity(rules, search.sums, WHOLE, weight)
    if rules.criterion == ABSOLUTE_ERROR:
        return search.deviations[ERROR_RIGHT, start] / weight  # H = Σ w |y − m| / n
    if rules.criterion == POISSON:
        return poisson_impurity(given, search, WHOLE, start, end)
    mean = search.sums[WHOLE, 0] / weight
    return search.weights[SQUARES] / weight - mean * mean  # H = q / n − μ²


@inner_kernel
def side_impurities(given, rules, search, start, place, end):
    """Return H of both sides of the split at a position."""
    if rules.criterion == SQUARED_ERROR:
        return side_variances(given, search, start, place)
    if rules.criterion == POISSON:
        left = poisson_impurity(given, search, LEFT, start, place)
        return left, poisson_impurity(given, search, RIGHT, place, end)
    return quick_side_impurities(rules, search, place)


@inner_kernel
def side_variances(given, search, start, place):
    """Return H = q / n − μ² of both sides."""
    n_left, n_right = search.weights[LEFT], search.weights[RIGHT]
    squares = 0.0
    for p in range(start, place):
        row = search.samples[p]
        squares += given.weight[row] * given.y[row] * given.y[row]
    mean_left = search.sums[LEFT, 0] / n_left
    mean_right = search.sums[RIGHT, 0] / n_right
    left = squares / n_left - mean_left * mean_left
    return left, (search.weights[SQUARES] - squares) / n_right - mean_right * mean_right


@inner_kernel
def quick_side_impurities(rules, search, place):
    """Return H of both sides, for classes or absolute errors."""
    n_left, n_right = search.weights[LEFT], search.weights[RIGHT]
    if rules.criterion == ABSOLUTE_ERROR:
        left = search.deviations[ERROR_LEFT, place - 1] / n_left
        return left, search.deviations[ERROR_RIGHT, place] / n_right
    left = class_impurity(rules, search.sums, LEFT, n_left)
    return left, class_impurity(rules, search.sums, RIGHT, n_right)


@inner_kernel
def proxy(rules, search, place):
    """Return the proxy, which orders the splits of a node like the decrease of impurity."""
    n_left, n_right = search.weights[LEFT], search.weights[RIGHT]
    s_left, s_right = search.sums[LEFT, 0], search.sums[RIGHT, 0]
    if rules.criterion == SQUARED_ERROR:
        return s_left * s_left / n_left + s_right * s_right / n_right
    if rules.criterion == POISSON:
        if s_left <= LEAST_SUM or s_right <= LEAST_SUM:
            return -np.inf
        left = s_left * (math.log(s_left / n_left) / LN2)
        return left + s_right * (math.log(s_right / n_right) / LN2)
    h_left, h_right = quick_side_impurities(rules, search, place)
    return -n_right * h_right - n_left * h_left


@inner_kernel
def side_values(rules, search, place):
    """Return the values of both sides, or their shares of the first class."""
    if rules.criterion == ABSOLUTE_ERROR:
        left = search.deviations[MEDIAN_LEFT, place - 1]
        return left, search.deviations[MEDIAN_RIGHT, place]
    left = search.sums[LEFT, 0] / search.weights[LEFT]
    return left, search.sums[RIGHT, 0] / search.weights[RIGHT]


@inner_kernel
def middle_value(rules, search, place):
    """Return the midpoint of the sides' values, their bound on a monotonic feature."""
    if rules.criterion == ABSOLUTE_ERROR:
        left, right = side_values(rules, search, place)
        return (left + right) / 2.0
    left = search.sums[LEFT, 0] / (2.0 * search.weights[LEFT])
    return left + search.sums[RIGHT, 0] / (2.0 * search.weights[RIGHT])


@inner_kernel
def keeps_order(rules, search, place, split, sign):
    """Return whether the sides' values are in the required order and within the node's bounds."""
    left, right = side_values(rules, search, place)
    lower, upper = split["lower"], split["upper"]
    inside = left >= lower and right >= lower and left <= upper and right <= upper
    return inside and (left - right) * sign <= 0
