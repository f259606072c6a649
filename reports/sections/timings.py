"""Section Raw timings: all calls of each duel, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from harness import Section, hookimpl
from harness.analysis.speed import is_self_duel
from harness.core.model import Block as Timed
from harness.core.model import DuelOutcome
from reports.blocks.blocks import Details, Figure, Fragment, Key, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.axes import brief_seconds, linear, logarithmic
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot
from reports.page.page import Page
from reports.text.format import count, plural, seconds, short

MAX_DUELS = 24  # duels that are drawn
PHASES = ("fit", "native", "predict")  # the first of these that a duel has
NOTE = (
    "Every call of a duel in order, to show drift, jumps or slow first calls. A vertical "
    "line begins a launch, a new pair of processes."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("timings", "Raw timings", 47, build))


def build(page: Page) -> Fragment | None:
    """Return one panel for each duel, and a table of all calls."""
    duels = [d for d in page.view.duels if d.blocks]
    if not duels:
        return None
    drawn = duels[:MAX_DUELS]
    caption = f"Calls of {plural(len(duels), 'duel')} in order"
    caption += ", of one phase each"
    caption += f"; {len(drawn)} are drawn" if len(drawn) < len(duels) else ""
    figure = Figure(
        spec=Plot([_panel(d) for d in drawn], across=3),
        title="Seconds of each call of a duel in order, one panel for each duel",
        finding=f"{caption}.",
        table=_table(duels),
        keys=[Key("●", "blue", "ours"), Key("◆", "orange", "reference")],
        again=page.duels_again(duels),
        points=_points(drawn),
    )
    summary = f"The calls of {plural(len(drawn), 'duel')}, one by one"
    return Fragment([Paragraph(NOTE, role="note"), Details(summary, [figure])])


def phase_of(outcome: DuelOutcome) -> str:
    """Return the phase whose calls are shown."""
    timed = {block.phase for block in outcome.blocks}
    return next((p for p in PHASES if p in timed), outcome.blocks[0].phase)


def calls(outcome: DuelOutcome, phase: str) -> list[tuple[str, int, int, float]]:
    """Return (side, launch, block, seconds) of each call, in order."""
    timed = []
    for block in _ordered(outcome.blocks):
        if block.phase == phase:
            left = {"A": list(block.a), "B": list(block.b)}
            timed += [
                (side, block.launch, block.index, left[side].pop(0).wall) for side in block.order
            ]
    return timed


def _ordered(blocks: Sequence[Timed]) -> list[Timed]:
    return sorted(blocks, key=lambda b: (b.launch, b.index))


def _panel(outcome: DuelOutcome) -> Panel:
    phase = phase_of(outcome)
    made = calls(outcome, phase)
    starts = [i for i, call in enumerate(made) if i and call[1] != made[i - 1][1]]
    y = logarithmic([c[3] for c in made], phase, label_of=brief_seconds)
    marks: list[Mark] = [
        Lines([[(i - 0.5, y.low), (i - 0.5, y.high)] for i in starts], "muted", 1, "2 3")
    ]
    for side, color, shape in (("A", "blue", "circle"), ("B", "orange", "diamond")):
        points = [(float(i), c[3]) for i, c in enumerate(made) if c[0] == side and c[3] > 0]
        marks += [Lines([points], color, 1), Dots(points, color, shape, 2.6)]
    x = linear([0, max(len(made) - 1, 1)], "call", most=4)
    return Panel(x, y, marks, _name(outcome), 220, 120)


def _name(outcome: DuelOutcome) -> str:
    duel = outcome.duel
    itself = " / itself" if is_self_duel(duel) else ""
    return f"{short(duel.a.name, 22)}{itself} · {short(duel.a.dataset.name, 16)}"


def _table(duels: Sequence[DuelOutcome]) -> Table:
    """Return one row of call times for each side of each duel and phase."""
    columns = [
        *texts("Duel", "Phase", "Algorithm"),
        Column("Calls", numeric=True),
        *numeric("First call", "Least", "Median", "Most", unit="s"),
    ]
    rows: list[Row] = []
    for outcome in duels:
        names = {"A": outcome.duel.a.name, "B": outcome.duel.b.name}
        for phase in dict.fromkeys(block.phase for block in outcome.blocks):
            for side, name in names.items():
                walls = [wall for which, *_, wall in calls(outcome, phase) if which == side]
                summary = (walls[0], min(walls), median(walls), max(walls))
                numbers = (Cell.of(wall, seconds) for wall in summary)
                rows.append(
                    [_name(outcome), phase, short(name), Cell.of(len(walls), count), *numbers]
                )
    return Table(columns, rows, "Times of the calls of each side", "timings")


def _points(drawn: Sequence[DuelOutcome]) -> Table:
    """Return all drawn calls."""
    columns = [
        *texts("Duel", "Phase"),
        *numeric("Launch", "Block", "Call"),
        Column("Algorithm"),
        Column("Wall time", numeric=True, unit="s"),
    ]
    rows: list[Row] = []
    for outcome in drawn:
        phase, duel = phase_of(outcome), outcome.duel
        names = {"A": short(duel.a.name), "B": short(duel.b.name)}
        rows += [
            [_name(outcome), phase, str(launch), str(block), str(i), names[side], Cell("", wall)]
            for i, (side, launch, block, wall) in enumerate(calls(outcome, phase))
        ]
    return Table(columns, rows, "Each call in the chart", "raw-timings")
