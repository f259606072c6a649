"""LightGBM's gradients, hessians and inverse links, with its order of operations.

With F a row's score, y its target, w its weight, l = 1 for y = 1 and −1 for y = 0, a a constant of
the loss, and classes k = 1 … K of softmax with p_k = e^F_k / Σ e^F_j:

    L2         g = F − y                             h = 1
    L1         g = sign(F − y)                       h = 1
    HUBER      g = F − y, clipped to ±a              h = 1
    QUANTILE   g = 1 − a if F ≥ y, else −a           h = 1
    LOGISTIC   g = r = −l / (1 + e^(l F))            h = |r| (1 − |r|)
    SOFTMAX    g_k = p_k − [y = k]                   h_k = K/(K−1) p_k (1 − p_k)

Both are multiplied by w. `exp` is that of the C library, as in LightGBM. Scores are float64;
targets, weights, g and h are float32.
"""

import math

import numpy as np

from algorithms.gbdt.kernels.gradients import HUBER, L1, L2, LOGISTIC
from algorithms.parity.kernels.lightgbm_gain import sign
from algorithms.runtime.jit import inner_kernel, kernel


@inner_kernel
def gradient_of(kind, a, difference, weight):
    """Return g of a loss with h = w; products are rounded as in LightGBM."""
    if kind == L2:
        return np.float32(np.float32(difference) * weight)
    if kind == L1:
        return np.float32(np.float32(sign(difference)) * weight)
    if kind == HUBER:
        if abs(difference) <= a:
            return np.float32(difference * np.float64(weight))
        return np.float32(np.float64(np.float32(sign(difference)) * weight) * a)
    if np.float32(difference) >= np.float32(0.0):
        return np.float32(np.float32(1.0 - np.float32(a)) * weight)
    return np.float32(-np.float32(a) * weight)


@kernel
def differentiate_by_lightgbm(kind, a, score, y, weight, g, h):
    """Write g and h of a loss with one score per row.

    Parameters
    ----------
    kind : the loss, a constant of `gbdt.kernels.gradients`
    a : constant of the loss
    score : (n,) float64
    y : (n,) float32
    weight : (n,) float32, or (0,) if all weights are 1
    g, h : (n,) float32, written
    """
    for i in range(len(score)):
        w = weight[i] if len(weight) else np.float32(1.0)
        if kind == LOGISTIC:
            side = 1.0 if y[i] > 0 else -1.0  # l
            r = -side / (1.0 + math.exp(side * score[i]))
            g[i] = np.float32(r * np.float64(w))
            h[i] = np.float32(abs(r) * (1.0 - abs(r)) * np.float64(w))
        else:
            g[i] = gradient_of(kind, a, score[i] - np.float64(y[i]), w)
            h[i] = w


@inner_kernel
def write_softmax(score, i, p):
    """Write the softmax of a row's scores."""
    top = score[0, i]
    for k in range(1, len(score)):
        top = max(score[k, i], top)
    total = 0.0
    for k in range(len(score)):
        p[k] = math.exp(score[k, i] - top)
        total += p[k]
    for k in range(len(score)):
        p[k] /= total


@kernel
def differentiate_classes_by_lightgbm(score, code, weight, p, g, h):
    """Write g and h of the softmax loss.

    Parameters
    ----------
    score : (n_classes, n) float64
    code : (n,) float32, the class of each row
    weight : (n,) float32, or (0,)
    p : (n_classes,) float64, scratch space
    g, h : (n_classes, n) float32, written
    """
    n_classes = len(score)
    factor = n_classes / (n_classes - 1.0)
    for i in range(score.shape[1]):
        w = np.float64(weight[i]) if len(weight) else 1.0
        write_softmax(score, i, p)
        for k in range(n_classes):
            g[k, i] = np.float32((p[k] - 1.0 if code[i] == k else p[k]) * w)
            h[k, i] = np.float32(factor * p[k] * (1.0 - p[k]) * w)


@kernel
def link_by_lightgbm(score, softmax, out):
    """Write the probabilities of raw scores; both float64 (n_scores, n).

    Parameters
    ----------
    softmax : whether to apply softmax; otherwise the sigmoid of each score
    """
    for i in range(score.shape[1]):
        if softmax:
            write_softmax(score, i, out[:, i])
        else:
            for k in range(len(score)):
                out[k, i] = 1.0 / (1.0 + math.exp(-score[k, i]))
