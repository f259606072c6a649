"""Several targets in second-order boosting."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

import algorithms.compat.xgboost as xgb
from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor

xgboost = pytest.importorskip("xgboost")


def regression_table(seed=0, n_rows=120, n_targets=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    return X, np.column_stack([X[:, k] ** 2 + X[:, k + 1] for k in range(n_targets)])


@pytest.mark.parametrize("objective", ["reg:squarederror", "reg:absoluteerror"])
def test_each_target_has_the_trees_of_a_model_of_its_own(objective):
    X, y = regression_table()
    weight = np.arange(1.0, len(y) + 1.0)
    options = {"n_estimators": 5, "tree_method": "exact", "objective": objective}
    found = NewtonBoostingRegressor(**options).fit(X, y, weight).predict(X)
    single = [NewtonBoostingRegressor(**options).fit(X, one, weight).predict(X) for one in y.T]
    np.testing.assert_array_equal(found, np.column_stack(single))


def test_a_target_of_labels_is_predicted_as_in_xgboost():
    X, y = make_multilabel_classification(n_samples=60, n_classes=4, random_state=0)
    options = {"n_estimators": 4, "tree_method": "exact", "scale_pos_weight": 2.0}
    ours = NewtonBoostingClassifier(**options).fit(X, y)
    theirs = xgboost.XGBClassifier(**options).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.predict(X).dtype == np.int64
    assert ours.score(X, y) == theirs.score(X, y)


def test_a_label_other_than_0_and_1_is_refused():
    X, y = regression_table()
    with pytest.raises(ValueError, match="labels 0 and 1"):
        NewtonBoostingClassifier().fit(X, np.rint(y))


def test_metrics_are_means_over_all_targets():
    X, y = regression_table()
    weight = np.linspace(1.0, 2.0, len(y))
    options = {"n_estimators": 3, "tree_method": "exact", "eval_metric": ["rmse", "mae"]}
    sets = {"eval_set": [(X, y)], "sample_weight_eval_set": [weight], "verbose": False}
    ours = NewtonBoostingRegressor(**options).fit(X, y, **sets)
    theirs = xgboost.XGBRegressor(**options).fit(X, y, **sets)
    for metric, values in theirs.evals_result()["validation_0"].items():
        np.testing.assert_allclose(ours.evals_result()["validation_0"][metric], values, rtol=1e-5)


def test_area_under_a_curve_of_several_targets_is_refused():
    X, y = make_multilabel_classification(n_samples=40, random_state=0)
    model = NewtonBoostingClassifier(n_estimators=1, eval_metric="auc")
    with pytest.raises(ValueError, match="'auc' does not support several targets"):
        model.fit(X, y, eval_set=[(X, y)])


def test_several_quantiles_of_several_targets_are_refused():
    X, y = regression_table()
    model = NewtonBoostingRegressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.9])
    with pytest.raises(ValueError, match="does not support several targets"):
        model.fit(X, y)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_a_saved_model_predicts_the_same_here_and_in_xgboost(kind, tmp_path):
    X, y = regression_table()
    if kind == "classifier":
        X, y = make_multilabel_classification(n_samples=60, random_state=0)
    cls = xgb.XGBClassifier if kind == "classifier" else xgb.XGBRegressor
    model = cls(n_estimators=3).fit(X, y)
    path = tmp_path / "model.json"
    model.save_model(path)
    loaded = cls()
    loaded.load_model(path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    theirs = xgboost.Booster(model_file=path).predict(xgboost.DMatrix(X))
    proba = model.predict_proba(X) if kind == "classifier" else model.predict(X)
    np.testing.assert_allclose(theirs, proba, rtol=1e-6)


def test_a_model_continues_from_its_own_raw_scores():
    X, y = regression_table()
    options = {"tree_method": "exact", "random_state": 0}
    first = xgb.XGBRegressor(n_estimators=2, **options).fit(X, y)
    margin = first.predict(X, output_margin=True)
    second = xgb.XGBRegressor(n_estimators=2, **options).fit(X, y, base_margin=margin)
    whole = xgb.XGBRegressor(n_estimators=4, **options).fit(X, y)
    np.testing.assert_allclose(second.predict(X, base_margin=margin), whole.predict(X), rtol=1e-6)


def test_train_takes_labels_with_several_columns():
    X, y = regression_table()
    params, result = {"tree_method": "exact", "eval_metric": "rmse"}, {}
    data = xgb.DMatrix(X, label=y)
    booster = xgb.train(params, data, 3, evals=[(data, "t")], evals_result=result, verbose_eval=0)
    their_data, theirs = xgboost.DMatrix(X, label=y), {}
    other = xgboost.train(
        params, their_data, 3, evals=[(their_data, "t")], evals_result=theirs, verbose_eval=0
    )
    np.testing.assert_allclose(booster.predict(data), other.predict(their_data), rtol=1e-4)
    np.testing.assert_allclose(result["t"]["rmse"], theirs["t"]["rmse"], rtol=1e-5)
    again = xgb.Booster(model_file=booster.save_raw())
    np.testing.assert_array_equal(again.predict(data), booster.predict(data))
