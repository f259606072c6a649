"""Gradients and hessians with the order of operations of scikit-learn's losses.

With F a row's score, y its target, w its weight, e = e^−F, and classes k of softmax with
p_k = e^F_k / Σ e^F_j:

    squared error     g = F − y                          h = 1
    binary log loss   g = ((1 − y) − y e) / (1 + e)      h = e / (1 + e)²
    softmax           g_k = p_k − [y = k]                h_k = p_k (1 − p_k)

Both are multiplied by w. Scores, targets and weights are float64; g and h are float32.
"""

import math

import numpy as np

from algorithms.runtime.jit import kernel

FAR = -37.0  # below this score the probability is e^F


@kernel
def differentiate_by_hgb(is_binary, score, y, weight, g, h):
    """Write g and h of a loss with one score per row.

    Parameters
    ----------
    is_binary : whether the loss is the binary log loss; otherwise the squared error
    score, y : (n,) float64
    weight : (n,) float64, or (0,) without weights
    g, h : (n,) float32, written
    """
    for i in range(len(score)):
        gradient, hessian = score[i] - y[i], 1.0
        if is_binary and score[i] > FAR:
            e = math.exp(-score[i])
            gradient = ((1.0 - y[i]) - y[i] * e) / (1.0 + e)
            hessian = e / ((1.0 + e) * (1.0 + e))
        elif is_binary:
            hessian = math.exp(score[i])
            gradient = hessian - y[i]
        if len(weight):
            gradient *= weight[i]
            hessian *= weight[i]
        g[i], h[i] = np.float32(gradient), np.float32(hessian)


@kernel
def differentiate_classes_by_hgb(score, code, weight, p, g, h):
    """Write g and h of the softmax loss.

    Parameters
    ----------
    score : (n_classes, n) float64
    code : (n,) float64, the class of each row
    weight : (n,) float64, or (0,)
    p : (n_classes,) float64, scratch space
    g, h : (n_classes, n) float32, written
    """
    for i in range(score.shape[1]):
        top, total = score[0, i], 0.0
        for k in range(1, len(score)):
            top = max(top, score[k, i])
        for k in range(len(score)):
            p[k] = math.exp(score[k, i] - top)
            total += p[k]
        for k in range(len(score)):
            share = p[k] / total
            gradient, hessian = share - (1.0 if code[i] == k else 0.0), share * (1.0 - share)
            if len(weight):
                gradient *= weight[i]
                hessian *= weight[i]
            g[k, i], h[k, i] = np.float32(gradient), np.float32(hessian)
