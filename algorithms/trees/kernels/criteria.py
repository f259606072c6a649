"""Impurity criteria, with scikit-learn's order of operations, so that ties are the same.

With n_k the weight of class k, n = Σ n_k, and s, q the weighted sums of y and y²:

    gini           H = 1 − Σ (n_k / n)²
    entropy        H = −Σ (n_k / n) log₂ (n_k / n)
    misclassification  H = 1 − max n_k / n
    squared error  H = q / n − (s / n)²

A split is chosen by a *proxy* that orders the splits of one node like the decrease of impurity:
−n_L H_L − n_R H_R for classes, s_L² / n_L + s_R² / n_R for regression.
"""

import math

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.tree_arrays import ENTROPY, GINI, MISCLASSIFICATION, SQUARED_ERROR

LN2 = math.log(2.0)


@inner_kernel
def impurity(criterion, totals):
    """Return H of a node; ``totals`` holds n, then n_k for each class, or s and q."""
    n = totals[0]
    if criterion == SQUARED_ERROR:
        mean = totals[1] / n
        return totals[2] / n - mean * mean  # H = q / n − (s / n)²
    if criterion == GINI:
        squares = 0.0
        for k in range(1, len(totals)):
            squares += totals[k] * totals[k]
        return 1.0 - squares / (n * n)  # H = 1 − Σ (n_k / n)²
    if criterion == MISCLASSIFICATION:
        most = 0.0
        for k in range(1, len(totals)):
            most = max(most, totals[k])
        return 1.0 - most / n  # H = 1 − max n_k / n
    entropy = 0.0
    for k in range(1, len(totals)):
        if totals[k] > 0.0:
            share = totals[k] / n
            entropy -= share * (math.log(share) / LN2)  # H = −Σ (n_k / n) log₂ (n_k / n)
    return entropy


@inner_kernel
def proxy_of_classes(criterion, left, totals, n_left):
    """Return −n_L H_L − n_R H_R, given the weight of each class on the left."""
    n_right = totals[0] - n_left
    h_left = 0.0
    h_right = 0.0
    if criterion == GINI:
        for k in range(len(left)):
            h_left += left[k] * left[k]
            right = totals[1 + k] - left[k]
            h_right += right * right
        h_left = 1.0 - h_left / (n_left * n_left)
        h_right = 1.0 - h_right / (n_right * n_right)
    if criterion == MISCLASSIFICATION:
        most_left = 0.0
        most_right = 0.0
        for k in range(len(left)):
            most_left = max(most_left, left[k])
            most_right = max(most_right, totals[1 + k] - left[k])
        return (most_left - n_left) + (most_right - n_right)
    if criterion == ENTROPY:
        for k in range(len(left)):
            if left[k] > 0.0:
                share = left[k] / n_left
                h_left -= share * (math.log(share) / LN2)
            right = totals[1 + k] - left[k]
            if right > 0.0:
                share = right / n_right
                h_right -= share * (math.log(share) / LN2)
    return -n_right * h_right - n_left * h_left


@inner_kernel
def proxy_of_pair(criterion, s_left, n_left, s, n):
    """Return the proxy of regression, or of two-class gini, where s is the weight of class 1."""
    n_right = n - n_left
    s_right = s - s_left
    if criterion == SQUARED_ERROR:
        return s_left * s_left / n_left + s_right * s_right / n_right
    zero_left = n_left - s_left
    zero_right = n_right - s_right
    h_left = 1.0 - (zero_left * zero_left + s_left * s_left) / (n_left * n_left)
    h_right = 1.0 - (zero_right * zero_right + s_right * s_right) / (n_right * n_right)
    return -n_right * h_right - n_left * h_left


@inner_kernel
def improvement(total_weight, n, h, n_left, h_left, n_right, h_right):
    """Return the decrease of impurity by a split, weighted by the share of rows in the node."""
    return n / total_weight * (h - n_right / n * h_right - n_left / n * h_left)


@kernel
def tabulate_x_log_x(table):
    """Write i log₂ i for i = 0, 1, …; float64."""
    for i in range(len(table)):
        table[i] = i * (math.log(float(i)) / LN2) if i > 1 else 0.0
