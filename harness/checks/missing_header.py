"""Find a file whose first line is a row of data, not the names of columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.table_sample import Column, TableSample
from harness.core.model import Severity
from harness.data.safe_names import listed

SHARE = 0.5  # of the columns whose name looks like one of their own values


def find(sample: TableSample) -> Iterator[Report]:
    """Report a header that looks like a row."""
    if sample.is_sparse or not sample.columns:
        return
    like = [c.name for c in sample.columns if _is_value_of(c)]
    numbers = [n for n in (_number(c.name) for c in sample.columns) if n is not None]
    if len(like) < max(2, SHARE * len(sample.columns)) or _is_numbering(numbers):
        return
    yield Report(
        Severity.PROBLEM,
        f"the first line of the file looks like data, not like column names ({listed(like, 3)}), "
        "so one row is lost and no column has a name; put a line of names above it",
        {"columns": like},
    )


def _is_value_of(column: Column) -> bool:
    """Return whether the name of a column could be one of its values."""
    if column.numbers is None:
        return column.name.strip() in {str(level).strip() for level in column.levels}
    number = _number(column.name)
    known = column.numbers[~column.missing]
    if number is None or not len(known):
        return False
    low, high = known.min(), known.max()
    return bool(low - (high - low) <= number <= high + (high - low))


def _is_numbering(numbers: list[float]) -> bool:
    """Return whether names are consecutive numbers, as pandas names columns without names."""
    return len(numbers) > 1 and bool((np.diff(numbers) == 1).all())


def _number(name: str) -> float | None:
    try:
        value = float(name)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


CHECK = Check("DATA004", "No header row", find)
