"""Counts of each pair's verdicts over its datasets, after Holm, as table and Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from harness.analysis.run_view import Accuracy
from harness.analysis.verdict_counts import VERDICTS, VerdictCounts, count_verdicts
from reports.blocks.tables import Cell, Column, Row, Table, numeric
from reports.page.page import Page, Pair
from reports.text.format import count, few, plural, short
from reports.text.rerun_commands import pairs_again

CAPTION = (
    "Number of datasets by verdict. Better and worse count only if they hold after "
    "Holm's adjustment over the datasets of the pair; all others are inconclusive"
)


def counted(accuracy: Iterable[Accuracy]) -> list[VerdictCounts]:
    """Return the counts of pairs with two or more common datasets."""
    return [one for one in count_verdicts(accuracy) if one.datasets > 1]


def counts_table(page: Page) -> Table | None:
    """Return a table with one row for each pair, or None if none has two common datasets."""
    counts = counted(page.view.accuracy)
    if not counts:
        return None
    columns = [
        Column("Algorithm"),
        *numeric("Datasets", *(verdict.capitalize() for verdict in VERDICTS)),
        Column("Worse on", wide=True),
    ]
    again = pairs_again(page, (Pair(one.algorithm, one.reference) for one in counts))
    rows = [_row(one) for one in counts]
    return Table(columns, rows, CAPTION, "verdicts-counted", again=again)


def counts_of(page: Page, pair: Pair) -> list[VerdictCounts]:
    """Return the counts of one pair: several if it has several tracks or variants."""
    counts = counted(page.view.accuracy)
    return [one for one in counts if Pair(one.algorithm, one.reference) == pair]


def counts_words(one: VerdictCounts) -> str:
    """Return "of 9 datasets 6 equivalent, 1 better, 0 worse, 2 inconclusive after Holm"."""
    tally = ", ".join(f"{count(getattr(one, verdict))} {verdict}" for verdict in VERDICTS)
    return f"of {plural(one.datasets, 'dataset')} {tally} after Holm"


def _row(one: VerdictCounts) -> Row:
    track = f", {short(one.track)} track" if one.track else ""
    worse = Cell(count(one.worse), one.worse, tone="bad" if one.worse else "")
    counts = {v: Cell.of(getattr(one, v), count) for v in VERDICTS} | {"worse": worse}
    return [
        Cell.named(one.algorithm, f"against {short(one.reference)}{track}"),
        Cell.of(one.datasets, count),
        *(counts[verdict] for verdict in VERDICTS),
        "; ".join(
            filter(
                None, (_named(one.worse_on), _named(one.doubtful, "not significant after Holm: "))
            )
        ),
    ]


def _named(datasets: tuple[str, ...], before: str = "") -> str:
    return f"{before}{few([short(name) for name in datasets])}" if datasets else ""
