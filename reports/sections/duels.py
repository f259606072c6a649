"""Section Duels: launches, reasons for the end, load, spin settings, the noise floor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness import Section, hookimpl
from harness.analysis.speed import contamination, is_self_duel, noise_floors
from harness.core.model import DuelOutcome
from reports.blocks.blocks import Block, Fragment, Panel, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, texts
from reports.page.page import Page
from reports.text.format import count, digits, plural, short
from reports.text.inline import Badge
from reports.words.verdict_words import PHASE_NAMES

NOTE = (
    "A launch is a new pair of processes, and the unit of an interval. A duel that may "
    "end early is analyzed after fixed numbers of launches; its intervals are wider to "
    "allow for this. OpenMP threads may spin for some time after their work; that "
    "setting was left as it is."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("duels", "Duels", 45, build))


def build(page: Page) -> Fragment | None:
    """Return one row for each duel, and the noise floors."""
    if not page.view.duels:
        return None
    blocks: list[Block] = [Paragraph(NOTE, role="note"), _duel_table(page)]
    if floors := noise_floors(page.view.duels):
        blocks.append(Panel("Noise floor", [_floors(floors)], page.anchor("duels", "noise")))
    doubtful = sum(bool(contamination(duel)) for duel in page.view.duels)
    return Fragment(blocks, badge=f"{count(doubtful)} doubtful" if doubtful else "")


def _duel_table(page: Page) -> Table:
    duels = page.view.duels
    columns = [
        *texts("Duel", "Dataset"),
        Column("Launches", numeric=True),
        Column("Clean", wide=True),
        Column("Load", numeric=True, unit="highest average of a minute"),
        Column("Spin settings"),
        Column("How it ended", wide=True),
    ]
    rows, again = [_row(duel) for duel in duels], page.duels_again(duels)
    return Table(columns, rows, "Setup of each duel", "duels", again=again)


def _row(outcome: DuelOutcome) -> Row:
    duel, launches = outcome.duel, outcome.facts.get("launches") or ()
    against = "itself (A/A)" if is_self_duel(duel) else short(duel.b.name)
    done = len({block.launch for block in outcome.blocks})
    doubts = contamination(outcome)
    clean = Badge("doubtful", "unsure", "?") if doubts else Badge("clean", "good", "✓")
    loads = [load for launch in launches for load in launch["load"]]
    failed = outcome.failure.message if outcome.failure else ""
    return [
        Cell.named(duel.a.name, f"against {against}"),
        short(duel.a.dataset.name),
        Cell(f"{done} of {duel.launches}", done, plural(duel.blocks, "block")),
        Cell([clean], clean.text, "; ".join(short(doubt, 160) for doubt in doubts)),
        Cell.of(max(loads, default=None), digits),
        spin_words(outcome.facts),
        short(outcome.facts.get("stopped") or failed or "all launches as planned", 300),
    ]


def spin_words(facts: Mapping[str, Any]) -> str:
    """Return the environment variables of idle threads' spinning that are set."""
    found: dict[str, dict[str, None]] = {}
    for side in (facts, facts.get("a") or {}, facts.get("b") or {}):
        for name, value in (side.get("spin") or {}).items():
            if value:
                found.setdefault(str(name), {})[str(value)] = None
    settings = [f"{short(name)}={short(' or '.join(values))}" for name, values in found.items()]
    return ", ".join(settings) or "the libraries' defaults"


def _floors(floors: Mapping[tuple[str, str], float]) -> Table:
    columns = [*texts("Dataset", "Phase"), Column("Noise floor", numeric=True, unit="share")]
    rows: list[Row] = [
        [short(dataset), PHASE_NAMES.get(phase, short(phase)), Cell(f"±{floor:.1%}", floor)]
        for (dataset, phase), floor in sorted(floors.items())
    ]
    caption = "Largest distance from 1 that the interval of an algorithm against itself reaches"
    return Table(columns, rows, caption, "noise-floors")
