"""Expectiles: derivatives, initial scores, training, metric and files."""

import numpy as np
import pytest

import algorithms.compat.xgboost as xgb
from algorithms import NewtonBoostingRegressor
from algorithms.model_io.ascending_scores import scores_of
from algorithms.newton.expectiles import differentiate_expectiles, first_scores
from harness import TreeEnsemble

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)).astype(np.float32)
Y = X[:, 0] + (1.0 + np.abs(X[:, 1])) * RNG.exponential(size=300)
WEIGHT = RNG.uniform(0.5, 2.0, size=300)
LEVELS = (0.1, 0.5, 0.5, 0.8)
OBJECTIVE = {"objective": "reg:expectileerror"}


def predictions(scores):
    """Return the predictions of raw scores, (n_rows, n_levels)."""
    gaps = np.log1p(np.exp(scores[:, 1:])) + 1e-6
    return scores[:, :1] + np.column_stack([np.zeros(len(scores)), np.cumsum(gaps, axis=1)])


def losses(levels, scores, y):
    """Return the loss of each row, half the asymmetric squared error."""
    found = predictions(scores)
    share = np.where(found >= y[:, None], 1.0 - np.array(levels), levels)
    return 0.5 * (share * (found - y[:, None]) ** 2).sum(axis=1)


@pytest.mark.parametrize("levels", [(0.3,), (0.0,), (1.0,), LEVELS])
def test_derivatives_equal_finite_differences(levels):
    scores, y = RNG.normal(size=(200, len(levels))), RNG.normal(size=200) + 1.0
    g, h = differentiate_expectiles(scores.T, y, levels)
    step = 1e-6
    share = np.where(predictions(scores) >= y[:, None], 1.0 - np.array(levels), levels)
    for k in range(len(levels)):
        shift = step * (np.arange(len(levels)) == k)
        high, low = scores + shift, scores - shift
        slope = (losses(levels, high, y) - losses(levels, low, y)) / (2.0 * step)
        np.testing.assert_allclose(g[k], slope, rtol=1e-5, atol=1e-7)
        # The Gauss-Newton diagonal: the squared derivatives of the predictions, weighted.
        moved = (predictions(high) - predictions(low)) / (2.0 * step)
        np.testing.assert_allclose(h[k], (share * moved**2).sum(axis=1), rtol=1e-5, atol=1e-9)
        if len(levels) == 1:
            step_h = 1e-4
            values = [losses(levels, scores + d, y) for d in (step_h, 0.0, -step_h)]
            second = (values[0] - 2.0 * values[1] + values[2]) / step_h**2
            far = np.abs(scores[:, 0] - y) > step_h
            np.testing.assert_allclose(h[k][far], second[far], rtol=1e-4, atol=1e-6)


def test_raw_scores_of_predictions_are_the_inverse_of_the_link():
    wanted = np.array([-1.0, -0.5, 3.0, 40.0])
    link = TreeEnsemble.join([], n_features=1, base=scores_of(wanted), link="ascending")
    np.testing.assert_allclose(link.from_raw(link.base[None])[0], wanted, rtol=1e-12)
    flat = predictions(scores_of(np.zeros(3))[None])[0]
    np.testing.assert_allclose(flat, [0.0, 2e-6, 4e-6], rtol=1e-6)


def test_initial_scores_are_a_newton_step_from_the_mean():
    mean = np.average(Y, weights=WEIGHT)
    found = predictions(first_scores(Y, WEIGHT, LEVELS)[None].astype(float))[0]
    for level, value in zip(LEVELS, found, strict=True):
        share = np.where(mean >= Y, 1.0 - level, level) * WEIGHT
        step = mean - (share * (mean - Y)).sum() / share.sum()
        assert value == pytest.approx(step, abs=1e-5)


@pytest.mark.parametrize("level", [0.2, 0.9])
def test_boosting_finds_the_expectiles_of_each_leaf(level):
    side = X[:, 0] > 0.0
    model = NewtonBoostingRegressor(
        **OBJECTIVE, expectile_alpha=level, n_estimators=100, max_depth=1, reg_lambda=0.0,
        tree_method="exact",
    ).fit(side[:, None] * 1.0, Y)  # fmt: skip
    for one in (False, True):
        value = model.predict([[one]])[0]
        share = np.where(value >= Y[side == one], 1.0 - level, level)
        assert abs((share * (value - Y[side == one])).mean()) < 1e-4


def test_several_expectiles_do_not_cross_and_are_those_of_the_native_interface(tmp_path):
    params = {**OBJECTIVE, "expectile_alpha": LEVELS, "max_depth": 3}
    model = NewtonBoostingRegressor(**params, n_estimators=20)
    model.fit(X, Y, WEIGHT, eval_set=[(X, Y)])
    found = model.predict(X)
    assert found.shape == (300, 4)
    assert (np.diff(found, axis=1) > 0.0).all()
    (history,) = model.evals_result()["validation_0"].values()
    share = np.where(found >= Y[:, None], 1.0 - np.array(LEVELS), LEVELS)
    assert history[-1] == pytest.approx((share * (found - Y[:, None]) ** 2).mean(), rel=1e-5)
    assert history[-1] < 0.7 * history[0]
    below = (found > Y[:, None]).mean(axis=0)
    assert below[0] < below[1] < below[3]
    native = xgb.train(params, xgb.DMatrix(X, Y, weight=WEIGHT), 20)
    np.testing.assert_allclose(native.predict(xgb.DMatrix(X)), found, rtol=1e-4, atol=1e-5)
    same = xgb.XGBRegressor(**params, n_estimators=20).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(same.predict(X), found, rtol=1e-4, atol=1e-5)
    for name, one in (("model.json", model), ("model.ubj", same)):
        one.save_model(tmp_path / name)
        again = NewtonBoostingRegressor().load_model(tmp_path / name)
        np.testing.assert_allclose(again.predict(X), found, rtol=1e-4, atol=1e-5)
        assert again.expectile_alpha == list(LEVELS)
    native.save_model(tmp_path / "native.json")
    loaded = xgb.Booster(model_file=tmp_path / "native.json")
    np.testing.assert_allclose(loaded.predict(xgb.DMatrix(X)), found, rtol=1e-4, atol=1e-5)


def test_base_score_is_the_prediction_before_the_first_tree():
    params = {**OBJECTIVE, "expectile_alpha": [0.2, 0.7], "base_score": [1.0, 4.0]}
    model = NewtonBoostingRegressor(**params, n_estimators=1, learning_rate=1e-9).fit(X, Y)
    np.testing.assert_allclose(model.predict(X[:2]), [[1.0, 4.0]] * 2, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, [1.0, 4.0], rtol=1e-6)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "expectile_alpha is missing"),
        ({"expectile_alpha": 1.5}, "expectile_alpha"),
        ({"expectile_alpha": [0.5, 1.5]}, "must lie from 0 to 1"),
        ({"expectile_alpha": [0.5, 0.2]}, "ascending order"),
        ({"expectile_alpha": [0.2, 0.5], "eval_metric": "rmse"}, "use 'expectile'"),
    ],
)
def test_invalid_levels_are_refused(params, words):
    with pytest.raises(ValueError, match=words):
        NewtonBoostingRegressor(**OBJECTIVE, **params).fit(X, Y, eval_set=[(X, Y)])


def test_several_targets_are_refused():
    with pytest.raises(ValueError, match="does not support several targets"):
        NewtonBoostingRegressor(**OBJECTIVE, expectile_alpha=0.5).fit(X, np.column_stack([Y, Y]))
