"""Tests of CatBoost's losses with a parameter, against CatBoost and numeric derivatives."""

import catboost
import numpy as np
import pytest

from algorithms import SymmetricBoostingRegressor
from algorithms.symmetric.kernels import leaf_sums as kinds
from algorithms.symmetric.kernels.leaf_sums import differentiate, sum_leaves, sum_losses

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3)).astype(np.float32)
Y = np.exp(X[:, 0] + rng.normal(size=400) * 0.3)
LOSSES = ("Huber:delta=1", "Expectile:alpha=0.7", "Tweedie:variance_power=1.5")
KINDS = {"HUBER": 0.7, "EXPECTILE": 0.7, "TWEEDIE": 1.3, "QUANTILE": 0.3}


@pytest.mark.parametrize("method", [None, "Newton", "Gradient"])
@pytest.mark.parametrize("loss", LOSSES)
def test_predictions_equal_catboost(loss, method):
    params = {
        "iterations": 8,
        "loss_function": loss,
        "leaf_estimation_method": method,
        "learning_rate": 0.3,
        "bootstrap_type": "No",
        "random_strength": 0,
        "random_seed": 0,
    }
    theirs = catboost.CatBoostRegressor(verbose=0, allow_writing_files=False, **params).fit(X, Y)
    ours = SymmetricBoostingRegressor(**params).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_metrics_equal_catboost(loss):
    params = {"iterations": 5, "loss_function": loss, "learning_rate": 0.3, "random_seed": 0}
    params |= {"bootstrap_type": "No", "random_strength": 0}
    theirs = catboost.CatBoostRegressor(verbose=0, allow_writing_files=False, **params)
    theirs.fit(X[:200], Y[:200], eval_set=(X[200:], Y[200:]))
    ours = SymmetricBoostingRegressor(**params)
    ours.fit(X[:200], Y[:200], eval_set=(X[200:], Y[200:]))
    expected = theirs.get_evals_result()["validation"][loss]
    np.testing.assert_allclose(ours.evals_result_["validation"][loss], expected, rtol=1e-6)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_are_those_of_the_loss(name, weighted):
    kind, slope = getattr(kinds, name), KINDS[name]
    y = Y[:50].astype(np.float32)
    score = rng.normal(size=50)
    weight = rng.uniform(0.5, 2.0, 50).astype(np.float32) if weighted else np.empty(0, np.float32)
    g, sums = np.empty(50), np.zeros((1, 50, 3))
    differentiate(kind, slope, score, y, weight, g, 0, 50)
    sum_leaves(kind, slope, score, y, weight, np.arange(50, dtype=np.uint16), 50, sums, 0, 1)
    np.testing.assert_allclose(sums[0, :, kinds.DER1], g)

    def loss(shift):
        moved = score + shift
        return np.array([sum_losses(kind, slope, moved, y, weight, i, i + 1) for i in range(50)])

    step = 1e-4
    slopes = (loss(step) - loss(-step)) / (2 * step)
    np.testing.assert_allclose(g, -slopes, atol=1e-4)
    if name != "QUANTILE":
        curves = (loss(step) - 2 * loss(0.0) + loss(-step)) / step**2
        np.testing.assert_allclose(sums[0, :, kinds.DER2], -curves, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("loss", "match"),
    [
        ("Expectile", "as in 'Expectile:alpha=0.9'"),
        ("Huber", "as in 'Huber:delta=1.0'"),
        ("Huber:delta=0", "above 0"),
        ("Tweedie:variance_power=3", "between 1 and 2"),
        ("Expectile:level=0.2", "needs the parameter alpha"),
        ("RMSE:alpha=0.2", "have a parameter"),
    ],
)
def test_invalid_parameters_are_refused(loss, match):
    with pytest.raises(ValueError, match=match):
        SymmetricBoostingRegressor(loss_function=loss, iterations=2).fit(X, Y)


def test_negative_targets_of_tweedie_are_refused():
    with pytest.raises(ValueError, match="'Tweedie' needs y >= 0"):
        SymmetricBoostingRegressor(loss_function="Tweedie:variance_power=1.5").fit(X, -Y)
