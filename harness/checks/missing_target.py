"""Find rows without a target, and classes that mean a missing target."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checks.check import Check, Report
from harness.checks.table_sample import TableSample
from harness.core.model import Severity
from harness.data.safe_names import count, listed, shown

_MISSING = frozenset({"?", "na", "n/a", "nan", "null", "none", "missing", "-", "--", "", "unknown"})
MIN_CLASSES = 3  # of two classes, "none" is a real one


def find(sample: TableSample) -> Iterator[Report]:
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


CHECK = Check("DATA017", "Missing targets", find)
