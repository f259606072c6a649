"""Tests of the check findings on the first screen."""

from dataclasses import replace

import pytest

from harness.core.model import Finding, Severity
from reports import Page
from reports.page.findings import SHOWN, findings_block
from reports.sections import summary


@pytest.fixture
def view(views):
    return views["typical"]()


def finding(code: str, severity: Severity, sentence: str = "a sentence") -> Finding:
    return Finding(code, severity, sentence, f"docs/checks.md#{code.lower()}", "mine")


def test_run_without_findings_has_no_block(view) -> None:
    assert findings_block(Page(replace(view, findings=()))) is None


def test_findings_are_on_the_first_screen_with_problems_first(view) -> None:
    findings = (
        finding("DATA010", Severity.NOTE),
        finding("DATA001", Severity.WARNING),
        finding("DATA002", Severity.PROBLEM, "'alive' alone predicts 'survived'"),
    )
    page = Page(replace(view, findings=findings))
    block = findings_block(page)
    items, where = block.blocks
    assert [line[0].text for line in items.items] == ["DATA002", "DATA001", "DATA010"]
    assert items.items[0][1] == " problem on mine: 'alive' alone predicts 'survived'"
    assert where.words == "docs/checks.md explains each code."
    assert block.tone == "bad"
    assert block in summary.build(page).blocks[-1].blocks


def test_many_findings_are_counted(view) -> None:
    findings = tuple(finding(f"DATA{i:03d}", Severity.NOTE) for i in range(SHOWN + 3))
    items, _ = findings_block(Page(replace(view, findings=findings))).blocks
    assert items.items[-1] == "… and 3\N{NO-BREAK SPACE}further findings"
    assert len(items.items) == SHOWN + 1
