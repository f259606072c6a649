"""Derivatives of the losses, and their sums over the leaves of a tree.

Scores F of log loss, cross-entropy and Poisson loss are stored as eᶠ; a leaf value v multiplies
them by eᵛ. With p = 1 − 1 / (1 + eᶠ), residual r = y − F and weight w, −loss has the derivatives

    RMSE                     g = w r                     h = −w
    Logloss, CrossEntropy    g = w (y − p)               h = −w p (1 − p)
    Poisson                  g = w (y − eᶠ)              h = −w eᶠ
    Quantile(α), MAE         g = w α, or −w (1 − α) where r < 0, and 0 where |r| < 1e-6;  h = 0
    Expectile(α)             g = 2 w s r                h = −2 w s, with s = α, or 1 − α where r ≤ 0
    Huber(δ)                 g = w r, at most w δ in size;  h = −w, or 0 where |r| ≥ δ
    Tweedie(p)               g = w (y e^((1−p)F) − e^((2−p)F))
                             h = w ((1 − p) y e^((1−p)F) − (2 − p) e^((2−p)F))
"""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.symmetric.kernels.exponential import table_exp

RMSE, LOGISTIC, POISSON, QUANTILE, SOFTMAX, HUBER, EXPECTILE, TWEEDIE = range(8)
QUANTILE_DELTA = 1e-6
DER1, DER2, WEIGHT = range(3)


@inner_kernel
def first_derivative(kind, loss_parameter, score, y):
    """Return the derivative of −loss of a row."""
    if kind in (RMSE, POISSON):
        return y - score
    if kind == LOGISTIC:
        return y - (1.0 - 1.0 / (1.0 + score))
    if kind == TWEEDIE:
        power_y, power_mean = 1.0 - loss_parameter, 2.0 - loss_parameter
        return y * math.exp(power_y * score) - math.exp(power_mean * score)
    return derivative_of_residual(kind, loss_parameter, y - score)


@inner_kernel
def derivative_of_residual(kind, loss_parameter, residual):
    """Return the derivative of −loss of QUANTILE, HUBER and EXPECTILE."""
    side = loss_parameter if residual > 0.0 else 1.0 - loss_parameter
    if kind == HUBER:
        return min(max(residual, -loss_parameter), loss_parameter)
    if kind == EXPECTILE:
        return 2.0 * residual * side
    if abs(residual) < QUANTILE_DELTA:
        return 0.0
    return side if residual > 0.0 else -side


@inner_kernel
def second_derivative(kind, loss_parameter, score, y):
    """Return the second derivative of −loss of a row."""
    if kind == RMSE:
        return -1.0
    if kind == LOGISTIC:
        p = 1.0 - 1.0 / (1.0 + score)
        return -p * (1.0 - p)
    if kind == POISSON:
        return -score
    if kind == TWEEDIE:
        power_y, power_mean = 1.0 - loss_parameter, 2.0 - loss_parameter
        return power_y * y * math.exp(power_y * score) - power_mean * math.exp(power_mean * score)
    return curvature_of_residual(kind, loss_parameter, y - score)


@inner_kernel
def curvature_of_residual(kind, loss_parameter, residual):
    """Return the second derivative of −loss of QUANTILE, HUBER and EXPECTILE."""
    if kind == HUBER:
        return -1.0 if abs(residual) < loss_parameter else 0.0
    if kind == EXPECTILE:
        return -2.0 * (loss_parameter if residual > 0.0 else 1.0 - loss_parameter)
    return 0.0


@kernel
def differentiate(kind, loss_parameter, score, y, weight, g, first, last):
    """Write the derivatives of −loss of the rows first … last − 1.

    Parameters
    ----------
    kind : RMSE, LOGISTIC, POISSON, QUANTILE, HUBER, EXPECTILE or TWEEDIE
    loss_parameter : α of QUANTILE and EXPECTILE, δ of HUBER, variance power p of TWEEDIE
    score : (n_rows,) float64, F or eᶠ
    y : (n_rows,) float32
    weight : (n_rows,) float32, or (0,) if all are 1
    g : (n_rows,) float64, written
    """
    for i in range(np.uint64(first), np.uint64(last)):
        g[i] = first_derivative(kind, loss_parameter, score[i], np.float64(y[i]))
    if len(weight):
        for i in range(np.uint64(first), np.uint64(last)):
            g[i] *= np.float64(weight[i])


