"""Format findings as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

from harness.core.model import Finding, Severity

WIDTH = 110  # characters of a line
_ORDER = {severity: place for place, severity in enumerate(Severity)}


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
