"""The class of a check: its code, its title, and the function that finds one kind of fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from harness.core.model import Finding, Severity

PAGE = "docs/checks.md"
Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Report:
    """A fault as a check describes it, before the code and the page are added."""

    severity: Severity
    sentence: str
    evidence: Mapping[str, Any]
    dataset: str = ""


@dataclass(frozen=True)
class Check(Generic[Subject]):
    """One check; ``find`` returns a report for each fault and changes nothing."""

    code: str
    title: str
    find: Callable[[Subject], Iterable[Report]]

    def findings(self, subject: Subject, dataset: str = "") -> list[Finding]:
        """Return the findings of this check for a table or a finished run."""
        return [
            Finding(
                code=self.code,
                severity=report.severity,
                sentence=report.sentence,
                page=f"{PAGE}#{self.code.lower()}",
                dataset=report.dataset or dataset,
                evidence=dict(report.evidence),
            )
            for report in self.find(subject)
        ]
