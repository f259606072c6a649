"""Tests of closed forms, against brute force, statsmodels, integration and simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy import stats as scipy_stats
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.weightstats import DescrStatsW

from harness.analysis.stats import (
    between_variance,
    geometric_mean,
    hodges_lehmann,
    posterior,
    random_effects,
    resampled_error,
    resampled_interval,
    signed_rank_cdf,
    signed_rank_trim,
    smallest_signed_rank,
)

numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))


def brute_cdf(n):
    """P(T ≤ t) by all 2ⁿ subsets of the ranks."""
    sums = [sum(s) for r in range(n + 1) for s in itertools.combinations(range(1, n + 1), r)]
    return np.cumsum(np.bincount(sums)) / 2**n


def inverted_interval(x, level):
    """Closure of the centers that scipy's exact signed-rank test does not reject."""
    walsh = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(x, 2))
    kept = [
        gap
        for gap in itertools.pairwise(walsh)
        if scipy_stats.wilcoxon(x - np.mean(gap), method="exact").pvalue > 1 - level
    ]
    return kept[0][0], kept[-1][1]


@pytest.mark.parametrize("n", [1, 2, 5, 9, 12])
def test_signed_rank_distribution_counts_every_subset(n):
    np.testing.assert_allclose(signed_rank_cdf(n), brute_cdf(n), rtol=0, atol=1e-15)


@pytest.mark.parametrize(("n", "level"), [(6, 0.95), (8, 0.95), (9, 0.9), (11, 0.99)])
def test_interval_inverts_the_exact_test(n, level):
    x = np.random.default_rng(n).standard_cauchy(n)
    result = hodges_lehmann(x, level)
    walsh = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(x, 2)]
    assert result.value == pytest.approx(np.median(walsh), abs=1e-12)
    assert (result.low, result.high) == pytest.approx(inverted_interval(x, level), abs=1e-12)
    assert result.level >= level


def test_textbook_quantiles():
    # Hollander & Wolfe, table A.4: n = 9, 95 %: t = 40, so the 6th smallest Walsh average.
    assert signed_rank_trim(9, 0.95)[0] == 5
    assert signed_rank_trim(9, 0.95)[1] == pytest.approx(1 - 2 * 0.0195, abs=1e-4)
    assert smallest_signed_rank(0.95) == 6
    assert smallest_signed_rank(0.90) == 5
    assert smallest_signed_rank(0.99) == 8


@pytest.mark.parametrize("n", range(1, 6))
def test_too_few_values_for_the_level_are_unbounded(n):
    result = hodges_lehmann(np.arange(n, dtype=float), 0.95)
    assert (result.low, result.high, result.level) == (-math.inf, math.inf, 1.0)
    assert result.value == pytest.approx((n - 1) / 2)
    assert f"n = {n}" in result.note
    assert "6" in result.note


def test_normal_approximation_agrees_with_the_exact_distribution(monkeypatch):
    exact = signed_rank_trim(50, 0.95)
    monkeypatch.setattr("harness.analysis.stats.EXACT", 49)
    approximate = signed_rank_trim(50, 0.95)
    assert abs(exact[0] - approximate[0]) <= 1
    assert exact[1] == pytest.approx(approximate[1], abs=1e-3)


def test_signed_rank_interval_has_nominal_coverage():
    rng = np.random.default_rng(0)
    # Skewed noise with spikes, the difference of two draws: symmetric, as ABBA makes it.
    noise = rng.exponential(1, (2, 1500, 8)) + 20 * (rng.random((2, 1500, 8)) < 0.1)
    results = [hodges_lehmann(row) for row in noise[0] - noise[1]]
    covered = np.mean([i.low <= 0 <= i.high for i in results])
    # Four standard errors of a share of 1500.
    assert covered == pytest.approx(results[0].level, abs=4 * math.sqrt(0.05 * 0.95 / 1500))


def test_ties_and_zeros_never_cover_less():
    rng = np.random.default_rng(1)
    x = rng.integers(-2, 3, (1500, 8)).astype(float)
    results = [hodges_lehmann(row) for row in x]
    covered = np.mean([i.low <= 0 <= i.high for i in results])
    assert covered >= 0.95


@given(st.lists(numbers, min_size=6, max_size=15), st.floats(1e-3, 1e3), numbers)
def test_signed_rank_interval_shifts_with_its_numbers(x, scale, shift):
    base = hodges_lehmann(x)
    moved = hodges_lehmann([-scale * v + shift for v in x])
    expected = [-scale * v + shift for v in (base.high, base.value, base.low)]
    tolerance = 1e-9 * (1 + abs(shift) + scale * max(map(abs, x)))
    np.testing.assert_allclose([moved.low, moved.value, moved.high], expected, atol=tolerance)


def test_resampled_interval_equals_t_interval_without_overlap():
    x = np.random.default_rng(2).normal(size=12)
    low, high = DescrStatsW(x).tconfint_mean(alpha=0.1)
    interval = resampled_interval(x, ratio=0.0, level=0.9)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-9)


def test_interval_inside_the_margin_equals_tost():
    rng = np.random.default_rng(3)
    for center in np.linspace(-0.8, 0.8, 9):
        x = rng.normal(center, 1, 20)
        p = DescrStatsW(x).ttost_mean(-1, 1)[0]
        interval = resampled_interval(x, ratio=0.0, level=0.9)
        assert (interval.low > -1 and interval.high < 1) == (p < 0.05)


