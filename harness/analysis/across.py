"""Statistical tests across datasets; the unit is the dataset, not the fold.

All functions take losses (lower is better) of k algorithms on N datasets as an (N, k) array
without gaps; the caller drops and counts what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.run_view import Interval
from harness.analysis.stats import EXACT, finite, hodges_lehmann, subset_sums

Pair = TypeVar("Pair", bound=tuple[str, ...])


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of equal mean ranks of k algorithms, and those ranks."""

    ranks: tuple[float, ...]  # mean rank of each algorithm, 1 is best
    statistic: float  # Iman-Davenport F
    p: float
    datasets: int


@dataclass(frozen=True)
class PairTest:
    """The test of one declared pair over all datasets."""

    pair: tuple[str, ...]  # key of its differences
    difference: Interval  # Hodges-Lehmann of loss(second) - loss(first): positive = first better
    wins: int
    ties: int
    losses: int
    p: float  # Wilcoxon signed-rank, two-sided
    holm: float  # the same, adjusted over the declared pairs


def wilcoxon_p(differences: ArrayLike) -> float:
    """Return the two-sided p of the Wilcoxon signed-rank test that the center is 0.

    Zeros take part in the ranking and are shared between the signs (Demsar 2006, section 3.1.3).
    Up to 50 numbers the p is exact, also with ties: it uses the distribution over all signs of
    the given ranks. Above that, scipy's normal approximation is used.
    """
    from scipy.stats import rankdata, wilcoxon

    x = finite(differences)
    if not x.any():
        return 1.0
    if len(x) > EXACT:
        return float(wilcoxon(x, zero_method="zsplit", method="asymptotic").pvalue)
    doubled = np.rint(2 * rankdata(np.abs(x))).astype(np.int64)  # tied ranks are halves
    ways = subset_sums(doubled[x != 0])
    positive = doubled[x > 0].sum()
    tail = min(ways[: positive + 1].sum(), ways[positive:].sum())
    return float(min(1.0, 2 * tail / ways.sum()))


def holm(p_values: ArrayLike) -> np.ndarray:
    """Return p-values adjusted so that the chance of any false alarm is at most alpha.

    The i-th smallest of m becomes max over j ≤ i of (m - j + 1)·p_(j), at most 1 (Holm 1979).
    """
    p = finite(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def friedman(losses: np.ndarray) -> Friedman:
    """Return Friedman's test in Iman and Davenport's form, which is less conservative than χ².

    F = (N - 1)χ² / (N(k - 1) - χ²) with k - 1 and (k - 1)(N - 1) degrees of freedom (Iman &
    Davenport 1980); tied losses share the mean of their ranks, and χ² is corrected for them.

    Parameters
    ----------
    losses
        (N, k) array, N ≥ 2 datasets, k ≥ 3 algorithms.
    """
    from scipy.stats import f, friedmanchisquare, rankdata

    datasets, k = losses.shape
    ranks = tuple(float(r) for r in rankdata(losses, axis=1).mean(axis=0))
    if (losses == losses[:, :1]).all():
        return Friedman(ranks, 0.0, 1.0, datasets)
    chi2 = float(friedmanchisquare(*losses.T).statistic)
    denominator = datasets * (k - 1) - chi2
    # If every dataset ranks the algorithms in the same order, the denominator is 0 and F is
    # infinite; even then p cannot be less than the share of rankings that agree that well.
    statistic = (datasets - 1) * chi2 / denominator if denominator > 1e-9 * chi2 else math.inf
    least = math.exp((1.0 - datasets) * math.lgamma(k + 1))  # 1 / k! for each further dataset
    p = max(least, float(f.sf(statistic, k - 1, (k - 1) * (datasets - 1))))
    return Friedman(ranks, statistic, p, datasets)


def nemenyi_distance(k: int, datasets: int) -> float:
    """Return the difference of mean ranks above which two of k algorithms differ at 95 %.

    q·√(k(k + 1)/(6N)), q the studentized range quantile over √2 (Nemenyi 1963; Demsar 2006,
    section 3.2.2). It serves for the usual diagram; verdicts on pairs come from
    :func:`compare_differences` and do not depend on a third algorithm (Benavoli, Corani and
    Mangili 2016).
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(0.95, k, np.inf)) / math.sqrt(2)
    return q * math.sqrt(k * (k + 1) / (6 * datasets))


def compare_differences(
    differences: Mapping[Pair, ArrayLike], level: float = 0.95, tie: float = 0.0
) -> tuple[PairTest, ...]:
    """Return the signed-rank test of each pair from its differences, one per dataset.

    Parameters
    ----------
    differences
        Pair → (N,) loss(second) - loss(first), in a unit that datasets share; each pair on its
        own datasets. A pair is two names, and what distinguishes it from others with these names.
    tie
        Differences within ±``tie`` count as ties; the test uses them unchanged.
    """
    values = [finite(d) for d in differences.values()]
    p_values = [wilcoxon_p(d) for d in values]
    adjusted = holm(p_values) if values else np.empty(0)
    return tuple(
        PairTest(pair, hodges_lehmann(d, level), *win_tie_loss(d, tie), p, float(h))
        for pair, d, p, h in zip(differences, values, p_values, adjusted, strict=True)
    )


def win_tie_loss(differences: ArrayLike, tie: float = 0.0) -> tuple[int, int, int]:
    """Return the numbers of differences above ``tie``, within ±``tie``, and below -``tie``."""
    x = finite(differences)
    wins, lost = int((x > tie).sum()), int((x < -tie).sum())
    return wins, len(x) - wins - lost, lost


def improvability(losses: np.ndarray) -> np.ndarray:
    """Return the share by which each loss could fall to the best one: 1 - best/loss.

    The mean over datasets, in [0, 1] for losses ≥ 0; a loss of 0 cannot be improved.

    Parameters
    ----------
    losses
        (N, k) array of losses ≥ 0.
    """
    best = losses.min(axis=1, keepdims=True)
    shares = np.divide(best, losses, out=np.ones_like(losses, dtype=float), where=losses > 0)
    shares_to_gain: np.ndarray = (1 - shares).mean(axis=0)
    return shares_to_gain


def cliques(ranks: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """Return the maximal groups of mean ranks within a distance of each other.

    Parameters
    ----------
    ranks
        Sorted, the best first.
    distance
        As :func:`nemenyi_distance` returns it.

    Returns
    -------
    list of (first, last)
        Positions, of groups of two or more; no group lies inside another.
    """
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(i for i, other in enumerate(ranks) if other - rank <= distance)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups
