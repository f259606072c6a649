"""On how many datasets a pair is equivalent, better, worse or undecided, after Holm.

Where nothing differs, one set in twenty still looks *better* or *worse*: over thirty sets such a
false alarm is to be expected. So of a pair's sets, those keep such a verdict whose p is below 5 %
after Holm's adjustment over all of them; the others count as *inconclusive*. *Equivalent* is what
the interval shows, and stays. The sets of another rival are a question of their own, so that a
rival more in the run hides nothing.
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
    doubtful: tuple[str, ...] = ()  # datasets that are worse when each is looked at alone
    track: str = ""


def count_verdicts(accuracy: Iterable[Accuracy]) -> tuple[VerdictCounts, ...]:
    """Return the verdicts of each pair, counted over its datasets; pooled ones have no part.

    Variants of an algorithm are pairs of their own where they met on one dataset.
    """
    pairs: dict[Group, list[Accuracy]] = defaultdict(list)
    for one in accuracy:
        if one.dataset:
            pairs[one.algorithm, one.reference, one.track].append(one)
    apart = (group for found in pairs.values() for group in _variants(found))
    return tuple(_counted(group) for group in apart)


def difference_p(found: Accuracy) -> float:
    """Return the two-sided p of a verdict's own test that there is no difference.

    1 where there is no variance to judge by, but where all splits say the same: then it is the
    chance that n signs agree.
    """
    if found.error == 0 and found.verdict in ALARMS:
        return float(2.0 ** (1 - found.splits))
    if not (0 < found.error < math.inf and math.isfinite(found.difference.value)):
        return 1.0
    ratio = abs(found.difference.value) / found.error
    return float(2 * stdtr(found.splits - 1, -ratio))


def _variants(found: list[Accuracy]) -> list[list[Accuracy]]:
    """Part the verdicts of two names by params, where a dataset has several."""
    if len({one.dataset for one in found}) == len(found):
        return [found]
    groups: dict[Group, list[Accuracy]] = defaultdict(list)
    for one in found:
        groups[tuple(canonical(side) for side in one.params)].append(one)
    return list(groups.values())


def _counted(found: list[Accuracy]) -> VerdictCounts:
    adjusted = holm([difference_p(one) for one in found])
    kept = [
        one.verdict if one.verdict not in ALARMS or p < LEVEL else "inconclusive"
        for one, p in zip(found, adjusted, strict=True)
    ]
    alone = [(one.dataset, now) for one, now in zip(found, kept, strict=True) if _is_worse(one)]
    return VerdictCounts(
        algorithm=found[0].algorithm,
        reference=found[0].reference,
        track=found[0].track,
        datasets=len(found),
        equivalent=kept.count("equivalent"),
        better=kept.count("better"),
        worse=kept.count("worse"),
        inconclusive=kept.count("inconclusive"),
        worse_on=tuple(dataset for dataset, now in alone if now == "worse"),
        doubtful=tuple(dataset for dataset, now in alone if now != "worse"),
    )


def _is_worse(found: Accuracy) -> bool:
    return found.verdict == "worse"