def test_resampled_error_equals_hand_computation():
    # J = 4, s² = 5/3, n_test/n_train = 1/4: √((1/4 + 1/4)·5/3)
    assert resampled_error([1, 2, 3, 4], 0.25) == pytest.approx(math.sqrt(0.5 * 5 / 3), abs=1e-15)


def test_resampled_interval_covers_where_the_naive_one_does_not():
    # Repeated holdouts of one sample of n rows; the "learner" is the training mean, the score
    # its loss on the test rows against a rival that is biased by as much as makes both equal.
    rng = np.random.default_rng(4)
    n, test, splits, repetitions = 60, 12, 15, 400
    covered = {"corrected": 0, "naive": 0}
    for _ in range(repetitions):
        noise = rng.normal(0, 1, n)
        differences = []
        for _ in range(splits):
            rows = rng.permutation(n)
            train, held = noise[rows[test:]], noise[rows[:test]]
            bias = math.sqrt(1 / (n - test))
            differences.append(np.mean((held - bias) ** 2) - np.mean((held - train.mean()) ** 2))
        ratio = test / (n - test)
        for name, r in (("corrected", ratio), ("naive", 0.0)):
            interval = resampled_interval(differences, r)
            covered[name] += interval.low <= 0 <= interval.high
    assert covered["corrected"] / repetitions > 0.93
    assert covered["naive"] / repetitions < 0.85


def test_single_difference_has_no_interval():
    interval = resampled_interval([0.5], ratio=0.25)
    assert (interval.low, interval.value, interval.high) == (-math.inf, 0.5, math.inf)
    assert "at least 2" in interval.note


def test_posterior_integrates_the_t_density():
    x, ratio, margin = np.random.default_rng(5).normal(0.3, 1, 10), 1 / 9, 0.4
    center, scale = x.mean(), math.sqrt((1 / 10 + ratio) * x.var(ddof=1))

    def density(t):
        constant = math.gamma(5) / (math.gamma(4.5) * math.sqrt(9 * math.pi) * scale)
        return constant * (1 + ((t - center) / scale) ** 2 / 9) ** -5

    expected = [
        integrate.quad(density, low, high, epsabs=1e-12)[0]
        for low, high in [(-np.inf, -margin), (-margin, margin), (margin, np.inf)]
    ]
    assert posterior(x, ratio, margin) == pytest.approx(expected, abs=1e-9)
    assert posterior([0.1, 0.1], ratio, margin) == (0.0, 1.0, 0.0)
    below, within, above = posterior(-x, ratio, margin)
    assert (above, within, below) == pytest.approx(expected, abs=1e-9)


@pytest.mark.filterwarnings("ignore:`use_t=True` requires:UserWarning")
@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.InvalidTestWarning")
@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0])
def test_random_effects_equal_statsmodels(spread):
    rng = np.random.default_rng(6)
    errors = rng.uniform(0.1, 0.6, 9)
    effects = rng.normal(0.2, spread, 9) + rng.normal(0, errors)
    # Its loop returns 0 if rounding takes it past the root, so a tighter tolerance is impossible.
    oracle = combine_effects(effects, errors**2, method_re="iterated", use_t=True, atol=1e-6)
    tau2 = between_variance(effects, errors)
    assert tau2 == pytest.approx(oracle.tau2, abs=1e-6)
    weight = 1 / (errors**2 + tau2)
    residual = weight @ (effects - np.average(effects, weights=weight)) ** 2
    assert residual == pytest.approx(8, abs=1e-9)  # the equation that defines τ², where τ² > 0
    result = random_effects(effects, errors)
    assert result.value == pytest.approx(oracle.mean_effect_re, abs=1e-6)
    half = scipy_stats.t.ppf(0.975, 8) * oracle.sd_eff_w_re_hksj
    assert result.high - result.value == pytest.approx(half, abs=1e-6)


def test_datasets_agreeing_by_chance_keep_their_own_errors():
    errors = np.array([0.5, 0.5, 1.0])
    result = random_effects([0.2, 0.2, 0.2], errors)
    own = scipy_stats.t.ppf(0.975, 2) / math.sqrt((errors**-2.0).sum())
    assert result.high - result.value == pytest.approx(own, abs=1e-12)
    assert between_variance(np.full(3, 0.2), errors) == 0


def test_random_effects_interval_has_nominal_coverage():
    rng = np.random.default_rng(7)
    for sets, spread in [(3, 0.0), (6, 1.0), (6, 0.0)]:
        covered = 0
        for _ in range(400):
            errors = rng.uniform(0.2, 2.0, sets)
            effects = rng.normal(0, spread, sets) + rng.normal(0, errors)
            result = random_effects(effects, errors, level=0.9)
            covered += result.low <= 0 <= result.high
        assert covered / 400 > 0.86, (sets, spread)


def test_one_dataset_has_no_between_dataset_variance():
    result = random_effects([0.3], [0.1])
    assert result.high == math.inf
    assert result.note


def test_geometric_mean_is_reciprocal_for_swapped_ratios():
    ratios = np.array([0.5, 2.0, 4.0, 1.5])
    one, other = geometric_mean(ratios), geometric_mean(1 / ratios)
    assert one.value == pytest.approx(scipy_stats.gmean(ratios), abs=1e-12)
    assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low), abs=1e-9)


@pytest.mark.parametrize("bad", [[], [math.nan, 1.0], [math.inf], [[1.0, 2.0]]])
def test_nonfinite_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="finite numbers"):
        hodges_lehmann(bad)
