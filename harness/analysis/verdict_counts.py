"""Counts of datasets on which a pair is equivalent, better, worse or undecided, after Holm.

If nothing differs, one dataset in twenty is still called *better* or *worse*: over thirty datasets
such a false alarm is to be expected. Therefore *better* and *worse* are kept only if p is below 5 %
after Holm's adjustment over the pair's datasets; otherwise they count as *inconclusive*.
*Equivalent* follows from the interval and is kept. Each rival is adjusted separately, so that a
further rival in the run does not change the other counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.special import stdtr

from harness.analysis.across import holm
from harness.analysis.run_view import Accuracy
from harness.core.ids import canonical

LEVEL = 0.05
ALARMS = ("better", "worse")
VERDICTS = ("equivalent", *ALARMS, "inconclusive")

Group = tuple[str, ...]


@dataclass(frozen=True)
class VerdictCounts:
    """The verdicts of one pair over its datasets."""

    algorithm: str
    reference: str
    datasets: int
    equivalent: int
    better: int  # after Holm, as is `worse`
    worse: int
    inconclusive: int
    worse_on: tuple[str, ...] = ()  # datasets
    doubtful: tuple[str, ...] = ()  # datasets that are worse only without the adjustment
    track: str = ""


def count_verdicts(accuracy: Iterable[Accuracy]) -> tuple[VerdictCounts, ...]:
    """Return the verdicts of each pair, counted over its datasets, without pooled verdicts.

    Variants of an algorithm are separate pairs if they share a dataset.
    """
    pairs: dict[Group, list[Accuracy]] = defaultdict(list)
    for one in accuracy:
        if one.dataset:
            pairs[one.algorithm, one.reference, one.track].append(one)
    groups = (group for same in pairs.values() for group in _variants(same))
    return tuple(_counted(group) for group in groups)


def difference_p(judged: Accuracy) -> float:
    """Return the two-sided p of a verdict's own test that there is no difference.

    It is 1 without a variance. If all splits have the same difference, it is the chance that n
    signs agree.
    """
    if judged.error == 0 and judged.verdict in ALARMS:
        return float(2.0 ** (1 - judged.splits))
    if not (0 < judged.error < math.inf and math.isfinite(judged.difference.value)):
        return 1.0
    ratio = abs(judged.difference.value) / judged.error
    return float(2 * stdtr(judged.splits - 1, -ratio))


def _variants(verdicts: list[Accuracy]) -> list[list[Accuracy]]:
    """Group the verdicts of two names by params if a dataset has several."""
    if len({one.dataset for one in verdicts}) == len(verdicts):
        return [verdicts]
    groups: dict[Group, list[Accuracy]] = defaultdict(list)
    for one in verdicts:
        groups[tuple(canonical(side) for side in one.params)].append(one)
    return list(groups.values())


def _counted(verdicts: list[Accuracy]) -> VerdictCounts:
    adjusted = holm([difference_p(one) for one in verdicts])
    kept = [
        one.verdict if one.verdict not in ALARMS or p < LEVEL else "inconclusive"
        for one, p in zip(verdicts, adjusted, strict=True)
    ]
    alone = [(one.dataset, now) for one, now in zip(verdicts, kept, strict=True) if _is_worse(one)]
    return VerdictCounts(
        algorithm=verdicts[0].algorithm,
        reference=verdicts[0].reference,
        track=verdicts[0].track,
        datasets=len(verdicts),
        equivalent=kept.count("equivalent"),
        better=kept.count("better"),
        worse=kept.count("worse"),
        inconclusive=kept.count("inconclusive"),
        worse_on=tuple(dataset for dataset, now in alone if now == "worse"),
        doubtful=tuple(dataset for dataset, now in alone if now != "worse"),
    )


def _is_worse(judged: Accuracy) -> bool:
    return judged.verdict == "worse"
