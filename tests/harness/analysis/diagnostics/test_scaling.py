"""Tests of slopes of training time and the names of growth rates."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from harness.analysis.diagnostics import InapplicableError, scaling
from harness.analysis.run_view import Interval

SIZES = np.repeat([1000, 2000, 4000, 8000, 16000], 3)


def noisy(truth, sd=0.03, seed=1):
    return truth * np.exp(np.random.default_rng(seed).normal(0, sd, len(truth)))


def test_interval_equals_ordinary_least_squares():
    seconds = noisy(3e-6 * SIZES**1.1)
    fitted = scaling.fit("rows", SIZES, seconds)
    ols = sm.OLS(np.log(seconds), sm.add_constant(np.log(SIZES))).fit()
    low, high = ols.conf_int(0.05)[1]
    assert (fitted.slope.low, fitted.slope.value, fitted.slope.high) == pytest.approx(
        (low, ols.params[1], high), abs=1e-9
    )
    assert fitted.intercept == pytest.approx(ols.params[0], abs=1e-9)
    assert fitted.residual == pytest.approx(np.sqrt(ols.mse_resid), abs=1e-9)


@given(
    st.floats(-2, 3),
    st.floats(1e-6, 1e3),
    st.lists(st.integers(1, 10**6), min_size=2, max_size=8, unique=True),
)
def test_exact_power_is_found(power, factor, sizes):
    x = np.array(sizes, float)
    fitted = scaling.fit("columns", x, factor * x**power)
    assert fitted.slope.value == pytest.approx(power, abs=1e-6)
    assert fitted.residual < 1e-6


@pytest.mark.parametrize(
    ("seconds", "growth"),
    [
        (SIZES * 1e-6, "linear"),
        (SIZES * np.log(SIZES) * 1e-7, "n log n"),
        (SIZES**2 * 1e-9, "faster than n log n"),
        (SIZES**0.5 * 1e-3, "less than linear"),
    ],
)
def test_growth_rates_are_distinguished_if_noise_allows(seconds, growth):
    assert scaling.fit("rows", SIZES, noisy(seconds, 0.005)).growth == growth


def test_indistinguishable_growth_rates_are_reported():
    fitted = scaling.fit("rows", SIZES, noisy(SIZES**1.1 * 1e-6, 0.3))
    assert fitted.growth == "linear or n log n, undecided"


def test_interval_covers_the_simulated_slope():
    covered = 0
    for seed in range(400):
        slope = scaling.fit("rows", SIZES, noisy(SIZES**1.3, 0.1, seed)).slope
        covered += slope.low <= 1.3 <= slope.high
    low, high = binom.ppf([0.0005, 0.9995], 400, 0.95)
    assert low <= covered <= high


def test_n_log_n_has_its_slope():
    x = np.array([10.0, 100.0, 1000.0])
    fitted = np.polyfit(np.log(x), np.log(x * np.log(x)), 1)[0]
    assert scaling.linearithmic_slope(x) == pytest.approx(fitted, abs=1e-12)
    assert scaling.linearithmic_slope(np.array([2.0, 10.0])) is None


@pytest.mark.parametrize(
    ("low", "high", "growth"),
    [
        (-1.1, -0.9, "perfect use of threads"),
        (-0.8, -0.4, "threads help"),
        (-0.2, 0.1, "threads are not shown to help"),
        (0.1, 0.3, "threads do harm"),
    ],
)
def test_threads_have_their_own_sentence(low, high, growth):
    assert scaling.growth("threads", Interval(low, (low + high) / 2, high), None) == growth


@pytest.mark.parametrize(
    ("low", "high", "growth"),
    [
        (-0.1, 1.5, "no growth shown"),
        (-0.2, -0.1, "falls"),
        (0.2, 0.8, "less than linear"),
        (1.1, 1.3, "faster than linear"),
    ],
)
def test_growth_along_other_axes(low, high, growth):
    assert scaling.growth("bins", Interval(low, (low + high) / 2, high), None) == growth


def test_two_calls_have_a_slope_without_an_interval():
    fitted = scaling.fit("threads", [1, 2], [1.0, 0.5])
    assert fitted.slope.value == pytest.approx(-1)
    assert np.isinf(fitted.slope.low)
    assert fitted.growth == "undecided"
    assert "too few calls" in fitted.sentence


@pytest.mark.parametrize(("x", "seconds"), [([5, 5], [1, 2]), ([1, 0], [1, 2]), ([1, 2], [0, 1])])
def test_missing_slope_is_reported(x, seconds):
    with pytest.raises(InapplicableError):
        scaling.fit("rows", x, seconds)
