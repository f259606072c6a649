"""Linear models of second-order boosting, ``booster="gblinear"``."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy import sparse

import algorithms.compat.xgboost as xgb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
SCORE = X @ [1.0, -2.0, 0.0, 0.5] + 0.3
WEIGHT = RNG.uniform(0.5, 2.0, size=80)
LIBRARY = {"updater": "coord_descent", "feature_selector": "cyclic"}
TABLES = {
    "regression": (xgb.XGBRegressor, xgboost.XGBRegressor, SCORE),
    "targets": (xgb.XGBRegressor, xgboost.XGBRegressor, np.column_stack([SCORE, X[:, 0]])),
    "two": (xgb.XGBClassifier, xgboost.XGBClassifier, (SCORE > 0.0).astype(int)),
    "three": (xgb.XGBClassifier, xgboost.XGBClassifier, np.digitize(SCORE, [-1.0, 1.0])),
}


def model(**params):
    return xgb.XGBRegressor(**{"booster": "gblinear", "n_estimators": 5, **params})


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("params", [{}, {"reg_lambda": 0.1, "reg_alpha": 0.05}])
def test_predictions_are_those_of_xgboost(table, params, tmp_path):
    ours, theirs, y = TABLES[table]
    options = {"booster": "gblinear", "n_estimators": 5, **params}
    if table in ("targets", "three"):  # XGBoost starts all scores at the base score of the first
        options["base_score"] = 0.5
    ours = ours(**options).fit(X, y, sample_weight=WEIGHT)
    theirs = theirs(**options, **LIBRARY).fit(X, y, sample_weight=WEIGHT)
    result, expected = (one.predict(X, output_margin=True) for one in (ours, theirs))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-5)
    ours.save_model(tmp_path / "model.json")
    loaded = xgboost.Booster(model_file=tmp_path / "model.json")
    result = loaded.predict(xgboost.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(result, ours.predict(X, output_margin=True), rtol=1e-5, atol=1e-6)


def test_a_file_holds_the_base_score_of_each_class(tmp_path):
    y = TABLES["three"][2]
    fitted = xgb.XGBClassifier(booster="gblinear", n_estimators=3).fit(X, y)
    fitted.save_model(tmp_path / "model.json")
    loaded = xgboost.Booster(model_file=tmp_path / "model.json")
    result = loaded.predict(xgboost.DMatrix(X))
    np.testing.assert_allclose(result, fitted.predict_proba(X), rtol=1e-5)


def test_importances_are_the_shares_of_the_coefficients():
    fitted = model().fit(X, SCORE)
    np.testing.assert_allclose(fitted.feature_importances_, fitted.coef_ / fitted.coef_.sum())
    fitted.set_params(importance_type="gain")
    with pytest.raises(ValueError, match="importance_type='weight'"):
        fitted.feature_importances_  # noqa: B018 - a property
    with pytest.raises(AttributeError):
        xgb.XGBRegressor(n_estimators=1).fit(X, SCORE).coef_  # noqa: B018


def test_missing_values_count_as_0():
    rows = np.where(RNG.uniform(size=X.shape) < 0.3, np.nan, X)
    found = model().fit(rows, SCORE).predict(rows)
    zeros = np.nan_to_num(rows)
    np.testing.assert_allclose(model().fit(zeros, SCORE).predict(zeros), found, rtol=1e-6)
    absent = sparse.csr_matrix(zeros)
    np.testing.assert_allclose(model().fit(absent, SCORE).predict(absent), found, rtol=1e-6)


def test_metrics_stop_the_training_and_a_margin_replaces_the_base_score():
    fitted = model(n_estimators=400, early_stopping_rounds=2, eval_metric="mae")
    fitted.fit(X, SCORE, eval_set=[(X, SCORE)], verbose=False)
    history = fitted.evals_result()["validation_0"]["mae"]
    assert fitted.n_iter_ == len(history) < 400
    assert history[-1] == pytest.approx(np.abs(fitted.predict(X) - SCORE).mean(), abs=1e-5)
    margin = np.full(80, 2.0)
    moved = model().fit(X, SCORE, base_margin=margin).predict(X, base_margin=margin)
    given = model(base_score=2.0).fit(X, SCORE).predict(X)
    np.testing.assert_allclose(moved, given, rtol=1e-5)


def test_a_pickled_model_predicts_the_same():
    fitted = model().fit(X, SCORE)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


@pytest.mark.parametrize("name", ["apply", "get_booster", "predict_range", "continue", "warm"])
def test_methods_that_need_trees_are_refused(name):
    fitted = model(warm_start=True) if name == "warm" else model()
    fitted.fit(X, SCORE)
    calls = {
        "apply": lambda: fitted.apply(X),
        "get_booster": fitted.get_booster,
        "predict_range": lambda: fitted.predict(X, iteration_range=(0, 2)),
        "continue": lambda: xgb.XGBRegressor().fit(X, SCORE, xgb_model=fitted),
        "warm": lambda: fitted.fit(X, SCORE),
    }
    with pytest.raises(ValueError, match="gblinear"):
        calls[name]()


def test_unsuitable_data_and_parameters_are_refused(tmp_path):
    frame = pd.DataFrame({"a": pd.Series(list("xyz"), dtype="category")})
    with pytest.raises(ValueError, match="does not support categorical"):
        model(enable_categorical=True).fit(frame, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="Booster does not support booster='gblinear'"):
        xgb.train({"booster": "gblinear"}, xgb.DMatrix(X, SCORE), 1)
    with pytest.raises(ValueError, match="only be saved as XGBoost's JSON"):
        model().fit(X, SCORE).save_model(tmp_path / "model.txt", format="lightgbm")
