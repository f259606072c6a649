"""Forest plots: one estimate with its interval in each row, and a line of no difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from reports.charts.axes import Axis, brief_ratio, linear, log_scale, rows
from reports.charts.legends import ROW, SPEEDS, VERDICTS
from reports.charts.plot import Boxes, Dots, Lines, Mark, Panel, Plot

WIDTH = 420  # pixels
DRAWN = 40  # rows of a chart; the table has all of them

T = TypeVar("T")


@dataclass(frozen=True)
class Estimate:
    """One row; an unbounded interval is drawn dotted, from edge to edge."""

    name: str
    kind: str  # a meaning
    low: float
    value: float
    high: float
    inner: tuple[float, float] | None = None  # a narrower interval, drawn thicker
    algorithm: str = ""  # if the name is not that of an algorithm


def both_ends(ordered: Sequence[T]) -> tuple[Sequence[T], str]:
    """Return the rows that a chart can show, and a sentence on those that it leaves out."""
    if len(ordered) <= DRAWN:
        return ordered, ""
    half = DRAWN // 2
    cut = f" The chart shows the {half} highest and the {half} lowest; the table has all."
    return [*ordered[:half], *ordered[-half:]], cut


def ratios(estimates: Sequence[Estimate]) -> Plot:
    """Return ratios on a log axis, with a line at 1; ``kind`` is one of ``SPEEDS``."""
    bounds = [x for e in estimates for x in (e.low, e.value, e.high) if 0 < x < math.inf]
    (low, high), ticks = log_scale([*bounds, 1.0])
    axis = Axis(low, high, ticks, [brief_ratio(t) for t in ticks], log=True)
    return _forest(estimates, axis, SPEEDS, one=1.0, marks=[])


def differences(estimates: Sequence[Estimate], margin: float, title: str) -> Plot:
    """Return differences with the band of equivalence; ``kind`` is one of ``VERDICTS``.

    Intervals are clipped at six times the margin or at the widest middle estimate:
    one very wide interval would compress all others.
    """
    reach = max(6 * margin, 1.5 * max((abs(e.value) for e in estimates), default=0.0))
    bounds = [x for e in estimates for x in (e.low, e.value, e.high) if abs(x) <= reach]
    widest = max([1.5 * margin, *map(abs, bounds)])
    axis = linear([-widest, widest], title)
    band = Boxes([(-margin, -0.5, margin, len(estimates) - 0.5)])
    return _forest(estimates, axis, VERDICTS, one=0.0, marks=[band])


def _forest(
    estimates: Sequence[Estimate],
    axis: Axis,
    meanings: Mapping[str, tuple[str, str, str]],
    *,
    one: float,
    marks: list[Mark],
) -> Plot:
    end = len(estimates) - 0.5
    marks = [*marks, Lines([[(one, -0.5), (one, end)]], "ink", 1, "3 3")]
    placed = [(y, _held(e, axis)) for y, e in enumerate(estimates)]
    for kind, (_, shape, color) in meanings.items():
        mine = [(y, e) for y, e in placed if e.kind == kind]
        firm = [(y, e) for y, e in mine if math.isfinite(estimates[y].high)]
        loose = [(y, e) for y, e in mine if not math.isfinite(estimates[y].high)]
        marks += [
            Lines([[(e.low, y), (e.high, y)] for y, e in firm], color, 2),
            Lines([[(e.low, y), (e.high, y)] for y, e in loose], color, 2, "1 4"),
            Lines([[(e.inner[0], y), (e.inner[1], y)] for y, e in firm if e.inner], color, 4),
            Dots([(e.value, y) for y, e in mine], color, shape, 4.2),
        ]
    names = rows([e.name for e in estimates])
    names = replace(names, names=[e.algorithm or e.name for e in estimates])
    return Plot([Panel(axis, names, marks, width=WIDTH, height=ROW * len(estimates))], across=1)


def _held(estimate: Estimate, axis: Axis) -> Estimate:
    """Return an estimate with its bounds clipped to the axis."""

    def hold(x: float) -> float:
        return min(max(x, axis.low), axis.high)

    inner = (hold(estimate.inner[0]), hold(estimate.inner[1])) if estimate.inner else None
    return replace(estimate, low=hold(estimate.low), high=hold(estimate.high), inner=inner)
