"""Gradients and hessians of the losses: g = ∂l/∂F and h = ∂²l/∂F².

F is the score of a row, y its target, w its weight, p = 1 / (1 + e^−F), and a is a constant of the
loss; the classes of softmax are k = 1 … K, p_k = e^F_k / Σ e^F_j:

    L2         g = F − y                             h = 1
    L1         g = sign(F − y)                       h = 1
    HUBER      g = F − y, at most a in size          h = 1
    QUANTILE   g = 1 − a where F ≥ y, else −a        h = 1
    POISSON    g = e^F − y                           h = e^(F + a)
    GAMMA      g = 1 − y e^−F                        h = y e^−F
    TWEEDIE    g = −y e^(1−a)F + e^(2−a)F            h = −y (1−a) e^(1−a)F + (2−a) e^(2−a)F
    LOGISTIC   g = p − y                             h = p (1 − p)          p of a F
    FAIR       g = c (F − y)                         h = c²                 c = a / (|F − y| + a)
    PSEUDO_HUBER  g = c (F − y)                      h = c             c = 1 / √(1 + (F − y)²/a²)
    MAPE       g = sign(F − y) / max(1, |y|)         h = 1
    SOFTMAX    g_k = p_k − [y = k]                   h_k = K/(K−1) p_k (1 − p_k)

These are LightGBM's formulas, except for PSEUDO_HUBER, which LightGBM does not have: its h is the
curvature of the parabola that touches the loss at F and is above it elsewhere, so that no step
overshoots (`newton.objectives`). g and h are multiplied by w. Results are float32. XGBoost's h of
softmax is 2 p_k (1 − p_k); `newton.objectives` computes it from this one.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import exp

L2, L1, HUBER, QUANTILE, POISSON, GAMMA, TWEEDIE, LOGISTIC, FAIR, PSEUDO_HUBER, MAPE = range(11)
SOFTMAX = -1  # `differentiate_classes` computes its gradients
LOGARITHMIC = (POISSON, GAMMA, TWEEDIE)
BENT = (FAIR, PSEUDO_HUBER)
CONSTANT = (L2, L1, HUBER, QUANTILE, MAPE)  # h is the weight
MIN_H = 1e-16  # minimum h of softmax, so that leaf values stay finite
ROWS = 256  # softmax processes blocks of this many rows class by class, vectorized over rows


@kernel
def differentiate(kind, a, score, y, weight, g, h, first, last):
    """Write the gradients of a loss with one score per row, for the rows first … last − 1.

    Parameters
    ----------
    kind : number of the loss, L2 … MAPE
    a : constant of the loss
    score : (n,) float64
    y : (n,) float64, or float32
    weight : (n,) float64, or (0,) if every row has weight 1
    g, h : (n,) float32, written; h is not if it is 1 for every row
    """
    if kind in CONSTANT:
        slope(kind, a, score, y, g, first, last)
    elif kind in LOGARITHMIC:
        differentiate_means(kind, a, score, y, g, h, first, last)
    elif kind in BENT:
        differentiate_bent(kind, a, score, y, g, h, first, last)
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            p = 1.0 / (1.0 + exp(-a * score[i]))
            g[i] = np.float32(a * (p - y[i]))
            h[i] = np.float32(a * a * p * (1.0 - p))
    if len(weight):
        for i in range(np.uint64(first), np.uint64(last)):
            w = np.float32(weight[i])
            g[i] *= w
            h[i] = w if kind in CONSTANT else h[i] * w


@inner_kernel
def differentiate_means(kind, a, score, y, g, h, first, last):
    """Write g and h of the losses with prediction e^F (log link)."""
    if kind == POISSON:
        ahead = exp(a)
        for i in range(np.uint64(first), np.uint64(last)):
            mean = exp(score[i])
            g[i] = np.float32(mean - y[i])
            h[i] = np.float32(mean * ahead)
    elif kind == GAMMA:
        for i in range(np.uint64(first), np.uint64(last)):
            ratio = y[i] * exp(-score[i])
            g[i] = np.float32(1.0 - ratio)
            h[i] = np.float32(ratio)
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            under = y[i] * exp((1.0 - a) * score[i])
            over = exp((2.0 - a) * score[i])
            g[i] = np.float32(over - under)
            h[i] = np.float32((2.0 - a) * over - (1.0 - a) * under)


@inner_kernel
def differentiate_bent(kind, a, score, y, g, h, first, last):
    """Write g and h of the losses that are quadratic near 0 and linear far from it."""
    for i in range(np.uint64(first), np.uint64(last)):
        left = score[i] - y[i]
        c = a / (abs(left) + a) if kind == FAIR else a / hypotenuse(a, abs(left))
        g[i] = np.float32(c * left)
        h[i] = np.float32(c * c if kind == FAIR else c)


@inner_kernel
def hypotenuse(a, b):
    """Return √(a² + b²) of two sizes without overflow; bitwise the same on all machines."""
    longer, shorter = max(a, b), min(a, b)
    return longer * np.sqrt(1.0 + (shorter / longer) ** 2)


@inner_kernel
def slope(kind, a, score, y, g, first, last):
    """Write g of the losses with constant h."""
    if kind == L2:
        for i in range(np.uint64(first), np.uint64(last)):
            g[i] = np.float32(score[i] - y[i])
    elif kind == L1:
        for i in range(np.uint64(first), np.uint64(last)):
            g[i] = np.float32(np.sign(score[i] - y[i]))
    elif kind == HUBER:
        for i in range(np.uint64(first), np.uint64(last)):
            g[i] = np.float32(min(max(score[i] - y[i], -a), a))
    elif kind == MAPE:
        for i in range(np.uint64(first), np.uint64(last)):
            g[i] = np.float32(np.sign(score[i] - y[i]) / max(1.0, abs(y[i])))
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            g[i] = np.float32(1.0 - a if score[i] >= y[i] else -a)


@kernel
def differentiate_classes(score, code, weight, work, g, h, first, last):
    """Write the gradients and hessians of softmax for the rows first … last − 1.

    Parameters
    ----------
    score : (n_classes, n) float64
    code : (n,) float32, the class of each row
    weight : (n,) float64, or (0,)
    work : (n_classes + 2, ROWS) float64, scratch space
    g, h : (n_classes, n) float32, written
    """
    n_classes = score.shape[0]
    factor = n_classes / (n_classes - 1.0)
    for start in range(first, last, ROWS):
        n, row = np.uint64(min(ROWS, last - start)), np.uint64(start)
        write_powers(score, work, row, n)
        for k in range(np.uint64(n_classes)):
            for i in range(n):
                p = work[k, i] / work[n_classes, i]
                w = weight[row + i] if len(weight) else 1.0
                g[k, row + i] = np.float32(w * (p - np.float64(code[row + i] == k)))
                h[k, row + i] = np.float32(max(w * factor * p * (1.0 - p), MIN_H))


@inner_kernel
def write_powers(score, work, row, n):
    """Write e^(F − max F) of n rows by class, and after the classes their sums."""
    n_classes = np.uint64(score.shape[0])
    total, top = n_classes, n_classes + np.uint64(1)
    for i in range(n):
        work[top, i] = score[np.uint64(0), row + i]
        work[total, i] = 0.0
    for k in range(np.uint64(1), n_classes):
        for i in range(n):
            work[top, i] = max(work[top, i], score[k, row + i])
    for k in range(n_classes):
        for i in range(n):
            power = exp(score[k, row + i] - work[top, i])
            work[k, i] = power
            work[total, i] += power
