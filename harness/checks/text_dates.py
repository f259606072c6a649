"""Find dates that are stored as text."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checks.check import Check, Report
from harness.checks.table_sample import TableSample
from harness.core.model import Severity
from harness.data.dates import has_clock, matching_formats
from harness.data.safe_names import listed


def find(sample: TableSample) -> Iterator[Report]:
    """Report dates that the loader turned into numbers, and dates that are still categories."""
    if dates := dict(sample.source.dates):
        clock = " and hour" if any(map(has_clock, dates.values())) else ""
        verb = "holds dates as text; it is" if len(dates) == 1 else "hold dates as text; they are"
        parts = f"elapsed days, year, month{' and' if not clock else ','} weekday{clock}"
        yield Report(
            Severity.NOTE,
            f"{listed([*dates])} {verb} used as {parts}",
            {"columns": [*dates], "formats": dates, "used_as": "numbers"},
        )
    still = [
        column.name
        for column in sample.columns
        if column.has_text and matching_formats(column.levels)
    ]
    if still:
        unclear = [name for name in still if name in sample.source.ambiguous_dates]
        why = "; day and month could be exchanged: write them as 2020-12-31" if unclear else ""
        verb = "holds dates as text and is" if len(still) == 1 else "hold dates as text and are"
        yield Report(
            Severity.WARNING,
            f"{listed(still)} {verb} used as categories, so that new dates are unknown{why}",
            {"columns": still, "used_as": "categories"},
        )


CHECK = Check("DATA003", "Dates stored as text", find)
