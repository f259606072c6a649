"""Block of the first screen with the findings of the checks of data and method."""

from __future__ import annotations

from harness.core.model import Finding, Severity
from reports.blocks.blocks import Callout, Items, Paragraph
from reports.page.page import Page
from reports.text.format import plural, short
from reports.text.inline import Code, Words

SHOWN = 8  # findings on the first screen; problems come first
LONGEST = 400  # characters of a sentence
_ORDER = {severity: place for place, severity in enumerate(Severity)}
_TONES = {Severity.PROBLEM: "bad", Severity.WARNING: "unsure", Severity.NOTE: ""}


def findings_block(page: Page) -> Callout | None:
    """Return the findings of a run, the most severe first; None if there are none."""
    findings = sorted(page.view.findings, key=lambda finding: _ORDER[finding.severity])
    if not findings:
        return None
    several = len(page.by_dataset) > 1
    lines: list[Words] = [_line(finding, several=several) for finding in findings[:SHOWN]]
    if len(findings) > SHOWN:
        lines.append(f"… and {plural(len(findings) - SHOWN, 'further finding')}")
    pages = sorted({finding.page.partition("#")[0] for finding in findings})
    where = Paragraph(f"{', '.join(pages)} explains each code.", role="note")
    return Callout("What the checks found", [Items(lines), where], _TONES[findings[0].severity])


def _line(finding: Finding, *, several: bool) -> Words:
    """Return the line of a finding; it names the dataset if the run has several."""
    place = f" on {short(finding.dataset)}" if finding.dataset and several else ""
    return [Code(finding.code), f" {finding.severity}{place}: {short(finding.sentence, LONGEST)}"]
