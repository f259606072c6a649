"""Section Verdicts: all verdicts on each dataset, with their evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from harness import Section, hookimpl
from harness.analysis.run_view import Accuracy, Speed
from reports.blocks.blocks import Block, Details, Fragment, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.page.page import Page, Pair
from reports.page.verdict_matrix import pair_cell, pair_name
from reports.text.format import digits, share, short
from reports.text.inline import Inline, Words
from reports.text.rerun_commands import cells_again
from reports.words.verdict_words import (
    accuracy_badge,
    in_margins,
    margin_words,
    speed_badge,
    track_words,
    training_phase,
)

POSTERIOR = ("worse", "equivalent", "better")
EXPLAINED = (
    "≈ equivalent: the 90 % interval of the difference lies inside the margin. ▲ better and "
    "▼ worse: the 95 % interval lies on one side of zero. ? inconclusive: neither. Ratios are the "
    "reference's time or memory over ours: above 1, ours needs less."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("verdicts", "Verdicts", 10, build))


def build(page: Page) -> Fragment | None:
    """Return the matrix of datasets and pairs, and every verdict in full."""
    if not page.pairs:
        return None
    blocks: list[Block] = [Paragraph(EXPLAINED, role="note")]
    if any(page.accuracy(pair) or page.speed(pair) for pair in page.pairs):
        blocks += [_matrix(page)]
    if any(page.accuracy(pair) for pair in page.pairs):
        blocks += [Details("Every accuracy verdict, with its evidence", [_every(page)])]
    return Fragment(blocks)


def _matrix(page: Page) -> Table:
    """Return accuracy verdict and ratio of training times of each pair on each dataset.

    The table is as narrow as possible: the fewer of pairs and datasets are its columns.
    """
    phase = training_phase(page.view.speed)
    verdicts_of: dict[str, dict[Pair, tuple[list[Accuracy], list[Speed]]]] = defaultdict(dict)
    for pair in page.pairs:
        for verdict in page.accuracy(pair):
            verdicts_of[verdict.dataset].setdefault(pair, ([], []))[0].append(verdict)
        for speed in page.speed(pair, phase):
            verdicts_of[speed.dataset].setdefault(pair, ([], []))[1].append(speed)
    names = [pair_name(page, pair.algorithm, pair.reference) for pair in page.pairs]
    datasets = sorted(verdicts_of)
    cells = {
        (pair, dataset): _matrix_cell(phase, *verdicts_of[dataset].get(pair, ((), ())))
        for pair in page.pairs
        for dataset in datasets
    }
    if len(names) > len(datasets):
        columns = texts("Algorithm", *(short(dataset, 40) for dataset in datasets))
        rows: list[Row] = [
            [Cell.named(name), *(cells[pair, dataset] for dataset in datasets)]
            for name, pair in zip(names, page.pairs, strict=True)
        ]
    else:
        columns = texts("Dataset", *names)
        rows = [
            [Cell(short(dataset), dataset), *(cells[pair, dataset] for pair in page.pairs)]
            for dataset in datasets
        ]
    caption = f"Accuracy verdict on each dataset, and the ratio of the duels' {phase} times"
    return Table(columns, rows, caption, "verdict-matrix", again=cells_again(page))


def _matrix_cell(phase: str, verdicts: Sequence[Accuracy], speeds: Sequence[Speed]) -> Cell:
    judged: list[Inline] = []
    for verdict in verdicts:  # several if there are several tracks or params
        judged += [f"{short(verdict.track)} "] if verdict.track else []
        judged += [accuracy_badge(verdict.verdict), " "]
    timed: Words = [f"{phase} ", *(speed_badge(speed) for speed in speeds)] if speeds else ""
    if not judged:
        return Cell(timed)
    return Cell(judged, " ".join(verdict.verdict for verdict in verdicts), timed)


def _every(page: Page) -> Table:
    columns = [
        *texts("Algorithm", "Dataset", "Verdict"),
        Column("Difference", numeric=True),
        *numeric("Low", "High", unit="95 %"),
        *numeric(*(f"P({word})" for word in POSTERIOR)),
        Column("Metric and margin"),
        Column("Splits", numeric=True),
        Column("Notes, and what is needed to decide", wide=True),
    ]
    rows: list[Row] = [
        [
            pair_cell(pair),
            Cell(short(a.dataset), note=short(a.preparation)),
            Cell([accuracy_badge(a.verdict)], a.verdict),
            replace(in_margins(a), note=a.difference.note),
            Cell.of(a.difference.low, digits),
            Cell.of(a.difference.high, digits),
            *(Cell.of(p, share) for p in a.posterior or (None,) * len(POSTERIOR)),
            ": ".join(filter(None, [track_words(a), margin_words(a)])),
            Cell(str(a.splits), a.splits),
            "; ".join(short(text, 300) for text in (a.advice, *a.notes) if text),
        ]
        for pair in page.pairs
        for a in page.accuracy(pair)
    ]
    caption = (
        "Difference of the loss, reference minus ours, with 95 % intervals: above 0, ours is "
        "better. Beside it the posterior of the Bayesian correlated t-test, with the same "
        "margin"
    )
    return Table(columns, rows, caption, "accuracy")
