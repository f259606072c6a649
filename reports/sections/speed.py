"""Section Speed: the ratio of every duel with its interval, by phase."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from harness import Section, hookimpl
from harness.analysis.run_view import Speed
from reports.blocks.blocks import Figure, Fragment, Panel, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.forest import Estimate, both_ends, ratios
from reports.charts.legends import SPEEDS, keys
from reports.page.page import Page
from reports.page.verdict_matrix import pair_name
from reports.text.format import plural, ratio, seconds, short
from reports.text.means import geometric_mean
from reports.words.verdict_words import PHASE_NAMES, speed_badge, speed_tally, speed_word

NOTE = (
    "Each ratio is the reference's time over ours, from calls that alternate in two "
    "processes (ABBA); above 1 ours is faster. A bar is the 95 % interval; where it "
    "crosses 1, or the ratio lies within the noise floor, the duel is undecided. Train "
    "is native form and fit together."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("speed", "Speed", 40, build))


def build(page: Page) -> Fragment | None:
    """Return a forest plot for each timed phase, training first."""
    speeds = [s for s in page.view.speed if s.dataset and not _is_noise(s)]
    if not speeds:
        return None
    order = ("train", "fit", "predict", "predict_one", "native", "preparation")
    phases = sorted(
        {s.phase for s in speeds}, key=lambda p: (order.index(p) if p in order else 9, p)
    )
    panels = [_panel(page, phase, [s for s in speeds if s.phase == phase]) for phase in phases]
    return Fragment([Paragraph(NOTE, role="note"), *panels])


def _is_noise(speed: Speed) -> bool:
    """Whether an algorithm was timed against itself; section Duels shows that noise."""
    return speed.algorithm == speed.reference and len(set(speed.environments)) == 1


def _panel(page: Page, phase: str, speeds: list[Speed]) -> Panel:
    ordered = sorted(speeds, key=lambda s: -s.ratio.value)
    drawn, cut = both_ends(ordered)
    rows = [
        Estimate(_name(page, speed), speed_word(speed), *_bounds(speed), algorithm=speed.algorithm)
        for speed in drawn
        if speed.ratio.value > 0 and math.isfinite(speed.ratio.value)
    ]
    title = PHASE_NAMES.get(phase, short(phase)).capitalize()
    figure = Figure(
        spec=ratios(rows),
        title=f"{title}: time of the reference over time of ours, with intervals",
        finding=finding(speeds) + cut,
        table=_table(title, phase, ordered),
        keys=keys(SPEEDS, (row.kind for row in rows)),
        again=_rerun_command(page, drawn),
    )
    return Panel(title, [figure], page.anchor("speed", phase))


def finding(speeds: list[Speed]) -> str:
    """Return the number of duels that ours won, and the geometric mean of the ratios."""
    middle = ratio(geometric_mean(s.ratio.value for s in speeds))
    return f"{speed_tally(speeds)}; the geometric mean is {middle}."


def _bounds(speed: Speed) -> tuple[float, float, float]:
    return speed.ratio.low, speed.ratio.value, speed.ratio.high


def _name(page: Page, speed: Speed) -> str:
    name = pair_name(page, speed.algorithm, speed.reference)
    return f"{name} · {short(speed.dataset, 20)}"


def _table(title: str, phase: str, speeds: list[Speed]) -> Table:
    columns = [
        *texts("Algorithm", "Dataset"),
        *numeric("Ratio", "Low", "High", "Level"),
        *numeric("Ours", "Reference", unit="s"),
        Column("Memory ratio", numeric=True),
        Column("From"),
        Column("Notes", wide=True),
    ]
    rows: list[Row] = [
        [
            Cell.named(s.algorithm, f"against {short(s.reference)}"),
            short(s.dataset),
            Cell([speed_badge(s)], s.ratio.value),
            Cell.of(s.ratio.low, ratio),
            Cell.of(s.ratio.high, ratio),
            Cell(f"{s.ratio.level:.1%}", s.ratio.level),
            Cell.of(s.seconds[0], seconds),
            Cell.of(s.seconds[1], seconds),
            Cell.of(s.memory_ratio, ratio),
            plural(s.ratio.n, s.unit),
            "; ".join([*_environments(s), *(short(note, 200) for note in s.notes)]),
        ]
        for s in speeds
    ]
    return Table(columns, rows, f"{title}: every duel", f"speed-{phase}")


def _environments(speed: Speed) -> list[str]:
    """Return the environments of the sides, if they differ."""
    ours, theirs = speed.environments
    return [] if ours == theirs else [f"{short(ours)} against {short(theirs)}"]


def _rerun_command(page: Page, drawn: Sequence[Speed]) -> str:
    """Return the commands that repeat the drawn duels."""
    places = {(s.algorithm, s.reference, s.dataset) for s in drawn}
    duels = ((d, (d.duel.a.name, d.duel.b.name)) for d in page.view.duels)
    return page.duels_again(d for d, names in duels if (*names, d.duel.a.dataset.name) in places)
