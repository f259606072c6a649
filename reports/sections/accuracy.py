"""Section Accuracy: every difference of the loss with its interval and the equivalence margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from harness import Section, hookimpl
from harness.analysis.run_view import Accuracy
from reports.blocks.blocks import Figure, Fragment, Panel, Paragraph
from reports.blocks.tables import Cell, Row, Table, numeric, texts
from reports.charts.forest import Estimate, both_ends, differences
from reports.charts.legends import VERDICTS, keys
from reports.page.page import Page
from reports.page.verdict_matrix import pair_name
from reports.text.format import digits, plural, short, signed
from reports.words.verdict_words import ORDER, accuracy_badge

NOTE = (
    "Loss of the reference minus ours, as a share of the dataset's gap between the "
    "constant model and the best model: right of 0 ours is better. The thin bar is the "
    "95 % interval, the thick bar the 90 % interval. If the thick bar lies inside the "
    "band, both are equivalent. A bar that ends at the edge of the chart is cut off."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("accuracy", "Accuracy", 35, build))


def build(page: Page) -> Fragment | None:
    """Return a forest plot of datasets, and one of pooled differences."""
    single = [a for pair in page.pairs for a in page.accuracy(pair) if _usable(a)]
    pooled = [a for pair in page.pairs for a in page.accuracy(pair, pooled=True) if _usable(a)]
    panels = [
        Panel(title, [_figure(page, several, title)], page.anchor("accuracy", title))
        for title, several in (("Pooled over datasets", pooled), ("On each dataset", single))
        if several
    ]
    return Fragment([Paragraph(NOTE, role="note"), *panels]) if panels else None


def _usable(verdict: Accuracy) -> bool:
    return verdict.margin > 0 and math.isfinite(verdict.difference.value) and _scale(verdict) > 0


def _scale(verdict: Accuracy) -> float:
    """Return the divisor that makes a difference a share of the gap."""
    return verdict.gap if verdict.dataset else 1.0


def _figure(page: Page, verdicts: Sequence[Accuracy], title: str) -> Figure:
    ordered = sorted(verdicts, key=lambda a: -a.difference.value / _scale(a))
    drawn, cut = both_ends(ordered)
    margin = max(a.margin / _scale(a) for a in drawn)
    several = len({(a.algorithm, a.reference) for a in drawn}) > 1
    counts = [(v, sum(a.verdict == v for a in verdicts)) for v in ORDER]
    tally = ", ".join(f"{n} {v}" for v, n in counts if n)
    whose = "" if several else f" of {short(drawn[0].algorithm)} with {short(drawn[0].reference)}"
    return Figure(
        spec=differences(
            [_estimate(page, a, is_named=several) for a in drawn],
            margin,
            "difference, share of the gap",
        ),
        title=f"{title}: difference of the loss with intervals, and the band of equivalence",
        finding=f"Of {plural(len(verdicts), 'comparison')}{whose}: {tally}.{cut}",
        table=_table(page, ordered, title),
        keys=keys(VERDICTS, (a.verdict for a in drawn)),
        again=page.again(
            (name for a in drawn for name in (a.algorithm, a.reference)),
            (a.dataset for a in drawn if a.dataset),
        ),
    )


def _estimate(page: Page, verdict: Accuracy, *, is_named: bool = True) -> Estimate:
    """Return a row; its name leaves the algorithm out if all rows are of the same one."""
    scale, interval, inner = _scale(verdict), verdict.difference, verdict.inner
    variant = short(page.variant(verdict.algorithm, verdict.params[0]), 16)
    name = " ".join(filter(None, [pair_name(page, verdict.algorithm, verdict.reference), variant]))
    place = [short(verdict.dataset, 20), short(verdict.track, 10)]
    parts = [part for part in (name if is_named else variant, *place) if part]
    return Estimate(
        " · ".join(parts) or name,
        verdict.verdict,
        interval.low / scale,
        interval.value / scale,
        interval.high / scale,
        (inner.low / scale, inner.high / scale) if inner else None,
        verdict.algorithm,
    )


def _table(page: Page, verdicts: Sequence[Accuracy], title: str) -> Table:
    columns = [
        *texts("Algorithm", "Dataset", "Verdict"),
        *numeric("Difference", "Low", "High", "Margin", unit="share of the gap"),
    ]
    rows: list[Row] = []
    for a in verdicts:
        estimate = _estimate(page, a)
        bounds = (Cell.of(x, digits) for x in (estimate.low, estimate.high))
        rows.append(
            [
                Cell.named(a.algorithm, f"against {short(a.reference)}"),
                short(a.dataset) or "pooled",
                Cell([accuracy_badge(a.verdict)], a.verdict),
                Cell.of(estimate.value, signed),
                *bounds,
                Cell.of(a.margin / _scale(a), digits),
            ]
        )
    name = f"accuracy-{'each' if any(a.dataset for a in verdicts) else 'pooled'}"
    return Table(columns, rows, f"{title}: every difference", name)
