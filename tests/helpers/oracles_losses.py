"""Oracles of the kernels of gradient boosting."""

import math

import numpy as np


def loss(kind, y, raw, parameter=0.0):
    """Return L of one row."""
    r = y - raw
    return {
        "squared": lambda: 0.5 * r**2,
        "absolute": lambda: abs(r),
        "huber": lambda: (
            0.5 * r**2 if abs(r) <= parameter else parameter * (abs(r) - parameter / 2)
        ),
        "quantile": lambda: parameter * r if r >= 0 else (parameter - 1) * r,
        "poisson": lambda: math.exp(raw) - y * raw,
        "binomial": lambda: math.log(1 + math.exp(raw)) - y * raw,
        "exponential": lambda: math.exp(-raw) if y else math.exp(raw),
    }[kind]()


def softmax_loss(y, raw):
    """Return L of one row of many classes."""
    return math.log(sum(math.exp(f) for f in raw)) - raw[int(y)]


def slope(function, at, step=1e-6):
    """Return a derivative by finite differences."""
    return (function(at + step) - function(at - step)) / (2 * step)


def newton(leaf, g, h, weight, used, n_nodes):
    """Return Σ w g and Σ w h of each leaf."""
    sums = np.zeros((n_nodes, 2))
    for i in range(len(leaf)):
        if used[i]:
            sums[leaf[i]] += weight[i] * g[i], weight[i] * h[i]
    return sums


def sequential_draw(uniform, count):
    """Return the rows of a draw without replacement, one row after another."""
    mask, left = [], count
    for i, u in enumerate(uniform):
        mask.append(u < left / (len(uniform) - i))
        left -= mask[-1]
    return np.array(mask)
