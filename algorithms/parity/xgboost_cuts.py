"""Cuts of XGBoost's histograms, bitwise equal to those of its quantile sketches.

With ``hist``, a column's values are put into a queue in row order. A full queue is sorted,
summarized, and merged into summaries of one, two, four … queues, each pruned to a limit. With
``approx``, values of evenly spaced ranks are picked from the sorted values. Cuts are values of the
last summary, not midpoints.

Before version 3.3 of XGBoost the last summary is pruned to the cuts. Since then the cuts are the
values nearest to evenly spaced ranks, and summaries have fewer entries.
"""

import itertools
import math

import numpy as np

from algorithms.parity.kernels import xgboost_sketch as kernels
from algorithms.parity.kernels.xgboost_arrays import Cuts
from algorithms.parity.kernels.xgboost_sort import PENDING, sort_columns
from algorithms.parity.kernels.xgboost_sorted_sketch import prune_between, summarize_sorted
from algorithms.parity.xgboost_releases import find_release

PER_BIN = 8  # entries of a summary per bin, before XGBoost 3.3
PER_RANK = 2  # the same since 3.3
MARGIN = np.float64(np.float32(1e-5))
NO_ENTRIES = np.empty((0, kernels.ENTRY), np.float32)


def find_cuts(X, weight=None, max_bin=256, release=None):
    """Return the cuts of ``QuantileDMatrix(X, weight=weight, max_bin=max_bin)``.

    Parameters
    ----------
    X : (n_rows, n_features) float32, NaN where missing
    weight : (n_rows,) float, optional
    max_bin : int, at least 2
    release : Release, optional
        By default that of the installed XGBoost.

    Returns
    -------
    indptr : (n_features + 1,) int64
    values : float32
        For each feature the lower bound of its first bin, then the ends of its bins, ascending. The
        bound is a number below the minimum, or −∞ since version 3.3.
    """
    release = find_release() if release is None else release
    find = find_cuts_by_rank if release.cuts_by_rank else find_cuts_by_pruning
    weight = np.ones(len(X), np.float32) if weight is None else np.asarray(weight, np.float32)
    cuts = []
    for x in X.T:
        present = ~np.isnan(x)
        cuts.append(find(x[present], weight[present], max_bin))
    return join(cuts)


def find_cuts_by_pruning(values, weight, max_bin):
    """Return the cuts of one column, by XGBoost before 3.3.

    Parameters
    ----------
    values, weight : float32 (n,), without missing values, in row order
    max_bin : int
    """
    n_bins = min(len(values), max_bin)
    limit = limit_of(len(values), 1.0 / (max(n_bins, 1) * PER_BIN))
    levels, last = summarize_queues(values, weight, limit)
    summary = merge_levels(pruned(last, limit), levels, limit)
    summary = pruned(summary, min(len(values), max_bin * PER_BIN))
    return ends_of(pruned(summary, n_bins + 1), n_bins)


def find_cuts_by_rank(values, weight, max_bin):
    """Return the cuts of one column, by XGBoost since 3.3; see `find_cuts_by_pruning`."""
    limit = limit_by_rank(len(values), max_bin)
    levels, last = summarize_queues(values, weight, limit)
    merge_into(levels, last, limit)
    most = limit_by_rank(np.count_nonzero(weight), max_bin)
    summary = merge_levels(NO_ENTRIES, levels, max(most, limit))
    return ends_by_rank(pruned(summary, most), max_bin)


def find_weighted_cuts(columns, weight, max_bin, release):
    """Return the cuts for one tree of ``approx``, in the form of `find_cuts`.

    Parameters
    ----------
    columns : Columns
    weight : (n_rows,) float32
        Products of hessians and weights.
    max_bin : int, at least 2
    release : Release
    """
    cuts = []
    for start, end in itertools.pairwise(columns.start):
        out = np.empty((max_bin + 1, kernels.ENTRY), np.float32)
        values, rows = columns.values[start:end], columns.rows[start:end]
        size = 0
        if len(values):
            size = summarize_sorted(values, rows, weight, max_bin, release.cuts_by_rank, out)
        summary = out[:size]
        if release.cuts_by_rank:
            most = limit_by_rank(np.count_nonzero(weight[rows]), max_bin)
            cuts.append(ends_by_rank(pruned(summary, most), max_bin))
            continue
        n_bins = min(len(values), max_bin)
        for most in (limit_of(len(values), 2.0 / max_bin), n_bins + 1):
            if len(summary) > most:
                fewer = np.empty((most, kernels.ENTRY), np.float32)
                summary = fewer[: prune_between(summary, most, fewer)]
        cuts.append(ends_of(summary, n_bins))
    return join(cuts)


