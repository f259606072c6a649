"""Values over commits, and their steps by asv's detection, for results of asv and of the harness.

A step is a place after which the values have another level. asv fits a piecewise constant function
to the whole series, so noise is no step and a slow drift gives several.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from harness.core.errors import HarnessError

THRESHOLD = 0.05  # of the level before; smaller steps are ignored


class NoAsvError(HarnessError):
    """Raised if asv is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "asv, which reads its results and detects steps, is not installed: "
            "pip install asv asv-runner virtualenv"
        )


@dataclass(frozen=True)
class Point:
    """The value of one commit."""

    commit: str  # as shown; a final "+" means uncommitted changes
    when: str  # ISO 8601; points are in this order
    value: float


@dataclass(frozen=True)
class Step:
    """A change of level between two neighboring points."""

    index: int  # of the first point of the new level
    before: float
    after: float

    @property
    def share(self) -> float:
        """Return the change as a share of the level before."""
        return (self.after - self.before) / abs(self.before) if self.before else math.inf


@dataclass(frozen=True)
class Series:
    """The values of one measure over commits; lower is better."""

    algorithm: str  # "" if it concerns none
    dataset: str
    measure: str  # "fit", "loss", or the name of an asv benchmark
    unit: str
    source: str  # "harness" or "asv", and what distinguishes two series: the machine
    points: tuple[Point, ...]
    steps: tuple[Step, ...] = ()

    @property
    def machine(self) -> str:
        """Return the machine of the values, "" for those that do not depend on it."""
        return self.source.partition(" on ")[2]

    @property
    def name(self) -> str:
        """Return a one-line name."""
        return " · ".join(filter(None, [self.algorithm, self.dataset, self.measure]))


def by_commit(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return one point per commit, in order of time: the median of its values."""
    grouped: dict[str, list[Point]] = {}
    for point in sorted(points, key=lambda p: p.when):
        if math.isfinite(point.value):
            grouped.setdefault(point.commit, []).append(point)
    return tuple(
        Point(commit, same[0].when, median(p.value for p in same))
        for commit, same in grouped.items()
    )


def find_steps(points: Sequence[Point], threshold: float = THRESHOLD) -> tuple[Step, ...]:
    """Return the steps of a series that exceed a share of its level, up or down.

    Raises
    ------
    NoAsvError
        If asv is not installed.
    """
    try:
        from asv.step_detect import detect_steps
    except ImportError:
        raise NoAsvError from None
    levels = detect_steps([point.value for point in points])
    steps = []
    for (_, _, before, _, _), (left, _, after, _, _) in pairwise(levels):
        if abs(after - before) > threshold * abs(before):
            steps.append(Step(left, before, after))
    return tuple(steps)
