"""Charts of scores and speeds over several runs, with the steps that asv detects."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence

from harness.analysis.series import NoAsvError, Point, find_steps
from harness.analysis.trends import RunPoint
from reports.blocks.blocks import Figure, Key
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.axes import Axis, brief_ratio, linear, logarithmic
from reports.charts.legends import SERIES, series_keys
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot
from reports.page.run_tables import levels_of
from reports.text.format import plural, ratio, short, signed
from reports.text.inline import Code
from reports.words.verdict_words import training_phase

MAX_PANELS = 24  # panels of one chart
STEADY = 1e-9  # relative change of a score below which it is rounding
MIN_RUNS = 6  # runs needed for step detection; with fewer every change would be a step
ABOUT = (
    "Mean scores of each run, and ratios of its duels. Where asv is installed, a ring "
    "marks a step that its step detection finds. A step is only a hint; a change of a "
    "score is judged by "
)
NOTE = [
    ABOUT,
    Code("harness compare"),
    ", a change of speed by ",
    Code("harness gate --against"),
    ".",
]
STEP = Key("●", "amber", "step here")
OTHERS = ("ink", "1 2", "square")  # style of all datasets without a style of their own
Line = list[tuple[float, float]]


def run_names(points: Sequence[RunPoint]) -> list[str]:
    """Return a short name for each run: its revision, or its start time."""
    return [p.revision[:8] or str(p.run.get("started") or "")[5:16] for p in points]


def score_figure(points: Sequence[RunPoint], name: str, again: str = "") -> Figure | None:
    """Return one panel for each algorithm with a changed loss, one line for each dataset."""
    lines: dict[str, dict[str, Line]] = {}
    for (algorithm, _, _, dataset), by_run in levels_of(points).items():
        scores = [by_run[i].score if i in by_run else math.nan for i in range(len(points))]
        first = next((s for s in scores if s > 0 and math.isfinite(s)), math.nan)
        line = [(float(i), s / first) for i, s in enumerate(scores) if s > 0 and s < math.inf]
        if len(line) > 1 and any(abs(y - 1) > STEADY for _, y in line):
            lines.setdefault(algorithm, {}).setdefault(dataset, line)
    return _figure(points, lines, "score over that of the first run", f"{name}-scores", again)


def speed_figure(points: Sequence[RunPoint], name: str, again: str = "") -> Figure | None:
    """Return one panel for each pair: ratios of training times, one line for each dataset.

    Duels of one pair and dataset with different params or rows have separate lines.
    """
    lines: dict[str, dict[str, Line]] = {}
    subjects: dict[tuple[str, str], list[str]] = {}
    for i, point in enumerate(points):
        phase = training_phase(point.speeds)
        for speed in point.speeds:
            if speed.phase == phase and 0 < speed.ratio.value < math.inf:
                pair = f"{short(speed.algorithm, 24)} / {short(speed.reference, 24)}"
                known = subjects.setdefault((pair, speed.dataset), [])
                known += [speed.subject] * (speed.subject not in known)
                number = known.index(speed.subject) + 1
                name_of_line = speed.dataset if number == 1 else f"{speed.dataset} ({number})"
                lines.setdefault(pair, {}).setdefault(name_of_line, []).append(
                    (float(i), speed.ratio.value)
                )
    several = {
        pair: kept
        for pair, by in lines.items()
        if (kept := {dataset: line for dataset, line in by.items() if len(line) > 1})
    }
    return _figure(points, several, "time of the reference over ours", f"{name}-speeds", again)


def steps_of(line: Line) -> dict[int, float]:
    """Return the positions of the steps in a line, each with its relative change.

    Empty if there are too few runs or asv, which detects the steps, is not installed.
    """
    if len(line) < MIN_RUNS:
        return {}
    points = [Point("", "", value) for _, value in line]
    with contextlib.suppress(NoAsvError):
        return {step.index: step.share for step in find_steps(points)}
    return {}


def _keys(datasets: Sequence[str], known: int, *, stepped: bool) -> list[Key]:
    keys = series_keys(short(dataset, 30) for dataset in datasets[:known])
    more = len(datasets) - known
    keys += [Key("■", "ink", plural(more, "other dataset"))] if more > 0 else []
    return [*keys, *([STEP] if stepped else [])]


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
    drawn = dict(list(lines.items())[:MAX_PANELS])
    names = run_names(points)
    x = Axis(-0.3, len(points) - 0.7, range(len(points)), names)
    every = [y for by in drawn.values() for line in by.values() for _, y in line]
    y = logarithmic([*every, 1.0], label_of=brief_ratio) if log else linear([*every, 1.0])
    one = Lines([[(x.low, 1.0), (x.high, 1.0)]], "muted", 1, "3 3")
    known = SERIES[: len(SERIES) - 1]  # all lines beyond the styles share one style
    styles = [*known, *[OTHERS] * max(0, len(datasets) - len(known))]
    panels = []
    for what, by in drawn.items():
        marks: list[Mark] = [one]
        for dataset, (color, dash, shape) in zip(datasets, styles, strict=False):
            if line := by.get(dataset):
                rings = [line[i] for i in steps_of(line)]
                marks += [Dots(rings, "amber", radius=7, opacity=0.4)] if rings else []
                marks += [Lines([line], color, 1.5, dash), Dots(line, color, shape, 3)]
        panels.append(Panel(x, y, marks, what, 220, 110))
    columns = [
        *texts("What", "Dataset", "Run"),
        Column(title, numeric=True),
        *numeric("Step", unit="share of the level before"),
    ]
    rows: list[Row] = []
    for what, by in lines.items():
        for dataset, line in by.items():
            steps = steps_of(line)
            for position, (i, value) in enumerate(line):
                step = steps.get(position)
                cells = [short(what), short(dataset), short(points[int(i)].id)]
                shown = Cell("" if step is None else f"{signed(100 * step)} %", step)
                rows.append([*cells, Cell.of(value, ratio), shown])
    cut = f"; {MAX_PANELS} of {len(lines)} are drawn" if len(lines) > MAX_PANELS else ""
    return Figure(
        spec=Plot(panels, across=3),
        title=f"{title} over the runs, one panel for each algorithm",
        finding=f"{title.capitalize()}, over {plural(len(points), 'run')}{cut}.",
        table=Table(columns, rows, f"{title.capitalize()}, run by run", name),
        keys=_keys(datasets, len(known), stepped=any(row[-1].text for row in rows)),
        again=again,
    )
