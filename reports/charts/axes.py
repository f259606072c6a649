"""Axes of a plot: positions of values, and round values as ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from reports.text.format import MINUS, TIMES, short
from reports.text.palette import LABEL

TICKS = 6  # of a log axis, at most


@dataclass(frozen=True)
class Axis:
    """Map from a quantity to a share of the panel's width or height."""

    low: float
    high: float
    ticks: Sequence[float]
    labels: Sequence[str]  # one for each tick
    title: str = ""
    log: bool = False
    names: Sequence[str] = ()  # of rows, if the axis has rows of names

    def share(self, value: float) -> float:
        """Return the position of a value: 0 at ``low``, 1 at ``high``, clipped to the panel."""
        low, high = self.low, self.high
        if self.log:
            value = max(value, min(low, high))
            low, high, value = math.log(low), math.log(high), math.log(value)
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def value(self, share: float) -> float:
        """Return the value at a position; the inverse of :meth:`share`."""
        if self.log:
            return self.low * (self.high / self.low) ** share
        return self.low + share * (self.high - self.low)


def number(value: float) -> str:
    """Return the shortest label of a tick."""
    if value and not 1e-4 <= abs(value) < 1e5:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("-", MINUS)
    return f"{value:.6g}".replace("-", MINUS)


def brief_seconds(value: float) -> str:
    """Return the label of a tick of time: 10 ms."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if value * factor >= 0.9995:
            return f"{value * factor:g} {unit}"
    return f"{value * 1e6:g} µs"


def brief_ratio(value: float) -> str:
    """Return the label of a tick of a ratio: ×2."""
    return f"{TIMES}{value:g}"


def linear(
    values: Iterable[float],
    title: str = "",
    *,
    zero: bool = False,
    most: int = 5,
    label_of: Callable[[float], str] = number,
) -> Axis:
    """Return an axis around finite values, with at most so many round ticks."""
    kept = [v for v in values if math.isfinite(v)] or [0.0]
    low, high = min(kept), max(kept)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    room = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - room * (not zero or low < 0), high + room * (not zero or high > 0)
    high = high if high > low else low + room  # all are 0
    step = next(s for s in _steps(high - low) if (high - low) / s <= most)
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    ticks = [min(max(i * step, low), high) for i in places]  # i · step may round beyond an end
    return Axis(low, high, ticks, [label_of(round(t, 12)) for t in ticks], title)


def _steps(span: float) -> Iterator[float]:
    exponent = math.floor(math.log10(span)) - 2
    while True:
        yield from (m * 10.0**exponent for m in (1, 2, 5))
        exponent += 1


def logarithmic(
    values: Iterable[float], title: str = "", *, label_of: Callable[[float], str] = number
) -> Axis:
    """Return an axis around positive values whose ticks are 1, 2, 3 or 5 times a power of ten."""
    (low, high), ticks = log_scale(values)
    return Axis(low, high, ticks, [label_of(t) for t in ticks], title, log=True)


def rows(names: Sequence[str], *, labeled: bool = True) -> Axis:
    """Return an axis of names, the first at the top; positions are row numbers."""
    labels = [short(name, LABEL) if labeled else "" for name in names]
    ticks = range(len(names))
    return Axis(len(names) - 0.5, -0.5, ticks, labels, names=[short(n, LABEL) for n in names])


def log_scale(values: Iterable[float]) -> tuple[list[float], list[float]]:
    """Return the domain of a log axis around positive values, and two to seven ticks."""
    positive = [v for v in values if 0 < v < math.inf] or [1.0]
    low, high = min(positive) / 1.25, max(positive) * 1.25
    while len(_ticks(low, high, (1, 2, 3, 5))) < 2:
        low, high = low / 1.25, high * 1.25
    for factors in ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        ticks = _ticks(low, high, factors)
        if len(ticks) <= TICKS:
            return [low, high], ticks
    return [low, high], ticks[:: math.ceil(len(ticks) / TICKS)]


def _ticks(low: float, high: float, factors: Sequence[int]) -> list[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**e for e in exponents for m in factors if low <= m * 10.0**e <= high]
