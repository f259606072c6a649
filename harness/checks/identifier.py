"""Find columns that identify rows instead of describing them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from harness.checks.check import Check, Report
from harness.checks.table_sample import TOKENS_OF_TIME, Column, TableSample, name_tokens
from harness.core.model import Severity
from harness.data.safe_names import listed

MIN_ROWS = 20
MIN_ASCENDING = 200  # rows in ascending order of a column, so that it is no coincidence
NAMED_SHARE = 0.5  # of different values, if the name says that the column is an identifier
TEXT_SHARE = 0.95  # of different values in a text column
_WORDS = frozenset(
    {"id", "ids", "uid", "pid", "uuid", "guid", "key", "nbr", "number", "no", "idx", "index"}
    | {"serial", "instant", "rowid", "ident", "identifier", "ssn", "passport", "ticket", "account"}
)


def identifier_columns(sample: TableSample) -> list[str]:
    """Return the features that identify rows."""
    if sample.n_rows < MIN_ROWS:
        return []
    return [column.name for column in sample.columns if _identifies_rows(column, sample)]


def find(sample: TableSample) -> Iterator[Report]:
    """Report identifiers that are used as features, then those that the loader left out."""
    if used := identifier_columns(sample):
        words = (
            "has different values in most rows, like an identifier, and is used as a feature; "
            "drop it"
            if len(used) == 1
            else "have different values in most rows, like identifiers, and are used as features; "
            "drop them"
        )
        yield Report(
            Severity.WARNING,
            f"{listed(used)} {words} with --drop or --drop-flagged",
            {"columns": used, "used": True},
        )
    if gone := list(sample.source.left_out):
        verb = "is" if len(gone) == 1 else "are"
        yield Report(
            Severity.NOTE,
            f"{listed(gone)} {verb} left out: text with a different value in most rows",
            {"columns": gone, "used": False},
        )


def _identifies_rows(column: Column, sample: TableSample) -> bool:
    """Return whether a column identifies rows, judged by its values and its name."""
    share = (column.groups.max(initial=0) + 1) / len(column.groups)
    if column.numbers is None:
        return share >= TEXT_SHARE and column.has_text and _all_differ(column, sample, TEXT_SHARE)
    if share < NAMED_SHARE or not _whole(column.numbers):
        return False
    if _WORDS & {*name_tokens(column.name)[-1:]} or _ends_like_identifier(column.name):
        return _all_differ(column, sample, NAMED_SHARE)
    return share == 1.0 and _numbers_rows(sample.whole(column.name).to_numpy(np.float64), column)


def _ends_like_identifier(name: str) -> bool:
    return name.lower() in _WORDS or name.endswith(("ID", "Id"))


def _whole(numbers: np.ndarray) -> bool:
    """Return whether all values are present and whole numbers."""
    return bool(np.isfinite(numbers).all() and (numbers == np.trunc(numbers)).all())


def _all_differ(column: Column, sample: TableSample, share: float) -> bool:
    """Return whether at least a share of the values of the whole column differ."""
    return bool(sample.whole(column.name).nunique() >= share * sample.n_rows)


def _numbers_rows(values: np.ndarray, column: Column) -> bool:
    """Return whether the values number the rows: consecutive, or ascending and no time."""
    if not _whole(values):
        return False
    if values.max() - values.min() == len(values) - 1:
        return bool(pd.Series(values).is_unique)
    is_time = bool(TOKENS_OF_TIME & {*name_tokens(column.name)})
    return len(values) >= MIN_ASCENDING and not is_time and bool((np.diff(values) > 0).all())


CHECK = Check("DATA001", "Identifier used as a feature", find)
