"""Gradients and hessians of the losses, rounded to float32 as in XGBoost.

With F a row's raw score, y its target, p = 1 / (1 + e^−F), ρ the variance power, δ the slope and
s = √(1 + z²/δ²):

    SQUARED       g = F − y                               h = 1
    LOGISTIC      g = p − y                               h = p (1 − p)
    POISSON       g = e^F − y                             h = e^(F + a), a the largest step
    GAMMA         g = 1 − y / e^F                         h = y / e^F
    TWEEDIE       g = −y e^(1−ρ)F + e^(2−ρ)F              h = −y (1−ρ) e^(1−ρ)F + (2−ρ) e^(2−ρ)F
    PSEUDO_HUBER  g = z / s, z = F − y                    h = δ² / ((δ² + z²) s)
    ABSOLUTE      g = sign(F − y)                         h = 1
    QUANTILE      g = 1 − a if F ≥ y, else −a             h = 1
    softmax       g_k = p_k − [y = k]                     h_k = 2 p_k (1 − p_k)

Both are multiplied by the row's weight; `exp` is the C library's float32 function.

Since XGBoost 3.4, ABSOLUTE and QUANTILE are smoothed. With r = F − y, the scale
S = (Σ w √|r| / Σ w)², x = r / (0.04 S) and the level a:

    ABSOLUTE      g = r S / √(S² + r²)                    h = S / √(S² + r²)
    QUANTILE      g = S / 2 (tanh x + 1 − 2 a)            h = 12.5 max(tanh x / x, 0.0003)
"""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

SQUARED, LOGISTIC, POISSON, GAMMA, TWEEDIE, PSEUDO_HUBER, ABSOLUTE, QUANTILE = range(8)
IDENTITY, LOG, EXP, LOGIT, SIGMOID = range(5)
NO, ONE, TWO = np.float32(0.0), np.float32(1.0), np.float32(2.0)
MIN_H = np.float32(1e-16)
MAX_EXPONENT = np.float32(88.7)  # its exponential is finite in float32
FIRST_MAXIMUM = np.finfo(np.float32).tiny  # initial value of the maximum in XGBoost's softmax
HALF = np.float32(0.5)
SMOOTHING = np.float32(0.04)
MIN_RATIO = np.float32(3e-4)
MIN_WEIGHT = 1e-6  # minimum sum of weights; below it S is 0


@inner_kernel
def probability(score):
    """Return 1 / (1 + e^−F)."""
    return ONE / (math.exp(min(-score, MAX_EXPONENT)) + ONE + MIN_H)


@inner_kernel
def row_derivatives(kind, a, score, y):
    """Return g and h of a row, without the factor of its weight."""
    g, h = score - y, ONE
    if kind == LOGISTIC:
        p = probability(score)
        g, h = p - y, max(p * (ONE - p), MIN_H)
    elif kind == POISSON:
        g, h = math.exp(score) - y, math.exp(score + a)
    elif kind == GAMMA:
        ratio = y / math.exp(score)
        g, h = ONE - ratio, ratio
    elif kind == TWEEDIE:
        below, above = math.exp((ONE - a) * score), math.exp((TWO - a) * score)
        g, h = -y * below + above, -y * (ONE - a) * below + (TWO - a) * above
    elif kind == PSEUDO_HUBER:
        root = math.sqrt(ONE + g * g / (a * a))
        h = a * a / ((a * a + g * g) * root)
        g /= root
    elif kind == ABSOLUTE:
        g = ONE if g > NO else (-ONE if g < NO else NO)
    elif kind == QUANTILE:
        g = ONE - a if g >= NO else -a
    return g, h


@kernel
def differentiate(kind, a, score, y, weight, g, h):
    """Write g and h of a loss with one score per row.

    Parameters
    ----------
    kind : the loss
    a : float32, constant of the loss
    score, y, weight : (n,) float32
    g, h : (n,) float32, written
    """
    for i in range(len(y)):
        first, second = row_derivatives(kind, a, score[i], y[i])
        g[i] = first * weight[i]
        h[i] = second * weight[i]


@kernel
def differentiate_smoothed(kind, a, score, y, weight, g, h):
    """Write g and h of a smoothed loss.

    Parameters
    ----------
    kind : ABSOLUTE or QUANTILE
    a : float32, level of the quantile
    score, y, weight : (n,) float32
    g, h : (n,) float32, written
    """
    scale = residual_scale(score, y, weight)
    for i in range(len(y)):
        residual, w = score[i] - y[i], weight[i]
        if kind == ABSOLUTE:
            norm = math.hypot(scale, residual)
            curvature = scale / norm if norm > NO else ONE
            g[i] = w * residual * curvature
            h[i] = w * curvature
        elif scale > NO and w != NO:
            x = residual / (SMOOTHING * scale)
            slope = math.tanh(x)
            ratio = ONE if x == NO else slope / x
            g[i] = w * (HALF * scale * (slope + ONE - TWO * a))
            h[i] = w * (HALF / SMOOTHING * max(ratio, MIN_RATIO))
        else:
            g[i] = h[i] = NO


@inner_kernel
def residual_scale(score, y, weight):
    """Return S, the squared weighted mean of the roots of absolute residuals, float32."""
    roots, total = 0.0, 0.0
    for i in range(len(y)):
        roots += weight[i] * math.sqrt(abs(score[i] - y[i]))
        total += weight[i]
    if abs(total) < MIN_WEIGHT:
        return NO
    mean = roots / total
    return np.float32(mean * mean)


@kernel
def differentiate_classes(score, y, weight, g, h):
    """Write g and h of the softmax loss.

    Parameters
    ----------
    score : (n_classes, n) float32
    y : (n,) float32, class codes
    weight : (n,) float32
    g, h : (n_classes, n) float32, written
    """
    for i in range(len(y)):
        most = FIRST_MAXIMUM
        for k in range(len(score)):
            most = max(score[k, i], most)
        total = 0.0
        for k in range(len(score)):
            total += math.exp(score[k, i] - most)
        for k in range(len(score)):
            p = math.exp(score[k, i] - most) / np.float32(total)
            h[k, i] = max(TWO * p * (ONE - p) * weight[i], MIN_H)
            g[k, i] = (p - ONE if k == y[i] else p) * weight[i]


@kernel
def transform(kind, values):
    """Apply a link function, or its inverse, to float32 values in place."""
    for i in range(len(values)):
        x = values[i]
        if kind == LOG:
            values[i] = math.log(x)
        elif kind == EXP:
            values[i] = math.exp(x)
        elif kind == LOGIT:
            values[i] = -math.log(ONE / x - ONE)
        elif kind == SIGMOID:
            values[i] = probability(x)
