"""Times of the first call of a phase in a new process and of later calls, from duels."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator

from harness.core.model import DuelOutcome
from reports.blocks.blocks import Block, Details, Panel, Paragraph, Verbatim
from reports.blocks.tables import Cell, Row, Table, numeric, texts
from reports.page.page import Page
from reports.text.format import plural, ratio, seconds, short
from reports.words.verdict_words import PHASE_NAMES

NOTE = (
    "In each launch of a duel, a new process makes one call of a phase before any call "
    "is timed. This first call also starts threads, allocates memory and fills caches. "
    "Kernels and the table are loaded before it."
)
Key = tuple[str, str, str]  # algorithm or the label of a variant, dataset, phase
Walls = tuple[list[float], list[float]]  # seconds of first and of later calls


def cold_and_warm(page: Page) -> list[Block]:
    """Return one row for each algorithm, dataset and phase; empty without duels."""
    walls_of = calls(page.view.duels)
    if not walls_of:
        return []
    columns = [
        *texts("Algorithm", "Dataset", "Phase"),
        *numeric("First call", "Later calls", unit="s"),
        *numeric("First to later"),
    ]
    rows = [_row(key, *walls) for key, walls in sorted(walls_of.items())]
    table = Table(columns, rows, "Medians of first and of later calls in duels", "cold-and-warm")
    blocks: list[Block] = [Paragraph(NOTE, role="note"), table]
    if again := page.duels_again(page.view.duels):
        blocks.append(
            Details("The commands", [Verbatim(again, "Commands that repeat this measurement")])
        )
    return [Panel("First and later calls", blocks, page.anchor("phases", "cold"), folded=True)]


def calls(duels: Iterable[DuelOutcome]) -> dict[Key, Walls]:
    """Return the seconds of first and of later calls."""
    walls_of: dict[Key, Walls] = defaultdict(lambda: ([], []))
    for outcome in duels:
        for side, job in (("a", outcome.duel.a), ("b", outcome.duel.b)):
            where = job.name, job.dataset.name
            for phase, wall in _first(outcome, side):
                walls_of[*where, phase][0].append(wall)
            for block in outcome.blocks:
                walls = [sample.wall for sample in getattr(block, side)]
                walls_of[*where, block.phase][1].extend(walls)
    return {key: walls for key, walls in walls_of.items() if all(walls)}


def _first(outcome: DuelOutcome, side: str) -> Iterator[tuple[str, float]]:
    for launch in outcome.facts.get("launches") or ():
        for sample in (launch.get(side) or {}).get("cold") or ():
            yield str(sample["phase"]), float(sample["wall"])


def _row(key: Key, first: list[float], later: list[float]) -> Row:
    algorithm, dataset, phase = key
    cold, warm = statistics.median(first), statistics.median(later)
    share = cold / warm if warm > 0 else None
    return [
        Cell.named(algorithm),
        short(dataset),
        PHASE_NAMES.get(phase, short(phase)),
        Cell.of(cold, seconds, note=plural(len(first), "time")),
        Cell.of(warm, seconds),
        Cell.of(share, ratio),
    ]
