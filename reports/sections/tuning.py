"""Section Tuning: gains of the searches over datasets, and their validation losses."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

from harness import Section, hookimpl
from harness.analysis.all_pairs import gaps_of
from harness.analysis.search_gains import ALL, COMPARISONS, SearchGain, search_gains
from harness.analysis.trajectories import Trajectory, bands_by_number, bands_by_time, trajectories
from reports.blocks.blocks import Block, Fragment, Panel, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, numeric
from reports.charts.tuning_curves import tuning_figure
from reports.page.page import Page
from reports.text.format import SPACE, count, digits, plural, share, short, signed

NOTE = (
    "The loss is the mean over the inner folds of a search, on training rows that its models did "
    "not see: log loss, or RMSE as a share of the standard deviation. Searches that average "
    "configurations show their best single one. With successive halving the best loss is that of "
    "the configurations with the most rows so far, so it may rise. Times are from single runs. An "
    "ensembled search with the same losses as the tuned one before it is not drawn again."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("tuning", "Tuning", 49, build))


def build(page: Page) -> Fragment | None:
    """Return two figures for each dataset, or None for a run without searches."""
    by_dataset: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories(page.view.cells):
        several = by_dataset.setdefault(trajectory.dataset, [])
        if not any(_is_same_search(trajectory, other) for other in several):
            several.append(trajectory)
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
    return Fragment([*_gains(page), Paragraph(NOTE, role="note"), *parts])


def _is_same_search(one: Trajectory, other: Trajectory) -> bool:
    """Return whether two tracks of an algorithm tried configurations with the same losses."""
    losses = [[[step.loss for step in fold] for fold in t.folds] for t in (one, other)]
    return one.algorithm == other.algorithm and losses[0] == losses[1]


# ------------------------------------------------------------------ gains over datasets


def _gains(page: Page) -> list[Block]:
    """Return what tuning and ensembling change over datasets; empty without two tracks."""
    gains = search_gains(_losses(page), gaps_of(page.view.accuracy), page.margin)
    if not gains:
        return []
    shown = [gain for gain in gains if gain.algorithm == ALL] or gains
    sentences = [Paragraph(gain_sentence(gain)) for gain in shown[: len(COMPARISONS)]]
    return [Panel("Gains", [*sentences, _table(page, gains)], page.anchor("tuning", "gains"))]


def _losses(page: Page) -> dict[tuple[str, str], dict[str, float]]:
    """Return (algorithm, track) → dataset → loss; several variants of an algorithm are left out."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in page.view.cells:
        for track in cell.tracks:
            found[cell.algorithm, track][cell.dataset].append(page.badness(cell))
    return {
        key: {d: own[0] for d, own in losses.items() if len(own) == 1 and math.isfinite(own[0])}
        for key, losses in found.items()
    }


def gain_sentence(gain: SearchGain) -> str:
    """Return the gain in words: "tuning lowers the loss by 1.2 % of the gap …"."""
    found = gain.test.difference
    what = "Tuning" if gain.track == "tuned" else "Ensembling the tuned configurations"
    loss = f"loss of {short(gain.algorithm)}" if gain.algorithm else "mean loss of the algorithms"
    over = plural(found.n, "dataset")
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return f"{what}: too few datasets for an interval of the change of the {loss} ({over})."
    low, high = (f"{signed(round(100 * end, 2))}{SPACE}%" for end in (found.low, found.high))
    interval = f"95{SPACE}% interval {low} to {high} of the gap, {over}"
    if found.low <= 0 <= found.high:
        return f"{what}: these datasets do not show whether the {loss} changes ({interval})."
    verb = "lowers" if found.value > 0 else "raises"
    size = f"{digits(abs(100 * found.value), 2)}{SPACE}%"
    return f"{what} {verb} the {loss} by {size} ({interval})."


def _table(page: Page, gains: Sequence[SearchGain]) -> Table:
    columns = [
        Column("Algorithm"),
        Column("Comparison"),
        Column("Datasets", numeric=True),
        Column("Decrease of the loss", numeric=True, unit="share of the gap"),
        *numeric("Low", "High"),
        Column("Won, tied, lost"),
        *numeric("p", "p, Holm"),
    ]
    rows: list[Row] = []
    for gain in gains:
        test = gain.test
        rows.append(
            [
                Cell.named(gain.algorithm) if gain.algorithm else "mean of the algorithms",
                f"{gain.track} instead of {gain.before}",
                Cell.of(test.difference.n, count),
                Cell.of(test.difference.value, signed),
                Cell.of(test.difference.low, digits),
                Cell.of(test.difference.high, digits),
                f"{test.wins}, {test.ties}, {test.losses}",
                Cell.of(test.p, share),
                Cell.of(test.holm, share) if gain.algorithm else "",
            ]
        )
    caption = (
        "Test loss of one track against the other, paired by dataset: Hodges-Lehmann median and "
        "Wilcoxon signed-rank test; the gap is that between the constant model and the best model"
    )
    return Table(columns, rows, caption, "tuning-gains", again=page.again())
