"""Make probabilities of raw scores: a call for a row takes a microsecond, NumPy's passes five."""

import numpy as np

from algorithms._kernels.hist.functions import exp
from algorithms._kernels.jit import inner_kernel, kernel


@kernel
def write_softmax(score, out):
    """Write p_k = e^F_k / Σ e^F_j of each row.

    Parameters
    ----------
    score : (n_rows, n_classes) float64, F
    out : float64 as score, written
    """
    n_classes = np.uint64(score.shape[1])
    for i in range(np.uint64(score.shape[0])):
        top, total = score[i, 0], 0.0
        for k in range(np.uint64(1), n_classes):
            top = max(top, score[i, k])
        for k in range(n_classes):
            power = exp(score[i, k] - top)
            out[i, k] = power
            total += power
        for k in range(n_classes):
            out[i, k] /= total


@kernel
def write_sigmoids(score, out):
    """Write p = 1 / (1 + e^−F) of each score; where there is one, 1 − p before it.

    Parameters
    ----------
    score : (n_rows, n_scores) float64, F
    out : float64, written: as score, or (n_rows, 2) where that has one column
    """
    if score.shape[1] == 1:
        for i in range(np.uint64(score.shape[0])):
            p = sigmoid(score[i, 0])
            out[i, 0], out[i, 1] = 1.0 - p, p
    else:
        for i in range(np.uint64(score.shape[0])):
            for k in range(np.uint64(score.shape[1])):
                out[i, k] = sigmoid(score[i, k])


@inner_kernel
def sigmoid(x):
    """Return 1 / (1 + e^−x)."""
    return 1.0 / (1.0 + exp(-x))
