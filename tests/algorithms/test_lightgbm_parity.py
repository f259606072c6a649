"""Tests of ``parity="lightgbm"``: trees, bins, scores and probabilities of the library."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parity_lightgbm import SETTINGS, check_case, check_predictions, difference, fit_both
from sklearn.utils.estimator_checks import parametrize_with_checks

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.parity.lightgbm_parameters import as_read

BOTH = [HistogramBoostingClassifier, HistogramBoostingRegressor]
LIBRARIES = ["lightgbm", "scikit-learn"]
OBJECTIVES = ["regression", "binary", "multiclass", "multiclassova"]
RENEWED = ["regression_l1", "quantile", "huber"]
REFUSED = {
    "data_sample_strategy": "goss",
    "colsample_bytree": 0.5,
    "extra_trees": True,
    "monotone_constraints": [1, 0],
    "interaction_constraints": [[0], [1]],
    "early_stopping_round": 3,
    "objective": "poisson",
}


@parametrize_with_checks([E(n_estimators=10, parity=p) for E in BOTH for p in LIBRARIES])
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(3))
def test_random_cases_equal_lightgbm_bitwise(seed, objective):
    check_case([seed, OBJECTIVES.index(objective)], objective)


@pytest.mark.parametrize("objective", RENEWED)
def test_leaves_of_robust_losses_equal_lightgbm(objective):
    check_case([7, RENEWED.index(objective)], objective)


@pytest.mark.parametrize("n_categories", [6, 13, 28, 29, 60])  # one run, an odd half, merges
def test_categories_absent_from_a_leaf_are_sorted_as_by_lightgbm(n_categories):
    rng = np.random.default_rng(n_categories)
    X = np.c_[rng.integers(0, n_categories, 600), rng.normal(size=600)]
    y = np.sin(X[:, 0] * 7) + X[:, 1] + rng.normal(size=600)
    params = {"cat_smooth": 0.0, "cat_l2": 0.0, "min_data_per_group": 1, "min_child_samples": 2}
    ours, theirs = fit_both("regression", X, y, categorical_feature=[0], **params)
    assert difference(ours, theirs) == ""


@given(st.floats(1e-9, 1e6) | st.floats(1e-9, 1e-3))
def test_parameters_are_read_within_few_rounding_units(value):
    assert as_read(value) == pytest.approx(value, rel=4 * np.finfo(float).eps, abs=0.0)


def test_parameters_are_read_like_lightgbm_text():
    assert as_read(0.9552904027752441) != 0.9552904027752441
    assert [as_read(v) for v in (1, 0.1, 1e-05, 255.0)] == [1.0, 0.1, 1e-05, 255.0]
    X = np.random.default_rng(3).normal(size=(100, 2))
    for value in (0.9552904027752441, 0.45371647161840045, 0.042141874939174324, 3.0517578e-05):
        params = {"learning_rate": value, "reg_lambda": value}
        ours, theirs = fit_both("regression", X, X[:, 0] + X[:, 1], **params)
        assert difference(ours, theirs) == ""


def test_more_rows_than_the_binning_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    X[2500:, 1] = np.nan  # unknown to a small sample, or known to few of its rows
    y = X[:, 0] + rng.normal(size=3000)
    for sample, seed in ((1500, 3), (40, 3), (1500, None), (40, None)):
        ours, theirs = fit_both("regression", X, y, subsample_for_bin=sample, random_state=seed)
        assert difference(ours, theirs) == ""
        check_predictions(ours, theirs, X)


def test_float32_is_read_as_equal_float64():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    ours, theirs = fit_both("regression", X, X[:, 0] * 2.0)
    assert difference(ours, theirs) == ""


@pytest.mark.parametrize(
    ("categorical", "sets"), [("auto", {2}), ([], set()), (["grade"], {1}), ([1, 2], {1, 2})]
)
def test_categorical_frame_columns_are_those_of_lightgbm(categorical, sets):
    rng = np.random.default_rng(2)
    grade, kind = rng.integers(-1, 6, 400), rng.integers(-1, 8, 400)  # -1: missing
    x = rng.normal(size=400)
    frame = pd.DataFrame(
        {
            "x": x,
            "grade": pd.Categorical.from_codes(grade, list("zyxcba"), ordered=True),
            "kind": pd.Categorical.from_codes(kind, list("stuvwxyz")),
        }
    )
    y = grade % 3 + kind % 2 + 0.1 * x
    params = {"categorical_feature": categorical, "min_data_per_group": 1}
    ours, theirs = fit_both("regression", frame, y, **params)
    assert difference(ours, theirs) == ""
    trees = ours.ensemble_
    assert set(trees.feature[trees.categories >= 0].tolist()) == sets
    assert np.array_equal(ours.predict(frame), theirs.predict(frame))


def skewed(seed):
    """Return X, y and weights concentrated on few rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (60, 3)).astype(float) + 1
    return X, rng.normal(size=60) * 1000, rng.lognormal(0, 3, 60)


def test_without_minimum_size_a_side_has_at_least_one_row():
    params = {"min_child_samples": 0, "min_child_weight": 0.0, "min_data_in_bin": 1}
    ours, theirs = fit_both("regression", *skewed(0), **params)
    assert difference(ours, theirs) == ""


def test_empty_side_is_an_error_if_it_is_one_in_lightgbm():
    X, y, weight = skewed(24)
    params = {"min_child_samples": 1, "min_child_weight": 0.0, "min_data_in_bin": 1}
    with pytest.raises(ValueError, match="a child of a split has no rows"):
        fit_both("regression", X, y, weight, **params)
    rows = lightgbm.Dataset(X, y, weight=weight, params=SETTINGS | params)
    with pytest.raises(lightgbm.basic.LightGBMError, match="left_count"):
        lightgbm.train(SETTINGS | params | {"objective": "regression"}, rows, 5)


def test_table_without_splits_predicts_the_average():
    X, y = np.ones((30, 2)), np.arange(30.0)
    for params in ({}, {"boost_from_average": False}):
        ours, theirs = fit_both("regression", X, y, **params)
        assert ours.n_estimators_ == 1
        assert difference(ours, theirs) == ""
        check_predictions(ours, theirs, X)


def test_last_stage_equals_predict():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    model = HistogramBoostingRegressor(parity="lightgbm", n_estimators=4).fit(X, X[:, 0])
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))
    assert model.feature_importances_[0] > 0


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_parameters_are_refused_by_name(name):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(1.0, 41.0)
    model = HistogramBoostingRegressor(parity="lightgbm", **{name: REFUSED[name]})
    with pytest.raises(ValueError, match=f"{name}=.*parity='lightgbm'"):
        model.fit(X, y)


def test_bagging_and_evaluation_sets_are_refused():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    bagged = HistogramBoostingClassifier(parity="lightgbm", subsample=0.5, subsample_freq=1)
    with pytest.raises(ValueError, match="subsample="):
        bagged.fit(X, y)
    with pytest.raises(ValueError, match="eval_set="):
        HistogramBoostingClassifier(parity="lightgbm").fit(X, y, eval_set=[(X, y)])
    codes = np.column_stack([np.full(40, 2.0**31), X[:, 0]])
    with pytest.raises(ValueError, match="2³¹"):
        HistogramBoostingClassifier(parity="lightgbm", categorical_feature=[0]).fit(codes, y)
