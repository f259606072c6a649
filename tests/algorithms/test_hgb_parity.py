"""Tests of ``parity="scikit-learn"`` of the histogram boosters: HistGradientBoosting's trees."""

import numpy as np
import pandas as pd
import pytest
from parity_hgb import check_case, check_predictions, difference, fit_both
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor

OBJECTIVES = ["regression", "binary", "multiclass"]
REFUSED = {
    "min_split_gain": 0.5,
    "min_child_weight": 1.0,
    "min_child_samples": 0,
    "reg_alpha": 0.1,
    "subsample_for_bin": 1000,
    "path_smooth": 1.0,
    "monotone_constraints": [1, 0],
    "subsample": 0.5,
    "boost_from_average": False,
    "objective": "quantile",
}


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(5))
def test_random_cases_equal_the_library_bitwise(seed, objective):
    check_case([seed, OBJECTIVES.index(objective)], objective)


def test_more_rows_than_the_binning_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_001, 1))
    y = np.sin(X[:, 0])
    for weight in (None, rng.uniform(0.5, 2.0, len(X))):
        params = {"random_state": 3, "max_bin": 9, "n_estimators": 1}
        ours, theirs = fit_both("regression", X, y, weight, **params)
        assert difference(ours, theirs) == ""


def test_class_weights_equal_the_library():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    for weight in (None, rng.uniform(0.5, 2.0, 300)):
        ours, theirs = fit_both("multiclass", X, y, weight, class_weight="balanced", random_state=0)
        assert difference(ours, theirs) == ""
        check_predictions(ours, theirs, X)


@pytest.mark.parametrize("seed", [10, 13, 16, 19])
def test_frame_categories_are_numbered_in_their_own_order(seed):
    rng = np.random.default_rng(seed)
    names = [["z", "a", "m"], [f"k{i}" for i in rng.permutation(12)], rng.permutation(20) * 3]
    codes = [rng.integers(-1, len(own), 500) for own in names]  # -1: missing
    X = pd.DataFrame(
        {
            f"c{i}": pd.Categorical.from_codes(code, own)
            for i, (code, own) in enumerate(zip(codes, names, strict=True))
        }
        | {"x": np.round(rng.normal(size=500), 1)}
    )
    y = codes[0] + rng.integers(0, 3, 500) + codes[2] % 3 > 2
    ours = HistogramBoostingClassifier(parity="scikit-learn", n_estimators=10, random_state=0)
    theirs = HistGradientBoostingClassifier(max_iter=10, early_stopping=False, random_state=0)
    with threadpool_limits(1):
        theirs.fit(X, y)
    assert np.array_equal(ours.fit(X, y).predict_proba(X), theirs.predict_proba(X))


def test_unseen_category_is_treated_as_missing():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 4, (400, 2)).astype(float)
    X[rng.random(400) < 0.3, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), 3.0, X[:, 0] % 2) + X[:, 1]
    ours, theirs = fit_both("regression", X, y, categorical_feature=[0, 1], random_state=0)
    assert difference(ours, theirs) == ""
    check_predictions(ours, theirs, np.array([[9.0, 1.0], [np.nan, 9.0], [2.0, np.nan]]))


def test_column_of_one_category_and_missing_values_predicts_like_the_library():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        gaps = rng.random(400) < 0.4
        X = np.column_stack([np.where(gaps, np.nan, 3.0), rng.integers(0, 5, 400)])
        y = np.where(gaps, 2.0, 0.0) + np.isin(X[:, 1], rng.choice(5, 2)) * (1.0 + gaps)
        for columns in ([0, 1], [0]):
            ours, theirs = fit_both("regression", X, y, categorical_feature=columns, random_state=0)
            assert difference(ours, theirs) == ""
            check_predictions(ours, theirs, X)


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_parameters_are_refused_by_name(name):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(1.0, 41.0)
    model = HistogramBoostingRegressor(parity="scikit-learn", **{name: REFUSED[name]})
    with pytest.raises(ValueError, match=f"{name}=.*parity='scikit-learn'"):
        model.fit(X, y)


@pytest.mark.parametrize("codes", [[-1.0, 0.0], [0.5, 1.0], list(range(6))])
def test_categories_without_a_bin_are_refused(codes):
    X = np.resize(codes, (60, 1)).astype(float)
    model = HistogramBoostingClassifier(
        parity="scikit-learn", categorical_feature=[0], max_bin=5, n_estimators=1
    )
    with threadpool_limits(1), pytest.raises(ValueError, match="column 0 has"):
        model.fit(X, np.arange(60) % 2)


@pytest.mark.parametrize("n_classes", [7, 8, 9, 16, 17])
def test_multiclass_probabilities_are_summed_in_library_order(n_classes):
    rng = np.random.default_rng(n_classes)
    X, y = rng.normal(size=(600, 3)), rng.integers(0, n_classes, 600)
    ours, theirs = fit_both("multiclass", X, y, None, n_estimators=2, random_state=0)
    for rows in (X, X[:7], X[:1]):
        assert np.array_equal(ours.predict_proba(rows), theirs.predict_proba(rows))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("objective", ["multiclassova", "ovr"])
def test_one_vs_all_is_refused_for_two_classes_too(objective, n_classes):
    X, y = np.arange(60.0)[:, None], np.arange(60) % n_classes
    model = HistogramBoostingClassifier(parity="scikit-learn", objective=objective)
    with pytest.raises(ValueError, match=f"objective='{objective}' is not supported with parity"):
        model.fit(X, y)
    model.set_params(parity="lightgbm", n_estimators=1).fit(X, y)
