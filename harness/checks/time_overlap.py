"""Find tables with a time that are split at random, so that models learn from the future."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.table_sample import TableSample, name_tokens
from harness.core.model import Severity
from harness.data.dates import feature_names
from harness.data.safe_names import listed

MIN_MOMENTS = 20
_WORDS = frozenset({"date", "datetime", "timestamp", "time"})


def find(sample: TableSample) -> Iterator[Report]:
    """Report time columns in which the training rows are not all before the test rows."""
    if sample.is_sparse or sample.source.time:
        return
    names = [name for name, moments in time_columns(sample).items() if _overlaps(sample, moments)]
    if not names:
        return
    yield Report(
        Severity.WARNING,
        f"the rows have a time ({listed(names)}), but training and test rows overlap in it, so "
        "models learn from rows that come after those that they predict; use --time to split in "
        "order of time",
        {"columns": names},
    )


def time_columns(sample: TableSample) -> dict[str, np.ndarray]:
    """Return the values of time columns: dates, and numbers with a time's name in row order."""
    columns = {}
    for name, parts in feature_names(sample.source.dates, sample.source.dates).items():
        if parts["days"] in sample.created:
            columns[name] = sample.whole(parts["days"]).to_numpy(np.float64)
    for column in sample.columns:
        if column.numbers is not None and _WORDS & {*name_tokens(column.name)}:
            moments = sample.whole(column.name).to_numpy(np.float64)
            if _ascends(moments):
                columns[column.name] = moments
    return {n: m for n, m in columns.items() if len(np.unique(m[~np.isnan(m)])) >= MIN_MOMENTS}


def _ascends(moments: np.ndarray) -> bool:
    """Return whether a column ascends with the rows and has no missing values."""
    return not np.isnan(moments).any() and bool((np.diff(moments) >= 0).all())


def _overlaps(sample: TableSample, moments: np.ndarray) -> bool:
    """Return whether some training row may be later than a test row."""
    is_test = sample.table.test_rows
    if is_test is None:
        return True
    train, test = moments[~is_test], moments[is_test]
    return bool(np.nanmax(train) > np.nanmin(test))


CHECK = Check("DATA013", "Training and test rows overlap in time", find)
