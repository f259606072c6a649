"""How much faster than the fastest rival: of many duels on one workload, the one that counts.

To be fast is worth nothing where accuracy is lost. So a rival counts where its loss is within the
margin of the least loss that any side of the workload has; and where our own is not, that is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.analysis.stats import geometric_mean
from harness.analysis.view import Accuracy, Interval, RunView, Speed
from harness.ids import canonical

Ours = tuple[str, str, str]  # algorithm, its params, dataset
Rival = tuple[str, str]  # its name, its params
OURS: Rival = ("", "")


@dataclass(frozen=True)
class Fastest:
    """The fastest of the rivals that count, on one workload, in one phase."""

    workload: str
    algorithm: str
    phase: str
    rival: str
    ratio: Interval  # time of the rival over ours
    seconds: tuple[float, float]  # ours, the rival's
    verdict: str  # of our accuracy against that rival's; "" where none was measured
    accurate: bool  # our loss is within the margin of the least one
    left_out: tuple[str, ...]  # rivals whose loss is not, or that have none


@dataclass(frozen=True)
class Lead:
    """The ratios of one phase over all workloads."""

    phase: str
    mean: Interval  # geometric, over workloads
    worst: Fastest
    workloads: int


def fastest_rivals(views: Iterable[RunView], phase: str) -> list[Fastest]:
    """Return the fastest rival that counts of each algorithm, run and dataset.

    Parameters
    ----------
    views
        Of runs, each one workload or more; its name is the run's, with the dataset where the run
        has several.
    phase
        ``train``, ``native``, ``fit``, ``predict`` or ``predict_one``.
    """
    found = []
    for view in views:
        raced: dict[Ours, list[Speed]] = {}
        for speed in view.speed:
            if speed.phase == phase and speed.dataset and speed.algorithm != speed.reference:
                raced.setdefault(_ours(speed), []).append(speed)
        several = len({dataset for _, _, dataset in raced}) > 1
        for ours, speeds in raced.items():
            name = f"{view.run['name']} {ours[-1]}" if several else str(view.run["name"])
            found.append(_fastest(name, speeds, [a for a in view.accuracy if _ours(a) == ours]))
    return found


def _ours(found: Speed | Accuracy) -> Ours:
    """Return what races: our algorithm with its params, on a dataset."""
    return found.algorithm, canonical(found.params[0]), found.dataset


def _theirs(found: Speed | Accuracy) -> Rival:
    """Return what it races against."""
    return found.reference, canonical(found.params[1])


def lead_of(found: Sequence[Fastest]) -> Lead | None:
    """Return the geometric mean and the worst of the ratios of one phase; None where none is."""
    if not found:
        return None
    worst = min(found, key=lambda one: one.ratio.value)
    mean = geometric_mean([one.ratio.value for one in found])
    return Lead(found[0].phase, mean, worst, len(found))


def _fastest(name: str, speeds: Sequence[Speed], judged: Sequence[Accuracy]) -> Fastest:
    verdicts = {_theirs(accuracy): accuracy for accuracy in judged}
    behind = _behind(verdicts)
    counted = [speed for speed in speeds if not behind.get(_theirs(speed))] or list(speeds)
    speed = min(counted, key=lambda one: one.ratio.value)
    verdict = verdicts.get(_theirs(speed))
    left_out = {name for (name, params), lost in behind.items() if lost and (name, params) != OURS}
    return Fastest(
        workload=name,
        algorithm=speed.algorithm,
        phase=speed.phase,
        rival=speed.reference,
        ratio=speed.ratio,
        seconds=speed.seconds,
        verdict=verdict.verdict if verdict is not None else "",
        accurate=not behind.get(OURS, False),
        left_out=tuple(sorted(left_out)),
    )


def _behind(verdicts: dict[Rival, Accuracy]) -> dict[Rival, bool]:
    """Return by side whether its loss is above the least by the margin.

    A side without a score is behind; so are we where no rival has a difference, as ours failed.
    """
    losses = {rival: one.difference.value for rival, one in verdicts.items()}
    known = {rival: loss for rival, loss in losses.items() if math.isfinite(loss)}
    if known or not any(one.failed[0] for one in verdicts.values()):
        known[OURS] = 0.0
    least = min(known.values(), default=0.0)
    margin = max((one.margin for one in verdicts.values()), default=0.0)
    return {rival: not known.get(rival, math.inf) - least <= margin for rival in {*losses, OURS}}
