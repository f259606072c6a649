"""Performance profiles: share of datasets where an algorithm is within a factor of the best.

    ρ_a(τ) = |{d : t_{a,d} ≤ τ · min_b t_{b,d}}| / |D|        (Dolan & Moré 2002)

ρ_a(1) is the share of datasets on which a is the best; a failure is not within any τ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from harness import Section, hookimpl
from harness.analysis.run_view import Cell as Measured
from reports.blocks.blocks import Figure, Fragment, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.axes import Axis, brief_ratio, linear, log_scale
from reports.charts.legends import SERIES, series_keys
from reports.charts.plot import Lines, Mark, Panel, Plot
from reports.page.page import Page
from reports.text.format import count, digits, few, plural, share, short
from reports.text.means import mean

MIN_DATASETS = 5  # datasets; with fewer a profile has too few steps
FACTORS = (1.0, 1.1, 2.0, 5.0)  # of the table
FURTHEST = 100.0  # largest factor on the axis
NOTE = (
    "Share of datasets on which an algorithm is within a factor of the best one there: a "
    "curve high at the left is often the best, a curve high at the right is never far "
    "from the best. A failure never counts. Times are medians of single runs, rough."
)
QUANTITIES: tuple[tuple[str, str], ...] = (
    ("loss", "loss over the least"),
    ("fit", "training time over the least"),
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("profiles", "Performance profiles", 32, build))


def build(page: Page) -> Fragment | None:
    """Return the profiles of loss and training time, or None for few datasets."""
    if len(page.by_dataset) < MIN_DATASETS:
        return None
    factors_of = {key: factors(page, key) for key, _ in QUANTITIES}
    factors_of = {key: by for key, by in factors_of.items() if len(by) > 1}
    if not factors_of:
        return None
    drawn = _chosen(factors_of)
    panels = [
        _panel(factors_of[key], drawn, title) for key, title in QUANTITIES if key in factors_of
    ]
    figure = Figure(
        spec=Plot(panels, across=2),
        title="Share of datasets within a factor of the best, for loss and for training time",
        finding=_finding(factors_of, len(page.by_dataset)),
        table=_table(factors_of),
        keys=series_keys(short(name, 40) for name in drawn),
        again=page.again(),
        points=_points(factors_of, drawn),
    )
    return Fragment([Paragraph(NOTE, role="note"), figure])


def factors(page: Page, key: str) -> dict[str, list[float]]:
    """Return name → factor over the best on each dataset, infinite if missing.

    Datasets without a positive number are left out.
    """
    names = list(dict.fromkeys(page.names.values()))
    by_name: dict[str, list[float]] = {name: [] for name in names}
    for cells in page.by_dataset.values():
        values = {name: _value(page, cell, key) for name, cell in cells}
        best = min((v for v in values.values() if v > 0), default=math.inf)
        if math.isfinite(best):
            for name in names:
                by_name[name].append(values.get(name, math.inf) / best)
    return {name: by for name, by in by_name.items() if any(map(math.isfinite, by))}


def _value(page: Page, cell: Measured, key: str) -> float:
    """Return a number of which less is better, infinite unless positive."""
    if key == "loss":
        metric = page.metric(cell)
        value = page.badness(cell) if page.lower_is_better(metric) else math.nan
    else:
        value = cell.seconds.get("fit", math.nan) + cell.seconds.get("native", 0.0)
    return value if value > 0 else math.inf


def within(factors: Sequence[float], tau: float) -> float:
    """Return the share of factors that are at most τ."""
    return sum(f <= tau for f in factors) / len(factors)


def _chosen(factors_of: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    """Return the names with the least mean log factors, as many as the chart can show."""
    limit = math.log(FURTHEST)
    cost = {
        name: mean(
            min(math.log(f), limit) if f < math.inf else limit
            for by in factors_of.values()
            for f in by.get(name, [math.inf])
        )
        for name in {n for by in factors_of.values() for n in by}
    }
    return sorted(cost, key=lambda name: (cost[name], name))[: len(SERIES)]


def _points(factors_of: Mapping[str, Mapping[str, Sequence[float]]], drawn: Sequence[str]) -> Table:
    """Return the corners of the drawn steps."""
    columns = [*texts("Algorithm", "Of"), *numeric("Factor", "Share of datasets")]
    rows: list[Row] = [
        [
            name,
            "loss" if key == "loss" else "training time",
            Cell.of(tau, digits),
            Cell.of(y, digits),
        ]
        for key, by in factors_of.items()
        for name in drawn
        if name in by
        for tau, y in _steps(by[name], _end(by, drawn))
    ]
    return Table(columns, rows, "Each step in the chart", "profiles-steps")


def _end(by_name: Mapping[str, Sequence[float]], drawn: Sequence[str]) -> float:
    finite = [f for name in drawn for f in by_name.get(name, ()) if f < math.inf]
    return min(max([*finite, 1.5]) * 1.05, FURTHEST)


def _panel(by_name: Mapping[str, Sequence[float]], drawn: Sequence[str], title: str) -> Panel:
    end = _end(by_name, drawn)
    ticks = [t for t in log_scale([1.25, end / 1.25])[1] if 1 <= t <= end]
    ticks = ticks if 1.0 in ticks else [1.0, *ticks]
    x = Axis(1.0, end, ticks, [brief_ratio(t) for t in ticks], title, log=True)
    marks: list[Mark] = [
        Lines([_steps(by_name[name], end)], color, 2, dash, name)
        for name, (color, dash, _) in zip(drawn, SERIES, strict=False)
        if name in by_name
    ]
    y = linear((0.0, 1.0), "share of datasets", zero=True)
    return Panel(x, y, marks, width=300, height=220)


def _steps(factors: Sequence[float], end: float) -> list[tuple[float, float]]:
    path, height = [(1.0, within(factors, 1.0))], within(factors, 1.0)
    for factor in sorted({f for f in factors if 1.0 < f <= end}):
        path.append((factor, height))
        height = within(factors, factor)
        path.append((factor, height))
    return [*path, (end, height)]


def _finding(factors_of: Mapping[str, Mapping[str, Sequence[float]]], datasets: int) -> str:
    parts = []
    for key, what in (("loss", "the least loss"), ("fit", "the shortest training")):
        if key in factors_of:
            most = max(within(by, 1.0) for by in factors_of[key].values())
            names = [name for name, by in factors_of[key].items() if within(by, 1.0) == most]
            parts.append(f"{what} most often: {few(names, 2)}, on {most:.0%} of them")
    return f"Over {plural(datasets, 'dataset')}: {'; '.join(parts)}."


def _table(factors_of: Mapping[str, Mapping[str, Sequence[float]]]) -> Table:
    columns = [Column("Algorithm")]
    for key in factors_of:
        what = "Loss" if key == "loss" else "Time"
        columns += numeric(*(f"{what} within {brief_ratio(f)}" for f in FACTORS))
    columns += numeric("Datasets")
    rows: list[Row] = []
    for name in dict.fromkeys(n for by in factors_of.values() for n in by):
        cells: list[Cell] = [Cell.named(name)]
        mine = [by.get(name, ()) for by in factors_of.values()]
        for by in mine:
            cells += [Cell.of(within(by, f) if by else None, share) for f in FACTORS]
        rows.append([*cells, Cell.of(sum(map(math.isfinite, max(mine, key=len))), count)])
    return Table(columns, rows, "Share of datasets within a factor of the best", "profiles")
