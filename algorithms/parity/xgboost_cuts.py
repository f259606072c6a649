"""Cuts of XGBoost's histograms from its quantile sketches (3.2), bitwise equal.

Of ``hist``, a column's values are queued in the order of the rows; a full queue is sorted, summed
up and merged into summaries of one, two, four … queues, each pruned to a limit of entries. Of
``approx``, sorted values are walked and some of evenly spaced ranks picked. Cuts are values of the
last summary, and not midpoints.
"""

import itertools
import math

import numpy as np

from algorithms.parity.kernels import xgboost_sketch as kernels
from algorithms.parity.kernels.xgboost_arrays import Cuts
from algorithms.parity.kernels.xgboost_sort import PENDING, sort_columns
from algorithms.parity.kernels.xgboost_sorted_sketch import prune_between, summarise_sorted

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
    found = []
    for x in X.T:
        present = ~np.isnan(x)
        values = x[present]
        summary = summary_of(values, weight[present], max_bin)
        summary = pruned(summary, min(len(values), max_bin * PER_BIN))
        n_bins = min(len(values), max_bin)
        found.append(ends_of(pruned(summary, n_bins + 1), n_bins))
    return join(found)


def find_weighted_cuts(columns, weight, max_bin):
    """Return the cuts of one tree of ``approx``, as `find_cuts` does.

    Parameters
    ----------
    columns : Columns
    weight : (n_rows,) float32
        The products of hessians and weights.
    max_bin : int, at least 2
    """
    found = []
    for start, end in itertools.pairwise(columns.start):
        n_bins = min(end - start, max_bin)
        out = np.empty((max_bin + 1, kernels.ENTRY), np.float32)
        values, rows = columns.values[start:end], columns.rows[start:end]
        summary = out[: summarise_sorted(values, rows, weight, max_bin, out) if n_bins else 0]
        limit = limit_of(end - start, 2.0 / max_bin)
        for most in (limit, n_bins + 1):
            if len(summary) > most:
                fewer = np.empty((most, kernels.ENTRY), np.float32)
                summary = fewer[: prune_between(summary, most, fewer)]
        found.append(ends_of(summary, n_bins))
    return join(found)


def join(found):
    """Return (indptr, values) of the cuts of every column."""
    return np.cumsum([0, *map(len, found)]), np.concatenate(found)


def ends_of(summary, n_bins):
    """Return a number below the values of a summary, and the ends of its bins."""
    if n_bins == 0:
        return np.array([MARGIN, 3.0 * MARGIN], np.float32)
    found = summary[:, kernels.VALUE]
    inner = found[1:n_bins]
    inner = inner[np.diff(inner, prepend=-np.inf) > 0]
    with np.errstate(over="ignore"):  # beyond the largest float32 lies infinity
        first = np.float64(found[0]) if len(found) else 0.0
        least = np.float32(first - abs(first) - MARGIN)
        last = np.float64(found[-1] if len(found) else least)
        return np.array([least, *inner, last + (abs(last) + MARGIN)], np.float32)


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


def read_cuts(cuts, n_features):
    """Return `Cuts` of what the library gives.

    Raises
    ------
    TypeError
        Where they are no pair.
    ValueError
        Where they are those of another table, or do not ascend within each feature.
    """
    if not isinstance(cuts, list | tuple) or len(cuts) != 2:
        raise TypeError("cuts are (indptr, values), as get_quantile_cut() returns them")
    indptr, values = np.asarray(cuts[0], np.int64), np.asarray(cuts[1], np.float32)
    fits = len(indptr) == n_features + 1 and indptr[-1] == len(values)
    if not fits or (np.diff(indptr) < 2).any():
        raise ValueError(
            f"cuts are not those of {n_features} features: each has its least value and at least "
            "one end of a bin"
        )
    is_least = np.zeros(len(values), bool)
    is_least[indptr[:-1]] = True
    falls = (values[1:] < values[:-1]) & ~is_least[1:]
    if falls.any() or np.isnan(values).any():
        raise ValueError("cuts must ascend within each feature, and none may be NaN")
    start = indptr - np.arange(n_features + 1)
    return Cuts(start, values[~is_least], values[is_least])
