"""Charts of the growth of training time, and of column importances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from harness.analysis.diagnostics import Diagnostic
from reports.blocks.blocks import Block, Details, Figure, Key
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.axes import Axis, brief_seconds, linear, logarithmic, number
from reports.charts.bias_variance import named
from reports.charts.legends import SERIES, series_keys
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot
from reports.text.format import digits, listing, plural, seconds, share, short

MAX_LINES = len(SERIES)  # lines of one panel
PANELS = 12


def scaling_figures(results: Sequence[Diagnostic]) -> list[Block]:
    """Return for each dataset seconds against rows, columns and bins, and speed-up by threads."""
    names = dict(zip(map(id, results), named(results), strict=True))
    blocks: list[Block] = []
    for dataset in dict.fromkeys(d.dataset for d in results):
        mine = [d for d in results if d.dataset == dataset]
        blocks.append(_grown(dataset, mine, names))
    return [Details("Curves", blocks)] if blocks else []


def _grown(dataset: str, results: Sequence[Diagnostic], known: Mapping[int, str]) -> Figure:
    names = list(dict.fromkeys(short(known[id(d)], 40) for d in results))
    axes = list(dict.fromkeys(d.found["axis"] for d in results))
    panels = []
    for axis in axes:
        lines = {
            short(known[id(d)], 40): medians(d.found) for d in results if d.found["axis"] == axis
        }
        panels += _threads(lines, names) if axis == "threads" else [_times(axis, lines, names)]
    columns = texts("Algorithm", "Along")
    columns += [Column("At", numeric=True), Column("Training time", numeric=True, unit="s")]
    rows: list[Row] = [
        [short(known[id(d)], 40), d.found["axis"], Cell.of(x, digits), Cell.of(y, seconds)]
        for d in results
        for x, y in medians(d.found)
    ]
    caption = f"Median training time along {listing(axes)} on {short(dataset)}"
    cut = (
        f"; the chart shows {MAX_LINES} of {plural(len(names), 'algorithm')}"
        if len(names) > MAX_LINES
        else ""
    )
    return Figure(
        spec=Plot(panels, across=2 if len(panels) == 4 else 3),
        title=caption,
        finding=f"{caption}{cut}. Axes of time are logarithmic.",
        table=Table(columns, rows, caption, f"scaling-{dataset}"),
        keys=series_keys(names),
    )


def medians(timed: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return the median seconds at each size, sorted by size."""
    by_size: dict[float, list[float]] = {}
    for x, y in zip(timed["x"], timed["seconds"], strict=True):
        by_size.setdefault(x, []).append(y)
    return [(x, median(by_size[x])) for x in sorted(by_size)]


Series = Mapping[str, Sequence[tuple[float, float]]]


def _times(axis: str, lines: Series, names: Sequence[str]) -> Panel:
    every = [point for line in lines.values() for point in line]
    x = logarithmic([x for x, _ in every], axis)
    y = logarithmic([y for _, y in every], "training time", label_of=brief_seconds)
    return Panel(x, y, list(_drawn(lines, names)), width=210, height=170)


def _threads(lines: Series, names: Sequence[str]) -> list[Panel]:
    """Return speed-up and efficiency against the fewest threads, with the ideal line."""
    speedups = {
        name: [(x / line[0][0], line[0][1] / y) for x, y in line] for name, line in lines.items()
    }
    efficiencies = {n: [(x, s / x) for x, s in line] for n, line in speedups.items()}
    xs = sorted({x for line in speedups.values() for x, _ in line})
    whole = all(line[0][0] == 1 for line in lines.values())
    title = "threads" if whole else "threads over the fewest"
    axis = Axis(0.9 * xs[0], 1.05 * xs[-1], xs, [number(x) for x in xs], title)
    panels = []
    for title, series, ideal in (
        ("speed-up", speedups, [(x, x) for x in xs]),
        ("efficiency", efficiencies, [(x, 1.0) for x in xs]),
    ):
        values = [y for line in [*series.values(), ideal] for _, y in line]
        marks: list[Mark] = [Lines([ideal], "muted", 1, "3 3"), *_drawn(series, names)]
        panels.append(Panel(axis, linear(values, title, zero=True), marks, width=210, height=170))
    return panels


def _drawn(lines: Series, names: Sequence[str]) -> Iterable[Mark]:
    for name, (color, dash, shape) in zip(names, SERIES, strict=False):
        if line := lines.get(name):
            yield Lines([line], color, 2, dash, name)
            yield Dots(line, color, shape, 3.2, algorithm=name)


def importance_figures(results: Sequence[Diagnostic]) -> list[Block]:
    """Return one panel for each pair: each column's share of the gains on both sides."""
    drawn = [d for d in results if d.found.get("shares")][:PANELS]
    if not drawn:
        return []
    columns = [Column("Pair"), *numeric("Column", "Ours", "Reference")]
    rows: list[Row] = [
        [_pair(d), str(i), Cell.of(a, share), Cell.of(b, share)]
        for d in drawn
        for i, (a, b) in enumerate(zip(*d.found["shares"], strict=True))
        if a > 0 or b > 0
    ]
    figure = Figure(
        spec=Plot(
            [_shares(d, name) for d, name in zip(drawn, named(drawn), strict=True)], across=3
        ),
        title="Share of the gains of each column on both sides, one panel for each pair",
        finding="Each dot is a column; on the line it is equally important on both sides.",
        table=Table(columns, rows, "Share of the gains of each column", "importance"),
        keys=[Key("●", "blue", "a column")],
    )
    return [Details("Importance of each column on both sides", [figure])]


def _pair(result: Diagnostic) -> str:
    return (
        f"{short(result.algorithm, 24)} / {short(result.reference, 24)} · "
        f"{short(result.dataset, 16)}"
    )


def _shares(result: Diagnostic, name: str) -> Panel:
    ours, theirs = result.found["shares"]
    used = [(b, a) for a, b in zip(ours, theirs, strict=True) if a > 0 or b > 0]
    points = [(math.sqrt(b), math.sqrt(a)) for b, a in used]
    most = max(*ours, *theirs)
    ticks = [t for t in (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0) if t <= most] or [0.0]
    places = [math.sqrt(t) for t in ticks]
    end = math.sqrt(most) * 1.06
    labels = [f"{t:.0%}" for t in ticks]
    x, y = (Axis(-0.04 * end, end, places, labels, title) for title in ("reference", "ours"))
    marks: list[Mark] = [
        Lines([[(0, 0), (end, end)]], "muted", 1, "3 3"),
        Dots(points, opacity=0.7),
    ]
    return Panel(x, y, marks, f"{name} · {result.dataset}", 230, 180)
