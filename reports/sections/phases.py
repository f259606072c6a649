"""Section Phases: time of import, compile, preparation, native form, fit and predict."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from harness import Section, hookimpl
from harness.analysis.run_view import FirstUse
from reports.blocks.blocks import Block, Figure, Fragment, Key, Paragraph
from reports.blocks.blocks import Panel as SubPanel
from reports.blocks.tables import Cell, Column, Row, Table, numeric
from reports.charts.axes import Axis, linear, rows
from reports.charts.legends import ROW
from reports.charts.plot import Boxes, Label, Lines, Mark, Panel, Plot
from reports.page.cold_calls import cold_and_warm
from reports.page.page import PHASES, Page
from reports.text.format import count, plural, seconds, short
from reports.text.means import median
from reports.words.verdict_words import PHASE_NAMES

Medians = Mapping[str, Mapping[str, float]]

NOTE = (
    "Medians of wall time over datasets and splits, from single runs, rough. Import and "
    "compile are needed once in each process, preparation and native form once for each "
    "training set, predict once for each test set."
)
# Phases in order, each with its color.
COLORS = {
    "import": "muted",
    "compile": "purple",
    "preparation": "amber",
    "native": "sky",
    "fit": "blue",
    "predict": "orange",
}
ONCE = ("import", "compile")  # once in each process
MAX_BARS = 40  # algorithms drawn; the table has all
# An empty cache, and no compiled kernels of the package.
NO_KERNELS = 'HARNESS_PACKAGED_KERNELS=0 HARNESS_KERNEL_CACHE="$(mktemp -d)"'


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("phases", "Phases", 50, build))


def build(page: Page) -> Fragment | None:
    """Return the times of the phases of each algorithm, in a first and a later use."""
    medians = phase_medians(page)
    timed = {n: by for n, by in medians.items() if any(by.get(p, 0) > 0 for p in COLORS)}
    if not timed:
        return None
    blocks: list[Block] = [Paragraph(NOTE, role="note")]
    used = [p for p in COLORS if any(by.get(p, 0) > 0 for by in timed.values())]
    figure = Figure(
        spec=stacks(dict(list(timed.items())[:MAX_BARS])),
        title="Share of each phase in the first and in a later use of each algorithm",
        finding=_finding(medians) + _cut(timed),
        table=_table(medians),
        keys=[Key("■", COLORS[p], PHASE_NAMES[p]) for p in used],
        again=page.again(),
    )
    return Fragment([*blocks, figure, *cold_and_warm(page), *very_first(page)])


def very_first(page: Page) -> list[Block]:
    """Return the time to compile kernels that were not in the cache."""
    uses = page.view.first_uses
    compiled = sorted((use for use in uses if use.functions), key=lambda u: u.seconds)
    if not uses:
        return []
    if not compiled:
        text = (
            "Every kernel was read from the cache, so this run did not measure the very first use."
        )
        return [Paragraph(text, role="note")]
    read, again = len(uses) - len(compiled), page.again()
    finding = f"Before the first trial, {plural(len(compiled), 'algorithm')} compiled kernels: "
    finding += f"{seconds(compiled[0].seconds)} to {seconds(compiled[-1].seconds)} each, "
    finding += "once for each version of the code and machine, while other work was running."
    finding += f" {plural(read, 'other')} found all of them in the cache." if read else ""
    figure = Figure(
        spec=compile_bars(compiled[-MAX_BARS:]),
        title="Seconds that each algorithm's kernels took to compile, in a very first use",
        finding=finding
        + (f" The chart shows the {MAX_BARS} slowest." if len(compiled) > MAX_BARS else ""),
        table=_first_table(uses),
        keys=[Key("■", COLORS["compile"], "compile")],
        again=f"{NO_KERNELS} {again}" if again else "",
    )
    return [SubPanel("Very first use", [figure], page.anchor("phases", "first"))]


def compile_bars(uses: Sequence[FirstUse]) -> Plot:
    """Return one bar for each algorithm from 0, labeled with its seconds and functions."""
    boxes = [(0.0, y - 0.36, use.seconds, y + 0.36) for y, use in enumerate(uses)]
    behind: list[Mark] = [
        Label((use.seconds, y), f"{seconds(use.seconds)}, {plural(use.functions, 'kernel')}", dx=6)
        for y, use in enumerate(uses)
    ]
    x = linear([use.seconds for use in uses], "seconds", zero=True)
    marks: list[Mark] = [Boxes(boxes, COLORS["compile"]), *behind]
    names = rows([use.algorithm for use in uses])
    return Plot([Panel(x, names, marks, "", 240, ROW * len(uses), 120)], across=1)


def _first_table(uses: Sequence[FirstUse]) -> Table:
    columns = [
        Column("Algorithm"),
        Column("Compiling", numeric=True, unit="s"),
        *numeric("Kernels compiled", "Threads"),
        Column("Environment"),
        Column("Notes", wide=True),
    ]
    table_rows: list[Row] = [
        [
            Cell.named(use.algorithm),
            Cell.of(use.seconds, seconds, note="" if use.functions else "all from the cache"),
            Cell.of(use.functions, count),
            Cell.of(use.threads, count),
            short(use.environment),
            "; ".join(short(note, 200) for note in use.notes),
        ]
        for use in uses
    ]
    caption = "Compile time before the first trial"
    return Table(columns, table_rows, caption, "very-first-use")


def stacks(medians: Medians) -> Plot:
    """Return one bar for each algorithm, stacked by phase, labeled with its total.

    The left panel is a first use in a new process, the right one a later use.
    """
    later = [phase for phase in COLORS if phase not in ONCE]
    panels = [("First use in a process", list(COLORS)), ("Later uses", later)]
    if not any(by.get(phase, 0) > 0 for by in medians.values() for phase in ONCE):
        panels = panels[1:]
    drawn = [
        _stack(medians, title, phases, labeled=not index)
        for index, (title, phases) in enumerate(panels)
    ]
    return Plot(drawn, across=2)


def _stack(medians: Medians, title: str, phases: Sequence[str], *, labeled: bool) -> Panel:
    boxes: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    edges: list[list[tuple[float, float]]] = []
    totals: list[Mark] = []
    for y, by in enumerate(medians.values()):
        total = sum(by.get(phase, 0.0) for phase in phases)
        start = 0.0
        for phase in phases:
            share = by.get(phase, 0.0) / total if total else 0.0
            if share > 0:
                boxes[phase].append((start, y - 0.36, start + share, y + 0.36))
                edges.append([(start, y - 0.36), (start, y + 0.36)])
            start += share
        totals.append(Label((1.0, y), seconds(total), dx=6, color="muted"))
    ticks = (0.0, 0.5, 1.0)
    x = Axis(0.0, 1.0, ticks, [f"{t:.0%}" for t in ticks])
    names = rows(list(medians), labeled=labeled)
    marks = [Boxes(stacked, COLORS[phase]) for phase, stacked in boxes.items()]
    height = ROW * len(medians)
    return Panel(x, names, [*marks, Lines(edges, "paper", 1.5), *totals], title, 250, height, 64)


def phase_medians(page: Page) -> dict[str, dict[str, float]]:
    """Return name → phase → median seconds over the datasets, sorted by fit time."""
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, cell in zip(page.names.values(), page.view.cells, strict=True):
        for phase in PHASES:
            if math.isfinite(cell.seconds.get(phase, math.nan)):
                times[name][phase].append(cell.seconds[phase])
    medians = {name: {p: median(v) for p, v in by.items()} for name, by in times.items()}
    return dict(sorted(medians.items(), key=lambda item: (item[1].get("fit", math.inf), item[0])))


def _cut(timed: Medians) -> str:
    return (
        f" The chart shows the {MAX_BARS} fastest; the table has all."
        if len(timed) > MAX_BARS
        else ""
    )


def _finding(medians: Medians) -> str:
    fits = {name: by["fit"] for name, by in medians.items() if "fit" in by}
    if not fits:
        return "No fit was timed."
    fastest, slowest = min(fits, key=fits.__getitem__), max(fits, key=fits.__getitem__)
    if fastest == slowest:
        return f"{short(fastest)} fits in {seconds(fits[fastest])}."
    return (
        f"The median fit takes from {seconds(fits[fastest])} ({short(fastest)}) to "
        f"{seconds(fits[slowest])} ({short(slowest)})."
    )


def _table(medians: Medians) -> Table:
    shown = [p for p in PHASES if any(p in by for by in medians.values())]
    columns = [
        Column("Algorithm"),
        *numeric(*(PHASE_NAMES[p].capitalize() for p in shown), unit="s"),
    ]
    rows: list[Row] = [
        [Cell.named(name), *(Cell.of(by.get(p, math.nan), seconds) for p in shown)]
        for name, by in medians.items()
    ]
    return Table(columns, rows, "Median wall time of each phase, from single runs, rough", "phases")
