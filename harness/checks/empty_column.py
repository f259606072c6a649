"""Find columns without information: constant ones and nearly empty ones."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checks.check import Check, Report
from harness.checks.table_sample import Column, TableSample
from harness.core.model import Severity
from harness.data.safe_names import listed

EMPTY = 0.95  # share of rows without a value


def find_constant(sample: TableSample) -> Iterator[Report]:
    """Report columns that have the same value in every row, or no value at all."""
    names = [c.name for c in sample.columns if _is_constant(c, sample)]
    if names:
        verb = "has" if len(names) == 1 else "have"
        yield Report(
            Severity.NOTE,
            f"{listed(names)} {verb} the same value in every row, and no model can use that",
            {"columns": names},
        )


def find_nearly_empty(sample: TableSample) -> Iterator[Report]:
    """Report columns that have a value in few rows only."""
    shares = {c.name: float(c.missing.mean()) for c in sample.columns}
    empty = {name: round(share, 4) for name, share in shares.items() if EMPTY <= share < 1}
    empty = {n: s for n, s in empty.items() if sample.whole(n).isna().mean() >= EMPTY}
    if empty:
        names = [*empty]
        verb = "has" if len(names) == 1 else "have"
        yield Report(
            Severity.NOTE,
            f"{listed(names)} {verb} no value in {min(empty.values()):.0%} of the rows or more",
            {"missing": empty},
        )


def _is_constant(column: Column, sample: TableSample) -> bool:
    """Return whether a column has one value in the sample, and then in the whole table."""
    if column.groups.max(initial=0) > 0:
        return False
    return bool(sample.whole(column.name).nunique(dropna=False) == 1)


CONSTANT = Check("DATA010", "Constant columns", find_constant)
NEARLY_EMPTY = Check("DATA011", "Nearly empty columns", find_nearly_empty)
