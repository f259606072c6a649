"""Find faults of the target: rare classes, counts, grades of queries, missing values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.table_sample import TableSample, name_tokens
from harness.core.model import Severity, Task
from harness.data.safe_names import count, listed, shown

MAJORITY = 0.9  # share of the more frequent of two classes
RARE_ROWS = 25  # five for each of five folds
RARE_SHARE = 0.1  # of an equal share of the rows, but at most FEW_ROWS
FEW_ROWS = 200
MIN_DISTINCT = 3
MAX_FIRST = 1  # a count begins at 0 or 1
SKEWNESS = 0.5  # a count has a long tail of large values
MAX_AT_END = 0.01  # share of the rows that have the largest value: a count has no upper end
MAX_GAPS = 0.5  # share of the whole numbers in the lower half of the values that never occur
MAX_GRADE = 10
_QUERY_WORDS = frozenset({"qid", "query", "queryid", "search", "srch", "session"})
_MISSING = frozenset({"?", "na", "n/a", "nan", "null", "none", "missing", "-", "--", "", "unknown"})
MIN_CLASSES = 3  # of two classes, "none" is a real one


def find_imbalance(sample: TableSample) -> Iterator[Report]:
    """Report two classes of which one has nine rows in ten or more."""
    if sample.task is not Task.BINARY:
        return
    counts = _counts(sample)
    share = counts.max() / counts.sum()
    if share < MAJORITY:
        return
    few, many = sample.table.classes[int(counts.argmin())], sample.table.classes[counts.argmax()]
    yield Report(
        Severity.NOTE,
        f"{share:.1%} of the rows are of class {shown(many)}, so a model that always says "
        f"{shown(many)} has an accuracy of {share:.1%}; judge models by log loss or the area "
        f"under the ROC curve, and by how well they find {shown(few)}",
        {"majority": many, "share": round(float(share), 5)},
    )


def find_rare(sample: TableSample) -> Iterator[Report]:
    """Report classes that have too few rows to be learned or scored."""
    if not sample.task.is_classification:
        return
    counts = _counts(sample)
    limit = max(RARE_ROWS, min(FEW_ROWS, RARE_SHARE * counts.sum() / len(counts)))
    rare = {sample.table.classes[i]: int(counts[i]) for i in np.flatnonzero(counts < limit)}
    if not rare:
        return
    least = min(rare.values())
    rows = f"{least:,} row{'s' if least != 1 else ''}"
    names = [*rare]
    verb = f"is rare ({rows})" if len(rare) == 1 else f"are rare (the rarest has {rows})"
    yield Report(
        Severity.WARNING if least < RARE_ROWS else Severity.NOTE,
        f"the class{'es' if len(rare) > 1 else ''} {listed(names)} {verb} among "
        f"{counts.sum():,}; scores say little about {'them' if len(rare) > 1 else 'it'}",
        {"rows": rare},
    )


def _counts(sample: TableSample) -> np.ndarray:
    return np.bincount(sample.table.y, minlength=len(sample.table.classes))


def find_count(sample: TableSample) -> Iterator[Report]:
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


def find_ranking(sample: TableSample) -> Iterator[Report]:
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


def find_missing(sample: TableSample) -> Iterator[Report]:
    """Report rows that were left out, and classes that mean a missing target."""
    target = shown(sample.source.target)
    if gone := sample.source.without_target:
        yield Report(
            Severity.WARNING,
            f"{count(gone, 'row')} without a value of {target} "
            f"{'is' if gone == 1 else 'are'} left out",
            {"rows": gone},
        )
    words = [c for c in sample.table.classes if c.strip().lower() in _MISSING]
    if words and len(sample.table.classes) >= MIN_CLASSES:
        yield Report(
            Severity.WARNING,
            f"the target {target} has the class {listed(words)}, which may mean that the target "
            "is missing; delete these rows if it does",
            {"classes": words},
        )


IMBALANCE = Check("DATA008", "One class has almost all rows", find_imbalance)
RARE = Check("DATA009", "Rare classes", find_rare)
COUNT = Check("DATA006", "A regression target that counts", find_count)
RANKING = Check("DATA007", "A ranking file read as classes", find_ranking)
MISSING = Check("DATA017", "Missing targets", find_missing)
