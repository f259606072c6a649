"""Section Accuracy against time, with the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness import Section, hookimpl
from harness.analysis.all_pairs import Field
from harness.analysis.curves import front
from reports.blocks.blocks import Figure, Fragment, Key, Paragraph
from reports.blocks.blocks import Panel as Part
from reports.blocks.tables import Cell, Column, Row, Table
from reports.charts.axes import brief_seconds, logarithmic
from reports.charts.legends import ORIGINS, keys
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot, beside
from reports.page.page import Page
from reports.page.recommendation import phase_seconds, shares_behind, task_fields, training_seconds
from reports.text.format import digits, few, plural, seconds, short
from reports.text.inline import Code

if TYPE_CHECKING:
    from collections.abc import Callable

NOTE = (
    "Loss above the best one, as a mean share of each dataset's gap between the constant "
    "model and the best model, on a logarithmic axis. Times are geometric means over the "
    "datasets, of medians of single runs, rough. The line is the Pareto front: no other "
    "algorithm is both more accurate and faster."
)

FLOOR = 0.001  # share of the gap; smaller values are at the end of the logarithmic axis


@dataclass(frozen=True)
class Standing:
    """One algorithm over the datasets of a task."""

    name: str
    kind: str  # of ORIGINS
    behind: float
    train: float
    predict: float


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("tradeoff", "Accuracy against time", 25, build))


def build(page: Page) -> Fragment | None:
    """Return one panel for each task, with training time and predict time."""
    parts = [
        Part(
            f"{short(task).capitalize()}, {plural(len(field.datasets), 'dataset')}",
            [_figure(page, task, field)],
            page.anchor("tradeoff", task),
        )
        for task, field in task_fields(page).items()
        if any(math.isfinite(s.train) for s in standings(page, field))
    ]
    return Fragment([Paragraph(NOTE, role="note"), *parts]) if parts else None


def standings(page: Page, field: Field) -> list[Standing]:
    """Return all algorithms of a task, most accurate first."""
    origin = {name: page.view.cells[i].algorithm for i, name in page.names.items()}
    found = [
        Standing(
            name,
            "reference library" if page.is_reference(origin[name]) else "from scratch",
            float(behind),
            training_seconds(page, name, field.datasets),
            phase_seconds(page, name, field.datasets, "predict"),
        )
        for name, behind in zip(field.names, shares_behind(field), strict=True)
    ]
    return sorted(found, key=lambda s: (s.behind, s.name))


def _figure(page: Page, task: str, field: Field) -> Figure:
    found = standings(page, field)
    times = [("training time", [s.train for s in found])]
    if any(math.isfinite(s.predict) for s in found):
        times.append(("predict time", [s.predict for s in found]))
    on_front = [found[i].name for i in front([(s.train, s.behind) for s in found])]
    return Figure(
        spec=Plot([_panel(found, title, values) for title, values in times], across=2),
        title=f"Loss above the best against training and predict time, {task}",
        finding=f"On the front of accuracy and training time: {few(on_front, 6)}.",
        table=_table(task, found),
        keys=[*keys(ORIGINS, (s.kind for s in found)), Key("—", "ink", "front")],
        again=page.again(datasets=field.datasets),
    )


def _panel(found: Sequence[Standing], title: str, times: Sequence[float]) -> Panel:
    places = [(time, s.behind) for time, s in zip(times, found, strict=True)]
    best = front(places)
    steps = [places[best[0]]] if best else []
    for i in best[1:]:
        steps += [(places[i][0], steps[-1][1]), places[i]]
    marks: list[Mark] = [Lines([steps], "ink", 1.5)]
    marks += [
        Dots(
            [p for p, s in zip(places, found, strict=True) if s.kind == kind and p[0] < math.inf],
            colour,
            shape,
            4.5,
            0.85,
        )
        for kind, (_, shape, colour) in ORIGINS.items()
    ]
    x = logarithmic((t for t in times if t < math.inf), title, label_of=brief_seconds)
    y = logarithmic((max(s.behind, FLOOR) for s in found), "loss above the best")
    ticks = zip(y.ticks, y.labels, strict=True)
    y = replace(y, labels=[f"≤ {label}" if tick <= FLOOR else label for tick, label in ticks])
    panel = Panel(x, y, marks, width=320, height=260)
    names = [(short(found[i].name, 26), places[i]) for i in best]
    return replace(panel, marks=[*marks, *beside(names, panel)])


def _table(task: str, found: Sequence[Standing]) -> Table:
    columns = [
        Column("Algorithm"),
        Column("Loss above the best", numeric=True, unit="share of the gap"),
        Column("Training", numeric=True, unit="s, single runs"),
        Column("Predict", numeric=True, unit="s, single runs"),
    ]
    rows: list[Row] = [
        [
            Cell([Code(short(s.name))], s.name, s.kind),
            Cell.of(s.behind, digits),
            Cell.of(s.train, seconds),
            Cell.of(s.predict, seconds),
        ]
        for s in found
    ]
    return Table(columns, rows, "Loss above the best, and times", f"tradeoff-{task}")