@kernel
def sum_leaves(kind, loss_parameter, score, y, weight, leaf_of, block, sums, first, last):
    """Add the derivatives and weights of the rows of blocks first … last − 1 to their leaves.

    Parameters
    ----------
    kind, loss_parameter, score, y, weight : as in `differentiate`
    leaf_of : (n_rows,) uint16
    block : number of rows of a block
    sums : (n_blocks, n_leaves, 3) float64, added to: Σg, Σh and Σw
    """
    for part in range(first, last):
        start, end = part * block, min((part + 1) * block, len(y))
        if kind == RMSE:  # a constant kind lets the compiler drop the other losses
            add_rows(RMSE, loss_parameter, score, y, weight, leaf_of, sums[part], start, end)
        elif kind == LOGISTIC:
            add_rows(LOGISTIC, loss_parameter, score, y, weight, leaf_of, sums[part], start, end)
        else:
            add_rows(kind, loss_parameter, score, y, weight, leaf_of, sums[part], start, end)


@inner_kernel
def add_rows(kind, loss_parameter, score, y, weight, leaf_of, sums, first, last):
    """Add the derivatives and weights of the rows first … last − 1 to those of their leaves."""
    for i in range(np.uint64(first), np.uint64(last)):
        target, leaf = np.float64(y[i]), np.uint64(leaf_of[i])
        der1 = first_derivative(kind, loss_parameter, score[i], target)
        der2 = second_derivative(kind, loss_parameter, score[i], target)
        w = 1.0
        if len(weight):
            w = np.float64(weight[i])
            der1 *= w
            der2 *= w
        sums[leaf, DER1] += der1
        sums[leaf, DER2] += der2
        sums[leaf, WEIGHT] += w


@linked_kernel
def change_and_sum_leaves(score, y, changes, leaf_of, block, sums):
    """Multiply scores eᶠ by the changes of their leaves, and then do as `sum_leaves`.

    One pass over the rows, for log loss without weights.

    Parameters
    ----------
    score : (n_rows,) float64, eᶠ; written
    changes : (n_leaves,) float64, eˢ of a step s
    y, leaf_of, block, sums : as in `sum_leaves`
    """
    for part in range(len(sums)):
        own = sums[part]
        for i in range(np.uint64(part * block), np.uint64(min((part + 1) * block, len(y)))):
            leaf = np.uint64(leaf_of[i])
            score[i] *= changes[leaf]
            own[leaf, DER1] += first_derivative(LOGISTIC, 0.0, score[i], np.float64(y[i]))
            own[leaf, DER2] += second_derivative(LOGISTIC, 0.0, score[i], np.float64(y[i]))
            own[leaf, WEIGHT] += 1.0


@kernel
def add_to_scores(is_exp, values, leaf_of, score, first, last):
    """Add leaf values to the scores of rows first … last − 1, or multiply by their exponentials.

    Parameters
    ----------
    is_exp : whether scores are stored as eᶠ
    values : (n_leaves,) float64, v or eᵛ
    leaf_of : (n_rows,) uint16
    score : (n_rows,) float64, written
    """
    if is_exp:
        for i in range(np.uint64(first), np.uint64(last)):
            score[i] *= values[np.uint64(leaf_of[i])]
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            score[i] += values[np.uint64(leaf_of[i])]


