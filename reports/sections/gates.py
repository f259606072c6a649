"""Section Gates: the decisions of the experiment's gates, which set an exit code."""

from __future__ import annotations

from collections.abc import Callable

from harness import Section, hookimpl
from harness.analysis.gates import decide_gates, gates_of
from reports.blocks.blocks import Fragment, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table
from reports.page.page import Page
from reports.page.printed import GATE_HEADER, gate_rows
from reports.text.inline import Badge
from reports.words.claim_words import gate_sentence

TONES = {"pass": "good", "fail": "bad", "undecided": "unsure"}
NOTE = (
    "A gate passes if the whole interval keeps its limit, fails if the whole interval "
    "breaks it, and is undecided otherwise or if nothing was measured for it."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("gates", "Gates", 5, build))


def build(page: Page) -> Fragment | None:
    """Return one row for each decision, failures first, or None without gates."""
    config = page.view.run.get("config") or {}
    gates = gates_of(config)
    if not gates:
        return None
    decisions = decide_gates(gates, page.view)
    columns = [Column(title, wide=title == "Why") for title in GATE_HEADER]
    rows = [_row(row) for row in gate_rows(decisions)]
    table = Table(columns, rows, "Gates", "gates", again=page.again())
    fails = sum(decision.state == "fail" for decision in decisions)
    blocks = [Paragraph(gate_sentence(decisions)), Paragraph(NOTE, role="note"), table]
    return Fragment(blocks, badge=str(fails) if fails else "")


def _row(texts: list[str]) -> Row:
    name, state, *rest = texts
    symbol, word = state.split()
    return [name, Cell([Badge(word, TONES[word], symbol)], word), *rest]
