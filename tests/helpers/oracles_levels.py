"""Oracles of the kernels of level-wise growth."""

import numpy as np

CLOSE = np.float32(1e-7)


def scores(x, value, weight, l2=0.0, fewest=1, least=0.0):
    """Return the score of every threshold of a column, missing values right and left.

    Returns
    -------
    dict : (threshold, whether missing values go left) → s_L² / (w_L + λ) + s_R² / (w_R + λ)
    """
    results = {}
    order = np.argsort(x, kind="stable")
    order = order[~np.isnan(x[order])]
    missing = np.flatnonzero(np.isnan(x))
    for to_left in (False, True) if len(missing) else (False,):
        for i in range(1, len(order) + (not to_left and len(missing) > 0)):
            if i < len(order) and not x[order[i]] > x[order[i - 1]] + CLOSE:
                continue
            left = order[:i] if not to_left else np.concatenate([missing, order[:i]])
            right = np.setdiff1d(np.arange(len(x)), left)
            w_left, w_right = weight[left].sum(), weight[right].sum()
            if min(len(left), len(right)) < fewest or min(w_left, w_right) < least:
                continue
            threshold = np.inf if i == len(order) else middle(x[order[i - 1]], x[order[i]])
            s_left, s_right = (weight * value)[left].sum(), (weight * value)[right].sum()
            score = s_left**2 / (w_left + l2) + s_right**2 / (w_right + l2)
            results[threshold, to_left] = score
    return results


def middle(low, high):
    """Return the threshold between two float32 values."""
    return np.float64(low) / 2.0 + np.float64(high) / 2.0


def best_scores(X, value, weight, **limits):
    """Return the best score of each column of a node; -inf where it cannot be split."""
    columns = [scores(x, value, weight, **limits) for x in X.T]
    return np.array([max(result.values(), default=-np.inf) for result in columns])


def cut(x, expected):
    """Return the bin of each value of a column, -1 where it is missing."""
    codes = np.full(len(x), -1)
    order = [i for i in np.argsort(x, kind="stable") if not np.isnan(x[i])]
    apart = [i for i in range(1, len(order)) if x[order[i]] > x[order[i - 1]] + CLOSE]
    fewest = 1 if len(apart) + 1 <= expected else -(-len(order) // expected)
    start, b = 0, 0
    for i, row in enumerate(order):
        if i in apart and i - start >= fewest:
            start, b = i, b + 1
        codes[row] = b
    return codes
