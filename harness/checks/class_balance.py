"""Find classes that are much rarer than others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.table_sample import TableSample
from harness.core.model import Severity, Task
from harness.data.safe_names import listed, shown

MAJORITY = 0.9  # share of the more frequent of two classes
RARE_ROWS = 25  # five for each of five folds
RARE_SHARE = 0.1  # of an equal share of the rows, but at most FEW_ROWS
FEW_ROWS = 200


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


IMBALANCE = Check("DATA008", "One class has almost all rows", find_imbalance)
RARE = Check("DATA009", "Rare classes", find_rare)