@kernel
def sum_losses(kind, loss_parameter, score, y, weight, first, last):
    """Return the sum of the losses of rows first … last − 1.

    Parameters
    ----------
    kind, loss_parameter, score, y, weight : as in `differentiate`
    """
    total = 0.0
    for i in range(np.uint64(first), np.uint64(last)):
        target = np.float64(y[i])
        if kind == LOGISTIC:
            log = math.log(score[i])
            loss = math.log1p(score[i]) - target * log
            if score[i] > 1e300:
                loss = (1.0 - target) * log
        elif kind == POISSON:
            loss = score[i] - target * math.log(score[i])
        else:
            loss = loss_of_row(kind, loss_parameter, score[i], target)
        total += loss * np.float64(weight[i]) if len(weight) else loss
    return total


@inner_kernel
def loss_of_row(kind, loss_parameter, score, y):
    """Return the loss of a row, for losses whose scores are stored as F."""
    residual = y - score
    if kind == QUANTILE:
        return residual * loss_parameter if residual > 0.0 else -residual * (1.0 - loss_parameter)
    if kind == HUBER:
        size = abs(residual)
        if size < loss_parameter:
            return 0.5 * size * size
        return loss_parameter * (size - 0.5 * loss_parameter)
    if kind == EXPECTILE:
        return residual * residual * (loss_parameter if residual > 0.0 else 1.0 - loss_parameter)
    if kind == TWEEDIE:
        power_y, power_mean = 1.0 - loss_parameter, 2.0 - loss_parameter
        return math.exp(power_mean * score) / power_mean - y * math.exp(power_y * score) / power_y
    return residual * residual


@inner_kernel
def softmax(score, i, p):
    """Write the class probabilities of row i."""
    largest = score[0, i]
    for k in range(1, len(score)):
        largest = max(largest, score[k, i])
    total = 0.0
    for k in range(len(score)):
        p[k] = table_exp(score[k, i] - largest)
        total += p[k]
    for k in range(len(score)):
        p[k] /= total


@kernel
def differentiate_classes(score, y, weight, p, g, first, last):
    """Write the derivatives of the log likelihood of rows first … last − 1.

    Parameters
    ----------
    score : (n_classes, n_rows) float64
    y : (n_rows,) float32, class codes
    weight : (n_rows,) float32, or (0,) if all are 1
    p : (n_classes,) float64, scratch space
    g : (n_classes, n_rows) float64, written
    """
    for i in range(np.uint64(first), np.uint64(last)):
        softmax(score, i, p)
        own = np.int64(y[i])
        for k in range(len(score)):
            der = -p[k] + (1.0 if k == own else 0.0)
            g[k, i] = der * np.float64(weight[i]) if len(weight) else der


@kernel
def sum_class_leaves(score, y, weight, leaf_of, p, sums, first, last):
    """Add derivatives of rows first … last − 1 to those of their leaves.

    Parameters
    ----------
    score, y, weight, p : as in `differentiate_classes`
    leaf_of : (n_rows,) uint16
    sums : (n_leaves, n_classes + n_classes (n_classes + 1) / 2 + 1) float64, added to: gradient,
        upper triangle of the Hessian row by row, and weight
    """
    n_classes = len(score)
    for i in range(np.uint64(first), np.uint64(last)):
        softmax(score, i, p)
        own, leaf = np.int64(y[i]), np.uint64(leaf_of[i])
        w = np.float64(weight[i]) if len(weight) else 1.0
        at = n_classes
        for k in range(n_classes):
            sums[leaf, at] += (p[k] * (p[k] - 1.0)) * w
            at += 1
            for j in range(k + 1, n_classes):
                sums[leaf, at] += (p[k] * p[j]) * w
                at += 1
        for k in range(n_classes):
            sums[leaf, k] += (-p[k] + (1.0 if k == own else 0.0)) * w
        sums[leaf, at] += w


@kernel
def sum_class_losses(score, y, weight, p, first, last):
    """Return the sum of the negative log likelihoods of rows first … last − 1.

    Parameters
    ----------
    score, y, weight, p : as in `differentiate_classes`
    """
    total = 0.0
    for i in range(np.uint64(first), np.uint64(last)):
        softmax(score, i, p)
        loss = -math.log(max(p[np.int64(y[i])], 1e-300))
        total += loss * np.float64(weight[i]) if len(weight) else loss
    return total
