"""Find dates and numbers that are stored as text, and therefore used as categories."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.table_sample import Column, TableSample
from harness.core.model import Severity
from harness.data.dates import has_clock, matching_formats
from harness.data.safe_names import listed, shown

MIN_LEVELS = 10
SHARE = 0.9  # of the rows whose text is a number
MAX_OTHERS = 3  # distinct texts that are not numbers, such as "unknown"
_NUMBER = re.compile(r"[-+]?[$€£¥]?\s?[-+]?\d[\d.,' ]*\s?[%$€£¥]?")
_CODE = re.compile(r"0\d+")  # a leading zero means a code, such as a postal code


def find_dates(sample: TableSample) -> Iterator[Report]:
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


def find_numbers(sample: TableSample) -> Iterator[Report]:
    """Report text columns in which almost every value is a number."""
    columns = {c.name: others for c in sample.columns if (others := _other_texts(c)) is not None}
    if not columns:
        return
    verb = "holds numbers as text and is" if len(columns) == 1 else "hold numbers as text and are"
    others = sorted({text for texts in columns.values() for text in texts})
    why = f"; {listed(others)} among them" if others else ""
    example = next(level for c in sample.columns if c.name in columns for level in c.levels[:1])
    shape = "" if others else f", such as {shown(example)}"
    yield Report(
        Severity.WARNING,
        f"{listed([*columns])} {verb} used as categories{why or shape}; write plain numbers, and "
        "leave unknown values empty",
        {"columns": [*columns], "others": others},
    )


def _other_texts(column: Column) -> list[str] | None:
    """Return the non-numeric texts of a column of numbers; None if it is not such a column."""
    if not column.has_text or len(column.levels) < MIN_LEVELS or column.codes is None:
        return None
    is_number = np.array([_NUMBER.fullmatch(str(level)) is not None for level in column.levels])
    if any(_CODE.fullmatch(str(level)) for level in column.levels):
        return None
    others = [str(level) for level in np.array(column.levels, dtype=object)[~is_number]]
    known = column.codes[~column.missing]
    if len(others) > MAX_OTHERS or not len(known) or is_number[known].mean() < SHARE:
        return None
    return others


DATES = Check("DATA003", "Dates stored as text", find_dates)
NUMBERS = Check("DATA016", "Numbers stored as text", find_numbers)
