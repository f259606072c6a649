"""How much faster than the fastest rival: of many duels on one workload, the one that counts.

To be fast is worth nothing where accuracy is lost. So a rival counts where its loss is within the
margin of the least loss that any side of the workload has; and where our own is not, that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.analysis.stats import geometric_mean
from harness.analysis.view import Accuracy, Interval, RunView, Speed


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
    left_out: tuple[str, ...]  # rivals whose loss is not


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
        raced: dict[tuple[str, str], list[Speed]] = {}
        for speed in view.speed:
            if speed.phase == phase and speed.algorithm != speed.reference:
                raced.setdefault((speed.algorithm, speed.dataset), []).append(speed)
        several = len({dataset for _, dataset in raced}) > 1
        for (algorithm, dataset), speeds in raced.items():
            name = f"{view.run['name']} {dataset}" if several else str(view.run["name"])
            judged = [a for a in view.accuracy if (a.algorithm, a.dataset) == (algorithm, dataset)]
            found.append(_fastest(name, speeds, judged))
    return found


def lead_of(found: Sequence[Fastest]) -> Lead | None:
    """Return the geometric mean and the worst of the ratios of one phase; None where none is."""
    if not found:
        return None
    worst = min(found, key=lambda one: one.ratio.value)
    mean = geometric_mean([one.ratio.value for one in found])
    return Lead(found[0].phase, mean, worst, len(found))


def _fastest(name: str, speeds: Sequence[Speed], judged: Sequence[Accuracy]) -> Fastest:
    verdicts = {accuracy.reference: accuracy for accuracy in judged}
    behind = _behind(verdicts)
    left_out = {rival for rival, lost in behind.items() if rival and lost}
    counted = [speed for speed in speeds if speed.reference not in left_out] or list(speeds)
    speed = min(counted, key=lambda one: one.ratio.value)
    verdict = verdicts.get(speed.reference)
    return Fastest(
        workload=name,
        algorithm=speed.algorithm,
        phase=speed.phase,
        rival=speed.reference,
        ratio=speed.ratio,
        seconds=speed.seconds,
        verdict=verdict.verdict if verdict is not None else "",
        accurate=not behind.get("", False),
        left_out=tuple(sorted(left_out)),
    )


def _behind(verdicts: dict[str, Accuracy]) -> dict[str, bool]:
    """Return by rival, and by "" for ours, whether its loss is above the least by the margin."""
    if not verdicts:
        return {}
    losses = {rival: one.difference.value for rival, one in verdicts.items()} | {"": 0.0}
    least = min(losses.values())
    margin = max(one.margin for one in verdicts.values())
    return {rival: loss - least > margin for rival, loss in losses.items()}
