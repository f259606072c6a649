"""Quantiles of residuals by XGBoost's definition, and quantiles that do not cross."""

import numpy as np


def quantile(values, weight, alpha):
    """Return XGBoost's quantile of float32 values.

    Without weights it is the value at rank α (n + 1), interpolated between two values. With weights
    it is the first value at which the cumulative weight reaches α times the total, in float32.
    """
    n = len(values)
    if weight is not None:
        order = np.argsort(values, kind="stable")
        reached = np.add.accumulate(weight[order])  # float32, one by one
        share = np.float32(np.float64(reached[-1]) * alpha)
        return values[order[min(np.searchsorted(reached, share), n - 1)]]
    if alpha <= 1 / (n + 1):
        return values.min()
    if alpha >= n / (n + 1):
        return values.max()
    place = alpha * (n + 1)
    below = int(place) - 1
    share = (place - 1.0) - below
    low, high = np.partition(values, (below, below + 1))[below : below + 2]
    return np.float32(np.float64(low) + share * np.float64(high - low))


def rearrange(predictions, levels):
    """Return predicted quantiles in the order of their levels, (n_rows, n_levels).

    The predictions of each row are sorted, so a higher level has no lower prediction. The sum of
    the pinball losses of a row never increases (Chernozhukov, Fernández-Val, Galichon: Quantile and
    probability curves without crossing. Econometrica 78, 2010).

    Parameters
    ----------
    predictions : (n_rows, n_levels)
    levels : array-like (n_levels,)
    """
    found = np.empty_like(predictions)
    found[:, np.argsort(levels, kind="stable")] = np.sort(predictions, axis=1)
    return found
