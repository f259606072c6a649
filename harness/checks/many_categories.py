"""Find columns with very many categories, and numbers that are codes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.identifier import identifier_columns
from harness.checks.table_sample import Column, TableSample, name_tokens
from harness.core.model import Severity
from harness.data.safe_names import listed, shown

MIN_LEVELS = 100
FEW_ROWS = 10  # rows of a category; with fewer, nothing can be learned from it
RARE_SHARE = 0.5  # share of the categories with few rows
MIN_CODES = 20
_CODES = frozenset({"zip", "zipcode", "postcode", "postal", "code", "fips", "id", "nr"})


def find_many(sample: TableSample) -> Iterator[Report]:
    """Report categorical columns in which most categories are rare."""
    identifiers = set(identifier_columns(sample))
    many = {}
    for column in sample.columns:
        if column.numbers is None and column.name not in identifiers and _mostly_rare(column):
            counts = sample.whole(column.name).value_counts()
            counts = counts[counts > 0]
            if len(counts) >= MIN_LEVELS and (counts < FEW_ROWS).mean() >= RARE_SHARE:
                many[column.name] = len(counts)
    if many:
        names = [f"{shown(name)} ({levels:,})" for name, levels in many.items()]
        verb = "has" if len(many) == 1 else "have"
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        yield Report(
            Severity.NOTE,
            f"{', '.join(names[:5])}{more} {verb} very many categories, most of them in fewer "
            f"than {FEW_ROWS} rows; models differ in how they treat such columns, so try "
            "without them",
            {"categories": many},
        )


def find_codes(sample: TableSample) -> Iterator[Report]:
    """Report integer columns that are codes by their name but are used as quantities."""
    identifiers = set(identifier_columns(sample))
    names = [
        column.name
        for column in sample.columns
        if column.name not in identifiers and _is_code(column)
    ]
    if names:
        verb = "holds codes, which are" if len(names) == 1 else "hold codes, which are"
        yield Report(
            Severity.NOTE,
            f"{listed(names)} {verb} used as numbers, as if a larger code meant more; declare "
            "them as categories if their order means nothing",
            {"columns": names},
        )


def _mostly_rare(column: Column) -> bool:
    return len(column.levels) >= MIN_LEVELS


def _is_code(column: Column) -> bool:
    if column.numbers is None or not _CODES & {*name_tokens(column.name)[-1:]}:
        return False
    known = column.numbers[~column.missing]
    whole = bool((known == np.trunc(known)).all())
    return whole and len(np.unique(known)) >= MIN_CODES


MANY = Check("DATA014", "Very many categories", find_many)
CODES = Check("DATA015", "Codes used as numbers", find_codes)
