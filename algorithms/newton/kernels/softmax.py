"""Gradients and hessians of softmax in float32, for trees with vector leaves.

    g_k = p_k − [y = k]        h_k = 2 p_k (1 − p_k)

Vector leaves round derivatives to integers, so the precision of float32 is sufficient, and eight
numbers at a time are processed instead of four.
"""

import numpy as np

from algorithms.newton.kernels.vector_arrays import MIN_H
from algorithms.runtime.intrinsics import multiply_by_power_of_two
from algorithms.runtime.jit import inner_kernel, kernel

ROWS = 256  # rows of a block, which is processed class by class, vectorized over rows
SHIFT = np.float32(12582912.0)  # 1.5 · 2²³: adding it leaves the nearest integer in the lowest bits
PER_OCTAVE = np.float32(1.4426950408889634)  # 1 / ln 2
LN2_HIGH = np.float32(0.693359375)  # ln 2 in two parts; products of the first one are exact
LN2_LOW = np.float32(-2.12194440e-4)
SMALLEST = np.float32(-87.0)
ZERO, ONE_HALF, ONE, TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)
C3, C4, C5, C6, C7 = (np.float32(1.0 / number) for number in (6, 24, 120, 720, 5040))
MIN_SINGLE_H = np.float32(MIN_H)  # so that leaf values stay finite


@inner_kernel
def exp_single(x):
    """Return eˣ, float32, with a relative error below 2e-7.

    x below −87 counts as −87; x must be below 88.
    """
    x = max(x, SMALLEST)  # NaN stays NaN
    shifted = x * PER_OCTAVE + SHIFT
    n = shifted - SHIFT
    r = (x - n * LN2_HIGH) - n * LN2_LOW  # x = n ln 2 + r, |r| ≤ ln 2 / 2
    p = C7 * r + C6  # Taylor: Σ rⁱ / i!, i = 0 … 7
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + ONE_HALF
    p = p * r + ONE
    p = p * r + ONE
    return multiply_by_power_of_two(p, shifted)


@kernel
def differentiate_softmax(score, code, weight, work, g, h, first, last):
    """Write the gradients and hessians of softmax for the rows first … last − 1.

    Parameters
    ----------
    score : (n_classes, n) float64
    code : (n,) float64, the class of each row
    weight : (n,) float64, or (0,)
    work : (n_classes + 2, ROWS) float32, scratch space
    g, h : (n_classes, n) float32, written
    """
    n_classes = np.uint64(score.shape[0])
    for start in range(first, last, ROWS):
        n, row = np.uint64(min(ROWS, last - start)), np.uint64(start)
        write_exponentials(score, work, row, n)
        for k in range(n_classes):
            write_class(k, np.float32(k), code, work, g[k], h[k], row, n)
            if len(weight):
                for i in range(row, row + n):
                    g[k, i] *= np.float32(weight[i])
                    h[k, i] = max(h[k, i] * np.float32(weight[i]), MIN_SINGLE_H)


@inner_kernel
def write_exponentials(score, work, row, n):
    """Write e^(F − max F) of n rows by class; row n_classes of ``work``: 1 / their sum."""
    n_classes = np.uint64(score.shape[0])
    total, top = work[n_classes], work[n_classes + np.uint64(1)]
    for i in range(n):
        total[i], top[i] = ZERO, np.float32(score[np.uint64(0), row + i])
    for k in range(np.uint64(1), n_classes):
        for i in range(n):
            own = np.float32(score[k, row + i])
            top[i] = max(top[i], own)
    for k in range(n_classes):
        exponentials = work[k]
        # Two loops: LLVM vectorizes each of them.
        for i in range(n):
            # NaN beyond the range of float32
            exponentials[i] = np.float32(score[k, row + i]) - top[i]
        for i in range(n):
            exponentials[i] = exp_single(exponentials[i])
            total[i] += exponentials[i]
    for i in range(n):
        total[i] = ONE / total[i]


@inner_kernel
def write_class(k, label, code, work, g, h, row, n):
    """Write the derivatives of a class, whose code is ``label``, for n rows without weights."""
    exponentials, inverse = work[k], work[np.uint64(len(work) - 2)]
    for i in range(n):
        p = exponentials[i] * inverse[i]
        g[row + i] = p - (ONE if np.float32(code[row + i]) == label else ZERO)
        hessian = TWO * p * (ONE - p)
        h[row + i] = max(hessian, MIN_SINGLE_H)
