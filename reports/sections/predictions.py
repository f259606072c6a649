"""Section Predictions: share of identical predictions of each pair, and distances of others.

Made from the stored predictions of the first split that both sides have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness import Section, hookimpl
from harness.analysis.diagnostics import InapplicableError
from harness.analysis.diagnostics.agreement import Agreement, compare, numbers
from harness.analysis.run_view import Cell as Measured
from harness.core.model import Outcome, Status
from reports.blocks.blocks import Block, Details, Figure, Fragment, Key, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.axes import Axis, linear, rows
from reports.charts.legends import ROW
from reports.charts.plot import Boxes, Dots, Lines, Mark, Panel, Plot
from reports.page.page import Page, Pair, canonical
from reports.text.format import DASH, count, digits, plural, share, short, steps

MAX_PAIRS = 300  # comparisons of one report
SCATTERS = 12  # the pairs that are furthest apart
BARS = 40
POINTS = 120  # of one scatter: those with the largest distance, and some of the others
COLORS = ("blue", "sky", "green", "amber", "orange", "purple", "muted")  # of the distances
NOTE = (
    "Predictions for the same test rows, on the first split. A step is the distance "
    "between neighboring floating-point numbers: 0 means identical bits, a few steps "
    "are rounding of sums in another order. Bars follow the order of the legend, "
    "identical bits first."
)


@dataclass(frozen=True)
class Compared:
    """The two sides of a pair on one dataset."""

    pair: Pair
    dataset: str
    split: str
    ours: np.ndarray
    theirs: np.ndarray
    agreement: Agreement
    variant: str  # params that distinguish it from other sets, or ""
    track: str  # of a run with several tracks, or ""
    shows_algorithm: bool = True  # whether the name has the algorithm

    @property
    def name(self) -> str:
        """The pair's first side, its params, the dataset and the track."""
        algorithm = short(self.pair.algorithm, 24) if self.shows_algorithm else ""
        side = " ".join(filter(None, [algorithm, short(self.variant, 16)]))
        return " · ".join(filter(None, [side, short(self.dataset, 20), short(self.track, 10)]))


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("predictions", "Predictions", 17, build))


def build(page: Page) -> Fragment | None:
    """Return the distances of each pair's predictions, and scatters of the largest."""
    comparisons = list(compared(page))
    if not comparisons:
        return None
    several = len({c.pair for c in comparisons}) > 1
    comparisons = [replace(c, shows_algorithm=several) for c in comparisons]
    same = sum(c.agreement.same == 1 for c in comparisons)
    steps: Block = _steps(page, comparisons)
    if not any(sum(list(c.agreement.ulps.values())[:-1]) for c in comparisons):
        summary = "No prediction of any comparison is within 65535 steps of the reference"
        steps = Details(summary, [steps])
    blocks: list[Block] = [Paragraph(NOTE, role="note"), steps]
    different = [c for c in comparisons if c.agreement.same < 1]
    if different:
        different.sort(key=lambda c: (c.agreement.correlation or 0.0, c.name))
        blocks.append(_scatters(page, different[:SCATTERS], len(different)))
    return Fragment(blocks, badge=f"{same} of {len(comparisons)} same" if same else "")


def compared(page: Page) -> Iterator[Compared]:
    """Yield each pair on each dataset with predictions of both sides for one split."""
    cells: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for cell in page.view.cells:
        cells[cell.algorithm, cell.dataset].append(cell)
    number = 0
    for verdict in page.view.accuracy:
        pair = Pair(verdict.algorithm, verdict.reference)
        sides = [
            _side(cells[name, verdict.dataset], verdict.preparation, params)
            for name, params in zip((pair.algorithm, pair.reference), verdict.params, strict=True)
        ]
        comparison = _compared(page, pair, sides) if all(sides) and number < MAX_PAIRS else None
        if comparison:
            number += 1
            yield replace(comparison, track=verdict.track)


def _side(
    cells: Sequence[Measured], preparation: str, params: Mapping[str, object]
) -> dict[str, Outcome]:
    """Return the finished outcomes of one side of a pair, by split.

    A verdict without params is about the only set of its algorithm.
    """
    prepared = [cell for cell in cells if preparation in ("", cell.preparation)]
    same = [cell for cell in prepared if canonical(cell.params) == canonical(params)]
    chosen = same or ([] if params else prepared)
    outcomes = chosen[0].outcomes if chosen else ()
    return {o.trial.split.label: o for o in outcomes if o.status is Status.DONE}


def _compared(page: Page, pair: Pair, sides: Sequence[Mapping[str, Outcome]]) -> Compared | None:
    label = next((label for label in sides[0] if label in sides[1]), "")
    if not label:
        return None
    outputs = [page.view.predictions(side[label]).get("output") for side in sides]
    if outputs[0] is None or outputs[1] is None:
        return None
    ours, theirs = (np.asarray(output, np.float64) for output in outputs)
    try:
        agreement = compare(ours, theirs)
    except InapplicableError:
        return None
    trial = sides[0][label].trial
    variant = page.variant(trial.algorithm, trial.params)
    ours, theirs = numbers(ours), numbers(theirs)
    return Compared(pair, trial.dataset, label, ours, theirs, agreement, variant, "")


# ------------------------------------------------------------------ steps


