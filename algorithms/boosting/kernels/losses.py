"""Gradient boosting losses, per row: value, negative gradient, curvature.

With F a row's raw score and p its probability:

    squared      ½ (y − F)²                             g = y − F              h = 1
    absolute     |y − F|                                g = ±1
    huber        ½ r², or δ (|r| − δ/2) where |r| > δ   g = r, at most δ in size     (r = y − F)
    quantile     α r, or (α − 1) r where r < 0          g = α or α − 1
    poisson      e^F − y F                              g = y − e^F            h = e^F
    binomial     log(1 + e^F) − y F                     g = y − p              h = p (1 − p)
    exponential  y e^−F + (1 − y) e^F                   g = y e^−F − (1 − y) e^F     h = |g|
    multinomial  log Σ_k e^F_k − F_y                    g_k = [y = k] − p_k    h = p_k (1 − p_k)

The formulas and the order of operations are those of scikit-learn's losses, which stay exact if
exponentials overflow or vanish. `exp` and `log` are those of the C library, as in scikit-learn.
"""

import math

import numpy as np

from algorithms.levelwise.kernels.level_arrays import BLOCK_ROWS
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel

SQUARED, ABSOLUTE, HUBER, QUANTILE, POISSON, BINOMIAL, EXPONENTIAL = range(7)
SMALLEST = 1e-150  # below this curvature the step of a leaf is 0


@inner_kernel
def gradient_of(kind, parameter, y, raw):  # noqa: PLR0911 - one return per loss
    """Return dL/dF of a row; ``parameter`` is δ or α."""
    if kind == SQUARED:
        return raw - y
    if kind == ABSOLUTE:
        return 1.0 if raw > y else -1.0
    if kind == HUBER:
        residual = raw - y
        if abs(residual) <= parameter:
            return residual
        return parameter if residual >= 0.0 else -parameter
    if kind == QUANTILE:
        return -parameter if y >= raw else 1.0 - parameter
    if kind == POISSON:
        return math.exp(raw) - y
    if kind == BINOMIAL:
        if raw > -37.0:  # otherwise 1 + e^F rounds to 1
            decay = math.exp(-raw)
            return ((1.0 - y) - y * decay) / (1.0 + decay)
        return math.exp(raw) - y
    growth = math.exp(raw)
    return -y / growth + (1.0 - y) * growth


@inner_kernel
def log_of_1_plus_exp(x):
    """Return log(1 + eˣ) without overflow or cancellation."""
    if x <= -37.0:
        return math.exp(x)
    if x <= -2.0:
        return math.log1p(math.exp(x))
    if x <= 18.0:
        return math.log(1.0 + math.exp(x))
    if x <= 33.3:
        return x + math.exp(-x)
    return x


@inner_kernel
def loss_of(kind, parameter, y, raw):  # noqa: PLR0911 - one return per loss
    """Return L of a row."""
    residual = y - raw
    if kind == SQUARED:
        return 0.5 * residual * residual
    if kind == ABSOLUTE:
        return abs(residual)
    if kind == HUBER:
        size = abs(residual)
        if size <= parameter:
            return 0.5 * size * size
        return parameter * (size - 0.5 * parameter)
    if kind == QUANTILE:
        return parameter * residual if residual >= 0.0 else (parameter - 1.0) * residual
    if kind == POISSON:
        return math.exp(raw) - y * raw
    if kind == BINOMIAL:
        return log_of_1_plus_exp(raw) - y * raw
    return y * math.exp(-raw) + (1.0 - y) * math.exp(raw)


@inner_kernel
def curvature_of(kind, y, g):
    """Return h of a row, from its negative gradient."""
    if kind == SQUARED:
        return 1.0
    if kind == POISSON:
        return y - g
    if kind == BINOMIAL:
        p = y - g
        return p * (1.0 - p)
    return g if y != 0.0 else -g


@kernel
def fill_gradients(kind, parameter, y, raw, out, first, last):
    """Write the negative gradients of rows; parameters are as in `write_gradients`."""
    write_gradients(kind, parameter, y, raw, out, first, last)


