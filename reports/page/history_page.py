"""Page of a history: all series over commits, with their steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from harness.analysis.series import Series, Step
from reports.blocks.blocks import Block, Figure, Fragment, Paragraph
from reports.blocks.tables import Cell, Row, Table, numeric, texts
from reports.charts.axes import Axis, linear
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot
from reports.page.build import Shown, page_of, write_page
from reports.page.render import Renderer
from reports.text.format import digits, plural, short, signed
from reports.text.inline import Code

MAX_PANELS = 30  # panels of one algorithm
TICKS = 4
NOTE = (
    "Lower is better. Each dot is a commit: the median of its measurements. ",
    "Times come from single runs and are rough, so a step is only a hint; ",
    Code("harness gate --against"),
    " gives a verdict.",
)


def build_history(series: Sequence[Series], notes: Sequence[str]) -> str:
    """Return a history as the text of one HTML file that needs no network."""
    renderer = Renderer()
    by_algorithm: dict[str, list[Series]] = defaultdict(list)
    for one in series:
        by_algorithm[one.algorithm or "everything"].append(one)
    parts = [("steps", "Steps", _steps(series, notes))]
    parts += [(name, short(name), _drawn(name, same)) for name, same in by_algorithm.items()]
    shown = [
        Shown(renderer.unique(name), title, fragment.badge, renderer.blocks(fragment.blocks))
        for name, title, fragment in parts
    ]
    stepped = sum(bool(one.steps) for one in series)
    return page_of(renderer, "History", f"{len(series)} series, {stepped} with a step", shown)


def write_history(series: Sequence[Series], notes: Sequence[str], path: Path) -> None:
    """Write a history atomically: the path holds the old or the new file."""
    write_page(build_history(series, notes), path)


def _steps(series: Sequence[Series], notes: Sequence[str]) -> Fragment:
    columns = [
        *texts("Algorithm", "Dataset", "What", "Commit"),
        *numeric("Before", "After", "Change"),
    ]
    rows: list[Row] = [
        [
            Cell.named(one.algorithm),
            short(one.dataset),
            f"{short(one.measure)} ({short(one.unit)})",
            Cell.named(one.points[step.index].commit),
            Cell.of(step.before, digits),
            Cell.of(step.after, digits),
            _change(step),
        ]
        for one, step in sorted(
            ((one, step) for one in series for step in one.steps), key=lambda s: -s[1].share
        )
    ]
    blocks: list[Block] = [Paragraph(NOTE, role="note")]
    blocks += [Paragraph(short(note, 300), role="note") for note in notes]
    table = Table(columns, rows, "Steps, the largest rise first", "steps")
    blocks.append(table if rows else Paragraph("No step was found."))
    return Fragment(blocks, badge=str(len(rows)))


def _change(step: Step) -> Cell:
    tone = "bad" if step.share > 0 else "good"
    return Cell(f"{'▲' if step.share > 0 else '▼'} {signed(100 * step.share)} %", step.share,
                tone=tone)  # fmt: skip


def _drawn(name: str, series: Sequence[Series]) -> Fragment:
    panels = [_panel(one) for one in series[:MAX_PANELS]]
    columns = [*texts("What", "Commit", "Measured"), *numeric("Value")]
    rows: list[Row] = [
        [
            f"{short(one.dataset)} {short(one.measure)} ({short(one.unit)}), {short(one.source)}",
            Cell.named(point.commit),
            short(point.when[:16]),
            Cell.of(point.value, digits),
        ]
        for one in series
        for point in one.points
    ]
    cut = f"; {MAX_PANELS} of {len(series)} are drawn" if len(series) > MAX_PANELS else ""
    figure = Figure(
        spec=Plot(panels, across=3),
        title=f"{short(name)} over commits",
        finding=f"{plural(len(series), 'benchmark')} over commits{cut}; each line is a level.",
        table=Table(columns, rows, f"{short(name)}, commit by commit", f"history-{name}"),
    )
    return Fragment([figure], badge=plural(sum(len(one.steps) for one in series), "step"))


def _panel(series: Series) -> Panel:
    """Return the dots of a series and its levels; a level lasts from one step to the next."""
    values = [point.value for point in series.points]
    last = len(values) - 1
    places = range(0, last + 1, max(1, -(-last // TICKS)))
    x = Axis(-0.3, last + 0.3, places, [short(series.points[i].commit, 8) for i in places])
    marks: list[Mark] = [Dots(list(zip(map(float, range(last + 1)), values, strict=True)), "blue")]
    bounds = [0, *(step.index for step in series.steps), last + 1]
    after = [step.after for step in series.steps]
    heights = [series.steps[0].before, *after] if series.steps else []
    for left, right, height in zip(bounds, bounds[1:], heights, strict=False):
        marks.append(Lines([[(left - 0.3, height), (right - 0.7, height)]], "orange", 2))
    title = " ".join(filter(None, [short(series.dataset, 20), short(series.measure, 24)]))
    return Panel(x, linear(values), marks, f"{title} ({short(series.unit, 20)})", 220, 110)
