"""Borders between the bins of a column, chosen as CatBoost chooses them.

A value is compared by x > border. Missing values lie below all others (`nan_mode` "Min": an
additional border at the lowest float32) or above them ("Max").
"""

import numpy as np

from algorithms.symmetric.kernels.borders import ENTROPY, LOG_SUM, split_exactly, split_greedily

LOWEST, HIGHEST = np.finfo(np.float32).min, np.finfo(np.float32).max
HALF = np.float32(0.5)
NONE = np.empty(0, np.float32)


def find_borders(values, border_type, most_borders, nan_mode):
    """Return the ascending borders of a column, float32.

    Parameters
    ----------
    values : (n,) float32, NaN where missing
    border_type : str, CatBoost's `feature_border_type`
    most_borders : int, maximum number of borders
    nan_mode : {"Min", "Max", "Forbidden"}
    """
    known = values[~np.isnan(values)]
    has_nan = len(known) < len(values)
    most = most_borders - has_nan
    if not len(known) or known.min() == known.max() or most < 1:
        borders = NONE
    else:
        known = known + np.float32(0.0)  # −0.0 becomes 0.0
        known.sort()
        borders = np.unique(CHOOSERS[border_type](known, most) + np.float32(0.0))
    if has_nan and nan_mode == "Max":
        borders = np.append(borders, HIGHEST)
    elif has_nan:
        borders = np.append(LOWEST, borders)
    return borders.astype(np.float32)


def greedy_borders(kind, values, most):
    """Return the borders that repeated splits of the best bin give."""
    bins, scores = np.empty((most + 1, 3), np.int64), np.empty(most + 1)
    count = split_greedily(kind, values, most, bins, scores, np.empty(most + 1, np.int64))
    starts = bins[:count, 0]
    starts = starts[starts > 0]
    return HALF * values[starts - 1] + HALF * values[starts]


def exact_borders(kind, values, most):
    """Return the borders of the division with the least sum of penalties."""
    distinct, counts = np.unique(values, return_counts=True)
    n_bins = min(most + 1, len(distinct))
    if n_bins == len(distinct):
        return np.array([border_below(v, distinct) for v in distinct[1:]], np.float32)
    weights = np.cumsum(counts).astype(np.float64)
    n = len(distinct)
    cuts = np.empty((n_bins - 1, n), np.int64)
    split_exactly(kind, weights, np.empty(n), np.empty(n), cuts, np.empty((n + 2, 4), np.int64))
    last, found = n - 1, []
    for level in range(n_bins - 2, -1, -1):
        last = cuts[level, last]
        found.append(border_below(distinct[last + 1], distinct))
    return np.array(found, np.float32)


def median_borders(values, most):
    """Return borders at equally spaced ranks."""
    n = len(values)
    ranks = [min((i + 1) * n // (most + 1), n - 1) for i in range(most)]
    chosen = [values[rank] for rank in ranks if values[rank] != values[0]]
    return np.array([border_below(value, values) for value in chosen], np.float32)


def uniform_borders(values, most):
    """Return equally spaced borders."""
    steps = np.arange(1, most + 1, dtype=np.float32)
    with np.errstate(over="ignore"):
        return values[0] + steps * (values[-1] - values[0]) / np.float32(most + 1)


def mixed_borders(values, most):
    """Return half of the borders at equally spaced ranks, and half at equally spaced values."""
    half = most // 2
    spaced = [border_below(value, values) for value in uniform_borders(values, half)]
    return np.append(median_borders(values, most - half), np.array(spaced, np.float32))


def border_below(value, values):
    """Return the border between the sorted values below ``value`` and the others."""
    at = int(np.clip(np.searchsorted(values, value), 1, len(values) - 1))
    with np.errstate(over="ignore"):
        border = (values[at] + values[at - 1]) * HALF
    return values[at - 1] if border == values[at] or np.isinf(border) else border


CHOOSERS = {
    "GreedyLogSum": lambda values, most: greedy_borders(LOG_SUM, values, most),
    "GreedyMinEntropy": lambda values, most: greedy_borders(ENTROPY, values, most),
    "MaxLogSum": lambda values, most: exact_borders(LOG_SUM, values, most),
    "MinEntropy": lambda values, most: exact_borders(ENTROPY, values, most),
    "Median": median_borders,
    "Uniform": uniform_borders,
    "UniformAndQuantiles": mixed_borders,
}
