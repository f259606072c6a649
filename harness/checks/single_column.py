"""Find a column that alone predicts the target: usually a copy of the target (a leak)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from harness.checks.check import Check, Report
from harness.checks.table_sample import Column, TableSample
from harness.core.model import Severity
from harness.data.safe_names import listed, shown

EXPLAINED = 0.99  # share of the errors of the constant model that one column removes
MIN_ERRORS = 20  # of the constant model on the held-out half, for a meaningful share
BINS = 128


def find(sample: TableSample) -> Iterator[Report]:
    """Report the columns that alone predict the target of held-out rows."""
    random = np.random.default_rng(1)
    half = random.random(len(sample.y)) < 0.5
    if half.sum() < MIN_ERRORS or (~half).sum() < MIN_ERRORS:
        return
    classes = sample.task.is_classification
    rate = explained_errors if classes else explained_ranks
    y = sample.y if classes else pd.Series(sample.y).rank().to_numpy() / len(sample.y)
    leaks = {}
    for column in sample.features:
        bins = _bins(column, half)
        if bins.max(initial=0) > 0 and (share := rate(bins, y, half)) >= EXPLAINED:
            leaks[column.name] = round(share, 4)
    if not leaks:
        return
    names = list(leaks)
    verb = "predicts" if len(names) == 1 else "each predict"
    yield Report(
        Severity.PROBLEM,
        f"{listed(names)} alone {verb} {shown(sample.source.target)} almost perfectly; if it is "
        "not known before the target is, it is a leak and the scores are worthless: drop it",
        {"columns": names, "explained": leaks},
    )


def explained_errors(bins: np.ndarray, y: np.ndarray, half: np.ndarray) -> float:
    """Return the share of the constant model's errors that the majority classes of bins avoid.

    Parameters
    ----------
    bins
        A code from 0 on for each row.
    y
        Class codes.
    half
        Mask of the rows that determine the most frequent class of each bin; the others are
        predicted.
    """
    k = int(y.max()) + 1
    counts = np.bincount(bins[half] * k + y[half], minlength=(int(bins.max()) + 1) * k)
    counts = counts.reshape(-1, k)
    most = int(counts.sum(axis=0).argmax())
    choice = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), most)
    held = y[~half]
    base = int((held != most).sum())
    if base < MIN_ERRORS:
        return 0.0
    return 1.0 - float((choice[bins[~half]] != held).sum()) / base


def explained_ranks(bins: np.ndarray, ranks: np.ndarray, half: np.ndarray) -> float:
    """Return the share of the variance of the target's ranks that the means of bins explain."""
    size = int(bins.max()) + 1
    counts = np.bincount(bins[half], minlength=size)
    sums = np.bincount(bins[half], weights=ranks[half], minlength=size)
    mean = float(ranks[half].mean())
    means = np.where(counts > 0, sums / np.maximum(counts, 1), mean)
    held = ranks[~half]
    total = float(((held - mean) ** 2).sum())
    return 1.0 - float(((held - means[bins[~half]]) ** 2).sum()) / total if total > 0 else 0.0


def _bins(column: Column, half: np.ndarray) -> np.ndarray:
    """Return a code for each row: the value itself if there are few values, else its quantile."""
    groups = column.groups
    if column.numbers is None or groups.max(initial=0) < BINS:
        return groups
    known = column.numbers[half & ~column.missing]
    if not len(known):
        return groups
    edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, column.numbers, side="right")
    return np.where(column.missing, len(edges) + 1, bins)


CHECK = Check("DATA002", "A column that alone predicts the target", find)
