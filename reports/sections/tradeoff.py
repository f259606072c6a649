"""Section Accuracy against time, with the Pareto front."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from harness import Section, hookimpl
from harness.analysis.all_pairs import Field
from harness.analysis.curves import front
from reports.blocks.blocks import Figure, Fragment, Key, Paragraph, Sides
from reports.blocks.blocks import Panel as Part
from reports.blocks.tables import Cell, Column, Row, Table, numeric
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
from reports.text.palette import LABEL

NOTE = (
    "Loss above the best one, as a mean share of each dataset's gap between the constant "
    "model and the best model, on a logarithmic axis. Times are geometric means over the "
    "datasets, of medians of single runs, rough. The line is the Pareto front: no other "
    "algorithm is both more accurate and faster. A bar is a 95 % interval of an algorithm's own "
    "mean loss over the splits; it does not pair the splits with those of another algorithm."
)

STAGES = ("default", "tuned", "ensembled")  # tracks that a line joins
FLOORS = (0.001, 0.003, 0.01, 0.03)  # shares of the gap at the end of the logarithmic axis


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
            [_figures(page, task, field)],
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
    standing = [
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
    return sorted(standing, key=lambda s: (s.behind, s.name))


def _figures(page: Page, task: str, field: Field) -> Sides:
    """Return the charts of training time and of predict time; a narrow screen stacks them."""
    ranked = standings(page, field)
    again = page.again(datasets=field.datasets)
    figures = [
        replace(_figure(task, ranked, phase), again=again)
        for phase in ("train", "predict")
        if any(math.isfinite(seconds_of(s, phase)) for s in ranked)
    ]
    return Sides(figures)


def seconds_of(standing: Standing, phase: str) -> float:
    """Return the time of a phase: train or predict."""
    return standing.train if phase == "train" else standing.predict


def _figure(task: str, found: Sequence[Standing], phase: str) -> Figure:
    title = "training time" if phase == "train" else "predict time"
    times = [seconds_of(s, phase) for s in found]
    places = list(zip(times, (s.behind for s in found), strict=True))
    panel, numbered = _panel(found, title, times)
    stages = " to ".join(STAGES[: max(2, 1 + max((s.stage for s in found), default=0))])
    joined = [*_stage_lines([*zip(found, places, strict=True)])]
    more = [Key("┄", "muted", stages)] if joined else []
    on_front = [found[i].name for i in front(places)]
    return Figure(
        spec=Plot([panel], across=1),
        title=f"Loss above the best against {title}, {task}",
        finding=f"On the front of accuracy and {title}: {few(on_front, 6)}. "
        + dominance(found, phase),
        table=_table(task, found, phase),
        keys=[*keys(ORIGINS, (s.kind for s in found)), Key("—", "ink", "front"), *more],
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
    floor = floor_of([s.behind for s in found])
    drawn = [(s, p) for s, p in zip(found, places, strict=True) if p[0] < math.inf]
    for s, (time, behind) in drawn:
        _, shape, color = ORIGINS[s.kind]
        bar = [(time, max(behind - s.margin, floor)), (time, behind + s.margin)]
        marks += [Lines([bar], color, 1, "", s.name, 0.5)] if s.margin > 0 else []
        marks.append(Dots([(time, behind)], color, shape, 4.5, 0.85, s.name))
    marks += [Lines([line], "muted", 1, "3 3", name) for name, line in _stage_lines(drawn)]
    x = logarithmic((t for t in times if t < math.inf), title, label_of=brief_seconds)
    ends = [y for s, (_, behind) in drawn for y in (behind, behind - s.margin, behind + s.margin)]
    y = logarithmic((max(end, floor) for end in ends), "loss above the best")
    ticks = zip(y.ticks, y.labels, strict=True)
    y = replace(y, labels=[f"≤ {label}" if tick <= floor else label for tick, label in ticks])
    panel = Panel(x, y, marks, width=380, height=340)
    numbers = {s.name: number for number, s in enumerate(found, 1)}
    labels = label_points(
        {s.name: place for s, place in drawn}, [found[i].name for i in best], numbers, panel
    )
    return replace(panel, marks=[*marks, *labels.marks]), labels.numbered


def floor_of(behind: Sequence[float]) -> float:
    """Return the least value of the axis; smaller ones, such as the best, are at its end."""
    least = min((x for x in behind if x > 0), default=0.0)
    return max((floor for floor in FLOORS if floor <= least / 2), default=FLOORS[0])


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


def dominance(found: Sequence[Standing], phase: str = "train") -> str:
    """Return a sentence on the algorithm that is better than most others in both ways, or ""."""
    times = {s.name: seconds_of(s, phase) for s in found}
    verb = {"train": "to train", "predict": "to predict"}[phase]
    beaten = {
        s.name: [o.name for o in found if s.behind < o.behind and times[s.name] < times[o.name]]
        for s in found
    }
    name, others = max(beaten.items(), key=lambda item: len(item[1]))
    if not others:
        return f"No algorithm is both more accurate and faster {verb} than another."
    return f"{short(name)} is both more accurate and faster {verb} than {few(others, 3)}."


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


def _table(task: str, found: Sequence[Standing], phase: str) -> Table:
    time = "Training" if phase == "train" else "Predict"
    columns = [
        Column("Algorithm"),
        Column("Point", numeric=True),
        *numeric("Loss above the best", "Half of its interval", unit="share of the gap"),
        Column(time, numeric=True, unit="s, single runs"),
        Column("More accurate and faster"),
    ]
    rows: list[Row] = []
    for number, s in enumerate(found, 1):
        mine = seconds_of(s, phase)
        better = [o.name for o in found if o.behind < s.behind and seconds_of(o, phase) < mine]
        rows.append(
            [
                Cell.named(s.name, s.kind),
                Cell.of(number, count),
                Cell.of(s.behind, digits),
                Cell.of(s.margin or None, digits),
                Cell.of(mine, seconds),
                few(better, 3) or "none",
            ]
        )
    caption = f"Loss above the best, and {'training' if phase == 'train' else phase} time"
    return Table(columns, rows, caption, f"tradeoff-{task}-{phase}")
