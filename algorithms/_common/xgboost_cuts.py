"""The cuts of XGBoost's histogram method, by its own quantile sketch (3.2), to the bit.

A column's values are queued in the order of the rows; a full queue is sorted, summed up and
merged into summaries of one, two, four … queues, each pruned to a limit of entries. Cuts are
values of the last summary, and not midpoints.
"""

import math

import numpy as np

from algorithms._kernels import xgboost_sketch as kernels
from algorithms._kernels.xgboost_sort import PENDING, sort_columns

PER_BIN = 8  # entries of a summary for each bin
MARGIN = np.float64(np.float32(1e-5))


def find_cuts(X, weight=None, max_bin=256):
    """Return what ``QuantileDMatrix(X, weight=weight, max_bin=max_bin)`` gives as its cuts.

    Parameters
    ----------
    X : (n_rows, n_features) float32, NaN where missing
    weight : (n_rows,) float, optional
    max_bin : int, at least 2

    Returns
    -------
    indptr : (n_features + 1,) int64
    values : float32
        Of each feature a number below its least value, then the ends of its bins, ascending.
    """
    weight = np.ones(len(X), np.float32) if weight is None else np.asarray(weight, np.float32)
    columns = [cuts_of(x[~np.isnan(x)], weight[~np.isnan(x)], max_bin) for x in X.T]
    indptr = np.cumsum([0, *map(len, columns)])
    return indptr, np.concatenate(columns)


def cuts_of(values, weight, max_bin):
    """Return a number below the present values of a column, and the ends of its bins."""
    n_bins = min(len(values), max_bin)
    if n_bins == 0:
        return np.array([MARGIN, 3.0 * MARGIN], np.float32)
    summary = pruned(summary_of(values, weight, max_bin), min(len(values), max_bin * PER_BIN))
    found = pruned(summary, n_bins + 1)[:, kernels.VALUE]
    first = np.float64(found[0]) if len(found) else 0.0
    least = np.float32(first - abs(first) - MARGIN)
    last = np.float64(found[-1] if len(found) else least)
    inner = found[1:n_bins]
    rises = np.diff(inner, prepend=-np.inf) > 0
    return np.array([least, *inner[rises], last + (abs(last) + MARGIN)], np.float32)


def summary_of(values, weight, max_bin):
    """Return the summary of a column, float32 (n_entries, ENTRY)."""
    n_bins = max(min(len(values), max_bin), 1)
    limit = limit_of(len(values), 1.0 / (n_bins * PER_BIN))
    queue, queue_weights = np.empty((2, 2 * limit), np.float32)
    levels = []
    place, n = kernels.fill_queue(values, weight, 0, queue, queue_weights)
    while place < len(values):
        merge_into(levels, queue_summary(queue[:n], queue_weights), limit)
        place, n = kernels.fill_queue(values, weight, place, queue, queue_weights)
    found = pruned(queue_summary(queue[:n], queue_weights), limit)
    for level in levels:
        if len(found) and len(level):
            found = pruned(combined(found, level), limit)
        elif len(level):
            found = level
    return found


def limit_of(n, eps):
    """Return how many entries a summary of n values may have, for an error of ε."""
    level = 1
    while True:
        limit = min(n, math.ceil(level / eps) + 1)
        if limit << level >= n:
            return limit
        level += 1


def queue_summary(queue, weights):
    """Return the summary of queued values; they are sorted in place."""
    order = np.arange(len(queue), dtype=np.int32)
    sort_columns(np.array([0, len(queue)]), queue, order, np.empty((PENDING, 3), np.int64))
    out = np.empty((len(queue), kernels.ENTRY), np.float32)
    return out[: kernels.summarise(queue, order, weights, out)]


def merge_into(levels, summary, limit):
    """Add a summary to the first level, and what is too large for a level to the next one."""
    for number, level in enumerate(levels):
        if len(level) == 0:
            levels[number] = pruned(summary, limit)
            return
        summary = combined(pruned(summary, limit), level)
        if len(summary) <= limit:
            levels[number] = summary
            return
        levels[number] = summary[:0]
    levels.append(pruned(summary, limit))


def pruned(summary, most):
    """Return a summary of at most so many entries."""
    if len(summary) <= most:
        return summary
    out = np.empty((most + 1, kernels.ENTRY), np.float32)
    return out[: kernels.prune(summary, most, out)]


def combined(first, second):
    """Return two summaries merged."""
    out = np.empty((len(first) + len(second), kernels.ENTRY), np.float32)
    return out[: kernels.combine(first, second, out)]
