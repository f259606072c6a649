"""Blocks that compare two stored runs."""

from __future__ import annotations

from harness.analysis.compare import RunComparison, Seconds
from reports.blocks.blocks import Block, Details, Paragraph, Verbatim
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.page.printed import RATIO_NOTE, RAW, by_verdict, comparison_sentence
from reports.text.commands import command
from reports.text.format import bounds, digits, ratio, seconds, short, signed
from reports.text.inline import Badge
from reports.words.verdict_words import PHASE_NAMES, accuracy_badge, parity_level_badge, word_badge

ORDER = {"worse": 0, "better": 1, "inconclusive": 2, "equivalent": 3}
PHASES = ("fit", "predict")


def comparison_blocks(comparison: RunComparison, prefix: str = "changes") -> list[Block]:
    """Return blocks with the changes between two runs; file names begin with ``prefix``."""
    blocks: list[Block] = [Paragraph(comparison_sentence(comparison))]
    if comparison.changes:
        blocks.append(_scores(comparison, prefix))
    if comparison.ratios:
        blocks += [_ratios(comparison, prefix), Paragraph(RATIO_NOTE, role="note")]
    if comparison.parity_levels:
        blocks.append(_parity_levels(comparison, prefix))
    if comparison.turns:
        blocks.append(_turns(comparison, prefix))
    if raw := [s for s in comparison.seconds if s.remeasured and s.phase in PHASES]:
        seconds_blocks = [Paragraph(RAW), _seconds(raw, prefix)]
        blocks.append(Details("Raw seconds of both runs", seconds_blocks))
    ids = (str(run.get("id", "")) for run in (comparison.old, comparison.new))
    if compare_command := command(comparison.new, "compare", *ids):
        blocks.append(Verbatim(compare_command, "Command that compares them"))
    return blocks


def _ratios(comparison: RunComparison, prefix: str) -> Table:
    columns = [
        *texts("Algorithm", "Dataset", "Phase", "Now"),
        *numeric("Before", "Now", unit="ratio"),
    ]
    rows: list[Row] = [
        [
            Cell.named(r.algorithm, f"against {short(r.reference)}"),
            short(r.dataset),
            PHASE_NAMES.get(r.phase, short(r.phase)),
            Cell([word_badge(r.verdict)], r.verdict),
            *(Cell.of(i.value, ratio, note=bounds(i.low, i.high)) for i in (r.old, r.new)),
        ]
        for r in by_verdict(comparison.ratios)
    ]
    return Table(columns, rows, "Ratios of the duels of both runs", f"{prefix}-ratios")


def _parity_levels(comparison: RunComparison, prefix: str) -> Table:
    columns = texts("Algorithm", "Dataset", "Mode", "Before", "Now")
    rows: list[Row] = [
        [
            Cell.named(r.algorithm, f"against {short(r.reference)}"),
            short(r.dataset),
            short(r.mode) or "default",
            Cell([parity_level_badge(r.old)], r.old),
            Cell(
                [parity_level_badge(r.new)], r.new, "" if r.old == r.new else "differs from before"
            ),
        ]
        for r in sorted(comparison.parity_levels, key=lambda r: r.old == r.new)
    ]
    return Table(columns, rows, "Parity level of each pair", f"{prefix}-parity-levels")


def _scores(comparison: RunComparison, prefix: str) -> Table:
    columns = [
        *texts("Algorithm", "Dataset", "Now"),
        *numeric("Change", "Smallest change that counts"),
        Column("Metric"),
        Column("Notes", wide=True),
    ]
    rows: list[Row] = [
        [
            Cell.named(c.algorithm),
            short(c.dataset),
            Cell([accuracy_badge(c.verdict)], c.verdict),
            Cell.of(c.difference.value, signed, note=bounds(c.difference.low, c.difference.high)),
            Cell(f"±{digits(c.margin)}", c.margin),
            short(c.metric),
            "; ".join(short(text, 200) for text in (c.advice, *c.notes) if text),
        ]
        for c in sorted(comparison.changes, key=lambda c: ORDER.get(c.verdict, 2))
    ]
    return Table(columns, rows, "Change of each score; above 0 it is better now", prefix)


def _turns(comparison: RunComparison, prefix: str) -> Table:
    columns = texts("Algorithm", "Dataset", "Split", "Before", "Now")
    rows: list[Row] = [
        [
            Cell.named(t.algorithm),
            short(t.dataset),
            short(t.split),
            t.old.replace("_", " "),
            Cell([Badge(t.new.replace("_", " "), "good" if t.new == "done" else "bad")], t.new),
        ]
        for t in comparison.turns
    ]
    return Table(columns, rows, "Trials whose outcome changed", f"{prefix}-endings")


def _seconds(raw: list[Seconds], prefix: str) -> Table:
    numbers = numeric("Before", "Now", unit="s")
    columns = [*texts("Algorithm", "Dataset", "Phase"), *numbers, *numeric("Now / before")]
    rows: list[Row] = [
        [
            Cell.named(s.algorithm),
            short(s.dataset),
            PHASE_NAMES.get(s.phase, short(s.phase)),
            Cell.of(s.old, seconds),
            Cell.of(s.new, seconds),
            Cell.of(s.new / s.old if s.old > 0 else None, ratio),
        ]
        for s in raw
    ]
    return Table(columns, rows, "Median seconds of single runs, rough", f"{prefix}-seconds")
