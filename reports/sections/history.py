"""Section History: scores and duels over the runs of this experiment, oldest first."""

from __future__ import annotations

from collections.abc import Callable

from harness import Section, hookimpl
from reports.blocks.blocks import Block, Details, Fragment, Paragraph
from reports.page.page import Page
from reports.page.run_history import NOTE, score_figure, speed_figure
from reports.page.run_tables import scores_table


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("history", "History", 65, build))


def build(page: Page) -> Fragment | None:
    """Return scores and ratios of this run and of earlier ones, or None without these."""
    points = page.view.course
    if len(points) < 2 or not any(point.levels or point.speeds for point in points):
        return None
    figures = (
        speed_figure(points, "history", page.again()),
        score_figure(points, "history", page.again()),
    )
    blocks: list[Block] = [Paragraph(NOTE, role="note"), *(f for f in figures if f)]
    table = scores_table(points, "history-of-scores")
    return Fragment([*blocks, Details("Scores of each run", [table])])
