"""Tests that the missing-value marker is kept by serving, exporting, saving and loading."""

import json

import numpy as np
import pandas as pd
import pytest
import xgboost

from algorithms import (
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    read_model,
    serve,
    trees_of,
    write_model,
)
from algorithms.model_io.errors import ModelFileError
from harness import TreeEnsemble

VALUES = (-999.0, np.inf, 0.1)


def table(value, n=300):
    """Return rows, a fifth of them missing, and y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(float)
    gaps = rng.random(X.shape) < 0.2
    y = np.where(gaps, [2.0, -1.0, 0.0, 0.0], X)[:, :2].sum(axis=1)
    X[gaps] = value
    return X, y


def trained(value, **params):
    """Return a fitted booster, its rows and y."""
    X, y = table(value)
    model = NewtonBoostingRegressor(n_estimators=4, missing=value, random_state=0, **params)
    return model.fit(X, y), X, y


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("format_", ["harness", "xgboost"])
def test_files_keep_missing_value(value, format_, tmp_path):
    model, X, _ = trained(value)
    expected, path = model.predict(X), tmp_path / "model.json"
    assert np.array_equal(serve(model.ensemble_).predict(X), expected)
    assert np.array_equal(model.ensemble_.predict(X), expected)
    model.save_model(path, format=format_)
    assert np.array_equal(serve(read_model(path)).predict(X), expected)
    loaded = NewtonBoostingRegressor(missing=5.0).load_model(path)
    assert loaded.missing == value
    assert np.array_equal(loaded.predict(X), expected)
    write_model(model.ensemble_, path, format=format_)
    assert np.array_equal(serve(read_model(path)).predict(X), expected)
    assert np.array_equal(NewtonBoostingRegressor().load_model(path).predict(X), expected)
    with pytest.raises(ModelFileError, match="is read as a missing value"):
        write_model(model.ensemble_, tmp_path / "model.txt")


def test_stored_nan_overrides_the_parameter_of_the_loader(tmp_path):
    model, X, _ = trained(np.nan)
    for format_ in ("harness", "xgboost"):
        model.save_model(tmp_path / "model.json", format=format_)
        loaded = NewtonBoostingRegressor(missing=-999.0).load_model(tmp_path / "model.json")
        assert np.isnan(loaded.missing)
        assert np.array_equal(loaded.predict(X), model.predict(X))


def test_early_stopped_model_keeps_missing_value(tmp_path):
    X, y = table(-999.0)
    model = NewtonBoostingRegressor(n_estimators=60, missing=-999.0, early_stopping_rounds=2)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])])
    model.save_model(tmp_path / "model.json", format="xgboost")
    result = read_model(tmp_path / "model.json")
    assert result.n_trees == model.best_iteration + 1 < model.n_iter_
    assert np.array_equal(serve(result).predict(X), model.predict(X))


@pytest.mark.parametrize("value", VALUES[:2])
def test_missing_value_is_read_from_xgboost_estimators_and_passed_for_files(value, tmp_path):
    X, y = table(value)
    theirs = xgboost.XGBRegressor(n_estimators=4, missing=value).fit(X, y)
    expected = theirs.predict(X)
    assert np.array_equal(serve(trees_of(theirs)).predict(X), expected)
    booster = trees_of(theirs.get_booster(), missing=value)
    assert np.array_equal(serve(booster).predict(X), expected)
    path = tmp_path / "model.json"
    theirs.save_model(path)
    assert np.isnan(read_model(path).missing_value)
    assert np.array_equal(serve(read_model(path, missing=value)).predict(X), expected)
    ours = NewtonBoostingRegressor(missing=value).load_model(path)
    assert np.array_equal(ours.predict(X), expected)
    assert ours.ensemble_.missing_value == value


def test_our_files_are_read_by_xgboost_with_the_same_missing_value(tmp_path):
    model, X, _ = trained(-999.0)
    model.save_model(tmp_path / "model.json", format="xgboost")
    theirs = xgboost.XGBRegressor(missing=-999.0)
    theirs.load_model(tmp_path / "model.json")
    np.testing.assert_allclose(theirs.predict(X), model.predict(X), rtol=1e-6)


def test_parameter_set_after_fit_does_not_change_predictions():
    model, X, _ = trained(-999.0)
    expected = model.predict(X)
    assert np.array_equal(model.set_params(missing=0.5).predict(X), expected)


def test_category_codes_are_not_missing_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": pd.Categorical(rng.integers(5, size=200)), "b": rng.integers(5, size=200)}
    )
    y = (X["a"].cat.codes == 1) * 2.0 + (X["b"] == 1)
    model = NewtonBoostingRegressor(n_estimators=3, missing=1.0, random_state=0).fit(X, y)
    assert np.array_equal(serve(model.ensemble_).predict(X), model.predict(X))
    codes = np.column_stack([X["a"].cat.codes, X["b"]]).astype(float)
    assert np.array_equal(serve(model.ensemble_).predict(codes), model.predict(X))
    node = int(np.flatnonzero(model.ensemble_.categories >= 0)[0])
    assert model.ensemble_.feature[node] == 0


def test_own_format_uses_version_2_only_for_missing_other_than_nan(tmp_path):
    path = tmp_path / "model.json"
    for value, version in ((np.nan, 1), (-999.0, 2)):
        trained(value)[0].save_model(path, format="harness")
        document = json.loads(path.read_text())
        assert document["version"] == version
        assert ("missing_value" in document["trees"]) == (version == 2)


@pytest.mark.parametrize("bad", ["text", True, None, [1.0]])
def test_non_numeric_missing_value_is_refused(bad, tmp_path):
    path = tmp_path / "model.json"
    trained(-999.0)[0].save_model(path, format="harness")
    document = json.loads(path.read_text())
    document["estimator"]["missing"] = bad
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="which is not a number"):
        read_model(path)


def test_arrays_keep_missing_value_and_old_ones_have_none():
    ensemble = trained(-999.0)[0].ensemble_
    arrays = ensemble.to_arrays()
    assert TreeEnsemble.from_arrays(arrays).missing_value == -999.0
    header = json.loads(str(arrays["header"]))
    del header["missing_value"]
    old = TreeEnsemble.from_arrays({**arrays, "header": np.array(json.dumps(header))})
    assert np.isnan(old.missing_value)


def test_boosting_continues_only_with_the_same_missing_value():
    model, X, y = trained(-999.0)
    more = NewtonBoostingRegressor(n_estimators=2, missing=-999.0, random_state=0)
    assert more.fit(X, y, xgb_model=model).n_iter_ == 6
    with pytest.raises(ValueError, match="give them the same missing"):
        NewtonBoostingRegressor(n_estimators=2).fit(X, y, xgb_model=model)
    histogram = HistogramBoostingRegressor(n_estimators=2, random_state=0).fit(X, y)
    trees = histogram.ensemble_.to_arrays()
    header = {**json.loads(str(trees["header"])), "missing_value": -999.0}
    reads = TreeEnsemble.from_arrays({**trees, "header": np.array(json.dumps(header))})
    with pytest.raises(ValueError, match=r"init_model reads -999\.0 as missing"):
        HistogramBoostingRegressor().fit(X, y, init_model=reads)


def test_classifier_keeps_missing_value_too():
    X, y = table(-999.0)
    labels = np.digitize(y, [0.0, 1.5])
    model = NewtonBoostingClassifier(n_estimators=3, missing=-999.0, random_state=0).fit(X, labels)
    assert np.array_equal(serve(model.ensemble_).predict(X), model.predict_proba(X))
