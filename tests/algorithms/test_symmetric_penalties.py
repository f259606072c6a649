"""Weights and penalties of columns, beside CatBoost itself."""

import catboost
import numpy as np
import pandas as pd
import pytest

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor

SILENT = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}
FIXED = {"bootstrap_type": "No", "random_strength": 0}
TIME = {**FIXED, "has_time": True}
SIZE = {"iterations": 8, "learning_rate": 0.3, "depth": 4}


def random_table(seed, *, categorical=False, binary=True):
    """Return a table and its target."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.choice([60, 300, 900])), int(rng.integers(3, 9))
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    for j in range(n_columns):
        kind = rng.integers(3)
        if kind == 1:
            X[:, j] = np.round(X[:, j], 1)
        elif kind == 2 and binary:
            X[:, j] = X[:, j] > 0.5
    y = X[:, :3].sum(axis=1) + rng.normal(size=n_rows)
    if not categorical:
        return X, y
    X = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_columns)])
    X["two"] = rng.integers(0, 2, n_rows).astype(str)
    X["many"] = rng.integers(0, 9, n_rows).astype(str)
    return X, y + (X["many"].astype(int) % 3).to_numpy()


def random_penalties(seed, n_columns, *, by_row):
    """Return random weights and penalties in their several forms."""
    rng = np.random.default_rng(seed)
    given = {
        "feature_weights": rng.choice([0.3, 1.0, 1.0, 2.5], n_columns).tolist(),
        "first_feature_use_penalties": {
            j: float(rng.choice([0.1, 1.0, 5.0])) for j in range(n_columns) if rng.random() < 0.6
        },
        "penalties_coefficient": float(rng.choice([0.5, 1.0, 2.0])),
    }
    if by_row:
        given["per_object_feature_penalties"] = rng.choice([0.0, 0.001, 0.1], n_columns).tolist()
    return given


def raw_scores(table, params, *, loss="RMSE", by_row=True, **ours):
    """Return the raw scores of CatBoost's model, of ours, and of ours without penalties."""
    X, y = table
    classifies = loss == "Logloss"
    y = (y > 0).astype(int) if classifies else y
    library = catboost.CatBoostClassifier if classifies else catboost.CatBoostRegressor
    own = SymmetricBoostingClassifier if classifies else SymmetricBoostingRegressor
    given = {"loss_function": loss, **SIZE, **params}
    penalties = random_penalties(X.shape[1], X.shape[1], by_row=by_row)
    theirs = library(**given, **penalties, **SILENT).fit(X, y)
    plain, penalized = own(**given, **ours).fit(X, y), own(**given, **penalties, **ours).fit(X, y)
    raw = theirs.predict(X, prediction_type="RawFormulaVal")
    return raw, penalized._raw(X)[:, 0], plain._raw(X)[:, 0]


@pytest.mark.parametrize(
    ("params", "options"),
    [
        (FIXED, {}),
        ({**FIXED, "leaf_estimation_backtracking": "No"}, {"loss": "Logloss"}),
        ({}, {}),
        ({**TIME, "boosting_type": "Ordered"}, {}),
        ({**FIXED, "grow_policy": "Depthwise"}, {"by_row": False}),
        ({**FIXED, "grow_policy": "Lossguide"}, {"by_row": False}),
        ({"grow_policy": "Lossguide"}, {"by_row": False}),
    ],
)
def test_trees_are_those_of_catboost(params, options):
    changed = 0
    for seed in range(100, 106):
        table = random_table(seed)
        theirs, ours, plain = raw_scores(table, params, **options, parity="catboost")
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
        changed += not np.array_equal(ours, plain)
    assert changed >= 4


@pytest.mark.parametrize("params", [{**TIME, "max_ctr_complexity": 2}, {}])
def test_trees_with_categories_are_those_of_catboost(params):
    for seed in range(100, 106):
        table = random_table(seed, categorical=True)
        params = {**params, "cat_features": ["two", "many"]}
        theirs, ours, _ = raw_scores(table, params, parity="catboost")
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("boosting_type", ["Plain", "Ordered"])
def test_default_mode_predicts_as_catboost_without_packs(boosting_type, categorical):
    equal = 0
    for seed in range(100, 106):
        table = random_table(seed, categorical=categorical, binary=False)
        params = {**TIME, "boosting_type": boosting_type, "one_hot_max_size": 1}
        if categorical:
            params["cat_features"] = ["two", "many"]
        theirs, ours, _ = raw_scores(table, params)
        equal += np.allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    assert equal >= 5


def test_penalized_columns_are_avoided_and_names_count():
    X, y = random_table(3, binary=False)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    free = SymmetricBoostingRegressor(**SIZE, **FIXED).fit(frame, y)
    assert free.feature_importances_[0] > 0
    for wanted in ({"x0": 1e9}, "x0:1e9", "0:1e9", {0: 1e9}, "(1e9)", [1e9]):
        model = SymmetricBoostingRegressor(first_feature_use_penalties=wanted, **SIZE, **FIXED)
        assert model.fit(frame, y).feature_importances_[0] == 0
    zero = SymmetricBoostingRegressor(feature_weights=[0.0, 0.0], **SIZE, **FIXED).fit(frame, y)
    assert not zero.feature_importances_[:2].any()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"feature_weights": [1.0] * 99}, "has 99 numbers"),
        ({"feature_weights": [-1.0]}, "at least 0"),
        ({"feature_weights": "a:x"}, "cannot be read"),
        ({"feature_weights": {"nothing": 2.0}}, "not a column of X"),
        (
            {"per_object_feature_penalties": [1.0], "grow_policy": "Depthwise"},
            "first_feature_use_penalties",
        ),
    ],
)
def test_wrong_penalties_are_named(given, match):
    X, y = random_table(0)
    with pytest.raises(ValueError, match=match):
        SymmetricBoostingRegressor(**SIZE, **given).fit(X, y)
