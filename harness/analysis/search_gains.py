"""Gains of searches: tuned against default parameters, ensembled against tuned, over datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from harness.analysis.across import PairTest, compare_differences

# A track, and the one it is compared with.
COMPARISONS = (("tuned", "default"), ("ensembled", "tuned"))
ALL = ""  # stands for the mean over the algorithms


@dataclass(frozen=True)
class SearchGain:
    """Decrease of the loss from one track to the next.

    Attributes
    ----------
    algorithm
        Name of the algorithm; "" for the mean over all algorithms.
    track, before
        The two tracks that are compared.
    test
        Signed-rank test over datasets. Differences are shares of each dataset's gap; above 0
        ``track`` has the lower loss. ``holm`` is adjusted over the algorithms and comparisons.
    """

    algorithm: str
    track: str
    before: str
    test: PairTest


def search_gains(
    losses: Mapping[tuple[str, str], Mapping[str, float]], gaps: Mapping[str, float], tie: float
) -> tuple[SearchGain, ...]:
    """Return the gains of each comparison: first the mean over the algorithms, then each algorithm.

    The mean uses the datasets that every algorithm of the comparison has; it is left out if there
    is only one algorithm or no such dataset.

    Parameters
    ----------
    losses
        (algorithm, track) → dataset → mean loss, lower is better; finite.
    gaps
        Dataset → gap between the constant model's loss and the best. Datasets without one are left
        out.
    tie
        Differences within ±``tie`` count as ties.
    """
    found = {
        (name, comparison): differences
        for comparison in COMPARISONS
        for name in dict.fromkeys(name for name, _ in losses)
        if (differences := _differences(losses, gaps, name, comparison))
    }
    single = compare_differences({_key(k): list(d.values()) for k, d in found.items()}, tie=tie)
    tests = dict(zip(found, single, strict=True))
    gains = []
    for comparison in COMPARISONS:
        names = [name for name, own in found if own == comparison]
        if (mean := _mean([found[name, comparison] for name in names])) and len(names) > 1:
            (test,) = compare_differences({comparison: mean}, tie=tie)
            gains.append(SearchGain(ALL, *comparison, test))
        gains += [
            SearchGain(n, *comparison, replace(tests[n, comparison], pair=comparison))
            for n in names
        ]
    return tuple(gains)


def _key(found: tuple[str, tuple[str, str]]) -> tuple[str, str]:
    """Return a distinct pair of names for an algorithm and a comparison."""
    return found[0], found[1][0]


def _differences(
    losses: Mapping[tuple[str, str], Mapping[str, float]],
    gaps: Mapping[str, float],
    name: str,
    comparison: tuple[str, str],
) -> dict[str, float]:
    """Return dataset → decrease of an algorithm's loss in a comparison, as a share of the gap."""
    after, before = (losses.get((name, track), {}) for track in comparison)
    return {
        dataset: (before[dataset] - after[dataset]) / gaps[dataset]
        for dataset in after
        if dataset in before and gaps.get(dataset, 0.0) > 0
    }


def _mean(several: Sequence[Mapping[str, float]]) -> list[float]:
    """Return the mean over algorithms on each dataset that all of them have."""
    common = [d for d in several[0] if all(d in one for one in several)] if several else []
    return [fmean(one[dataset] for one in several) for dataset in common]
