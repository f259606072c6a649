"""Find a ranking file that is read as a table of classes or numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.table_sample import TableSample, name_tokens
from harness.core.model import Severity, Task
from harness.data.safe_names import shown

MAX_GRADE = 10
_QUERY_WORDS = frozenset({"qid", "query", "queryid", "search", "srch", "session"})


def find(sample: TableSample) -> Iterator[Report]:
    """Report grades of relevance that belong to queries."""
    if sample.task is Task.RANKING:
        return
    reasons = []
    if sample.source.query_file:
        reasons.append("a file of query lengths lies beside it")
    if (names := _query_columns(sample)) and _has_grades(sample):
        reasons.append(f"the column {shown(names[0])} names queries")
    if not reasons:
        return
    kind = "classes" if sample.task.is_classification else "numbers"
    yield Report(
        Severity.PROBLEM,
        f"this is a ranking file ({' and '.join(reasons)}), but its grades are read as {kind}; "
        "losses of classes and numbers do not measure a ranking",
        {"query_columns": names, "query_file": sample.source.query_file},
    )


def _query_columns(sample: TableSample) -> list[str]:
    """Return the columns that identify queries: each query is one block of several rows."""
    return [
        column.name
        for column in sample.columns
        if _QUERY_WORDS & {*name_tokens(column.name)}
        and name_tokens(column.name)[-1] in _QUERY_WORDS | {"id"}
        and 1 < column.groups.max(initial=0) + 1 < len(column.groups)
        and _is_blocked(sample.whole(column.name).to_numpy())
    ]


def _is_blocked(values: np.ndarray) -> bool:
    """Return whether equal values form one block of rows each."""
    blocks = 1 + int((values[1:] != values[:-1]).sum())
    return blocks == len(np.unique(values.astype(str)))


def _has_grades(sample: TableSample) -> bool:
    """Return whether the target has only a few whole numbers from 0 on."""
    if sample.task.is_classification:
        labels = sample.table.classes
        return all(label.isdigit() and int(label) <= MAX_GRADE for label in labels)
    y = sample.table.y
    return bool((y == np.trunc(y)).all() and y.min() >= 0 and y.max() <= MAX_GRADE)


CHECK = Check("DATA007", "A ranking file read as classes", find)