def _steps(page: Page, comparisons: Sequence[Compared]) -> Figure:
    names = list(comparisons[0].agreement.ulps)
    drawn = sorted(comparisons, key=lambda c: (-c.agreement.same, c.name))[:BARS]
    same = sum(c.agreement.same == 1 for c in comparisons)
    compared_pairs = plural(len(comparisons), "comparison")
    finding = f"{same} of {compared_pairs} have identical bits in every prediction."
    return Figure(
        spec=shares([(c.name, c.agreement.ulps) for c in drawn]),
        title="Share of predictions by their distance in representable numbers",
        finding=finding
        + (f" The chart shows {BARS}; the table has all." if len(comparisons) > BARS else ""),
        table=_table(comparisons),
        keys=[Key("■", color, f"{name} steps") for name, color in zip(names, COLORS, strict=True)],
        again=_rerun_command(page, drawn),
    )


def _rerun_command(page: Page, drawn: Sequence[Compared]) -> str:
    names = (name for c in drawn for name in (c.pair.algorithm, c.pair.reference))
    return page.again(names, (c.dataset for c in drawn))


def shares(histograms: Sequence[tuple[str, Mapping[str, int]]]) -> Plot:
    """Return one bar for each comparison, stacked by distance, identical bits first."""
    boxes: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for y, (_, ulps) in enumerate(histograms):
        total, start = sum(ulps.values()), 0.0
        for name, color in zip(ulps, COLORS, strict=False):
            if ulps[name]:
                end = start + ulps[name] / total
                boxes[color].append((start, y - 0.36, end, y + 0.36))
                start = end
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    x = Axis(0.0, 1.0, ticks, [f"{t:.0%}" for t in ticks], "share of predicted numbers")
    marks = [Boxes(stacked, color) for color, stacked in boxes.items()]
    names = rows([name for name, _ in histograms])
    return Plot([Panel(x, names, marks, width=420, height=ROW * len(histograms))], across=1)


def _table(comparisons: Sequence[Compared]) -> Table:
    columns = [
        *texts("Algorithm", "Dataset"),
        *numeric(
            "Same bits",
            "Largest difference",
            "Most steps",
            "Correlation",
            "Same label",
            "Numbers",
            *(f"{name} steps" for name in comparisons[0].agreement.ulps),
        ),
    ]
    rows: list[Row] = [
        [
            Cell.named(c.pair.algorithm, _against(c)),
            Cell(short(c.dataset), c.dataset, short(c.split)),
            Cell.of(c.agreement.same, share),
            Cell.of(c.agreement.largest, digits),
            Cell.of(c.agreement.most_ulps, steps, note=c.agreement.dtype),
            Cell.of(c.agreement.correlation, lambda value: digits(value, 6)),
            Cell(
                DASH if c.agreement.labels is None else share(c.agreement.labels),
                c.agreement.labels,
            ),
            Cell.of(len(c.ours), count),
            *(Cell.of(number, count) for number in c.agreement.ulps.values()),
        ]
        for c in comparisons
    ]
    return Table(columns, rows, "Predictions of each pair on the same rows", "predictions")


def _against(comparison: Compared) -> str:
    against = f"against {short(comparison.pair.reference)}"
    return f"{short(comparison.variant, 60)}, {against}" if comparison.variant else against


# ------------------------------------------------------------------ scatters


def _scatters(page: Page, drawn: Sequence[Compared], n_pairs: int) -> Details:
    columns = [Column("Algorithm and dataset"), *numeric("Reference", "Ours")]
    rows: list[Row] = []
    panels = []
    for c in drawn:
        kept = _drawn_rows(c)
        panels.append(_scatter(c, kept))
        rows += [
            [c.name, *(Cell.of(float(v[i]), digits) for v in (c.theirs, c.ours))] for i in kept
        ]
    cut = any(len(c.ours) > POINTS for c in drawn)
    caption = "Each prediction in the chart"
    caption += f"; of many, the {POINTS // 2} furthest apart and some of the others" if cut else ""
    figure = Figure(
        spec=Plot(panels, across=4),
        title="Our predictions against those of the reference, one panel for each pair",
        finding="Each dot is a test row; on the line both predictions are equal.",
        table=_table(drawn),
        points=Table(columns, rows, caption, "predictions-scatter"),
        again=_rerun_command(page, drawn),
    )
    words = f"Ours against the reference, for the {len(drawn)} of {n_pairs} that agree least"
    return Details(words, [figure])


def _drawn_rows(comparison: Compared) -> list[int]:
    """Return the rows to draw: the largest distances first, then others evenly."""
    order = np.argsort(-np.abs(comparison.ours - comparison.theirs), kind="stable")
    far, rest = order[: POINTS // 2], order[POINTS // 2 :]
    step = max(1, -(-len(rest) // (POINTS - len(far))))
    return [int(i) for i in (*far, *rest[::step])]


def _scatter(comparison: Compared, kept: Sequence[int]) -> Panel:
    points = [(float(comparison.theirs[i]), float(comparison.ours[i])) for i in kept]
    every = [v for point in points for v in point]
    x, y = linear(every, "reference", most=4), linear(every, "ours", most=4)
    ends = (x.low, x.high)
    marks: list[Mark] = [
        Lines([[(e, e) for e in ends]], "muted", 1, "3 3"),
        Dots(points, "blue", radius=2, opacity=0.6),
    ]
    return Panel(x, y, marks, comparison.name, 170, 150)
