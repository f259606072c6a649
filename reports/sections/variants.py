"""Section Variants: variants of an algorithm against its first one, by split."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness import Section, hookimpl
from harness.analysis.run_view import Cell as Measured
from harness.analysis.seconds import counts
from harness.core.model import Sample, Status
from reports.blocks.blocks import Figure, Fragment, Paragraph
from reports.blocks.blocks import Panel as Part
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.axes import brief_ratio, linear, logarithmic
from reports.charts.axes import rows as rows_of
from reports.charts.legends import ROW
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot
from reports.page.page import Page
from reports.text.format import few, plural, ratio, short, signed
from reports.text.inline import Code
from reports.text.means import mean

MAX_VARIANTS = 30  # variants of one chart
NOTE = (
    "Each variant against the first one of its algorithm on the same splits: a dot is a "
    "split, a vertical mark their mean. Left of 0 the loss is lower. Times are from "
    "single runs and rough."
)


@dataclass(frozen=True)
class Variant:
    """One set of params on one dataset, compared with the base on the same splits."""

    name: str
    changes: tuple[float, ...]  # loss - loss of the base, for each split
    ratios: tuple[float, ...]  # training seconds over those of the base
    splits: tuple[tuple[str, float, float], ...]  # label, change and ratio; NaN if missing
    base: bool


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("variants", "Variants", 48, build))


def build(page: Page) -> Fragment | None:
    """Return one panel for each algorithm with several sets of params."""
    variants_of = variants(page)
    if not variants_of:
        return None
    parts = [
        Part(
            f"{short(algorithm, 40)} on {short(dataset, 40)}",
            [_figure(page, algorithm, dataset, several)],
            page.anchor("variants", f"{algorithm}-{dataset}"),
            folded=len(variants_of) > 6,
        )
        for (algorithm, dataset), several in variants_of.items()
    ]
    return Fragment([Paragraph(NOTE, role="note"), *parts])


def variants(page: Page) -> dict[tuple[str, str], list[Variant]]:
    """Return (algorithm, dataset) → its variants, the base first, if there are several.

    Variants have the same tracks and the same preparation; one that failed on every
    split is left out; if the base failed, the next one is the base.
    """
    grouped: dict[tuple[str, ...], list[tuple[str, Measured]]] = defaultdict(list)
    for cell in page.view.cells:
        if any(o.status is Status.DONE for o in cell.outcomes):
            key = (cell.algorithm, cell.dataset, cell.preparation, *cell.tracks)
            grouped[key].append((page.variant(cell.algorithm, cell.params), cell))
    variants_of: dict[tuple[str, str], list[Variant]] = {}
    for key, cells in grouped.items():
        if len(cells) > 1:
            base = cells[0][1]
            several = [_variant(page, name, cell, base) for name, cell in cells]
            variants_of.setdefault((key[0], key[1]), []).extend(several)
    return variants_of


def _variant(page: Page, name: str, cell: Measured, base: Measured) -> Variant:
    metric = page.metric(base)
    sign = 1.0 if page.lower_is_better(metric) else -1.0
    mine, its = (_by_split(page, c, metric) for c in (cell, base))
    shared = [label for label in its if label in mine]
    splits = tuple(
        (
            label,
            sign * (mine[label][0] - its[label][0]),
            mine[label][1] / its[label][1] if its[label][1] > 0 else math.nan,
        )
        for label in shared
    )
    return Variant(
        name,
        tuple(c for _, c, _ in splits if math.isfinite(c)),
        tuple(r for _, _, r in splits if math.isfinite(r) and r > 0),
        splits,
        base=cell is base,
    )


def _by_split(page: Page, cell: Measured, metric: str) -> dict[str, tuple[float, float]]:
    """Return split → (loss, training seconds) of the finished outcomes."""
    scores = cell.scores.get(metric, ())
    return {
        f"{o.trial.split.label} {o.trial.seed} {o.trial.threads}": (
            score,
            _seconds(o.samples) if counts(o, page.view.machines) else math.nan,
        )
        for o, score in zip(cell.outcomes, scores, strict=False)
        if o.status is Status.DONE
    }


def _seconds(samples: Sequence[Sample]) -> float:
    walls = [s.wall for s in samples if s.phase == "fit"]
    return statistics.median(walls) if walls else math.nan


def _figure(page: Page, algorithm: str, dataset: str, found: Sequence[Variant]) -> Figure:
    drawn = found[:MAX_VARIANTS]
    panels = [_panel(drawn, "changes", "change of the loss")]
    if any(v.ratios for v in drawn):
        panels.append(_panel(drawn, "ratios", "training time over the first"))
    return Figure(
        spec=Plot(panels, across=2),
        title=f"Change of loss and of time by variants of {algorithm} on {dataset}",
        finding=_finding(found)
        + (f" The chart shows the first {MAX_VARIANTS}." if len(found) > MAX_VARIANTS else ""),
        table=_table(algorithm, dataset, found),
        again=page.again([algorithm], [dataset]),
        points=_points(algorithm, dataset, drawn),
    )


def _points(algorithm: str, dataset: str, drawn: Sequence[Variant]) -> Table:
    columns = [*texts("Variant", "Split"), *numeric("Change of the loss", "Time over the first")]
    rows: list[Row] = [
        [v.name, label, Cell.of(change, signed), Cell.of(over, ratio)]
        for v in drawn
        for label, change, over in v.splits
    ]
    return Table(columns, rows, "Each split in the chart", f"variants-splits-{algorithm}-{dataset}")


def _finding(found: Sequence[Variant]) -> str:
    others = [v for v in found if not v.base and v.changes]
    better = [v.name for v in others if max(v.changes) < 0]
    worse = [v.name for v in others if min(v.changes) > 0]
    parts = [f"{plural(len(others), 'variant')} beside {short(found[0].name, 60)}"]
    parts += [f"lower loss on every split: {few(better, 2)}"] if better else []
    parts += [f"higher loss on every split: {few(worse, 2)}"] if worse else []
    return "; ".join(parts) + "."


def _panel(found: Sequence[Variant], key: str, title: str) -> Panel:
    values: list[Sequence[float]] = [getattr(v, key) for v in found]
    every = [x for several in values for x in several]
    if key == "ratios":
        axis, none = logarithmic([*every, 1.0], title, label_of=brief_ratio), 1.0
    else:
        axis, none = linear([*every, 0.0], title), 0.0
    dots = [(x, float(y)) for y, several in enumerate(values) for x in several]
    middles = [(mean(several), y) for y, several in enumerate(values) if several]
    marks: list[Mark] = [
        Lines([[(none, -0.5), (none, len(found) - 0.5)]], "ink", 1, "3 3"),
        Dots(dots, "blue", radius=3.6, opacity=0.65),
        Lines([[(x, y - 0.32), (x, y + 0.32)] for x, y in middles], "ink"),
    ]
    names = rows_of([v.name for v in found], labeled=key == "changes")
    return Panel(axis, names, marks, width=230, height=ROW * len(found))


def _table(algorithm: str, dataset: str, found: Sequence[Variant]) -> Table:
    columns = [
        Column("Variant"),
        *numeric("Mean change", "Least", "Most", "Time over the first", "Splits"),
    ]
    rows: list[Row] = [
        [
            Cell([Code(short(v.name, 80))], v.name, "the first" if v.base else ""),
            Cell.of(mean(v.changes), signed),
            Cell.of(min(v.changes, default=None), signed),
            Cell.of(max(v.changes, default=None), signed),
            Cell.of(statistics.median(v.ratios) if v.ratios else None, ratio),
            Cell(str(len(v.changes)), len(v.changes)),
        ]
        for v in found
    ]
    caption = f"Change of the loss against the first variant on {short(dataset)}"
    return Table(columns, rows, caption, f"variants-{algorithm}-{dataset}")
