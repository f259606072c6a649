"""The course of scores and of speeds over several runs: charts and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reports._axes import Axis, brief_ratio, linear, logarithmic
from reports._blocks import Figure, Key
from reports._meanings import SERIES, series_keys
from reports._plot import Dots, Lines, Mark, Panel, Plot
from reports._tables import Cell, Column, Row, Table
from reports._text import loss, plural, ratio, short
from reports._words import Code

if TYPE_CHECKING:
    from harness.analysis.trends import Level, RunPoint

MOST = 24  # panels of one chart
STEADY = 1e-9  # a relative change of a score that is rounding
NOTE = [
    "Mean scores of each run, and ratios of its duels. A change of a score is judged by ",
    Code("harness compare"),
    ", and steps in a long course are found by ",
    Code("harness history"),
    ".",
]
OTHERS = ("ink", "1 2", "square")  # the look of all datasets beyond those with one of their own
Line = list[tuple[float, float]]


def run_names(points: Sequence[RunPoint]) -> list[str]:
    """Return a short name a run: its revision, or when it was begun."""
    return [p.revision[:8] or str(p.run.get("started") or "")[5:16] for p in points]


def scores_table(points: Sequence[RunPoint], name: str, *, compare: bool = False) -> Table:
    """Return a row an algorithm and dataset, a column a run."""
    levels: dict[tuple[str, ...], dict[int, Level]] = {}
    for i, point in enumerate(points):
        for level in point.levels:
            levels.setdefault(level.key, {})[i] = level
    columns = [Column("Algorithm"), Column("Dataset"), Column("Metric")]
    columns += [Column(short(point.id), numeric=True) for point in points]
    several = _several(levels)
    rows: list[Row] = []
    for (algorithm, params, _, dataset), by_run in levels.items():
        metric = next(iter(by_run.values())).metric
        note = short(params, 60) if (algorithm, dataset) in several else ""
        scores = [by_run[i].score if i in by_run else math.nan for i in range(len(points))]
        named = [Cell([Code(short(algorithm))], algorithm, note), short(dataset), short(metric)]
        rows.append([*named, *(Cell.of(score, loss) for score in scores)])
    return Table(columns, rows, "Mean score of each run", name, compare=compare)


def _several(levels: Mapping[tuple[str, ...], object]) -> set[tuple[str, str]]:
    """Return the (algorithm, dataset) that stand with several sets of params."""
    seen: dict[tuple[str, str], int] = {}
    for algorithm, _, _, dataset in levels:
        seen[algorithm, dataset] = seen.get((algorithm, dataset), 0) + 1
    return {key for key, number in seen.items() if number > 1}


def score_figure(points: Sequence[RunPoint], name: str, again: str = "") -> Figure | None:
    """Return a panel an algorithm whose loss moved, against the first run's, a line a dataset."""
    lines: dict[str, dict[str, Line]] = {}
    for level in {lv.key: lv for p in points for lv in p.levels}.values():
        scores = [_score(point, level) for point in points]
        first = next((s for s in scores if s > 0 and math.isfinite(s)), math.nan)
        line = [(float(i), s / first) for i, s in enumerate(scores) if s > 0 and s < math.inf]
        if len(line) > 1 and any(abs(y - 1) > STEADY for _, y in line):
            lines.setdefault(level.algorithm, {}).setdefault(level.dataset, line)
    return _figure(points, lines, "score over that of the first run", f"{name}-scores", again)


def _score(point: RunPoint, wanted: Level) -> float:
    return next((lv.score for lv in point.levels if lv.key == wanted.key), math.nan)


def speed_figure(points: Sequence[RunPoint], name: str, again: str = "") -> Figure | None:
    """Return a panel a pair: the ratio of its duels' training times, a line a dataset."""
    lines: dict[str, dict[str, Line]] = {}
    for i, point in enumerate(points):
        phase = "train" if any(s.phase == "train" for s in point.speeds) else "fit"
        for speed in point.speeds:
            if speed.phase == phase and 0 < speed.ratio.value < math.inf:
                pair = f"{short(speed.algorithm, 24)} / {short(speed.reference, 24)}"
                lines.setdefault(pair, {}).setdefault(speed.dataset, []).append(
                    (float(i), speed.ratio.value)
                )
    several = {
        pair: kept
        for pair, by in lines.items()
        if (kept := {dataset: line for dataset, line in by.items() if len(line) > 1})
    }
    return _figure(points, several, "time of the reference over ours", f"{name}-speeds", again)


def _keys(datasets: Sequence[str], known: int) -> list[Key]:
    keys = series_keys(short(dataset, 30) for dataset in datasets[:known])
    more = len(datasets) - known
    return [*keys, *([Key("■", "ink", plural(more, "other dataset"))] if more > 0 else [])]


def _figure(
    points: Sequence[RunPoint],
    lines: Mapping[str, Mapping[str, Line]],
    title: str,
    name: str,
    again: str,
) -> Figure | None:
    if not lines:
        return None
    log = name.endswith("-speeds")
    datasets = list(dict.fromkeys(d for by in lines.values() for d in by))
    drawn = dict(list(lines.items())[:MOST])
    names = run_names(points)
    x = Axis(-0.3, len(points) - 0.7, range(len(points)), names)
    every = [y for by in drawn.values() for line in by.values() for _, y in line]
    y = logarithmic([*every, 1.0], tell=brief_ratio) if log else linear([*every, 1.0])
    one = Lines([[(x.low, 1.0), (x.high, 1.0)]], "muted", 1, "3 3")
    known = SERIES[: len(SERIES) - 1]  # what cannot be told apart any more looks alike
    styles = [*known, *[OTHERS] * max(0, len(datasets) - len(known))]
    panels = []
    for what, by in drawn.items():
        marks: list[Mark] = [one]
        for dataset, (colour, dash, shape) in zip(datasets, styles, strict=False):
            if line := by.get(dataset):
                marks += [Lines([line], colour, 1.5, dash), Dots(line, colour, shape, 3)]
        panels.append(Panel(x, y, marks, what, 220, 110))
    columns = [Column("What"), Column("Dataset"), Column("Run"), Column(title, numeric=True)]
    rows: list[Row] = [
        [short(what), short(dataset), short(points[int(i)].id), Cell.of(value, ratio)]
        for what, by in lines.items()
        for dataset, line in by.items()
        for i, value in line
    ]
    cut = f"; {MOST} of {len(lines)} are drawn" if len(lines) > MOST else ""
    return Figure(
        spec=Plot(panels, across=3),
        title=f"{title} over the runs, a panel an algorithm",
        finding=f"{title.capitalize()}, over {plural(len(points), 'run')}{cut}.",
        table=Table(columns, rows, f"{title.capitalize()}, run by run", name),
        keys=_keys(datasets, len(known)),
        again=again,
    )
