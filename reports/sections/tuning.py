"""Section Tuning: best validation loss of the searches against configurations and time."""

from __future__ import annotations

from collections.abc import Callable

from harness import Section, hookimpl
from harness.analysis.trajectories import Trajectory, bands_by_number, bands_by_time, trajectories
from reports.blocks.blocks import Block, Fragment, Panel, Paragraph
from reports.charts.tuning_curves import tuning_figure
from reports.page.page import Page
from reports.text.format import short

NOTE = (
    "The loss is the mean over the inner folds of a search, on training rows that its models did "
    "not see: log loss, or RMSE as a share of the standard deviation. Searches that average "
    "configurations show their best single one. With successive halving the best loss is that of "
    "the configurations with the most rows so far, so it may rise. Times are from single runs."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("tuning", "Tuning", 49, build))


def build(page: Page) -> Fragment | None:
    """Return two figures for each dataset, or None for a run without searches."""
    by_dataset: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories(page.view.cells):
        by_dataset.setdefault(trajectory.dataset, []).append(trajectory)
    if not by_dataset:
        return None
    parts = []
    for dataset, several in by_dataset.items():
        again = page.again(sorted({one.algorithm for one in several}), [dataset])
        figures = (
            tuning_figure(dataset, several, bands_by_number, "configurations", again),
            tuning_figure(dataset, several, bands_by_time, "time", again),
        )
        blocks: list[Block] = [figure for figure in figures if figure is not None]
        anchor = page.anchor("tuning", dataset)
        parts.append(Panel(short(dataset, 60), blocks, anchor, folded=len(by_dataset) > 3))
    return Fragment([Paragraph(NOTE, role="note"), *parts])
