"""Tests of categorical splits of the Newton booster, against XGBoost, and in its files."""

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.metrics import log_loss

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor

METHODS = ["hist", "approx"]


def frame_of(codes, n_codes, **others):
    """Return a frame of one categorical column, where −1 is missing, and of others."""
    names = [f"c{k}" for k in range(n_codes)]
    return pd.DataFrame({"a": pd.Categorical.from_codes(codes, names), **others})


def codes_of(X):
    """Return a frame's values as in XGBoost's files: categories by their codes."""
    result = X.to_numpy(dtype=object, copy=True)
    for j, kind in enumerate(X.dtypes):
        if kind == "category":
            result[:, j] = X.iloc[:, j].cat.codes.replace(-1, np.nan)
    return pd.DataFrame(result.astype(np.float32), columns=X.columns)


def error_of(model, X, y):
    return np.sqrt(np.mean((model.predict(X) - y) ** 2))


def assert_files_predict_equally(model, X, path):
    """Assert that the files of a model predict like the model, in XGBoost too."""
    expected = model.predict(X)
    model.save_model(path / "own.json", format="harness")
    loaded = type(model)().load_model(path / "own.json")
    assert np.array_equal(loaded.predict(X), expected)
    assert np.array_equal(loaded.ensemble_.default_left, model.ensemble_.default_left)
    model.save_model(path / "model.json")
    booster = xgboost.Booster(model_file=path / "model.json")
    types = ["c" if kind == "category" else "float" for kind in X.dtypes]
    coded = codes_of(X)
    data = xgboost.DMatrix(coded, feature_types=types, enable_categorical=True)
    assert np.array_equal(booster.predict(data), expected.astype(np.float32))
    again = type(model)().load_model(path / "model.json")
    assert np.array_equal(again.predict(X), expected)


@pytest.mark.parametrize("own", [{}, {"max_cat_to_onehot": 100}])
def test_xgboost_directions_of_missing_categories_are_read(own, tmp_path):
    rng = np.random.default_rng(4)
    X = frame_of(rng.integers(-1, 12, 2000), 12, b=rng.normal(size=2000))
    coded = codes_of(X)
    y = rng.normal(size=13)[coded["a"].fillna(12).astype(int)] * (X["b"] > 0)
    types = ["c", "float"]
    data = xgboost.DMatrix(coded, y, feature_types=types, enable_categorical=True)
    booster = xgboost.train({"nthread": 1, "max_depth": 4} | own, data, 20)
    booster.save_model(tmp_path / "model.json")
    model = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    trees = model.ensemble_
    assert set(trees.default_left[trees.categories >= 0]) == {False, True}
    assert np.array_equal(model.predict(coded).astype(np.float32), booster.predict(data))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_codes", [3, 8])
@pytest.mark.parametrize("like", [0, 1, 2, "none"])
def test_missing_categories_get_a_learned_direction(method, n_codes, like, tmp_path):
    codes = np.arange(900) % (n_codes + 1)
    X = frame_of(np.where(codes == n_codes, -1, codes), n_codes)
    for high in ([0], [1, 2], list(range(n_codes))):
        y = 1.0 * np.isin(codes, [*high, n_codes] if like in high else high)
        params = {"n_estimators": 1, "max_depth": 1, "learning_rate": 1.0, "reg_lambda": 0.0}
        model = NewtonBoostingRegressor(**params, tree_method=method, random_state=0).fit(X, y)
        if np.ptp(y):
            assert error_of(model, X, y) < 1e-6
            assert_files_predict_equally(model, X, tmp_path)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("own", [{}, {"max_cat_to_onehot": 100}, {"reg_alpha": 0.5}])
def test_files_keep_both_directions_of_missing_categories(method, own, tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 20, 3000)
    X = frame_of(codes, 20, b=rng.normal(size=3000))
    y = rng.normal(size=21)[codes] * (X["b"] > 0) + 0.1 * rng.normal(size=3000)
    model = NewtonBoostingRegressor(
        n_estimators=20, max_depth=4, tree_method=method, random_state=0, **own
    )
    trees = model.fit(X, y).ensemble_
    assert set(trees.default_left[trees.categories >= 0]) == {False, True}
    assert_files_predict_equally(model, X, tmp_path)


