"""Tests of statistics across datasets, against scipy, statsmodels, tables and brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

from harness.analysis.across import (
    compare_differences,
    friedman,
    holm,
    improvability,
    nemenyi_distance,
    wilcoxon_p,
    win_tie_loss,
)


def brute_wilcoxon(x):
    """Every sign pattern of the given ranks; ranks of zeros are shared between the signs."""
    x = np.asarray(x, dtype=float)
    ranks = scipy_stats.rankdata(np.abs(x))
    nonzero = ranks[x != 0]
    sums = [sum(s) for s in itertools.product(*((0, r) for r in nonzero))]
    observed = ranks[x > 0].sum()
    lower = np.mean([s <= observed + 1e-9 for s in sums])
    upper = np.mean([s >= observed - 1e-9 for s in sums])
    return min(1.0, 2 * min(lower, upper))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_wilcoxon_with_ties_and_zeros_counts_every_pattern(x):
    assert wilcoxon_p(x) == pytest.approx(brute_wilcoxon(x) if any(x) else 1.0, abs=1e-12)


@pytest.mark.parametrize("n", [3, 12, 40])
def test_wilcoxon_without_ties_equals_scipy_exact_test(n):
    x = np.random.default_rng(n).normal(0.3, 1, n)
    expected = scipy_stats.wilcoxon(x, method="exact").pvalue
    assert wilcoxon_p(x) == pytest.approx(expected, abs=1e-12)


def test_wilcoxon_normal_approximation_agrees_with_the_exact_test(monkeypatch):
    x = np.random.default_rng(0).normal(0.2, 1, 50)
    exact = wilcoxon_p(x)
    monkeypatch.setattr("harness.analysis.across.EXACT", 49)
    assert wilcoxon_p(x) == pytest.approx(exact, abs=0.005)


@pytest.mark.parametrize("seed", range(5))
def test_holm_equals_statsmodels(seed):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(0.5, 3, 8), 2)  # ties among them
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], atol=1e-12)


def test_friedman_equals_hand_computation():
    # Mean ranks (1.4, 2.4, 2.2) of N = 5, k = 3 without ties:
    # χ² = 12·5/(3·4)·(1.4² + 2.4² + 2.2² - 3·4²/4) = 2.8, F = 4·2.8/(10 - 2.8)
    losses = np.array([[1, 2, 3], [1, 3, 2], [1, 3, 2], [2, 3, 1], [2, 1, 3]], dtype=float)
    result = friedman(losses)
    assert result.ranks == pytest.approx((1.4, 2.4, 2.2))
    assert result.statistic == pytest.approx(4 * 2.8 / 7.2, abs=1e-12)
    assert result.p == pytest.approx(scipy_stats.f.sf(4 * 2.8 / 7.2, 2, 8), abs=1e-12)
    assert result.datasets == 5


def test_friedman_of_perfect_agreement_has_the_exact_p():
    result = friedman(np.tile([1.0, 2.0, 3.0], (3, 1)))
    assert result.statistic == math.inf
    assert result.p == pytest.approx(1 / 36)  # 6 rankings, and two sets follow the first
    assert friedman(np.ones((4, 3))).p == 1.0


@pytest.mark.parametrize("k", [171, 400])
def test_friedman_supports_more_algorithms_than_factorials_allow(k):
    losses = np.random.default_rng(0).random((4, k))
    chi2 = scipy_stats.friedmanchisquare(*losses.T).statistic
    f = 3 * chi2 / (4 * (k - 1) - chi2)
    assert friedman(losses).p == pytest.approx(scipy_stats.f.sf(f, k - 1, 3 * (k - 1)))


def test_friedman_ranks_share_ties():
    assert friedman(np.array([[1.0, 1.0, 2.0], [1.0, 2.0, 3.0]])).ranks == (1.25, 1.75, 3.0)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_nemenyi_distance_equals_the_published_table(k, q):
    # Demsar 2006, table 5 (a), alpha = 0.05
    expected = q * math.sqrt(k * (k + 1) / (6 * 14))
    assert nemenyi_distance(k, 14) == pytest.approx(expected, rel=3e-4)


def compared(losses, *pairs):
    return compare_differences({(a, b): losses[b] - losses[a] for a, b in pairs})


def test_holm_adjusts_over_the_declared_pairs_only():
    rng = np.random.default_rng(1)
    base = rng.random(12)
    losses = {"ours": base, "theirs": base + rng.uniform(0.1, 0.2, 12), "third": rng.random(12)}
    alone = compared(losses, ("ours", "theirs"))[0]
    assert (alone.wins, alone.ties, alone.losses) == (12, 0, 0)
    assert alone.difference.low > 0
    assert alone.holm == alone.p == 2 / 2**12
    both = compared(losses, ("ours", "theirs"), ("ours", "third"))
    assert both[0].p == alone.p
    assert both[0].holm == pytest.approx(2 * alone.p)
    assert compare_differences({}) == ()


def test_swapping_a_pair_reverses_it():
    rng = np.random.default_rng(2)
    losses = {"a": rng.random(10), "b": rng.random(10)}
    one, other = (compared(losses, pair)[0] for pair in [("a", "b"), ("b", "a")])
    assert one.p == other.p
    assert (one.wins, one.losses) == (other.losses, other.wins)
    assert one.difference.low == pytest.approx(-other.difference.high)


def test_win_tie_loss_with_a_tie_band():
    assert win_tie_loss([0.5, 0.05, 0.0, -0.05, -0.5, -0.6], tie=0.1) == (1, 3, 2)


def test_improvability():
    losses = np.array([[1.0, 2.0], [4.0, 1.0], [0.0, 3.0]])
    assert improvability(losses) == pytest.approx([0.75 / 3, (0.5 + 1.0) / 3])
