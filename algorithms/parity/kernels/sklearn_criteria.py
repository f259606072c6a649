"""Impurities and split proxies, with scikit-learn's order of operations.

With n_k the weight of class k, n = Σ w of the node, s = Σ w y, q = Σ w y², μ = s / n, and m the
weighted median; with several outputs, H is the mean over the outputs:

    gini            H = 1 − Σ n_k² / n²
    entropy         H = −Σ (n_k / n) log₂ (n_k / n)
    squared error   H = q / n − μ²
    absolute error  H = Σ w |y − m| / n
    poisson         H = Σ w y ln (y / μ) / n

The splits of a node are compared by a proxy: −n_R H_R − n_L H_L; for squared error s_L² / n_L +
s_R² / n_R; for poisson s_L log₂ μ_L + s_R log₂ μ_R; the last two are sums over the outputs.
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
MIN_SUM = 10 * 2.0**-52  # the sum of a side must be larger


@inner_kernel
def class_impurity(rules, search, side, weight):
    """Return H of a node or a side from the weight of each class."""
    sums = search.sums
    total = 0.0
    if rules.criterion == GINI:
        for output in range(search.n_outputs):
            squares = 0.0
            for k in range(output * rules.n_classes, (output + 1) * rules.n_classes):
                squares += sums[side, k] * sums[side, k]
            total += 1.0 - squares / (weight * weight)  # H = 1 − Σ n_k² / n²
        return mean_of_outputs(search, total)
    for k in range(sums.shape[1]):
        if sums[side, k] > 0.0:
            share = sums[side, k] / weight
            total -= share * (math.log(share) / LN2)  # H = −Σ (n_k / n) log₂ (n_k / n)
    return mean_of_outputs(search, total)


@inner_kernel
def mean_of_outputs(search, total):
    """Return the mean over the outputs from the sum over them."""
    return total if search.n_outputs == 1 else total / search.n_outputs


@inner_kernel
def poisson_impurity(given, search, side, start, end):
    """Return H of the rows at the positions start … end − 1, those of a node or a side."""
    weight = search.weights[side]
    loss = 0.0
    for output in range(search.n_outputs):
        total = search.sums[side, output]
        if total <= MIN_SUM:
            return np.inf
        mean = total / weight
        for p in range(start, end):
            row = search.samples[p]
            y = given.y[output, row]
            if y != 0.0:
                loss += given.weight[row] * (y * math.log(y / mean))
    return loss / (weight * search.n_outputs)  # H = Σ w y ln (y / μ) / n


@inner_kernel
def node_impurity(given, rules, search, start, end):
    """Return H of the current node."""
    weight = search.weights[WHOLE]
    if rules.n_classes:
        return class_impurity(rules, search, WHOLE, weight)
    if rules.criterion == ABSOLUTE_ERROR:
        error = search.deviations[ERROR_RIGHT, start]
        return error / (weight * search.n_outputs)  # H = Σ w |y − m| / n
    if rules.criterion == POISSON:
        return poisson_impurity(given, search, WHOLE, start, end)
    return variance(search, WHOLE, search.weights[SQUARES], weight)


@inner_kernel
def variance(search, side, squares, weight):
    """Return H = q / n − μ² of a node or a side from its sum of squares q."""
    h = squares / weight
    for output in range(search.n_outputs):
        mean = search.sums[side, output] / weight
        h -= mean * mean
    return mean_of_outputs(search, h)


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
    squares = 0.0
    for p in range(start, place):
        row = search.samples[p]
        for output in range(search.n_outputs):
            y = given.y[output, row]
            squares += given.weight[row] * y * y
    left = variance(search, LEFT, squares, search.weights[LEFT])
    on_right = search.weights[SQUARES] - squares
    return left, variance(search, RIGHT, on_right, search.weights[RIGHT])


@inner_kernel
def quick_side_impurities(rules, search, place):
    """Return H of both sides, for classes or absolute errors."""
    n_left, n_right = search.weights[LEFT], search.weights[RIGHT]
    if rules.criterion == ABSOLUTE_ERROR:
        left = search.deviations[ERROR_LEFT, place - 1] / (n_left * search.n_outputs)
        return left, search.deviations[ERROR_RIGHT, place] / (n_right * search.n_outputs)
    left = class_impurity(rules, search, LEFT, n_left)
    return left, class_impurity(rules, search, RIGHT, n_right)


@inner_kernel
def proxy(rules, search, place):
    """Return the proxy, which orders the splits of a node like the decrease of impurity."""
    n_left, n_right = search.weights[LEFT], search.weights[RIGHT]
    sums = search.sums
    left, right = 0.0, 0.0
    if rules.criterion == SQUARED_ERROR:
        for output in range(search.n_outputs):
            left += sums[LEFT, output] * sums[LEFT, output]
            right += sums[RIGHT, output] * sums[RIGHT, output]
        return left / n_left + right / n_right
    if rules.criterion == POISSON:
        for output in range(search.n_outputs):
            s_left, s_right = sums[LEFT, output], sums[RIGHT, output]
            if s_left <= MIN_SUM or s_right <= MIN_SUM:
                return -np.inf
            left += s_left * (math.log(s_left / n_left) / LN2)
            right += s_right * (math.log(s_right / n_right) / LN2)
        return left + right
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
