"""Section Leaderboard: ranks of all algorithms over all datasets of a task."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness import Section, hookimpl
from harness.analysis.run_view import Cell as Measured
from harness.core.model import FAILURES, Status
from reports.blocks.blocks import Fragment, Panel, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, numeric
from reports.page.page import Page
from reports.text.format import count, digits, few, loss, plural, seconds, short, size
from reports.text.means import geometric_mean, mean
from reports.text.rerun_commands import algorithms_again

FEW_DATASETS = 6  # up to so many, each has its own column
NOTE = (
    "Ranks are by the mean primary metric on each dataset: 1 is the best, ties share a "
    "rank. An algorithm that failed on a dataset ranks last there; a skipped one is left "
    "out there. Times are medians of single runs and memory is their largest peak: both "
    "are rough."
)


@dataclass
class Standing:
    """An algorithm's results over the datasets of one task."""

    cells: dict[str, Measured] = field(default_factory=dict)
    ranks: list[float] = field(default_factory=list)
    wins: int = 0


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("leaderboard", "Leaderboard", 20, build))


def build(page: Page) -> Fragment | None:
    """Return a table for each task, and a note on how to read it."""
    tasks: dict[str, list[str]] = defaultdict(list)
    for dataset, cells in page.by_dataset.items():
        if any(math.isfinite(page.badness(cell)) for _, cell in cells):
            tasks[cells[0][1].task].append(dataset)
    if not tasks:
        return None
    panels = [_panel(page, task, datasets) for task, datasets in sorted(tasks.items())]
    note = f"{NOTE} The section Speed has the precise ratios." if page.view.speed else NOTE
    return Fragment([Paragraph(note, role="note"), *panels])


def standings(page: Page, datasets: list[str]) -> dict[str, Standing]:
    """Return the standings of all algorithms of one task, best mean rank first."""
    by_name: dict[str, Standing] = defaultdict(Standing)
    for dataset in datasets:
        ran = {
            name: cell
            for name, cell in page.by_dataset[dataset]
            if any(o.status is not Status.SKIPPED for o in cell.outcomes)
        }
        badness = {name: page.badness(cell) for name, cell in ran.items()}
        for name, rank in ranks(badness).items():
            by_name[name].cells[dataset] = ran[name]
            by_name[name].ranks.append(rank)
            by_name[name].wins += math.isfinite(badness[name]) and badness[name] == min(
                badness.values()
            )
    return dict(sorted(by_name.items(), key=lambda item: (mean(item[1].ranks), item[0])))


def ranks(badness: Mapping[str, float]) -> dict[str, float]:
    """Return ranks from 1 for the smallest value; equal values share their mean rank."""
    values = list(badness.values())
    return {
        name: 1 + sum(v < mine for v in values) + (sum(v == mine for v in values) - 1) / 2
        for name, mine in badness.items()
    }


def _panel(page: Page, task: str, datasets: list[str]) -> Panel:
    table = _table(page, task, datasets)
    title = f"{short(task).capitalize()}, {plural(len(datasets), 'dataset')}"
    return Panel(title, [table], page.anchor("task", task))


def _table(page: Page, task: str, datasets: list[str]) -> Table:
    ranked = standings(page, datasets)
    metrics = sorted({page.metric(c) for s in ranked.values() for c in s.cells.values()} - {""})
    metric = few(metrics) or "score"
    shown = datasets if len(datasets) <= FEW_DATASETS else []
    columns = [
        Column("Algorithm"),
        *numeric("Mean rank", "Wins"),
        *numeric(*(short(name) for name in shown), unit=metric),
        *([] if shown else [Column(f"Mean {metric}", numeric=True)]),
        *numeric("Fit", "Predict", unit="s, single runs"),
        Column("Peak memory", numeric=True, unit="bytes"),
        Column("Failures", numeric=True),
    ]
    rows = [_row(page, name, standing, datasets, shown) for name, standing in ranked.items()]
    again = algorithms_again(page, ranked, datasets)
    return Table(columns, rows, f"Ranked by mean {metric}", f"leaderboard-{task}", again=again)


def _row(page: Page, name: str, standing: Standing, datasets: list[str], shown: list[str]) -> Row:
    cells = standing.cells
    scores = [page.score(cells[d]) if d in cells else math.nan for d in datasets]
    whole = mean(scores) if all(map(math.isfinite, scores)) else math.nan
    algorithm = next(iter(cells.values())).algorithm
    origin = "reference" if page.is_reference(algorithm) else "from scratch"
    on = "" if len(cells) == len(datasets) else f" · {len(cells)} of {len(datasets)} datasets"
    failures = sum(o.status in FAILURES for c in cells.values() for o in c.outcomes)
    timed = {
        p: geometric_mean(c.seconds.get(p, math.nan) for c in cells.values())
        for p in ("fit", "predict")
    }
    return [
        Cell.named(name, origin + on),
        Cell.of(mean(standing.ranks), lambda x: digits(x, 3)),
        Cell.of(standing.wins, count),
        *(Cell.of(scores[datasets.index(d)], loss) for d in shown),
        *([] if shown else [Cell.of(whole, loss)]),
        Cell.of(timed["fit"], seconds),
        Cell.of(timed["predict"], seconds),
        Cell.of(max((c.peak for c in cells.values()), default=0) or None, size),
        Cell(count(failures), failures, tone="bad" if failures else ""),
    ]
