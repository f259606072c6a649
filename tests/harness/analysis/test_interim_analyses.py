"""Simulations of the schedule of interim analyses, with a fixed seed and any stopping."""

import math

import numpy as np
import pytest

from harness.analysis.interim_analysis import INTERIM_LAUNCHES, half_width, stop_reason
from harness.analysis.run_view import Interval
from harness.analysis.speed import INTERIM_LEVEL, speeds_of
from harness.analysis.stats import signed_rank_cdf, signed_rank_trim
from harness.core.model import (
    Block,
    DatasetRef,
    Duel,
    DuelOutcome,
    Job,
    Sample,
    Split,
    Status,
    StopRule,
    Task,
    Trial,
)


def misses(x):
    """Return, for each row of symmetric noise, the analyses whose interval excludes 0."""
    missed = []
    for n in INTERIM_LAUNCHES:
        part = x[:, :n]
        ranks = np.abs(part).argsort(axis=1).argsort(axis=1) + 1
        positive = (ranks * (part > 0)).sum(axis=1)
        least = np.minimum(positive, n * (n + 1) // 2 - positive)
        missed.append(least <= signed_rank_trim(n, INTERIM_LEVEL)[0])
    return np.array(missed)


@pytest.mark.parametrize("draw", ["normal", "standard_cauchy", "laplace"])
def test_all_interim_analyses_together_miss_the_truth_in_at_most_one_of_twenty(draw):
    rng = np.random.default_rng(20260101)
    missed = misses(getattr(rng, draw)(size=(40_000, INTERIM_LAUNCHES[-1])))
    any_look = missed.any(axis=0).mean()
    # Binomial error of 40 000 draws is 0.11 %; looking at each with 95 % would give about 11 %.
    assert any_look == pytest.approx(0.0487, abs=0.004)
    assert missed.mean(axis=1).max() < 0.0215


def test_unadjusted_analysis_after_every_launch_gives_false_alarms():
    """Reason for the schedule: one of five duels of equal sides would be called different."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(4_000, INTERIM_LAUNCHES[-1]))
    stopped = np.zeros(len(x), bool)
    for n in range(6, INTERIM_LAUNCHES[-1] + 1):
        ranks = np.abs(x[:, :n]).argsort(axis=1).argsort(axis=1) + 1
        positive = (ranks * (x[:, :n] > 0)).sum(axis=1)
        least = np.minimum(positive, n * (n + 1) // 2 - positive)
        stopped |= least <= signed_rank_trim(n, 0.95)[0]
    assert stopped.mean() > 0.15


def test_no_interval_of_eight_launches_is_wide_enough_for_obrien_and_fleming():
    spent = 2 - 2 * 0.5 * (1 + math.erf(1.959964 / math.sqrt(1 / 3) / math.sqrt(2)))
    assert spent < 2 * signed_rank_cdf(8)[0]


# ------------------------------------------------------------------ the stop rule


def job(name):
    trial = Trial(name, {}, "native", "wine", Split(), 0, 1, "c", "t", Task.MULTICLASS)
    return Job(name, "m", DatasetRef("wine", "0"), (trial,))


def duel(**rule):
    stop = StopRule(INTERIM_LAUNCHES, **{"phase": "fit", **rule}) if rule else None
    return Duel(job("ours"), job("theirs"), "d", launches=INTERIM_LAUNCHES[-1], blocks=1, stop=stop)


def blocks(log_ratios):
    results = []
    for launch, value in enumerate(log_ratios):
        a, b = (tuple(Sample("fit", wall, wall) for _ in "ab") for wall in (1.0, math.exp(value)))
        results.append(Block(launch, 0, "fit", "ABBA", a, b))
    return results


def noisy(seed, launches, center, spread):
    return blocks(center + np.random.default_rng(seed).normal(0, spread, launches))


def test_interim_analyses_follow_the_schedule_only():
    sure = blocks([1.0 + i / 1000 for i in range(24)])
    requested = duel(claim=1.0)
    ends = [n for n in range(1, 25) if stop_reason(requested, sure[:n])]
    assert ends == list(INTERIM_LAUNCHES)
    assert stop_reason(duel(), sure[:8]) == ""


def test_claim_is_decided_either_way():
    assert "holds" in stop_reason(duel(claim=1.0), noisy(0, 8, 0.5, 0.01))
    assert "does not hold" in stop_reason(duel(claim=1.0), noisy(0, 8, -0.5, 0.01))
    assert stop_reason(duel(claim=math.exp(0.5)), noisy(0, 8, 0.5, 0.01)) == ""


def test_precision_is_reached_or_reported_missing():
    assert "±" in stop_reason(duel(precision=0.02), noisy(1, 8, 0.5, 0.005))
    assert stop_reason(duel(precision=0.02), noisy(1, 16, 0.5, 0.5)) == ""
    last = stop_reason(duel(precision=0.02, claim=1.0), noisy(1, 24, 0.0, 0.5))
    assert last.startswith("not reached in 24 launches")
    assert "±2.00%" in last
    assert "undecided" in last


def test_train_is_native_and_fit_together():
    fits = noisy(2, 8, 0.5, 0.001)
    natives = [
        Block(b.launch, b.index, "native", b.order, b.a, b.b) for b in noisy(3, 8, 0.4, 0.001)
    ]
    reason = stop_reason(duel(phase="train", claim=1.2), [*natives, *fits])
    assert "train" in reason
    assert "holds" in reason


def test_reported_interval_is_adjusted_for_interim_analyses():
    result = noisy(4, 12, 0.1, 0.05)
    outcome = DuelOutcome(duel(claim=1.0), Status.DONE, tuple(result), facts={"stopped": "why"})
    fixed = DuelOutcome(duel(), Status.DONE, tuple(result))
    (looked,), (plain,) = speeds_of(outcome), speeds_of(fixed)
    assert looked.ratio.level >= INTERIM_LEVEL > plain.ratio.level >= 0.95
    assert looked.ratio.low < plain.ratio.low
    assert looked.ratio.high > plain.ratio.high
    assert "why" in looked.notes


@pytest.mark.parametrize("truth", [0.0, math.log(1.1)])
def test_intervals_cover_a_simulated_ratio_for_every_stop_reason(truth):
    rng = np.random.default_rng(5)
    rule = duel(precision=0.02, claim=1.0)
    covered = 0
    for _ in range(300):
        result = blocks(truth + rng.standard_t(3, INTERIM_LAUNCHES[-1]) * 0.02)
        end = next(n for n in INTERIM_LAUNCHES if stop_reason(rule, result[:n]))
        (speed,) = speeds_of(DuelOutcome(rule, Status.DONE, tuple(result[:end])))
        covered += speed.ratio.low <= math.exp(truth) <= speed.ratio.high
    assert covered / 300 >= 0.93  # nominal 95 %; three standard errors below is 91 %


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1 / 1.02, 1.02, 0.02), (2.0, 2.0, 0.0), (0.0, math.inf, math.inf)],
)
def test_half_width_is_relative(low, high, expected):
    assert half_width(Interval(low, 1.0, high)) == pytest.approx(expected)
