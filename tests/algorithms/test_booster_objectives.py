"""Tests of custom objectives, and of losses whose base score is hard to find."""

import numpy as np
import pytest
import xgboost

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingRegressor,
)


def table(n=400, mean=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, mean + 2 * X[:, 0] + 0.3 * rng.normal(size=n)


def logistic(y, raw):
    p = 1.0 / (1.0 + np.exp(-raw))
    return p - y, p * (1.0 - p)


def softmax(y, raw):
    p = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
    return p - np.eye(raw.shape[1])[y.astype(int)], p * (1.0 - p)


# ------------------------------------------------------------------ of the user's


@pytest.mark.parametrize("kind", [HistogramBoostingRegressor, NewtonBoostingRegressor])
@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda raw: (raw, -np.ones_like(raw)), "negative hessians"),
        (lambda raw: (raw, np.where(np.arange(len(raw)) == 7, -1e-9, 1.0)), "negative hessians"),
        (lambda raw: (raw[:3], np.ones_like(raw)), "gradients of shape"),
        (lambda raw: (raw, np.ones(3)), "hessians of shape"),
    ],
)
def test_result_of_custom_objective_is_checked(kind, result, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        kind(n_estimators=2, objective=lambda _y, raw: result(raw)).fit(X, y)


@pytest.mark.parametrize(
    ("n_classes", "objective", "name"),
    [(2, logistic, "binary_logloss"), (3, softmax, "multi_logloss")],
)
def test_classes_of_a_custom_objective_are_evaluated_by_log_loss(n_classes, objective, name):
    X, y = table()
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = HistogramBoostingClassifier(n_estimators=10, objective=objective)
    model.fit(X, y, eval_set=[(X, y)])
    watched = model.evals_result_["training"][name]
    expected = -np.mean(np.log(model.predict_proba(X)[np.arange(len(y)), y]))
    assert watched[-1] == pytest.approx(expected, rel=1e-12)
    assert watched[-1] < watched[0]


# ------------------------------------------------------------------ the pseudo-Huber loss


@pytest.mark.parametrize("mean", [0.0, 3.0, 1000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_pseudo_huber_loss_starts_at_the_median(mean, weighted):
    X, y = table(mean=mean)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    model = NewtonBoostingRegressor(objective="reg:pseudohubererror", n_estimators=30)
    model.fit(X, y, sample_weight=weight)
    assert abs(model.intercept_[0] - np.median(y)) < 0.2
    assert np.mean((model.predict(X) - y) ** 2) < 0.05 * y.var()


@pytest.mark.parametrize("spread", [10.0, 100.0])
def test_pseudo_huber_loss_never_rises_for_wide_targets(spread):
    X, y = table(6000)
    y = spread * y
    model = NewtonBoostingRegressor(
        objective="reg:pseudohubererror", n_estimators=40, learning_rate=1.0, max_depth=4
    )
    model.fit(X, y, eval_set=[(X, y)])
    losses = np.array(model.evals_result()["validation_0"]["mphe"])
    assert (np.diff(losses) < 1e-5 * losses[0]).all()
    assert losses[-1] < 0.2 * np.abs(y - np.median(y)).mean()


def test_parity_starts_at_xgboost_base_score():
    X, y = table(mean=3.0)
    params = {"objective": "reg:pseudohubererror", "n_estimators": 3}
    theirs = xgboost.XGBRegressor(**params).fit(X, y)
    ours = NewtonBoostingRegressor(**params, parity="xgboost").fit(X, y)
    assert ours.intercept_ == theirs.intercept_
    assert np.array_equal(ours.predict(X).astype(np.float32), theirs.predict(X))
