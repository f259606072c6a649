"""Tests of the pooled verdict: weights, disagreement, and few datasets."""

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.analysis.pooling import SURE, pool
from harness.analysis.verdicts import Evidence, judge, named


def verdict(rng, dataset, center, spread, gap=1.0, **fields):
    """Judge five overlapping splits of a dataset; center and spread are shares of its gap."""
    shared = 0.5 * rng.normal()
    difference = gap * (center + spread * (shared + rng.normal(size=5)))
    pair = named("ours", "theirs", dataset, "log_loss")
    ours = np.full(5, gap)
    return judge(Evidence(pair, list(ours), list(ours + difference), 0.25, 50, 5, gap, **fields))


def many(rng, centers, spread, **fields):
    return [verdict(rng, f"set{i}", c, spread, **fields) for i, c in enumerate(centers)]


@pytest.mark.parametrize(
    ("center", "expected"), [(0.0, "equivalent"), (-0.025, "worse"), (0.025, "better")]
)
def test_many_datasets_decide_what_each_alone_does_not(center, expected):
    sets = many(np.random.default_rng(0), [center] * 12, spread=0.015)
    assert sum(v.verdict == "inconclusive" for v in sets) >= 2
    result = pool(sets)
    assert (result.verdict, result.advice, result.dataset) == (expected, "", "")
    assert (result.margin, result.splits) == (0.01, 12)
    assert result.metric == "share of the gap"


def test_units_of_datasets_do_not_matter():
    one = pool(many(np.random.default_rng(1), [0.02] * 5, 0.01, gap=1.0))
    other = pool(many(np.random.default_rng(1), [0.02] * 5, 0.01, gap=1000.0))
    assert one.difference.low == pytest.approx(other.difference.low)
    assert one.verdict == other.verdict


def test_disagreeing_datasets_are_not_averaged_away():
    rng = np.random.default_rng(2)
    result = pool(many(rng, [0.1, -0.1, 0.1, -0.1], spread=0.001))
    assert result.verdict == "inconclusive"
    assert "the datasets differ by about 0.1" in result.advice
    assert "read each alone" in result.advice
    assert "4 datasets: 2 better, 2 worse" in result.notes


def test_one_exact_dataset_does_not_outvote_the_rest():
    rng = np.random.default_rng(3)
    identical = verdict(rng, "exact", 0.0, 0.0, identical=True)
    assert identical.error == 0
    worse = many(rng, [-0.05] * 4, spread=0.002)
    result = pool([identical, *worse])
    assert result.verdict != "equivalent"
    assert result.difference.value < -0.02


def test_identical_everywhere_is_equivalent():
    rng = np.random.default_rng(4)
    sets = [verdict(rng, name, 0.0, 0.0, identical=True) for name in "abc"]
    result = pool(sets)
    assert result.verdict == "equivalent"
    assert result.error == pytest.approx(SURE * 0.01 / math.sqrt(3))


def test_few_datasets_are_reported_as_few():
    sets = many(np.random.default_rng(5), [0.0] * 9, 0.001)
    assert "few datasets: others may well decide otherwise" in pool(sets).notes
    assert "9 datasets: 9 equivalent" in pool(sets).notes
    sets = many(np.random.default_rng(5), [0.0] * 10, 0.001)
    assert "few datasets: others may well decide otherwise" not in pool(sets).notes


def test_one_dataset_gives_a_result_for_itself_only():
    only = verdict(np.random.default_rng(6), "only", -0.1, 0.001, gap=4.0)
    result = pool([only])
    assert result.verdict == only.verdict == "worse"
    assert result.difference.low == pytest.approx(only.difference.low / 4)
    assert result.inner.high == pytest.approx(only.inner.high / 4)
    assert "says nothing about other data than only" in result.notes


def test_datasets_without_variance_or_margin_are_left_out_and_counted():
    rng = np.random.default_rng(7)
    good = many(rng, [0.0, 0.0, 0.0], 0.001)
    single = judge(Evidence(named("ours", "theirs", "single", "m"), [0.5], [0.6], 0.25, 10, 5, 1.0))
    unlearned = replace(good[0], dataset="unlearned", gap=0.0)
    result = pool([*good, single, unlearned])
    assert result.splits == 3
    assert result.notes[0] == "5 datasets: 4 equivalent, 1 inconclusive"
    nothing = pool([single, unlearned])
    assert (nothing.verdict, nothing.splits) == ("inconclusive", 0)
    assert nothing.advice.startswith("no dataset has two splits")


def test_failures_add_up():
    sets = many(np.random.default_rng(8), [0.0, 0.0], 0.001)
    result = pool([replace(v, failed=(1, 2)) for v in sets])
    assert result.failed == (2, 4)
    assert "without a score: 2 of ours, 4 of theirs" in result.notes


def test_uncertain_pool_names_the_least_certain_dataset():
    rng = np.random.default_rng(9)
    sets = [*many(rng, [0.0, 0.0], 0.02), verdict(rng, "wild", 0.0, 0.5)]
    result = pool(sets)
    assert result.verdict == "inconclusive"
    assert result.advice == "more datasets, or more certainty on wild"


def test_equivalence_at_the_margin_is_rare():
    rng = np.random.default_rng(10)
    repetitions = 400
    false = 0
    for _ in range(repetitions):
        spreads = 0.01 * rng.choice([0.1, 0.3, 1, 3, 10], 5)
        centers = 0.01 + 0.005 * rng.normal(size=5)
        sets = [
            verdict(rng, str(i), c, s)
            for i, (c, s) in enumerate(zip(centers, spreads, strict=True))
        ]
        false += pool(sets).verdict == "equivalent"
    assert false / repetitions < 0.05 + 4 * math.sqrt(0.05 * 0.95 / repetitions)
