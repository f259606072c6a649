"""Verdict matrix of the first screen: each algorithm against its reference, in one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.run_view import Accuracy, Parity
from harness.core.parity_level import lowest, reaches
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.page.page import Page, Pair
from reports.text.format import SPACE, few, plural, short
from reports.text.inline import Badge, Inline
from reports.text.rerun_commands import pairs_again
from reports.words.claim_words import mode_of
from reports.words.verdict_words import (
    ORDER,
    PHASE_NAMES,
    accuracy_badge,
    in_margins,
    margin_words,
    memory_cell,
    parity_level_badge,
    speed_cell,
    track_words,
)

PHASES = ("train", "predict", "predict_one")


def overall(page: Page) -> Table:
    """Return a table with one row for each pair and metric of its verdicts."""
    pooled = [a for pair in page.pairs for a in page.accuracy(pair, pooled=True)]
    margins = {margin_words(a) for a in pooled}
    timed = [p for p in PHASES if any(page.speed(pair, p) for pair in page.pairs)]
    memory = any(page.speed(pair) for pair in page.pairs)
    columns = [
        *texts("Algorithm", "Same trees", "As accurate"),
        Column("Difference of loss", numeric=True),
        *numeric(*(PHASE_NAMES[p].capitalize() for p in timed), unit="ratio"),
        *([Column("Fit memory", numeric=True, unit="ratio")] if memory else []),
    ]
    rows = [
        row
        for pair in page.pairs
        for row in _rows(page, pair, timed, one_margin=len(margins) < 2, memory=memory)
    ]
    caption = "Each algorithm against its reference"
    if len(margins) == 1:
        caption += f"; accuracy pooled over datasets, {margins.pop()}"
    return Table(columns, rows, caption, "verdicts", again=pairs_again(page, page.pairs))


def pair_cell(pair: Pair, variant: str = "") -> Cell:
    """Return the cell with the name of a pair and the params that distinguish it."""
    notes = [short(variant, 60)] if variant else []
    return Cell.named(pair.algorithm, ", ".join([*notes, f"against {short(pair.reference)}"]))


def pair_name(page: Page, algorithm: str, reference: str) -> str:
    """Return the name of a pair: the algorithm, and the reference if it has several."""
    if sum(pair.algorithm == algorithm for pair in page.pairs) < 2:
        return short(algorithm, 24)
    return f"{short(algorithm, 18)} / {short(reference, 18)}"


def _rows(
    page: Page, pair: Pair, timed: Sequence[str], *, one_margin: bool, memory: bool
) -> list[Row]:
    measured = [
        speed_cell(page.speed(pair, phase, pooled=True) or page.speed(pair, phase))
        for phase in timed
    ]
    measured += [memory_cell(page.speed(pair))] if memory else []
    names = [pair_cell(pair), parity_level_cell(page, pair)]
    single = page.accuracy(pair)
    pooled = page.accuracy(pair, pooled=True)
    judged = [a for a in pooled if a.splits] or pooled or (single if len(single) == 1 else [])
    if not judged:
        return [[*names, _tally(single), Cell(""), *measured]]
    rows: list[Row] = []
    for verdict in judged:
        notes = [_where(verdict), track_words(verdict), "" if one_margin else margin_words(verdict)]
        note = ", ".join(filter(None, notes))
        accuracy = Cell([accuracy_badge(verdict.verdict)], verdict.verdict, note)
        names[0] = pair_cell(pair, page.variant(pair.algorithm, verdict.params[0]))
        rows.append([*names, accuracy, in_margins(verdict), *measured])
    return rows


def _where(verdict: Accuracy) -> str:
    if verdict.dataset:
        return f"on {short(verdict.dataset)}"
    return f"on {plural(verdict.splits, 'dataset')}"


def _tally(verdicts: Sequence[Accuracy]) -> Cell:
    """Return the number of datasets with each verdict."""
    counts = [(v, sum(a.verdict == v for a in verdicts)) for v in ORDER]
    return Cell(", ".join(f"{number} {verdict}" for verdict, number in counts if number))


# ------------------------------------------------------------------ parity levels


def parity_level_cell(page: Page, pair: Pair) -> Cell:
    """Return the lowest parity level of a pair in each of its modes, and its claim."""
    parities = [
        p
        for p in page.view.parity
        if (p.algorithm, p.reference) == (pair.algorithm, pair.reference)
    ]
    claims = page.view.algorithms.get(pair.algorithm, {}).get("parity_levels") or {}
    if not parities:
        return Cell("not compared", note=f"claims {_highest(claims)}" if claims else "")
    modes: dict[str, list[Parity]] = {}
    for parity in parities:
        modes.setdefault(mode_of(parity), []).append(parity)
    badges: list[Inline] = []
    missed = False
    for several in modes.values():
        level = lowest(p.parity_level for p in several)
        missed |= any(map(misses, several))
        badges += [parity_level_badge(level, undecided=_undecided(several)), " "]
    names = [f"{short(mode or 'default', 24)} mode" for mode in modes]
    where = f"{few(names)}, {plural(len({p.dataset for p in parities}), 'dataset')}"
    order = lowest(p.parity_level for p in parities)
    return Cell(badges[:-1], order, where, tone="bad" if missed else "")


def misses(parity: Parity) -> bool:
    """Whether a pair reaches less than it claims; an undecided pair does not."""
    open_yet = not parity.parity_level and parity.verdict == "inconclusive"
    return (
        bool(parity.claimed) and not open_yet and not reaches(parity.parity_level, parity.claimed)
    )


def _undecided(parities: Sequence[Parity]) -> bool:
    return all(p.verdict == "inconclusive" for p in parities if not p.parity_level)


def _highest(claims: Mapping[str, str]) -> str:
    """Return the highest claimed parity level, with the modes that claim it."""
    best = max(map(str, claims.values()))
    modes = [short(mode, 24) for mode, level in claims.items() if str(level) == best]
    return f"{short(best, 8)}{SPACE}({few(modes)})"


def same_trees(page: Page) -> tuple[str, str]:
    """Return "1 of 3" pairs that build the reference's trees, and the number in words."""
    compared = {(p.algorithm, p.reference) for p in page.view.parity}
    if not compared:
        return "", "no trees were compared"
    best: dict[tuple[str, str], str] = {}
    for key in compared:
        mine = [p for p in page.view.parity if (p.algorithm, p.reference) == key]
        by_mode = {
            mode_of(p): lowest(q.parity_level for q in mine if mode_of(q) == mode_of(p))
            for p in mine
        }
        best[key] = max(by_mode.values())
    same = sum(reaches(level, "L2") for level in best.values())
    return f"{same} of {len(best)}", f"{plural(len(best), 'pair')} compared tree by tree"


def as_accurate(page: Page) -> tuple[str, str]:
    """Return the number of comparisons in which ours is as good or better, and all counts."""
    pooled = [a for pair in page.pairs for a in page.accuracy(pair, pooled=True)]
    judged = pooled or [a for pair in page.pairs for a in page.accuracy(pair)]
    if not judged:
        return "", "no comparison"
    good = sum(a.verdict in ("equivalent", "better") for a in judged)
    tallies = [(v, sum(a.verdict == v for a in judged)) for v in ORDER]
    badges: list[Badge] = [accuracy_badge(v) for v, number in tallies if number]
    counts = dict(tallies)
    tally = ", ".join(f"{b.symbol}{SPACE}{counts[b.text]} {b.text}" for b in badges)
    return f"{good} of {len(judged)}", tally
