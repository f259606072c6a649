"""Tests of the algorithms compared across datasets: exclusions, declared pairs, the matrix."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import wilcoxon
from statsmodels.stats.multitest import multipletests

from harness.analysis.all_pairs import declared_tests, field_of, gaps_of, matrix
from harness.analysis.verdicts import named

RNG = np.random.default_rng(3)


def verdict(a, b, dataset, difference, gap=0.5, **changes):
    result = named(a, b, dataset, "log_loss")
    value = replace(result.difference, value=difference)
    return replace(result, difference=value, gap=gap, **changes)


def test_algorithm_lacking_a_common_dataset_is_left_out_and_named():
    losses = {"a": {"x": 1.0, "y": 2.0}, "b": {"x": 3.0, "y": 4.0}, "c": {"x": 5.0}}
    result = field_of(losses, {"x": 0.5})
    assert (result.names, result.datasets, result.left_out) == (("a", "b"), ("x", "y"), ("c",))
    assert result.losses.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert result.shares().tolist() == [[2.0, 6.0]]  # of the one dataset whose gap is known


def test_dataset_finished_by_few_excludes_no_algorithm():
    losses = {name: {"x": 1.0} for name in "abc"} | {"d": {"x": 1.0, "rare": 1.0}}
    result = field_of(losses, {})
    assert result.datasets == ("x",)
    assert result.names == ("a", "b", "c", "d")
    assert field_of({}, {}).losses.size == 0


def test_declared_pairs_are_tested_on_their_own_datasets_with_holm():
    first, second = RNG.normal(0.02, 0.02, 12), RNG.normal(0.0, 0.02, 9)
    accuracy = [verdict("ours", "theirs", f"d{i}", 0.5 * x) for i, x in enumerate(first)]
    accuracy += [verdict("other", "theirs", f"d{i}", 0.5 * x) for i, x in enumerate(second)]
    accuracy += [verdict("other", "theirs", "none", math.nan), verdict("ours", "theirs", "", 9.0)]
    result = declared_tests(accuracy, 0.01)
    assert [(t.algorithm, t.reference, t.test.difference.n, t.n_missing) for t in result] == [
        ("ours", "theirs", 12, 0), ("other", "theirs", 9, 1),
    ]  # fmt: skip
    p = [wilcoxon(x, method="exact").pvalue for x in (first, second)]
    assert [t.test.p for t in result] == pytest.approx(p, abs=1e-12)
    assert [t.test.holm for t in result] == pytest.approx(multipletests(p, method="holm")[1])
    ours = result[0].test
    assert (ours.wins, ours.losses) == ((first > 0.01).sum(), (first < -0.01).sum())


def test_tracks_and_variants_are_separate_pairs():
    accuracy = [
        verdict("ours", "theirs", "d", 0.1, track="equal"),
        verdict("ours", "theirs", "d", 0.2, track="tuned"),
    ]
    result = declared_tests(accuracy, 0.01)
    assert [(t.algorithm, t.track, t.test.difference.value) for t in result] == [
        ("ours", "equal", pytest.approx(0.2)),
        ("ours", "tuned", pytest.approx(0.4)),
    ]
    assert declared_tests([], 0.01) == ()


def test_third_algorithm_does_not_change_the_matrix():
    table = {n: dict(zip("uvwxyz", RNG.random(6), strict=True)) for n in ("a", "b", "c")}
    gaps = dict.fromkeys("uvwxyz", 0.5)
    two = field_of({n: table[n] for n in ("a", "b")}, gaps)
    three = field_of(table, gaps)
    small, large = matrix(two, 0.01), matrix(three, 0.01)
    assert replace(small[0][1], pair=("", ""), holm=0) == replace(
        large[0][1], pair=("", ""), holm=0
    )
    assert large[1][1] is None
    assert large[0][2].difference.value == pytest.approx(-large[2][0].difference.value)
    assert (large[0][2].wins, large[0][2].losses) == (large[2][0].losses, large[2][0].wins)


def test_gaps_are_medians_over_the_verdicts():
    gaps = [0.2, 0.3, 0.9, 0.0]
    accuracy = [verdict("a", "b", "d", 0.0, gap=g) for g in gaps] + [verdict("a", "b", "", 0.0)]
    assert gaps_of(accuracy) == {"d": 0.3}
