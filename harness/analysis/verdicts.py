"""Accuracy verdict of a pair: equivalent, better, worse, or inconclusive with advice.

The difference is the reference's loss minus ours, so positive is better, paired over identical
splits. The margin is a declared share of the gap between the constant model's loss and the best
loss on that dataset. In this order:

1. the 90 % interval lies inside ±margin: *equivalent* (two one-sided tests at 5 %);
2. the 95 % interval lies below 0: *worse*; above 0: *better*;
3. otherwise *inconclusive*, with advice.

Intervals use the Nadeau–Bengio variance. It is at least n_test/n_train · s², whatever the number of
repeats; so the advice distinguishes more repeats from more rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from harness.analysis.run_view import Accuracy, Interval
from harness.analysis.stats import (
    posterior,
    resampled_error,
    resampled_interval,
    smallest_signed_rank,
    t_quantile,
    unbounded,
)

MARGIN = 0.01  # share of the gap: about half a point of R² or of accuracy where half is explained
INNER, OUTER = 0.90, 0.95  # levels for equivalence and for difference
SAME = 1e-12  # relative spread of differences below which they count as equal
MAX_REPEATS = 100


@dataclass(frozen=True)
class Evidence:
    """The losses of a pair on their common splits, one per split (the mean over its seeds)."""

    pair: Accuracy  # names, params, preparation, failures; its verdict is not set yet
    ours: Sequence[float]
    theirs: Sequence[float]
    ratio: float  # n_test / n_train
    test_rows: float  # of a split
    repeat: int  # splits that one more repeat adds; 0 if repeats are impossible
    gap: float  # loss of the constant model - best loss; 0 or less if nothing was learned
    identical: bool = False  # all predictions of the pair agree
    margin: float | None = None  # in units of the loss, if it is not a share of the gap


@dataclass
class Ruling:
    """A verdict with its reasons."""

    verdict: str
    advice: str = ""
    notes: list[str] = field(default_factory=list)


def named(algorithm: str, reference: str, dataset: str, metric: str) -> Accuracy:
    """Return a pair without a verdict."""
    return Accuracy(
        algorithm, reference, dataset, metric, "inconclusive", unbounded(math.nan, 0, OUTER, 2), 0.0
    )


def judge(evidence: Evidence, share: float = MARGIN) -> Accuracy:
    """Return the verdict of one pair on one dataset.

    Parameters
    ----------
    evidence
        Losses on the same splits, in the same order; finite.
    share
        The declared margin, as a share of the gap.
    """
    gap = evidence.gap if evidence.gap > 0 else 0.0
    margin = share * gap if evidence.margin is None else evidence.margin
    pair = replace(
        evidence.pair, margin=margin, gap=gap, splits=len(evidence.ours), verdict="inconclusive"
    )
    if not evidence.ours:
        return ruled(pair, Ruling("inconclusive", "no split has a score of both"))
    difference = np.subtract(evidence.theirs, evidence.ours)
    outer = resampled_interval(difference, evidence.ratio, OUTER)
    inner = resampled_interval(difference, evidence.ratio, INNER)
    pair = replace(pair, difference=outer, inner=inner)
    if len(difference) < 2:
        return ruled(pair, _single(evidence))
    pair = replace(
        pair,
        error=resampled_error(difference, evidence.ratio),
        posterior=posterior(difference, evidence.ratio, margin),
    )
    scale = max(np.abs(evidence.ours).max(), np.abs(evidence.theirs).max())
    if evidence.identical:
        pair = _one_number(pair, 0.0)
        ruling = Ruling("equivalent", notes=["identical predictions on every split"])
    elif np.ptp(difference) <= SAME * scale:
        pair = _one_number(pair, pair.difference.value)
        ruling = _without_spread(difference, margin)
    else:
        ruling = Ruling(decide(inner, outer, margin))
        if ruling.verdict == "inconclusive":
            ruling.advice = advise(difference, evidence, margin)
    if not margin:
        ruling.notes.append("no algorithm beats the constant model, so there is no margin")
    return ruled(pair, ruling)


def decide(inner: Interval, outer: Interval, margin: float) -> str:
    """Return the verdict from the 90 % and the 95 % interval of the difference."""
    if -margin < inner.low and inner.high < margin:
        return "equivalent"
    if outer.high < 0:
        return "worse"
    return "better" if outer.low > 0 else "inconclusive"


def ruled(pair: Accuracy, ruling: Ruling) -> Accuracy:
    """Return a pair with its verdict, and a note on its failures."""
    ours, theirs = pair.failed
    notes = [*pair.notes, *ruling.notes]
    if ours or theirs:
        notes.append(f"without a score: {ours} of {pair.algorithm}, {theirs} of {pair.reference}")
    return replace(pair, verdict=ruling.verdict, advice=ruling.advice, notes=tuple(notes))


def _single(evidence: Evidence) -> Ruling:
    notes = ["identical predictions on its one split"] if evidence.identical else []
    if evidence.repeat:
        return Ruling("inconclusive", "one split has no variance: use 5 or more", notes)
    advice = "one split has no variance, and this dataset has fixed test rows: only k-fold decides"
    return Ruling("inconclusive", advice, notes)


def _one_number(pair: Accuracy, value: float) -> Accuracy:
    """Return a pair whose differences are equal up to rounding, with intervals of no width."""

    def flat(interval: Interval) -> Interval:
        return replace(interval, low=value, value=value, high=value)

    assert pair.inner is not None
    return replace(pair, error=0.0, inner=flat(pair.inner), difference=flat(pair.difference))


def _without_spread(difference: np.ndarray, margin: float) -> Ruling:
    """Judge equal differences of a pair whose predictions differ.

    A t interval of no width would be certain of everything. Only the sign can be judged: n splits
    on one side have a chance of 2·2⁻ⁿ, so it takes 6 of them.
    """
    value, n = float(difference[0]), len(difference)
    if abs(value) > margin and n >= smallest_signed_rank(OUTER):
        note = f"the same difference on all {n} splits: judged by its sign"
        return Ruling("better" if value > 0 else "worse", notes=[note])
    advice = "all splits give the same difference, so there is no variance to judge by; "
    return Ruling("inconclusive", advice + "use other splits or a finer metric")


# ------------------------------------------------------------------ advice


def advise(difference: np.ndarray, evidence: Evidence, margin: float) -> str:
    """Return advice that decides an inconclusive pair if difference and spread stay the same."""
    mean, spread = abs(float(difference.mean())), float(difference.std(ddof=1))
    repeats = repeats_needed(mean, spread, len(difference), evidence, margin)
    if repeats is not None:
        return (
            f"{repeats} more repeat{'s' if repeats > 1 else ''} "
            f"({repeats * evidence.repeat} splits) should decide"
        )
    halves = [
        t_quantile((1 + level) / 2, len(difference) - 1)
        * resampled_error(difference, evidence.ratio)
        for level in (INNER, OUTER)
    ]
    factors = [(halves[0] / (margin - mean)) ** 2] if mean < margin else []
    factors += [(halves[1] / mean) ** 2] if mean else []
    ways = []
    if factors:
        rows = round_up(min(factors) * evidence.test_rows)
        ways.append(f"about {rows:,} test rows a split (it has {evidence.test_rows:,.0f})")
    if evidence.gap > mean + halves[0]:
        ways.append(f"a margin of {(mean + halves[0]) / evidence.gap:.2g} of the gap")
    return f"repeats cannot decide this dataset: it needs {' or '.join(ways) or 'another metric'}"


def repeats_needed(
    mean: float, spread: float, n: int, evidence: Evidence, margin: float
) -> int | None:
    """Return the fewest further repeats that decide; None if up to 100 do not.

    After them the half-width of an interval is t · s · √(1/J + n_test/n_train).
    """
    if not evidence.repeat:
        return None
    more = np.arange(1, MAX_REPEATS + 1)
    splits = n + more * evidence.repeat
    width = spread * np.sqrt(1 / splits + evidence.ratio)
    inner, outer = (t_quantile((1 + level) / 2, splits - 1) * width for level in (INNER, OUTER))
    deciding: list[int] = more[(mean + inner < margin) | (mean > outer)].tolist()
    return deciding[0] if deciding else None


def round_up(number: float) -> int:
    """Return a number rounded up to two digits, because an estimate is not exact."""
    step: int = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return math.ceil(number / step) * step