def test_unseen_categories_predict_near_the_mean():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 40, 4000)
    y = np.sort(rng.normal(size=40))[codes]
    model = NewtonBoostingRegressor(n_estimators=40, random_state=0)
    model.fit(frame_of(codes, 42), y)
    unseen = model.predict(frame_of([40, 41, -1], 42))
    assert np.ptp(unseen) == 0.0
    assert abs(unseen[0] - y.mean()) < 0.25 * y.std()


@pytest.mark.parametrize("method", METHODS)
def test_rare_categories_are_not_overfitted(method):
    rng = np.random.default_rng(2)
    n, n_codes = 6000, 240
    codes = np.minimum(rng.geometric(0.012, (n, 3)) - 1, n_codes - 1)
    X = pd.concat([frame_of(c, n_codes) for c in codes.T], axis=1, ignore_index=True)
    effects = rng.normal(size=(3, n_codes))
    y = rng.random(n) < 1 / (1 + np.exp(-effects[[0, 1, 2], codes].sum(axis=1)))
    params = {"n_estimators": 60, "max_depth": 6, "tree_method": method}
    ours = NewtonBoostingClassifier(**params, random_state=0).fit(X[:4000], y[:4000])
    theirs = xgboost.XGBClassifier(**params, enable_categorical=True, n_jobs=1)
    theirs.fit(X[:4000], y[:4000])
    mine, other = (log_loss(y[4000:], m.predict_proba(X[4000:])) for m in (ours, theirs))
    assert mine < 1.02 * other


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_codes", [255, 256, 700])
@pytest.mark.parametrize("own", [{}, {"max_bin": 16}, {"subsample": 0.7, "colsample_bytree": 0.5}])
def test_more_categories_than_bins_split_as_well_as_xgboost(method, n_codes, own, tmp_path):
    rng = np.random.default_rng(3)
    n = 9000
    codes = rng.integers(0, n_codes, n)
    effect = rng.normal(size=n_codes)
    X = frame_of(np.where(np.arange(n) % 9 == 0, -1, codes), n_codes, b=rng.normal(size=n))
    y = np.where(np.arange(n) % 9 == 0, 3.0, effect[codes]) + 0.1 * rng.normal(size=n)
    params = {"n_estimators": 50, "max_depth": 6, "tree_method": method} | own
    ours = NewtonBoostingRegressor(**params, random_state=0).fit(X[:7000], y[:7000])
    theirs = xgboost.XGBRegressor(**params, enable_categorical=True, n_jobs=1)
    theirs.fit(X[:7000], y[:7000])
    mine, other = (error_of(m, X[7000:], y[7000:]) for m in (ours, theirs))
    assert mine < 1.1 * other
    assert_files_predict_equally(ours, X, tmp_path)
    ours.set_params(n_jobs=2)
    before, after = ours.ensemble_, ours.fit(X[:7000], y[:7000]).ensemble_
    for name in ("feature", "threshold", "left", "default_left", "value", "gain", "set_codes"):
        assert getattr(before, name).tobytes() == getattr(after, name).tobytes()


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_category_code_is_not_a_missing_value(missing):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 600)
    y = np.where(codes == missing, 3.0, 0.0) + 0.1 * rng.normal(size=600)
    y[:200] = -6.0
    frame = pd.DataFrame({"a": rng.normal(size=600), "k": pd.Categorical(codes)})
    frame.loc[:199, "k"] = np.nan
    models = [
        NewtonBoostingRegressor(n_estimators=20, missing=value, random_state=0).fit(frame, y)
        for value in (np.nan, missing)
    ]
    for model in models:
        assert model.score(frame, y) > 0.98
    every = [model.predict(frame) for model in models]
    some = [np.concatenate([m.predict(frame[i : i + 7]) for i in range(0, 600, 7)]) for m in models]
    np.testing.assert_array_equal(every, some)