@linked_kernel
def write_gradients(kind, parameter, y, raw, out, first, last):
    """Write the negative gradients of rows, in blocks first … last − 1.

    Parameters
    ----------
    kind : of the loss; several outputs have the multinomial loss
    y : (n_rows,) float64
    raw, out : (n_outputs, n_rows) float64; out is written
    """
    for i in range(first * BLOCK_ROWS, min(last * BLOCK_ROWS, len(y))):
        if len(raw) == 1:
            out[0, i] = -gradient_of(kind, parameter, y[i], raw[0, i])
            continue
        top = largest_score(raw, i)
        total = 0.0
        for k in range(len(raw)):
            out[k, i] = math.exp(raw[k, i] - top)
            total += out[k, i]
        for k in range(len(raw)):
            p = out[k, i] / total
            out[k, i] = 1.0 - p if y[i] == k else -p


@inner_kernel
def largest_score(raw, i):
    """Return the largest score of a row."""
    top = raw[0, i]
    for k in range(1, len(raw)):
        top = max(top, raw[k, i])
    return top


@inner_kernel
def multinomial_loss(y, raw, i):
    """Return L of a row with several outputs."""
    top = largest_score(raw, i)
    total = 0.0
    for k in range(len(raw)):
        total += math.exp(raw[k, i] - top)
    return math.log(total) + top - raw[np.int64(y[i]), i]


@kernel
def sum_losses(kind, parameter, y, raw, weight, rows, sums, first, last):
    """Write the sums of w L and of w over blocks; parameters are as in `add_row_losses`."""
    add_row_losses(kind, parameter, y, raw, weight, rows, sums, first, last)


@linked_kernel
def add_row_losses(kind, parameter, y, raw, weight, rows, sums, first, last):
    """Write the sums of w L and of w over each of the blocks first … last − 1 of rows.

    Parameters
    ----------
    kind : of the loss; several outputs have the multinomial loss
    y : (n_rows,) float64
    raw : (n_outputs, n_rows) float64
    weight : (n_rows,) float64; (0,): every row weighs 1
    rows : uint32, the rows that are summed; (0,): all
    sums : (n_blocks, 2) float64, written
    """
    for block in range(first, last):
        sums[block, 0] = 0.0
        sums[block, 1] = 0.0
        for j in range(block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, len(rows) or len(y))):
            i = np.int64(rows[j]) if len(rows) else j
            w = weight[i] if len(weight) else 1.0
            if w != 0.0:
                if len(raw) == 1:
                    loss = loss_of(kind, parameter, y[i], raw[0, i])
                else:
                    loss = multinomial_loss(y, raw, i)
                sums[block, 0] += w * loss
                sums[block, 1] += w


@kernel
def sum_newton(kind, label, y, gradient, weight, used, leaf, sums, first, last):
    """Write the sums of w g and w h of leaves; parameters are as in `add_newton_sums`."""
    add_newton_sums(kind, label, y, gradient, weight, used, leaf, sums, first, last)


@linked_kernel
def add_newton_sums(kind, label, y, gradient, weight, used, leaf, sums, first, last):
    """Write the sums of w g and w h of every leaf over blocks first … last − 1 of rows.

    Parameters
    ----------
    label : the class of the tree, y becomes [y = label]; -1: y is used unchanged
    gradient : (n_rows,) float64, g
    weight : (n_rows,) float64; (0,): every row weighs 1
    used : (n_rows,) bool; (0,): all rows are used
    leaf : (n_rows,) uint16
    sums : (n_blocks, n_nodes, 2) float64, written
    """
    for block in range(first, last):
        sums[block] = 0.0
        for i in range(block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, len(y))):
            if len(used) and not used[i]:
                continue
            w = weight[i] if len(weight) else 1.0
            target = y[i] if label < 0 else np.float64(y[i] == label)
            at = np.uint64(leaf[i])
            sums[block, at, 0] += w * gradient[i]
            sums[block, at, 1] += w * curvature_of(kind, target, gradient[i])
