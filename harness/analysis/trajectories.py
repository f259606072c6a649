"""Trajectories of searches: best validation loss by configurations tried, and by time.

A search is a tuned or ensembled trial, and its facts hold the loss of each configuration over the
inner folds. With successive halving, losses of different numbers of rows cannot be compared, so the
best loss is that of the configurations with the most rows so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from harness.analysis.run_view import Cell
from harness.core.model import Status

MAX_POINTS = 60  # of a band against time


@dataclass(frozen=True)
class Step:
    """State of a search after one more configuration; ``seconds`` is NaN in older results."""

    tried: int
    seconds: float
    loss: float  # the best so far


@dataclass(frozen=True)
class Trajectory:
    """Searches of one algorithm on one dataset and track, one for each split."""

    algorithm: str
    dataset: str
    tracks: tuple[str, ...]
    folds: tuple[tuple[Step, ...], ...]

    @property
    def name(self) -> str:
        """Return the algorithm with its tracks."""
        return f"{self.algorithm} ({', '.join(self.tracks)})" if self.tracks else self.algorithm

    @property
    def is_timed(self) -> bool:
        """Return whether the time of every step is known."""
        return all(math.isfinite(step.seconds) for fold in self.folds for step in fold)


@dataclass(frozen=True)
class Band:
    """Best loss over the splits at one number of configurations or at one time."""

    at: float
    low: float
    middle: float  # the median
    high: float


def trajectories(cells: Iterable[Cell]) -> tuple[Trajectory, ...]:
    """Return the trajectory of each cell with searches."""
    made = []
    for cell in cells:
        facts = (o.facts.get("tuned") for o in cell.outcomes if o.status is Status.DONE)
        folds = [steps_of(fact) for fact in facts if isinstance(fact, Mapping)]
        kept = tuple(steps for steps in folds if steps)
        if kept:
            made.append(Trajectory(cell.algorithm, cell.dataset, cell.tracks, kept))
    return tuple(made)


def steps_of(fact: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return the steps of one search from the first finite loss on; empty if unknown.

    Older results have no times, and only the order of random search.
    """
    tried = fact.get("trajectory")
    if tried is None:
        if fact.get("iterations"):
            return ()
        tried = [[i, 1.0, loss, math.nan] for i, loss in enumerate(fact.get("losses") or ())]
    steps: list[Step] = []
    best, rows = math.inf, 0.0
    for number, (_, share, loss, seconds) in enumerate(tried, start=1):
        if share > rows:
            rows, best = share, math.inf
        best = min(best, math.inf if loss is None else loss)
        if math.isfinite(best):
            steps.append(Step(number, seconds, best))
    return tuple(steps)


def bands_by_number(trajectory: Trajectory) -> list[Band]:
    """Return the best loss by configurations tried, from where every split has one."""
    numbers = [[float(step.tried) for step in fold] for fold in trajectory.folds]
    return _bands(trajectory.folds, numbers, sorted({x for fold in numbers for x in fold}))


def bands_by_time(trajectory: Trajectory) -> list[Band]:
    """Return the best loss by seconds of the search, where it changes and at the end.

    It is empty if the times are not known.
    """
    if not trajectory.is_timed:
        return []
    seconds = [[step.seconds for step in fold] for fold in trajectory.folds]
    places = sorted({x for fold in seconds for x in fold})
    stride = math.ceil(len(places) / MAX_POINTS)
    kept = sorted({*places[::stride], places[-1], max(fold[0] for fold in seconds)})
    return _changes(_bands(trajectory.folds, seconds, kept))


def _changes(bands: Sequence[Band]) -> list[Band]:
    """Return the bands that differ from the one before, and the last one."""
    changed: list[Band] = []
    for band in bands:
        if not changed or replace(band, at=changed[-1].at) != changed[-1]:
            changed.append(band)
    return [*changed, *(band for band in bands[-1:] if band is not changed[-1])]


def _bands(
    folds: Sequence[Sequence[Step]], places: Sequence[Sequence[float]], at: Sequence[float]
) -> list[Band]:
    """Return the range and the median over folds at each place; a fold keeps its last loss."""
    start = max(fold[0] for fold in places)
    bands = []
    for x in (x for x in at if x >= start):
        losses = [
            max((pair for pair in zip(own, fold, strict=True) if pair[0] <= x), key=_place)[1].loss
            for own, fold in zip(places, folds, strict=True)
        ]
        bands.append(Band(x, min(losses), median(losses), max(losses)))
    return bands


def _place(pair: tuple[float, Step]) -> float:
    return pair[0]
