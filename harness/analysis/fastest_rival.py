"""How much faster than the fastest rival: of many duels on one workload, the one that counts.

To be fast is worth nothing where accuracy is lost. So a rival counts where its loss is within the
margin of the least loss that any side of the workload has; and where our own is not, that is said.
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

Ours = tuple[str, str, str]  # algorithm, its params, dataset
Rival = tuple[str, str]  # its name, its params
OURS: Rival = ("", "")
PARTS = ("native", "fit")  # of `train`
LEAST_SHARE = 0.01  # of training: what takes less is no binning, but a look at arrays


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
class Peaks:
    """The peak of memory of an algorithm's first fit on one workload, beside its rivals'."""

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
    """Return the fastest rival that counts of each algorithm, run and dataset.

    Parameters
    ----------
    views
        Of runs, each one workload or more; its name is the run's, with the dataset where the run
        has several.
    phase
        ``train``, ``predict`` or ``predict_one``; or a part of training, ``native`` or ``fit``:
        then it is the rival that trains fastest, and none where a side bins inside ``fit``.
    """
    found = []
    for view in views:
        raced = races(view, TRAIN if phase in PARTS else phase)
        for ours, speeds in raced.items():
            name = workload_name(view, ours[-1], [dataset for _, _, dataset in raced])
            fastest, whole = _fastest(name, speeds, [a for a in view.accuracy if _ours(a) == ours])
            if phase in PARTS:
                found += _part(fastest, whole, phase, view.speed)
            else:
                found.append(fastest)
    return found


def races(view: RunView, phase: str) -> dict[Ours, list[Speed]]:
    """Return the speeds of one phase by who raced, on which dataset; not those against itself."""
    raced: dict[Ours, list[Speed]] = {}
    for speed in view.speed:
        if speed.phase == phase and speed.dataset and speed.algorithm != speed.reference:
            raced.setdefault(_ours(speed), []).append(speed)
    return raced


def has_rivals(views: Sequence[RunView]) -> bool:
    """Say whether there is a fastest one to look for: several workloads, or several rivals."""
    several = (len(speeds) > 1 for view in views for speeds in races(view, TRAIN).values())
    return len(views) > 1 or any(several)


def workload_name(view: RunView, dataset: str, datasets: Iterable[str]) -> str:
    """Return the name of a run, with the dataset where the run has several."""
    name = str(view.run["name"])
    return f"{name} {dataset}" if len(set(datasets)) > 1 else name


def _part(whole: Fastest, trained: Speed, phase: str, speeds: Iterable[Speed]) -> list[Fastest]:
    """Return one part of training against the rival of the whole; nothing where it is no part."""
    parts = {
        speed.phase: speed
        for speed in speeds
        if speed.phase in PARTS and speed.subject == trained.subject
    }
    native = parts.get("native")
    if phase not in parts or native is None:
        return []
    shares = (a / b for a, b in zip(native.seconds, trained.seconds, strict=True))
    if min(shares) < LEAST_SHARE:
        return []
    part = parts[phase]
    return [replace(whole, phase=phase, ratio=part.ratio, seconds=part.seconds)]


def _ours(found: Speed | Accuracy) -> Ours:
    """Return what races: our algorithm with its params, on a dataset."""
    return found.algorithm, canonical(found.params[0]), found.dataset


def _theirs(found: Speed | Accuracy) -> Rival:
    """Return what it races against."""
    return found.reference, canonical(found.params[1])


def peaks_of(views: Iterable[RunView]) -> list[Peaks]:
    """Return the peaks of memory of each algorithm that fought, and of all its rivals."""
    found = []
    for view in views:
        fought: dict[Ours, list[tuple[Rival, int, int]]] = {}
        for outcome in view.duels:
            a, b = outcome.duel.a, outcome.duel.b
            known = [pair for pair in fit_peaks(outcome) if min(pair) > 0]
            if known and a.name != b.name:
                ours, theirs = (int(median(side)) for side in zip(*known, strict=True))
                own, rival = (canonical(side.trials[0].params) for side in (a, b))
                place = a.name, own, a.dataset.name
                fought.setdefault(place, []).append(((b.name, rival), ours, theirs))
        for (algorithm, _, dataset), peaks in fought.items():
            name = workload_name(view, dataset, [on for _, _, on in fought])
            ratios = {rival: theirs / ours for rival, ours, theirs in peaks}
            found.append(Peaks(name, algorithm, median(p[1] for p in peaks), ratios))
    return found


def lead_of(found: Sequence[Fastest]) -> Lead | None:
    """Return the geometric mean and the worst of the ratios of one phase; None where none is."""
    if not found:
        return None
    worst = min(found, key=lambda one: one.ratio.value)
    mean = geometric_mean([one.ratio.value for one in found])
    return Lead(found[0].phase, mean, worst, len(found))


def _fastest(
    name: str, speeds: Sequence[Speed], judged: Sequence[Accuracy]
) -> tuple[Fastest, Speed]:
    """Return the fastest rival that counts, and the speed that says so."""
    verdicts = {_theirs(accuracy): accuracy for accuracy in judged}
    behind = _behind(verdicts)
    counted = [speed for speed in speeds if not behind.get(_theirs(speed))] or list(speeds)
    speed = min(counted, key=lambda one: one.ratio.value)
    verdict = verdicts.get(_theirs(speed))
    left_out = {name for (name, params), lost in behind.items() if lost and (name, params) != OURS}
    found = Fastest(
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
    return found, speed


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
