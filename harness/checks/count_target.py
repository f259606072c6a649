"""Find a regression target that counts something."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.table_sample import TableSample
from harness.core.model import Severity, Task
from harness.data.safe_names import shown

MIN_DISTINCT = 3
MAX_FIRST = 1  # a count begins at 0 or 1
SKEWNESS = 0.5  # a count has a long tail of large values
MAX_AT_END = 0.01  # share of the rows that have the largest value: a count has no upper end
MAX_GAPS = 0.5  # share of the whole numbers in the lower half of the values that never occur


def find(sample: TableSample) -> Iterator[Report]:
    """Report a target of whole numbers from 0 or 1 on, with a long tail of large values."""
    y = np.asarray(sample.table.y, dtype=np.float64)
    if sample.task is not Task.REGRESSION or not looks_like_count(y):
        return
    yield Report(
        Severity.NOTE,
        f"the target {shown(sample.source.target)} looks like a count ({y.min():g} to "
        f"{y.max():g}, mean {y.mean():.3g}); a Poisson loss may suit it better than squared error",
        {"least": float(y.min()), "most": float(y.max()), "mean": float(y.mean())},
    )


def looks_like_count(y: np.ndarray) -> bool:
    """Return whether values are whole, begin at 0 or 1 and have a long tail."""
    if (y != np.trunc(y)).any() or y.min() < 0 or y.min() > MAX_FIRST:
        return False
    values = np.unique(y)
    spread = float(y.std())
    if len(values) < MIN_DISTINCT or spread == 0:
        return False
    if float((y == y.max()).mean()) > MAX_AT_END:
        return False
    skewness = float((((y - y.mean()) / spread) ** 3).mean())
    median = float(np.median(y))
    low = values[values <= median]
    gaps = 1.0 - len(low) / (median - y.min() + 1.0)
    return skewness > SKEWNESS and gaps <= MAX_GAPS


CHECK = Check("DATA006", "A regression target that counts", find)
