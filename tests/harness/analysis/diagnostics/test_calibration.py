"""Tests of reliability bins, calibration errors with intervals, and score decompositions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

from harness.analysis.diagnostics import InapplicableError
from harness.analysis.diagnostics import calibration as c


def drawn(n, seed=0, shift=0.0):
    """Return probabilities, and outcomes whose true rates are shifted."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.8, n)
    return p, (rng.random(n) < p + shift).astype(float)


def two_columns(p):
    return np.column_stack([1 - p, p])


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_bins_equal_scikit_learn(strategy):
    p, hit = drawn(700)
    edges = c.quantile_edges(p, 10) if strategy == "quantile" else np.linspace(0, 1, 11)
    result = c.bins(p, hit, np.ones(len(p)), c.bin_of(p, edges))
    observed, predicted = calibration_curve(hit, p, n_bins=10, strategy=strategy)
    np.testing.assert_allclose([b.observed for b in result], observed, rtol=0, atol=1e-12)
    np.testing.assert_allclose([b.predicted for b in result], predicted, rtol=0, atol=1e-12)
    assert sum(b.rows for b in result) == 700
    assert all(b.low <= b.predicted <= b.high for b in result)


def test_error_is_the_weighted_mean_gap_of_the_bins():
    p, hit = drawn(500)
    w = np.random.default_rng(1).uniform(0.5, 2, 500)
    place = c.bin_of(p, np.linspace(0, 1, 8))
    by_bin = sum(b.share * abs(b.observed - b.predicted) for b in c.bins(p, hit, w, place))
    assert c.expected_error(hit - p, w, place) == pytest.approx(by_bin, abs=1e-14)


def test_row_of_weight_two_equals_two_rows():
    p, hit = drawn(300)
    w = np.random.default_rng(2).integers(1, 4, 300)
    twice = [np.repeat(v, w) for v in (p, hit)]
    edges = np.linspace(0, 1, 11)
    weighted = c.expected_error(hit - p, w, c.bin_of(p, edges))
    repeated = c.expected_error(twice[1] - twice[0], np.ones(w.sum()), c.bin_of(twice[0], edges))
    assert weighted == pytest.approx(repeated, abs=1e-14)
    for name in ("brier", "log_loss"):
        one, other = c.decompose(p, hit, w, name), c.decompose(*twice, np.ones(w.sum()), name)
        assert vars(one) == pytest.approx(vars(other), abs=1e-12)


def test_rows_without_weight_do_not_count():
    p, hit = drawn(200)
    w = np.ones(200)
    w[100:] = 0
    some = c.calibrate(two_columns(p[:100]), hit[:100].astype(int), resamples=20)
    weighted = c.calibrate(two_columns(p), hit.astype(int), w, resamples=20)
    assert weighted == some


@given(
    st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=40),
    st.sampled_from(["brier", "log_loss"]),
)
def test_score_decomposes_exactly_into_nonnegative_parts(rows, score):
    p = np.clip(np.array([k / 20 for k, _ in rows]), c.TINY, 1 - c.TINY)
    hit = np.array([float(h) for _, h in rows])
    result = c.decompose(p, hit, np.ones(len(p)), score)
    whole = result.miscalibration - result.discrimination + result.uncertainty
    assert result.score == pytest.approx(whole, rel=1e-12, abs=1e-12)
    assert result.miscalibration >= -1e-12
    assert result.discrimination >= -1e-12
    again = c.decompose(
        np.clip(c.recalibrate(p, hit, np.ones(len(p))), c.TINY, 1 - c.TINY),
        hit,
        np.ones(len(p)),
        score,
    )
    assert again.miscalibration == pytest.approx(0, abs=1e-9)


def test_scores_and_recalibration_equal_scikit_learn():
    p, hit = drawn(400)
    w = np.random.default_rng(3).uniform(0.5, 2, 400)
    for name, score in (("brier", brier_score_loss), ("log_loss", log_loss)):
        result = c.decompose(p, hit, w, name)
        assert result.score == pytest.approx(score(hit, p, sample_weight=w), abs=1e-12)
    isotonic = IsotonicRegression(y_min=0, y_max=1).fit(p, hit, w)
    np.testing.assert_allclose(c.recalibrate(p, hit, w), isotonic.predict(p), atol=1e-12)


def test_simulated_error_is_detected_and_covered_by_the_interval():
    covered = seen = 0
    for seed in range(60):
        p, hit = drawn(1500, seed, shift=0.06)  # the true error is 0.06 in every bin
        calibration = c.calibrate(two_columns(p), hit.astype(int), resamples=120)
        covered += calibration.ece.low <= 0.06 <= calibration.ece.high
        assert calibration.ece.low <= calibration.ece.value <= calibration.ece.high
        seen += calibration.ece.value > calibration.chance[1]
    assert covered >= binom.ppf(0.001, 60, 0.90)
    assert seen >= 50


def test_perfect_forecast_is_rarely_called_miscalibrated():
    called = covered = 0
    for seed in range(80):
        p, hit = drawn(600, seed)
        calibration = c.calibrate(two_columns(p), hit.astype(int), resamples=120)
        called += calibration.ece.value > calibration.chance[1]
        covered += calibration.ece.low == 0
    assert covered >= binom.ppf(0.001, 80, 0.90)
    assert called <= binom.ppf(0.999, 80, 0.06)


def test_multiclass_event_is_that_the_top_label_is_right():
    output = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    p, hit, event = c.event_of(output, np.array([0, 2, 2]))
    assert (p.tolist(), hit.tolist(), event) == ([0.5, 0.8, 0.4], [1, 0, 1], "top label")


def test_missing_probabilities_are_reported():
    with pytest.raises(InapplicableError, match="regression"):
        c.calibrate(np.zeros(4), np.zeros(4))
    with pytest.raises(InapplicableError, match="weight"):
        c.calibrate(np.full((2, 2), 0.5), np.zeros(2, int), np.zeros(2))


def test_one_probability_for_all_rows_makes_one_bin():
    calibration = c.calibrate(np.full((50, 2), 0.5), np.arange(50) % 2, resamples=50)
    (only,) = calibration.bins
    assert (only.rows, only.observed, calibration.ece.value) == (50, 0.5, 0)
    assert calibration.scores["brier"].discrimination == 0
    assert "not shown to be miscalibrated" in calibration.sentence


def test_wilson_interval_equals_statsmodels():
    from statsmodels.stats.proportion import proportion_confint

    for hits, n in ((0, 5), (3, 10), (50, 50)):
        assert c.wilson(hits / n, n) == pytest.approx(
            proportion_confint(hits, n, method="wilson"), abs=1e-12
        )
