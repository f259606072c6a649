"""The checks of a loaded table, and the function that runs all of them."""

from __future__ import annotations

from harness.checks import (
    duplicate_rows,
    empty_column,
    identifier,
    many_categories,
    missing_header,
    redundant_columns,
    single_column,
    split_shift,
    target,
    text_columns,
    time_overlap,
)
from harness.checks.check import Check
from harness.checks.table_sample import Source, TableSample
from harness.core.model import Finding, Table, Task

TABLE_CHECKS: tuple[Check[TableSample], ...] = (
    identifier.CHECK,
    single_column.CHECK,
    text_columns.DATES,
    missing_header.CHECK,
    duplicate_rows.CHECK,
    target.COUNT,
    target.RANKING,
    target.IMBALANCE,
    target.RARE,
    empty_column.CONSTANT,
    empty_column.NEARLY_EMPTY,
    split_shift.CHECK,
    time_overlap.CHECK,
    many_categories.MANY,
    many_categories.CODES,
    text_columns.NUMBERS,
    target.MISSING,
    redundant_columns.CHECK,
)


def check_table(
    table: Table, task: Task, source: Source | None = None, dataset: str = ""
) -> list[Finding]:
    """Return the findings of the checks in a loaded table, before any model is trained.

    Large tables are sampled, always in the same way; the whole table is read only for counts.
    """
    sample = TableSample(table, task, source or Source())
    return [finding for check in TABLE_CHECKS for finding in check.findings(sample, dataset)]


def flagged_columns(table: Table, task: Task, source: Source | None = None) -> list[str]:
    """Return the columns that ``--drop-flagged`` leaves out: identifiers among the features."""
    return identifier.identifier_columns(TableSample(table, task, source or Source()))
