"""Run the checks of a run, print their findings and store them as events of the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from harness.analysis.build_view import FINDING, view_run
from harness.core.model import Dataset, Finding, Severity, to_json

if TYPE_CHECKING:
    from harness.core.progress import Progress
    from harness.plugins.registry import Registry
    from harness.store import Store

WIDTH = 110  # characters of a line
_ORDER = {severity: place for place, severity in enumerate(Severity)}


@dataclass(frozen=True)
class RunChecks:
    """Runs the checks of one run and stores their findings."""

    store: Store
    run_id: str
    registry: Registry
    progress: Progress

    def check_tables(self, datasets: Iterable[Dataset]) -> None:
        """Check the tables of a user's own data before any model is trained."""
        from harness.checks.own_data import check_dataset

        for dataset in datasets:
            self._keep(check_dataset(dataset))

    def check_results(self) -> None:
        """Check the results of the run when all trials are done."""
        from harness.checks.result_checks import check_results

        self._keep(check_results(view_run(self.store, self.run_id, self.registry)))

    def _keep(self, findings: list[Finding]) -> None:
        for finding in findings:
            self.store.event(self.run_id, FINDING, to_json(finding))
        for line in format_findings(findings):
            self.progress.message(line)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by severity, problems first."""
    return sorted(findings, key=lambda finding: _ORDER[finding.severity])


def format_findings(findings: Iterable[Finding]) -> list[str]:
    """Return findings as lines, problems first, and the page that explains the codes."""
    ordered = in_order(findings)
    sentences = [f"{f.severity} {f.code}: {f.sentence}" for f in ordered]
    lines = [line for text in sentences for line in wrap(text, WIDTH, subsequent_indent="  ")]
    pages = sorted({f.page.partition("#")[0] for f in ordered})
    return [*lines, *(f"({page} explains each code)" for page in pages)]
