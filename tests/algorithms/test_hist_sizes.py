"""Tests of the histogram booster on very small and very large targets and weights."""

import lightgbm
import numpy as np
import pytest

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingRegressor,
)

SECOND_ORDER = {"poisson": "count:poisson", "gamma": "reg:gamma", "tweedie": "reg:tweedie"}
TOO_SMALL = "targets or weights are too small; multiply them"


def table(n=2000, seed=0):
    """Return features, and the logarithm of means that depend on them."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, X[:, 0] + np.sin(2.0 * X[:, 1])


def means(scale, n=2000, seed=0):
    X, log_mean = table(n, seed)
    return X, np.exp(log_mean) * np.random.default_rng(seed + 1).gamma(4.0, 0.25, n) * scale


def log_error(model, X, y, scale):
    """Return the root mean square error of predictions, in logarithms."""
    result = np.log(model.fit(X, y).predict(X) / scale) - table()[1]
    return np.sqrt(np.mean(result**2))


# ------------------------------------------------------------------ small means


@pytest.mark.parametrize("objective", list(SECOND_ORDER))
@pytest.mark.parametrize("scale", [1e-14, 1e-20, 1e-30])
def test_smallest_means_are_fitted_as_by_lightgbm(objective, scale):
    """A base score clipped at log(1e-15) would be wrong by five orders, or an error."""
    params = {"objective": objective, "n_estimators": 60, "min_child_weight": 0.0}
    X, y = means(scale)
    ours = log_error(HistogramBoostingRegressor(**params, random_state=0), X, y, scale)
    at_one = log_error(HistogramBoostingRegressor(**params, random_state=0), X, y / scale, 1.0)
    assert ours < 1.1 * at_one < 0.5
    if objective != "poisson":  # the library's sums have an error of 1e-15, and its own limit
        library = lightgbm.LGBMRegressor(**params, n_jobs=1, verbose=-1)
        assert ours < 1.1 * log_error(library, X, y, scale)


@pytest.mark.parametrize("scale", [1e-46, 1e-200, 1e-290])
def test_gamma_does_not_depend_on_the_scale(scale):
    X, y = means(scale)
    model = HistogramBoostingRegressor(objective="gamma", n_estimators=60, random_state=0)
    assert log_error(model, X, y, scale) < 0.3


@pytest.mark.parametrize("objective", list(SECOND_ORDER))
def test_newton_boosting_starts_at_the_mean_too(objective):
    X, y = means(1e-20)
    model = NewtonBoostingRegressor(objective=SECOND_ORDER[objective], n_estimators=1)
    assert model.fit(X, y).intercept_[0] == pytest.approx(y.mean(), rel=1e-4)


@pytest.mark.parametrize("objective", list(SECOND_ORDER))
def test_small_means_are_evaluated(objective):
    X, y = means(1e-20)
    params = {"objective": objective, "n_estimators": 300, "min_child_weight": 0.0}
    model = HistogramBoostingRegressor(**params, early_stopping_round=10, random_state=0)
    model.fit(X, y, eval_set=[means(1e-20, seed=5)])
    assert 20 < model.n_estimators_ < 300


# ------------------------------------------------------------------ below float32


@pytest.mark.parametrize(
    ("objective", "scale"),
    [("regression", 1e-46), ("regression", 1e-300), ("huber", 1e-50), ("poisson", 1e-46)],
)
@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_targets_that_underflow_float32_are_an_error(objective, scale, mean):
    """Regression test: they trained a constant model without a message."""
    X, y = means(1.0)
    model = HistogramBoostingRegressor(objective=objective, n_estimators=3)
    with pytest.raises(ValueError, match=TOO_SMALL):
        model.fit(X, scale * (y + mean))


@pytest.mark.parametrize("power", [-996, -143, -130])
def test_weights_that_underflow_float32_train_like_scaled_weights(power):
    X, y = means(1.0)
    weight = np.random.default_rng(3).uniform(1.0, 2.0, len(y))
    params = {"n_estimators": 3, "min_child_weight": 0.0, "random_state": 0}

    def assert_same(kind, target, **more):
        usual, small = (
            kind(**params, **more).fit(X, target, one) for one in (weight, np.ldexp(weight, power))
        )
        method = "predict_proba" if hasattr(usual, "predict_proba") else "predict"
        expected = getattr(usual, method)(X)
        assert len(np.unique(expected, axis=0)) > 2  # no constant model
        assert np.array_equal(getattr(small, method)(X), expected)

    for objective in ("regression", "regression_l1", "gamma"):
        assert_same(HistogramBoostingRegressor, y, objective=objective)
    for target in (y > 1.0, np.digitize(y, [0.5, 2.0])):
        assert_same(HistogramBoostingClassifier, target)


@pytest.mark.parametrize(
    ("y", "weight"),
    [
        (np.full(50, 1e-46), None),
        (np.zeros(50), None),
        (np.full(50, 0.1), np.linspace(1.0, 2.0, 50)),
    ],
)
def test_constant_tiny_targets_are_accepted(y, weight):
    X = np.arange(50.0)[:, None]
    predictions = HistogramBoostingRegressor(n_estimators=3).fit(X, y, weight).predict(X)
    np.testing.assert_allclose(predictions, y, rtol=1e-6)


def test_init_scores_may_explain_the_whole_target():
    X, y = means(1.0)
    model = HistogramBoostingRegressor(n_estimators=3).fit(X, y, init_score=y)
    assert not model.predict(X).any()


def test_smallest_float32_targets_are_fitted():
    X, y = means(1.0)
    near = HistogramBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    far = HistogramBoostingRegressor(n_estimators=30, random_state=0).fit(X, np.ldexp(y, -110))
    np.testing.assert_allclose(np.ldexp(far.predict(X), 110), near.predict(X), rtol=1e-6)
