"""Metrics of regressions under CatBoost's names that are no means of a loss, or rare.

They take targets, predictions and weights, each float (n_rows,), and return a float. The weights
may be None.
"""

import numpy as np


def r2(y, prediction, weight):
    """Return the share of the variance that is explained."""
    mean = np.average(y, weights=weight)
    total = np.average((y - mean) ** 2, weights=weight)
    return float(1.0 - np.average((y - prediction) ** 2, weights=weight) / total)


def squared_log_error(y, prediction, weight):
    """Return the mean squared difference of log(1 + y)."""
    errors = (np.log1p(y) - np.log1p(prediction)) ** 2
    return float(np.average(errors, weights=weight))


def median_error(y, prediction, _weight):
    """Return the median absolute error, without weights, as in CatBoost."""
    return float(np.median(np.abs(y - prediction)))


def symmetric_percentage(y, prediction, weight):
    """Return 100 times the mean absolute error relative to the mean of both absolute values."""
    size = (np.abs(y) + np.abs(prediction)) / 2.0
    errors = np.abs(y - prediction)
    errors = np.divide(errors, size, out=np.zeros_like(errors, np.float64), where=size > 0.0)
    return float(100.0 * np.average(errors, weights=weight))
