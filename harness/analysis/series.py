"""A number over commits, and where it steps: asv's own detection, for its results and for ours.

A step is a place from which on the values lie on another level. asv fits a piecewise constant
function to the whole series, so that noise is no step and a slow drift is told as several.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from harness.core.errors import HarnessError

THRESHOLD = 0.05  # of the level before; smaller steps are not told


class NoAsvError(HarnessError):
    """asv is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "asv is not installed, and with it its results and its detection of steps: "
            "pip install asv asv-runner virtualenv"
        )


@dataclass(frozen=True)
class Point:
    """A value of one commit."""

    commit: str  # as it is shown; "+" at its end: edited since
    when: str  # ISO 8601; points stand in this order
    value: float


@dataclass(frozen=True)
class Step:
    """A change of level: from the last point before it to the first point of the new one."""

    index: int  # of the first point of the new level
    before: float
    after: float

    @property
    def share(self) -> float:
        """Return the change as a share of the level before."""
        return (self.after - self.before) / abs(self.before) if self.before else math.inf


@dataclass(frozen=True)
class Series:
    """What one thing measured over commits; lower is better."""

    algorithm: str  # "" where it is about none
    dataset: str
    measure: str  # "fit", "loss", or the name of an asv benchmark
    unit: str
    source: str  # "harness" or "asv", and what tells two series apart: the machine
    points: tuple[Point, ...]
    steps: tuple[Step, ...] = ()

    @property
    def name(self) -> str:
        """Return what it is about in one line."""
        return " · ".join(filter(None, [self.algorithm, self.dataset, self.measure]))


def by_commit(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return one point a commit, in order of time: the median of what was measured of it."""
    grouped: dict[str, list[Point]] = {}
    for point in sorted(points, key=lambda p: p.when):
        if math.isfinite(point.value):
            grouped.setdefault(point.commit, []).append(point)
    return tuple(
        Point(commit, same[0].when, median(p.value for p in same))
        for commit, same in grouped.items()
    )


def find_steps(points: Sequence[Point], threshold: float = THRESHOLD) -> tuple[Step, ...]:
    """Return where a series steps by more than a share of its level, up or down.

    Raises
    ------
    NoAsvError
        Where asv is not installed.
    """
    try:
        from asv.step_detect import detect_steps
    except ImportError:
        raise NoAsvError from None
    levels = detect_steps([point.value for point in points])
    found = []
    for (_, _, before, _, _), (left, _, after, _, _) in pairwise(levels):
        if abs(after - before) > threshold * abs(before):
            found.append(Step(left, before, after))
    return tuple(found)
