"""Gradient boosting with categorical columns."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from algorithms import (
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from algorithms.gradient_boosting import choose_rounds

RNG = np.random.default_rng(0)
N = 240
NAMES = [f"town{k}" for k in range(8)]
TOWN = RNG.integers(0, 8, N)
X = pd.DataFrame(
    {
        "size": RNG.normal(size=N).astype(np.float32),
        "town": pd.Categorical.from_codes(np.where(RNG.random(N) < 0.1, -1, TOWN), NAMES),
    }
)
Y = np.isin(TOWN, (1, 4, 6)) * 2.0 + X["size"].to_numpy() + RNG.normal(size=N) * 0.1
TREES = {"categorical_features": "from_dtype", "random_state": 0}


def test_the_first_round_is_a_tree_with_categorical_splits():
    model = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, **TREES).fit(X, Y)
    tree = DecisionTreeRegressor(max_depth=3, **TREES).fit(X, Y - Y.mean())
    np.testing.assert_allclose(model.predict(X), Y.mean() + tree.predict(X), rtol=1e-9)
    grown = model.estimators_[0, 0].tree_
    assert grown.sets.keys() == tree.tree_.sets.keys()
    assert len(grown.sets) > 0


@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.6},
        {"max_features": 1, "max_leaf_nodes": 4},
        {"loss": "absolute_error", "step": "global"},
        {"n_iter_no_change": 3, "ccp_alpha": 1e-4},
    ],
)
def test_all_paths_of_prediction_agree(params):
    model = GradientBoostingRegressor(n_estimators=8, **params, **TREES).fit(X, Y)
    expected = model.predict(X)
    codes = np.column_stack([X["size"], X["town"].cat.codes.replace(-1, np.nan)])
    np.testing.assert_allclose(model.ensemble_.predict(codes), expected, rtol=1e-12)
    np.testing.assert_array_equal([*model.staged_predict(X)][-1], expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    threads = GradientBoostingRegressor(n_estimators=8, n_jobs=2, **params, **TREES).fit(X, Y)
    np.testing.assert_array_equal(threads.predict(X), expected)
    leaves = model.apply(X)
    rows = np.vstack([leaves[0], leaves[-1]]).astype(int)
    values = [
        [
            tree.tree_.value[leaf, 0, 0]
            for tree, leaf in zip(model.estimators_[:, 0], row, strict=True)
        ]
        for row in rows
    ]
    sums = model._constant[0] + 0.1 * np.sum(values, axis=1)
    np.testing.assert_allclose(sums, expected[[0, -1]], rtol=1e-9)


def test_forms_of_categories_have_the_same_model():
    expected = GradientBoostingRegressor(n_estimators=5, **TREES).fit(X, Y).predict(X)
    text = X.assign(town=X["town"].astype(object))
    for frame, columns in (
        (text, ["town"]),
        (text, [1]),
        (text.to_numpy(), [False, True]),
        (pl.from_pandas(X), "from_dtype"),
    ):
        model = GradientBoostingRegressor(
            n_estimators=5, categorical_features=columns, random_state=0
        ).fit(frame, Y)
        np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-9)


def test_categories_without_order_are_learned_by_few_splits():
    stump = {"max_depth": 1, "n_estimators": 20}
    target = np.isin(TOWN, (1, 4, 6)) * 2.0
    rows = X[["town"]]
    by_sets = GradientBoostingRegressor(**stump, **TREES).fit(rows, target).score(rows, target)
    codes = rows["town"].cat.codes.to_numpy()[:, None].astype(float)
    by_codes = GradientBoostingRegressor(**stump).fit(codes, target).score(codes, target)
    assert by_sets > 0.85 > by_codes + 0.2


def test_classifiers_unseen_categories_and_new_orders():
    labels = np.array(["low", "middle", "high"])[np.digitize(Y, [0.0, 1.5])]
    model = GradientBoostingClassifier(n_estimators=10, **TREES).fit(X, labels)
    assert model.score(X, labels) > 0.85
    other = X.assign(town=X["town"].cat.reorder_categories(NAMES[::-1]))
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))
    strange = X.assign(town="elsewhere")
    assert np.isfinite(model.predict_proba(strange)).all()


def test_a_base_learner_with_categorical_features():
    for columns in (["town"], "from_dtype"):
        tree = DecisionTreeRegressor(max_depth=2, categorical_features=columns)
        model = GradientBoostingRegressor(estimator=tree, n_estimators=10, random_state=0).fit(X, Y)
        assert model.score(X, Y) > 0.6
        assert model.estimators_[0, 0].tree_.sets
        assert tree.categorical_features == columns


def test_warm_start_needs_the_same_categories():
    whole = GradientBoostingRegressor(n_estimators=6, **TREES).fit(X, Y)
    model = GradientBoostingRegressor(n_estimators=3, warm_start=True, **TREES).fit(X, Y)
    model.set_params(n_estimators=6).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-9)
    other = X.assign(town=X["town"].cat.reorder_categories(NAMES[::-1]))
    with pytest.raises(ValueError, match="not those of the fit that is continued"):
        model.set_params(n_estimators=9).fit(other, Y)


def test_warm_start_needs_categories_in_both_fits_or_in_none():
    codes = np.column_stack([X["size"], TOWN + 10.0])
    for columns in ([1], None):
        model = GradientBoostingRegressor(
            n_estimators=3, warm_start=True, categorical_features=columns
        ).fit(codes, Y)
        model.set_params(n_estimators=4, categorical_features=[1] if columns is None else None)
        with pytest.raises(ValueError, match="not those of the fit that is continued"):
            model.fit(codes, Y)


def test_numeric_columns_alone_change_nothing():
    numbers = X[["size"]]
    plain = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(numbers, Y)
    model = GradientBoostingRegressor(n_estimators=5, **TREES).fit(numbers, Y)
    np.testing.assert_array_equal(model.predict(numbers), plain.predict(numbers))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"parity": "scikit-learn"}, "use parity=None"),
        ({"leaf_penalty": 1.0}, "no categories"),
        ({"l2_regularization": 1.0}, "no categories"),
        ({"estimator": DecisionTreeRegressor()}, "cannot be used with an estimator"),
        ({"categorical_features": ["street"]}, "names 'street'"),
    ],
)
def test_unsupported_parameters_are_refused(params, words):
    with pytest.raises(ValueError, match=words):
        GradientBoostingRegressor(**{**TREES, **params}).fit(X, Y)


def test_rounds_are_chosen_on_frames_with_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "c": pd.Categorical(list("abc") * 30)})
    y = frame["x"].to_numpy() + (frame["c"] == "b").to_numpy()
    model = GradientBoostingRegressor(n_estimators=4, categorical_features="from_dtype")
    assert choose_rounds(model, frame, y, cv=3).losses.shape == (3, 4)
