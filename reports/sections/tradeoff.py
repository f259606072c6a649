"""Section Accuracy against time, with the Pareto front."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
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
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot, Point
from reports.charts.point_labels import label_points
from reports.page.page import Page
from reports.page.recommendation import (
    gaps,
    phase_seconds,
    shares_behind,
    task_fields,
    training_seconds,
)
from reports.text.format import count, digits, few, plural, seconds, short
from reports.text.inline import Code
from reports.text.palette import LABEL

if TYPE_CHECKING:
    from collections.abc import Callable

NOTE = (
    "Loss above the best one, as a mean share of each dataset's gap between the constant "
    "model and the best model, on a logarithmic axis. Times are geometric means over the "
    "datasets, of medians of single runs, rough. The line is the Pareto front: no other "
    "algorithm is both more accurate and faster. A bar is a 95 % interval of an algorithm's own "
    "mean loss over the splits; it does not pair the splits with those of another algorithm."
)

STAGES = ("default", "tuned", "ensembled")  # tracks that a line joins
FLOOR = 0.001  # share of the gap; smaller values are at the end of the logarithmic axis


@dataclass(frozen=True)
class Standing:
    """One algorithm over the datasets of a task."""

    name: str
    kind: str  # of ORIGINS
    behind: float
    train: float
    predict: float
    margin: float = 0.0  # of behind: half of its interval
    algorithm: str = ""
    stage: int = 0  # position in STAGES of the last track; 0 without a search


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
    tracks = {name: page.view.cells[i].tracks for i, name in page.names.items()}
    found = [
        Standing(
            name,
            "reference library" if page.is_reference(origin[name]) else "from scratch",
            float(behind),
            training_seconds(page, name, field.datasets),
            phase_seconds(page, name, field.datasets, "predict"),
            loss_margin(page, name, field),
            origin[name],
            max([STAGES.index(track) for track in tracks[name] if track in STAGES], default=0),
        )
        for name, behind in zip(field.names, shares_behind(field), strict=True)
    ]
    return sorted(found, key=lambda s: (s.behind, s.name))


def _figure(page: Page, task: str, field: Field) -> Figure:
    found = standings(page, field)
    times = [("training time", [s.train for s in found])]
    if any(math.isfinite(s.predict) for s in found):
        times.append(("predict time", [s.predict for s in found]))
    joined = [*_stage_lines([(s, (s.train, s.behind)) for s in found])]
    stages = " to ".join(STAGES[: max(2, 1 + max((s.stage for s in found), default=0))])
    more = [Key("┄", "muted", stages)] if joined else []
    on_front = [found[i].name for i in front([(s.train, s.behind) for s in found])]
    drawn = [_panel(found, title, values) for title, values in times]
    numbered = {name for _, names in drawn for name in names}
    return Figure(
        spec=Plot([panel for panel, _ in drawn], across=2),
        title=f"Loss above the best against training and predict time, {task}",
        finding=f"On the front of accuracy and training time: {few(on_front, 6)}. "
        + dominance(found),
        table=_table(task, found),
        keys=[*keys(ORIGINS, (s.kind for s in found)), Key("—", "ink", "front"), *more],
        again=page.again(datasets=field.datasets),
        numbers=[
            Key(str(number), "muted", short(s.name, LABEL))
            for number, s in enumerate(found, 1)
            if s.name in numbered
        ],
    )


def _panel(
    found: Sequence[Standing], title: str, times: Sequence[float]
) -> tuple[Panel, Collection[str]]:
    """Return a panel with a label for each point, and the names of the points with a number."""
    places = [(time, s.behind) for time, s in zip(times, found, strict=True)]
    best = front(places)
    steps = [places[best[0]]] if best else []
    for i in best[1:]:
        steps += [(places[i][0], steps[-1][1]), places[i]]
    marks: list[Mark] = [Lines([steps], "ink", 1.5)]
    drawn = [(s, p) for s, p in zip(found, places, strict=True) if p[0] < math.inf]
    for s, (time, behind) in drawn:
        _, shape, colour = ORIGINS[s.kind]
        bar = [(time, max(behind - s.margin, FLOOR)), (time, behind + s.margin)]
        marks += [Lines([bar], colour, 1, "", s.name, 0.5)] if s.margin > 0 else []
        marks.append(Dots([(time, behind)], colour, shape, 4.5, 0.85, s.name))
    marks += [Lines([line], "muted", 1, "3 3", name) for name, line in _stage_lines(drawn)]
    x = logarithmic((t for t in times if t < math.inf), title, label_of=brief_seconds)
    ends = [y for s, (_, behind) in drawn for y in (behind, behind - s.margin, behind + s.margin)]
    y = logarithmic((max(end, FLOOR) for end in ends), "loss above the best")
    ticks = zip(y.ticks, y.labels, strict=True)
    y = replace(y, labels=[f"≤ {label}" if tick <= FLOOR else label for tick, label in ticks])
    panel = Panel(x, y, marks, width=440, height=360)
    numbers = {s.name: number for number, s in enumerate(found, 1)}
    labels = label_points(
        {s.name: place for s, place in drawn}, [found[i].name for i in best], numbers, panel
    )
    return replace(panel, marks=[*marks, *labels.marks]), labels.numbered


def _stage_lines(
    drawn: Sequence[tuple[Standing, Point]],
) -> Iterator[tuple[str, tuple[Point, Point]]]:
    """Yield (algorithm, line) from each point of an algorithm to that of its next stage."""
    stages: dict[str, dict[int, Point]] = defaultdict(dict)
    for s, place in drawn:
        stages[s.algorithm][s.stage] = place
    for s, place in drawn:
        later = [stage for stage in stages[s.algorithm] if stage > s.stage]
        if later:
            yield s.name, (place, stages[s.algorithm][min(later)])


def dominance(found: Sequence[Standing]) -> str:
    """Return a sentence on the algorithm that is better than most others in both ways, or ""."""
    beaten = {
        s.name: [o.name for o in found if s.behind < o.behind and s.train < o.train] for s in found
    }
    name, others = max(beaten.items(), key=lambda item: len(item[1]))
    if not others:
        return "No algorithm is both more accurate and faster to train than another."
    return f"{short(name)} is both more accurate and faster to train than {few(others, 3)}."


def loss_margin(page: Page, name: str, field: Field) -> float:
    """Return half the width of a 95 % interval of the mean loss over splits, as a share of the gap.

    It is 0 if a dataset has only one split.
    """
    variances = []
    for dataset, gap in zip(field.datasets, gaps(field), strict=True):
        cell = next(cell for n, cell in page.by_dataset[dataset] if n == name)
        scores = [x for x in cell.scores.get(page.metric(cell), ()) if math.isfinite(x)]
        if len(scores) < 2:
            return 0.0
        variances.append(statistics.variance(scores) / len(scores) / gap**2)
    return 1.96 * math.sqrt(sum(variances)) / len(variances)


def _table(task: str, found: Sequence[Standing]) -> Table:
    columns = [
        Column("Algorithm"),
        Column("Point", numeric=True),
        Column("Loss above the best", numeric=True, unit="share of the gap"),
        Column("Half of its interval", numeric=True, unit="share of the gap"),
        Column("Training", numeric=True, unit="s, single runs"),
        Column("Predict", numeric=True, unit="s, single runs"),
        Column("More accurate and faster to train"),
    ]
    rows: list[Row] = [
        [
            Cell([Code(short(s.name))], s.name, s.kind),
            Cell.of(number, count),
            Cell.of(s.behind, digits),
            Cell.of(s.margin or None, digits),
            Cell.of(s.train, seconds),
            Cell.of(s.predict, seconds),
            few([o.name for o in found if o.behind < s.behind and o.train < s.train], 3) or "none",
        ]
        for number, s in enumerate(found, 1)
    ]
    return Table(columns, rows, "Loss above the best, and times", f"tradeoff-{task}")
