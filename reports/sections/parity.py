"""Section Parity: the parity level of each pair on each dataset, and where trees differ."""

from __future__ import annotations

from collections.abc import Callable

from harness import Section, hookimpl
from harness.analysis.difference import Comparison, Difference
from harness.analysis.run_view import Parity
from harness.analysis.tree_text import as_text
from harness.core.parity_level import MEANING
from reports.blocks.blocks import (
    Block,
    Details,
    Drawing,
    Facts,
    Fragment,
    Panel,
    Paragraph,
    Sides,
    Verbatim,
)
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.page.page import Page
from reports.page.verdict_matrix import misses
from reports.text.format import count, digits, plural, short
from reports.text.inline import Badge, Code
from reports.words.claim_words import mode_of
from reports.words.verdict_words import parity_level_badge

NOTE = (
    "Both sides are trained on the same rows, and their trees are compared node by node. "
    "The parity level says how far they agree. L3: thresholds, directions and leaf "
    "values are identical bit by bit. L2: the same splits of the rows, and leaf values "
    "within the tolerance. L1: the same splits. L0: different trees, equivalent accuracy."
)
CAUSES = {"tie": ("same", "="), "rounding": ("unsure", "≈"), "rule": ("bad", "≠")}
UNFOLDED = 4  # differences that are open at first


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("parity", "Parity", 15, build))


def build(page: Page) -> Fragment | None:
    """Return the matrix of parity levels, and the first differences of each pair."""
    parities = page.view.parity
    if not parities:
        return None
    parted = [p for p in parities if p.reason or (p.comparison and p.comparison.differences)]
    panels = [_panel(page, p, folded=len(parted) > UNFOLDED) for p in parted]
    sides = (name for p in parities for name in (p.algorithm, p.reference))
    again = _command_panel(
        page.again(sides, (p.dataset for p in parities)), "Compare all of these again"
    )
    return Fragment([Paragraph(NOTE, role="note"), _matrix(parities), *again, *panels])


def _matrix(parities: tuple[Parity, ...]) -> Table:
    """Return a table of pairs and datasets; the more numerous ones are rows."""
    pairs = list(dict.fromkeys(_pair(p) for p in parities))
    datasets = list(dict.fromkeys(p.dataset for p in parities))
    cells: dict[tuple[str, str], list[Parity]] = {}
    for parity in parities:
        cells.setdefault((_pair(parity), parity.dataset), []).append(parity)
    rows: list[Row]
    if len(pairs) > len(datasets):
        columns = texts("Pair", *(short(name) for name in datasets))
        rows = [
            [
                Cell([Code(pair)], pair),
                *(_level_cell(cells.get((pair, d), [])) for d in datasets),
            ]
            for pair in pairs
        ]
    else:
        columns = texts("Dataset", *pairs)
        rows = [
            [Cell(short(d), d), *(_level_cell(cells.get((pair, d), [])) for pair in pairs)]
            for d in datasets
        ]
    return Table(columns, rows, "Parity level of each pair on each dataset", "parity")


def _pair(parity: Parity) -> str:
    """Return the name of a pair, with the mode if it is not the default one."""
    mode = mode_of(parity)
    name = f"{short(parity.algorithm, 30)} ({short(mode, 20)})" if mode else parity.algorithm
    return f"{short(name, 60)} / {short(parity.reference, 30)}"


def _level_cell(parities: list[Parity]) -> Cell:
    """Return the cell with the parity level of a pair, marked if lower than claimed."""
    if not parities:
        return Cell("")
    one = min(parities, key=lambda p: p.parity_level)
    claim = f"; claims {short(one.claimed, 8)}" if one.claimed else ""
    note = f"{MEANING[one.parity_level]}{claim}; {plural(len(one.splits), 'split')}"
    badge = parity_level_badge(one.parity_level, undecided=one.verdict == "inconclusive")
    return Cell([badge], one.parity_level, note, tone="bad" if misses(one) else "")


