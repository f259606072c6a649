"""Tests of verdicts on simulated differences: order of decisions, special cases, advice."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.run_view import Interval
from harness.analysis.stats import resampled_interval
from harness.analysis.verdicts import (
    Evidence,
    advise,
    decide,
    judge,
    named,
    repeats_needed,
    round_up,
)

PAIR = named("ours", "theirs", "some_set", "log_loss")
OPPOSITE = {"better": "worse", "worse": "better"}


def evidence(difference, base=0.5, **fields):
    """Theirs loses ``base`` + difference on each split, ours ``base``; the gap is 1."""
    difference = np.asarray(difference, dtype=float)
    ours = np.full(len(difference), base)
    given = {"ratio": 0.25, "test_rows": 100, "repeat": 5, "gap": 1.0, **fields}
    return Evidence(PAIR, list(ours), list(ours + difference), **given)


def splits(rng, center, spread, n=5, ratio=0.25):
    """Draw differences of overlapping splits: a common part, and a part of each split."""
    return center + spread * (math.sqrt(ratio) * rng.normal() + rng.normal(size=n))


def test_order_of_decisions():
    def interval(low, high):
        return Interval(low, (low + high) / 2, high)

    tight, wide = interval(-0.9, -0.1), interval(-0.95, -0.05)
    assert decide(tight, wide, 1.0) == "equivalent"  # though it is below 0: too little to matter
    assert decide(tight, wide, 0.5) == "worse"
    assert decide(interval(0.1, 0.9), interval(0.05, 0.95), 0.5) == "better"
    assert decide(interval(-0.1, 0.9), interval(-0.2, 1.0), 0.5) == "inconclusive"
    assert decide(interval(-1.0, 0.0), interval(-1.1, 0.1), 1.0) == "inconclusive"  # on the edge


@pytest.mark.parametrize(
    ("center", "verdict"),
    [(0.0, "equivalent"), (0.003, "equivalent"), (-0.1, "worse"), (0.1, "better")],
)
def test_large_datasets_decide(center, verdict):
    # A large set: the loss of a split is known to a thousandth of the gap.
    result = judge(evidence(splits(np.random.default_rng(0), center, 0.001, n=10)))
    assert (result.verdict, result.advice) == (verdict, "")
    assert result.margin == 0.01
    assert result.splits == 10


def test_three_folds_of_a_tiny_dataset_are_never_equivalent():
    rng = np.random.default_rng(1)
    tiny = {"repeat": 3, "test_rows": 10, "ratio": 0.5}
    results = [judge(evidence(splits(rng, 0.0, 0.2, n=3, ratio=0.5), **tiny)) for _ in range(60)]
    assert not any(v.verdict == "equivalent" for v in results)
    undecided = [v.advice for v in results if v.verdict == "inconclusive"]
    assert len(undecided) > 50  # the others are the false alarms allowed by 95 %
    assert all(re.search(r"should decide|test rows a split \(it has 10\)", a) for a in undecided)
    assert sum(a.startswith("repeats cannot decide this dataset") for a in undecided) > 30


def test_false_verdicts_are_as_rare_as_their_levels():
    rng = np.random.default_rng(2)
    repetitions = 1500
    room = 4 * math.sqrt(0.05 * 0.95 / repetitions)
    # On the edge of the margin "equivalent" is false; at no difference "better" and "worse" are.
    edge = [judge(evidence(splits(rng, 0.01, 0.004))).verdict for _ in range(repetitions)]
    assert np.mean([v == "equivalent" for v in edge]) < 0.05 + room
    none = [judge(evidence(splits(rng, 0.0, 0.1))).verdict for _ in range(repetitions)]
    assert np.mean([v in OPPOSITE for v in none]) < 0.05 + room
    assert (
        np.mean([v in OPPOSITE for v in none]) > 0.01
    )  # and not because every verdict is inconclusive


values = st.floats(-0.2, 0.2).map(lambda x: round(x, 4))


@given(st.lists(values, min_size=2, max_size=12), st.floats(0.001, 0.3))
def test_swapping_the_sides_swaps_the_verdict(difference, share):
    one = judge(evidence(difference), share)
    mirrored = replace(
        evidence(difference), ours=evidence(difference).theirs, theirs=evidence(difference).ours
    )
    other = judge(mirrored, share)
    assert other.verdict == OPPOSITE.get(one.verdict, one.verdict)
    assert other.difference.low == pytest.approx(-one.difference.high)
    assert other.advice == one.advice


@given(st.lists(values, min_size=2, max_size=12), st.sampled_from([0.25, 8.0, 1024.0]))
def test_unit_of_the_loss_does_not_matter(difference, scale):
    base = evidence(difference)
    one = judge(base)
    scaled = replace(
        base,
        ours=[scale * x for x in base.ours],
        theirs=[scale * x for x in base.theirs],
        gap=scale * base.gap,
    )
    other = judge(scaled)
    assert (other.verdict, other.advice) == (one.verdict, one.advice)
    assert other.margin == scale * one.margin
    assert other.posterior == pytest.approx(one.posterior, abs=1e-9)


@given(st.lists(values, min_size=2, max_size=8), st.floats(0.001, 0.2), st.floats(1.0, 5.0))
def test_wider_margin_never_revokes_equivalence(difference, share, factor):
    if judge(evidence(difference), share).verdict == "equivalent":
        assert judge(evidence(difference), share * factor).verdict == "equivalent"


def test_identical_predictions_are_reported_as_equivalent():
    verdict = judge(evidence([0.0, 0.0], identical=True))
    assert verdict.verdict == "equivalent"
    assert verdict.notes == ("identical predictions on every split",)
    assert (verdict.difference.low, verdict.difference.high) == (0.0, 0.0)
    # Rounding makes no difference, and neither does a set on which nothing can be learned.
    assert judge(evidence([1e-17, 0.0, 2e-17], identical=True)).verdict == "equivalent"
    assert judge(evidence([0.0, 0.0], identical=True, gap=-1.0)).verdict == "equivalent"


def test_equal_scores_of_different_predictions_prove_nothing():
    verdict = judge(evidence([0.0] * 6))
    assert verdict.verdict == "inconclusive"
    assert "no variance" in verdict.advice


@pytest.mark.parametrize(
    ("value", "n", "verdict"),
    [
        (0.1, 6, "better"),
        (-0.1, 6, "worse"),
        (0.1, 5, "inconclusive"),  # five signs alike: p = 0.0625
        (0.005, 6, "inconclusive"),  # inside the margin, and no variance to prove it by
    ],
)
def test_constant_difference_is_judged_by_its_sign(value, n, verdict):
    # 0.1 is no binary number, so the differences carry rounding of about 1e-17.
    base = np.linspace(0.3, 0.7, n)
    given = evidence([0.0] * n)
    result = judge(replace(given, ours=list(base), theirs=list(base + value)))
    assert result.verdict == verdict
    assert ("judged by its sign" in " ".join(result.notes)) == (verdict != "inconclusive")


def test_difference_constant_up_to_rounding_has_zero_width():
    ours = [0.3] * 3 + [0.7] * 3
    given = replace(evidence([0.0] * 6), ours=ours, theirs=[x + 0.1 for x in ours])
    assert np.ptp(np.subtract(given.theirs, given.ours)) > 0
    verdict = judge(given)
    assert verdict.error == 0.0
    for interval in (verdict.inner, verdict.difference):
        assert interval.low == interval.value == interval.high


def test_one_split_is_no_evidence():
    verdict = judge(evidence([0.3]))
    assert verdict.verdict == "inconclusive"
    assert "use 5 or more" in verdict.advice
    assert verdict.difference.high == math.inf
    assert verdict.posterior is None
    given = judge(evidence([0.3], repeat=0))
    assert "has fixed test rows" in given.advice
    identical = judge(evidence([0.0], identical=True))
    assert identical.verdict == "inconclusive"
    assert identical.notes == ("identical predictions on its one split",)


def test_no_common_split():
    verdict = judge(evidence([]))
    assert (verdict.verdict, verdict.splits) == ("inconclusive", 0)
    assert verdict.advice == "no split has a score of both"


def test_failures_are_counted_and_not_imputed():
    pair = replace(PAIR, failed=(2, 0))
    verdict = judge(replace(evidence([0.2, 0.21, 0.22]), pair=pair))
    assert verdict.splits == 3
    assert "without a score: 2 of ours, 0 of theirs" in verdict.notes


def test_without_learning_there_is_no_margin():
    verdict = judge(evidence([0.001, -0.001, 0.002], gap=-0.1))
    assert (verdict.verdict, verdict.margin) == ("inconclusive", 0.0)
    assert "no algorithm beats the constant model, so there is no margin" in verdict.notes
    assert "of the gap" not in verdict.advice
    assert judge(evidence([0.2, 0.21, 0.22], gap=-0.1)).verdict == "better"


# ------------------------------------------------------------------ advice


def test_suggested_number_of_repeats_decides():
    rng = np.random.default_rng(3)
    requested = 0
    for _ in range(40):
        given = evidence(rng.normal(0, 0.02, 5), ratio=0.01)
        verdict = judge(given)
        if match := re.match(r"(\d+) more repeats? \((\d+) splits\)", verdict.advice):
            requested += 1
            repeats, more = map(int, match.groups())
            assert more == 5 * repeats
            # The same mean and spread on as many splits: enough, and one repeat less is not.
            d = np.subtract(given.theirs, given.ours)
            assert decided(d, 5 + more, given)
            assert repeats == 1 or not decided(d, 5 + more - 5, given)
    assert requested > 10


def decided(difference, n, given):
    sample = np.tile([-1.0, 1.0], n)[:n]
    sample = sample - sample.mean()
    sample = difference.mean() + sample * difference.std(ddof=1) / sample.std(ddof=1)
    inner, outer = (resampled_interval(sample, given.ratio, level) for level in (0.9, 0.95))
    return decide(inner, outer, 0.01 * given.gap) != "inconclusive"


def test_repeats_cannot_go_below_the_variance_floor():
    difference = np.array([0.004, -0.004, 0.006, -0.006, 0.0])
    given = evidence(difference, ratio=0.25)
    floor = 1.645 * math.sqrt(0.25) * difference.std(ddof=1)
    assert repeats_needed(0.0, difference.std(ddof=1), 5, given, floor * 0.99) is None
    assert repeats_needed(0.0, difference.std(ddof=1), 5, given, floor * 1.2) is not None
    assert repeats_needed(0.0, 0.005, 5, replace(given, repeat=0), 1.0) is None


def test_suggested_rows_or_margin_decide():
    difference = np.array([0.02, -0.03, 0.01, -0.01, 0.03])
    given = evidence(difference)
    text = advise(difference, given, 0.01)
    rows = int(re.search(r"about ([\d,]+) test rows", text)[1].replace(",", ""))
    share = float(re.search(r"a margin of ([\d.]+) of the gap", text)[1])
    # With k times the rows, differences keep their mean and their spread falls by √k.
    shrink = math.sqrt(rows / given.test_rows)
    larger = difference.mean() + (difference - difference.mean()) / shrink
    assert judge(evidence(larger)).verdict != "inconclusive"
    assert judge(given, share * 1.05).verdict == "equivalent"
    assert judge(given, share * 0.9).verdict == "inconclusive"


@given(st.floats(1, 1e7))
def test_rounding_up_keeps_two_digits(number):
    result = round_up(number)
    assert number <= result <= 1.1 * number + 1
    assert len(str(result).rstrip("0")) <= 2


def test_posterior_uses_the_same_margin():
    assume_better = judge(evidence([0.05, 0.06, 0.055, 0.052, 0.058]))
    below, within, above = assume_better.posterior
    assert above > 0.99
    assert below + within + above == pytest.approx(1)
