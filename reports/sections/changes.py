"""Section Changes: scores, outcomes and seconds since the last run of the experiment."""

from __future__ import annotations

from collections.abc import Callable

from harness import Section, hookimpl
from reports.blocks.blocks import Fragment
from reports.page.comparison_blocks import comparison_blocks
from reports.page.page import Page
from reports.text.format import count


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("changes", "Changes", 12, build))


def build(page: Page) -> Fragment | None:
    """Return the changes since the previous run, or None without one."""
    comparison = page.view.previous
    if comparison is None:
        return None
    worse = sum(c.verdict == "worse" for c in comparison.changes) + len(comparison.turns)
    worse += sum(r.verdict == "slower" for r in comparison.ratios)
    return Fragment(comparison_blocks(comparison), badge=count(worse) if worse else "")