def _panel(page: Page, parity: Parity, *, folded: bool) -> Panel:
    """Return the panel that shows why a pair reaches no higher level on a dataset."""
    names = f"{short(parity.algorithm, 40)} and {short(parity.reference, 40)}"
    title = f"{names} on {short(parity.dataset, 40)}"
    blocks: list[Block] = []
    if parity.reason:
        blocks.append(Paragraph([f"Not compared: {short(parity.reason, 400)}"]))
    if parity.comparison:
        for number, difference in enumerate(parity.comparison.differences):
            drawn = _difference(parity, parity.comparison, difference)
            more = Details(f"{difference.level}, tree {difference.tree}", drawn)
            blocks += [more] if number else drawn
    again = page.again((parity.algorithm, parity.reference), [parity.dataset])
    blocks += _command_panel(again, "Compare these two again")
    anchor = page.anchor("parity", f"{parity.algorithm}-{parity.reference}-{parity.dataset}")
    return Panel(
        title, blocks, anchor, folded=folded, note=parity.parity_level or "no parity level"
    )


def _command_panel(command: str, title: str) -> list[Block]:
    return [Details(title, [Verbatim(command, f"{title}: the command")])] if command else []


def _difference(parity: Parity, comparison: Comparison, difference: Difference) -> list[Block]:
    """Return a difference in words, in numbers and drawn."""
    tone, symbol = CAUSES.get(difference.cause, ("unsure", "?"))
    cause = Badge(difference.cause or "cause unknown", tone, symbol)
    words = [cause, " ", short(difference.sentence, 1000)]
    blocks: list[Block] = [Paragraph(words), Facts(_facts(parity, comparison, difference))]
    if difference.gains or (difference.a and difference.a.gain is not None):
        blocks.append(_gains(parity, difference))
    if any(difference.drawing):
        sides = (f"A: {parity.algorithm}", f"B: {parity.reference}")
        names = (parity.algorithm, parity.reference)
        trees = [
            Drawing(lines, f"tree {difference.tree} of {short(side, 60)}", short(side, 60), name)
            for side, name, lines in zip(sides, names, difference.drawing, strict=True)
        ]
        text = as_text((short(sides[0], 60), short(sides[1], 60)), difference.drawing)
        blocks += [Sides(trees), Details("The two trees as text", [Verbatim(text, "Two trees")])]
    return blocks


def _facts(parity: Parity, comparison: Comparison, difference: Difference) -> list[tuple[str, str]]:
    facts = [
        ("Split", short(parity.split)),
        ("Agreement lost here", difference.level),
        ("What differs", difference.what),
        ("Rows that reach the node", count(difference.rows)),
        ("of them on the other side", count(difference.moved)),
        ("Rows in another leaf", count(difference.affected)),
        ("Trees of the same structure", f"{comparison.alike} of {max(comparison.trees)}"),
        ("Tolerance of leaf values", digits(comparison.tolerance, 1)),
    ]
    if comparison.worst is not None:
        facts.append(("Largest difference of predictions", digits(comparison.worst)))
    if difference.others:
        facts.append(("More differences in this tree", count(difference.others)))
    return facts


def _gains(parity: Parity, difference: Difference) -> Table:
    """Return the gains of both splits from the sums of each side and as stored in the models."""
    names = {"a": parity.algorithm, "b": parity.reference}
    columns = [
        Column("From the sums of"),
        *numeric(
            "Gain of A's split",
            "Gain of B's split",
            "Rounding may change it by",
            "Single-precision sums may change it by",
        ),
    ]
    rows: list[Row] = [
        [
            Cell([Code(short(names[g.by]))], g.by, short(g.criterion)),
            Cell.of(g.a, lambda value: digits(value, 9)),
            Cell.of(g.b, lambda value: digits(value, 9)),
            Cell.of(g.rounding, lambda value: digits(value, 2)),
            Cell.of(g.single, lambda value: digits(value, 2)),
        ]
        for g in difference.gains
    ]
    stored = [node.gain if node else None for node in (difference.a, difference.b)]
    cells = (Cell.of(gain, lambda value: digits(value, 9)) for gain in stored)
    rows.append([Cell("as stored in the models", note="each in its own unit"), *cells, "", ""])
    caption = "Gains of the two splits at this node"
    return Table(columns, rows, caption, f"gains-{difference.level}")
