"""Tests of targets and values near the limits of float32: right results and no warnings."""

import numpy as np
import pytest
import xgboost

from algorithms import NewtonBoostingRegressor

WAYS = {
    "hist": {},
    "hist, drawn": {"colsample_bynode": 0.9},
    "few leaves": {"max_leaves": 5, "grow_policy": "lossguide"},
    "exact": {"tree_method": "exact"},
    "exact, lists": {"tree_method": "exact", "max_depth": 0},
    "pruned": {"tree_method": "exact", "gamma": 1.0},
    "global": {"tree_method": "approx"},
    "local": {"tree_method": "approx", "proposal": "local"},
}
every_way = pytest.mark.parametrize("way", WAYS)


def table(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (n, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) + 0.3 * np.nan_to_num(X[:, 1]) + 0.1 * rng.normal(size=n)
    return X, y / np.abs(y).max()


def model_of(way):
    return NewtonBoostingRegressor(n_estimators=5, random_state=0, **WAYS[way])


@every_way
@pytest.mark.parametrize("size", [1e18, 1e30, 3e38])
def test_importances_do_not_depend_on_the_unit_of_large_targets(way, size, tmp_path):
    X, y = table()
    usual, large = model_of(way).fit(X, 2.0**59 * y), model_of(way).fit(X, size * y)
    np.testing.assert_allclose(large.predict(X) / size, usual.predict(X) / 2.0**59, rtol=1e-3)
    for kind in ("gain", "total_gain", "weight"):
        result, expected = (
            model.set_params(importance_type=kind).feature_importances_ for model in (large, usual)
        )
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-5)
    large.save_model(tmp_path / "model.json")
    again = NewtonBoostingRegressor()
    again.load_model(tmp_path / "model.json")
    assert np.isfinite(again.feature_importances_).all()
    np.testing.assert_array_equal(again.predict(X), large.predict(X))


@every_way
@pytest.mark.parametrize("power", [-20, -40, -100])
def test_predictions_do_not_depend_on_the_unit_of_small_targets(way, power):
    X, y = table()
    results = []
    for unit in (2.0**-10, 2.0**power):
        gamma = WAYS[way].get("gamma", 0.0) * unit**2
        model = model_of(way).set_params(gamma=gamma).fit(X, unit * y)
        assert model.score(X, unit * y) > 0.85
        results.append((model.predict(X) / unit, model.feature_importances_))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@every_way
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_equal_targets_inexact_in_float32_give_one_leaf(way, ridge):
    X, _ = table()
    model = model_of(way).set_params(reg_lambda=ridge, gamma=0.0).fit(X, np.full(len(X), 0.1))
    assert model.ensemble_.n_nodes == 5


@every_way
def test_small_weights_split_rows_if_allowed(way):
    X, y = table()
    params = {"min_child_weight": 0.0, "reg_lambda": 0.0, "gamma": 0.0}
    usual, small = (
        model_of(way).set_params(**params).fit(X, y, np.full(len(y), weight))
        for weight in (1.0, 2.0**-30)
    )
    np.testing.assert_allclose(small.predict(X), usual.predict(X), atol=0.02)


@pytest.mark.parametrize("objective", ["reg:squarederror", "reg:gamma", "count:poisson"])
@pytest.mark.parametrize("size", [1e-60, 1e-42, 1e60])
def test_targets_beyond_float32_are_refused(objective, size):
    X, y = table()
    model = NewtonBoostingRegressor(objective=objective)
    with pytest.raises(ValueError, match=r"largest value of y is .* give y in another unit"):
        model.fit(X, np.exp(y) * size)


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_weights_beyond_float32_are_refused(size):
    X, y = table()
    with pytest.raises(ValueError, match="largest value of sample_weight is"):
        NewtonBoostingRegressor().fit(X, y, np.full(len(y), size))


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_parity_mode_finds_no_splits_of_such_targets_like_the_library(method):
    X, y = table()
    given = {"n_estimators": 3, "tree_method": method}
    ours = NewtonBoostingRegressor(parity="xgboost", **given).fit(X, 1e30 * y)
    theirs = xgboost.XGBRegressor(n_jobs=1, **given).fit(X, 1e30 * y)
    np.testing.assert_array_equal(ours.feature_importances_, theirs.feature_importances_)
    np.testing.assert_array_equal(ours.predict(X).astype(np.float32), theirs.predict(X))


@every_way
def test_values_near_the_largest_float_are_split(way):
    X, y = table()
    usual, large = model_of(way).fit(X, y), model_of(way).fit(X * np.float32(1e38), y)
    np.testing.assert_allclose(large.predict(X * np.float32(1e38)), usual.predict(X), atol=1e-5)
    np.testing.assert_allclose(large.feature_importances_, usual.feature_importances_, atol=1e-5)
