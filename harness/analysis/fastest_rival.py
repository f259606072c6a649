"""The fastest rival of each algorithm on each workload, and the ratio of times to it.

Speed without accuracy is worthless. A rival therefore counts only if its loss is within the margin
of the least loss of any side of the workload; it is noted if our own loss is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from harness.analysis.run_view import Accuracy, Interval, RunView, Speed
from harness.analysis.speed import TRAIN, fit_peaks
from harness.analysis.stats import geometric_mean
from harness.core.ids import canonical

Ours = tuple[str, str, str]  # algorithm, params, dataset
Rival = tuple[str, str]  # name, params
OURS: Rival = ("", "")
PARTS = ("native", "fit")  # of `train`
MIN_SHARE = 0.01  # of training; a shorter native phase only inspects arrays and bins nothing


@dataclass(frozen=True)
class Fastest:
    """The fastest rival that counts, on one workload in one phase."""

    workload: str
    algorithm: str
    phase: str
    rival: str
    ratio: Interval  # time of the rival over ours
    seconds: tuple[float, float]  # ours, the rival's
    verdict: str  # our accuracy against that rival's; "" if not measured
    accurate: bool  # whether our loss is within the margin of the least one
    left_out: tuple[str, ...]  # rivals with a larger loss, or without one


@dataclass(frozen=True)
class Peaks:
    """Peak memory of an algorithm's first fit on one workload, and its rivals' peaks."""

    workload: str
    algorithm: str
    ours: float  # bytes above a warm process
    ratios: Mapping[Rival, float]  # rival → its peak over ours, in the same duel


@dataclass(frozen=True)
class Lead:
    """The ratios of one phase over all workloads."""

    phase: str
    mean: Interval  # geometric, over workloads
    worst: Fastest
    workloads: int


def fastest_rivals(views: Iterable[RunView], phase: str) -> list[Fastest]:
    """Return the fastest rival that counts for each algorithm, run and dataset.

    Parameters
    ----------
    views
        Views of runs. The name of a workload is the run's, with the dataset if the run has several.
    phase
        ``train``, ``predict`` or ``predict_one``; or a part of training, ``native`` or ``fit``:
        then the rival is the one that trains fastest, and none if a side bins inside ``fit``.
    """
    rivals = []
    for view in views:
        by_algorithm = speeds_by_algorithm(view, TRAIN if phase in PARTS else phase)
        for ours, speeds in by_algorithm.items():
            name = workload_name(view, ours[-1], [dataset for _, _, dataset in by_algorithm])
            fastest, whole = _fastest(name, speeds, [a for a in view.accuracy if _ours(a) == ours])
            if phase in PARTS:
                rivals += _part(fastest, whole, phase, view.speed)
            else:
                rivals.append(fastest)
    return rivals


def speeds_by_algorithm(view: RunView, phase: str) -> dict[Ours, list[Speed]]:
    """Return the speeds of one phase by algorithm, params and dataset, without A/A duels."""
    by_algorithm: dict[Ours, list[Speed]] = {}
    for speed in view.speed:
        if speed.phase == phase and speed.dataset and speed.algorithm != speed.reference:
            by_algorithm.setdefault(_ours(speed), []).append(speed)
    return by_algorithm


def has_rivals(views: Sequence[RunView]) -> bool:
    """Return whether there are several workloads or several rivals to compare."""
    several = (
        len(speeds) > 1 for view in views for speeds in speeds_by_algorithm(view, TRAIN).values()
    )
    return len(views) > 1 or any(several)


def workload_name(view: RunView, dataset: str, datasets: Iterable[str]) -> str:
    """Return the name of a run, with the dataset if the run has several."""
    name = str(view.run["name"])
    return f"{name} {dataset}" if len(set(datasets)) > 1 else name


def _part(whole: Fastest, trained: Speed, phase: str, speeds: Iterable[Speed]) -> list[Fastest]:
    """Return one part of training against the rival of the whole; empty if it is not separate."""
    parts = {
        speed.phase: speed
        for speed in speeds
        if speed.phase in PARTS and speed.subject == trained.subject
    }
    native = parts.get("native")
    if phase not in parts or native is None:
        return []
    shares = (a / b for a, b in zip(native.seconds, trained.seconds, strict=True))
    if min(shares) < MIN_SHARE:
        return []
    part = parts[phase]
    return [replace(whole, phase=phase, ratio=part.ratio, seconds=part.seconds)]


def _ours(record: Speed | Accuracy) -> Ours:
    """Return our side of a record: algorithm, params and dataset."""
    return record.algorithm, canonical(record.params[0]), record.dataset


def _theirs(record: Speed | Accuracy) -> Rival:
    """Return the other side of a record: name and params."""
    return record.reference, canonical(record.params[1])


def peaks_of(views: Iterable[RunView]) -> list[Peaks]:
    """Return the memory peaks of each algorithm with a duel, and of all its rivals."""
    rivals = []
    for view in views:
        by_algorithm: dict[Ours, list[tuple[Rival, int, int]]] = {}
        for outcome in view.duels:
            a, b = outcome.duel.a, outcome.duel.b
            known = [pair for pair in fit_peaks(outcome) if min(pair) > 0]
            if known and a.name != b.name:
                ours, theirs = (int(median(side)) for side in zip(*known, strict=True))
                params, rival = (canonical(side.trials[0].params) for side in (a, b))
                place = a.name, params, a.dataset.name
                by_algorithm.setdefault(place, []).append(((b.name, rival), ours, theirs))
        for (algorithm, _, dataset), peaks in by_algorithm.items():
            name = workload_name(view, dataset, [on for _, _, on in by_algorithm])
            ratios = {rival: theirs / ours for rival, ours, theirs in peaks}
            rivals.append(Peaks(name, algorithm, median(p[1] for p in peaks), ratios))
    return rivals


def lead_of(rivals: Sequence[Fastest]) -> Lead | None:
    """Return the geometric mean and the worst ratio of one phase; None if there is none."""
    if not rivals:
        return None
    worst = min(rivals, key=lambda one: one.ratio.value)
    mean = geometric_mean([one.ratio.value for one in rivals])
    return Lead(rivals[0].phase, mean, worst, len(rivals))


def _fastest(
    name: str, speeds: Sequence[Speed], judged: Sequence[Accuracy]
) -> tuple[Fastest, Speed]:
    """Return the fastest rival that counts, and its speed record."""
    verdicts = {_theirs(accuracy): accuracy for accuracy in judged}
    behind = _behind(verdicts)
    counted = [speed for speed in speeds if not behind.get(_theirs(speed))] or list(speeds)
    speed = min(counted, key=lambda one: one.ratio.value)
    verdict = verdicts.get(_theirs(speed))
    left_out = {name for (name, params), lost in behind.items() if lost and (name, params) != OURS}
    fastest = Fastest(
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
    return fastest, speed


def _behind(verdicts: dict[Rival, Accuracy]) -> dict[Rival, bool]:
    """Return for each side whether its loss exceeds the least loss by more than the margin.

    A side without a score is behind. So is our side if it failed and no rival has a difference.
    """
    losses = {rival: one.difference.value for rival, one in verdicts.items()}
    known = {rival: loss for rival, loss in losses.items() if math.isfinite(loss)}
    if known or not any(one.failed[0] for one in verdicts.values()):
        known[OURS] = 0.0
    least = min(known.values(), default=0.0)
    margin = max((one.margin for one in verdicts.values()), default=0.0)
    return {rival: not known.get(rival, math.inf) - least <= margin for rival in {*losses, OURS}}