def join(cuts):
    """Return (indptr, values) of the cuts of all columns."""
    return np.cumsum([0, *map(len, cuts)]), np.concatenate(cuts)


def ends_of(summary, n_bins):
    """Return a number below the values of a summary, and the ends of its bins, before 3.3."""
    if n_bins == 0:
        return np.array([MARGIN, 3.0 * MARGIN], np.float32)
    values = summary[:, kernels.VALUE]
    inner = values[1:n_bins]
    inner = inner[np.diff(inner, prepend=-np.inf) > 0]
    with np.errstate(over="ignore"):  # may become infinite in float32
        first = np.float64(values[0]) if len(values) else 0.0
        least = np.float32(first - abs(first) - MARGIN)
        last = np.float64(values[-1] if len(values) else least)
        return np.array([least, *inner, last + (abs(last) + MARGIN)], np.float32)


def ends_by_rank(summary, max_bin):
    """Return −∞ and the ends of the bins of a summary, since 3.3."""
    margin = np.float32(MARGIN)
    if len(summary) == 0:
        return np.array([-np.inf, margin], np.float32)
    inner, last = summary[1:, kernels.VALUE], summary[-1, kernels.VALUE]
    if len(summary) > max_bin:
        out = np.empty(max_bin, np.float32)
        inner = out[: kernels.pick_ranks(summary, max_bin, out)]
    with np.errstate(over="ignore"):  # may become infinite
        return np.array([-np.inf, *inner, last + (abs(last) + margin)], np.float32)


def summarize_queues(values, weight, limit):
    """Return the levels of summaries of all full queues, and the summary of the last queue."""
    queue, queue_weights = np.empty((2, 2 * limit), np.float32)
    levels = []
    place, n = kernels.fill_queue(values, weight, 0, queue, queue_weights)
    while place < len(values):
        merge_into(levels, queue_summary(queue[:n], queue_weights), limit)
        place, n = kernels.fill_queue(values, weight, place, queue, queue_weights)
    return levels, queue_summary(queue[:n], queue_weights)


def merge_levels(summary, levels, most):
    """Return a summary merged with those of all levels, each time with at most ``most`` entries."""
    for level in levels:
        if len(summary) and len(level):
            summary = pruned(combined(summary, level), most)
        elif len(level):
            summary = level
    return summary


def limit_by_rank(n, max_bin):
    """Return the maximum number of entries of a summary of n values, since 3.3."""
    return limit_of(n, 1.0 / (min(n, max_bin) * PER_RANK)) if n else 1


def limit_of(n, eps):
    """Return the maximum number of entries of a summary of n values, for an error of ε."""
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
    return out[: kernels.summarize(queue, order, weights, out)]


def merge_into(levels, summary, limit):
    """Merge a summary into the first level; one that becomes too large moves to the next level."""
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
    """Return a summary with at most ``most`` entries."""
    if len(summary) <= most or most == 1:
        return summary[:most]
    out = np.empty((most + 1, kernels.ENTRY), np.float32)
    return out[: kernels.prune(summary, most, out)]


def combined(first, second):
    """Return the merged summary of two."""
    out = np.empty((len(first) + len(second), kernels.ENTRY), np.float32)
    return out[: kernels.combine(first, second, out)]


def read_cuts(cuts, n_features):
    """Return the `Cuts` for cuts in XGBoost's form.

    Raises
    ------
    TypeError
        If they are not a pair.
    ValueError
        If they belong to another table, or do not ascend within each feature.
    """
    if not isinstance(cuts, list | tuple) or len(cuts) != 2:
        raise TypeError("cuts must be (indptr, values), as returned by get_quantile_cut()")
    indptr, values = np.asarray(cuts[0], np.int64), np.asarray(cuts[1], np.float32)
    fits = len(indptr) == n_features + 1 and indptr[-1] == len(values)
    if not fits or (np.diff(indptr) < 2).any():
        raise ValueError(
            f"cuts are not those of {n_features} features: each needs a lower bound and at least "
            "one end of a bin"
        )
    is_least = np.zeros(len(values), bool)
    is_least[indptr[:-1]] = True
    falls = (values[1:] < values[:-1]) & ~is_least[1:]
    if falls.any() or np.isnan(values).any():
        raise ValueError("cuts must ascend within each feature, and none may be NaN")
    start = indptr - np.arange(n_features + 1)
    return Cuts(start, values[~is_least], values[is_least])
