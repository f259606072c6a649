"""Tests of contributions and interactions against exact Shapley values and the libraries."""

import dataclasses
import json

import lightgbm
import numpy as np
import oracles_shap
import pytest
import xgboost
from ensembles import random_ensemble, rows_for
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.model_io import lightgbm_reader, xgboost_reader
from algorithms.prediction import shap_values
from algorithms.prediction.shap_values import contributions, interactions, quadrature
from harness import Tree, TreeEnsemble


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([{"outputs": 1}, {"outputs": 2}, {"values": 3}]),
    st.integers(0, 6),
)
@settings(max_examples=40)
def test_contributions_are_exact_shapley_values(seed, shape, depth):
    rng = np.random.default_rng(seed)
    trees = random_ensemble(rng, n_trees=3, tree={"depth": depth}, **shape)
    X = rows_for(trees, rng, 6)
    expected = oracles_shap.contributions(trees, X)
    np.testing.assert_allclose(contributions(trees, X), expected, rtol=1e-11, atol=1e-12)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([{"outputs": 1}, {"outputs": 2}, {"values": 3}]),
    st.integers(0, 6),
)
@settings(max_examples=25)
def test_interactions_are_exact_interaction_indices(seed, shape, depth):
    rng = np.random.default_rng(seed)
    trees = random_ensemble(rng, n_trees=3, tree={"depth": depth}, **shape)
    X = rows_for(trees, rng, 4)
    result, expected = interactions(trees, X), oracles_shap.interactions(trees, X)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-9)
    assert np.array_equal(result, result.swapaxes(2, 3))
    np.testing.assert_allclose(result.sum(axis=3), contributions(trees, X), rtol=0, atol=1e-11)


def test_interactions_of_a_product_of_two_indicators():
    """The tree is [x0 > 0][x1 > 0] with equal covers, so Φ_01 is ±1/8 for every row."""
    tree = Tree(
        feature=np.array([0, -1, 1, -1, -1]),
        threshold=np.zeros(5),
        left=np.array([1, -1, 3, -1, -1]),
        right=np.array([2, -1, 4, -1, -1]),
        value=np.array([[0.0], [0.0], [0.0], [0.0], [1.0]]),
        cover=np.array([4.0, 2.0, 2.0, 1.0, 1.0]),
    )
    trees = TreeEnsemble.join(
        [tree], n_features=2, base=np.zeros(1), weight=np.ones(1), output=np.zeros(1, np.int32)
    )
    result = interactions(trees, np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]))[:, 0]
    expected = [[2, 1, 0, 1, 2, 0, 0, 0, 2], [2, -1, 0, -1, -2, 0, 0, 0, 2]]
    expected.append([-2, 1, 0, 1, -2, 0, 0, 0, 2])
    np.testing.assert_allclose(result, np.reshape(expected, (3, 3, 3)) / 8, atol=1e-15)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["sum", "mean", "vote"]), st.booleans())
@settings(max_examples=20)
def test_contributions_add_up_to_the_raw_score(seed, combination, base_first):
    rng = np.random.default_rng(seed)
    options = {"combination": combination, "base_first": base_first, "against": -0.5}
    trees = random_ensemble(rng, values=2, tree={"depth": 12}, **options)
    X = rows_for(trees, rng, 30)
    np.testing.assert_allclose(contributions(trees, X).sum(axis=2), trees.raw(X), atol=1e-11)


def test_side_without_cover_gives_finite_contributions_that_add_up():
    rng = np.random.default_rng(0)
    trees = random_ensemble(rng)
    cover = np.where(rng.random(trees.n_nodes) < 0.3, 0.0, trees.cover)
    trees = dataclasses.replace(trees, cover=cover)
    X = rows_for(trees, rng)
    np.testing.assert_allclose(contributions(trees, X).sum(axis=2), trees.raw(X), atol=1e-11)


def test_result_does_not_depend_on_threads():
    rng = np.random.default_rng(1)
    trees = random_ensemble(rng, n_trees=10)
    X = rows_for(trees, rng, 500)
    assert np.array_equal(contributions(trees, X), contributions(trees, X, threads=3))
    assert np.array_equal(contributions(trees, X[7:8])[0], contributions(trees, X)[7])
    assert np.array_equal(interactions(trees, X), interactions(trees, X, threads=3))
    assert np.array_equal(interactions(trees, X[7:8])[0], interactions(trees, X)[7])


def test_quadrature_is_exact_up_to_its_number_of_features():
    points = quadrature(np.array([3, 1]))
    for degree in range(6):
        assert points.t[0] ** degree @ points.weight[0] == pytest.approx(
            1 / (degree + 1), rel=1e-14
        )
    assert points.weight[1].tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"combination": "median"}, "the median of trees"),
        ({"cover": np.nan}, "have no covers"),
    ],
)
def test_models_without_contributions_give_the_reason(change, message):
    trees = random_ensemble(np.random.default_rng(2))
    if "cover" in change:
        change = {"cover": np.full(trees.n_nodes, np.nan)}
    trees = dataclasses.replace(trees, **change)
    for function in (contributions, interactions):
        with pytest.raises(ValueError, match=message):
            function(trees, np.zeros((1, 4)))


def test_no_rows_and_no_trees():
    trees = random_ensemble(np.random.default_rng(3))
    assert contributions(trees, np.zeros((0, 4))).shape == (0, 1, 5)
    assert interactions(trees, np.zeros((0, 4))).shape == (0, 1, 5, 5)
    none = random_ensemble(np.random.default_rng(3), n_trees=0)
    assert contributions(none, np.zeros((2, 4)))[:, 0].tolist() == [[0, 0, 0, 0, none.base[0]]] * 2
    assert interactions(none, np.zeros((1, 4))).sum() == none.base[0]


# ------------------------------------------------------------------ the libraries' own


def table(rng, n=600):
    """Return numbers, a column of codes, missing values, and a target."""
    X = rng.normal(size=(n, 6))
    X[:, 5] = rng.integers(0, 25, n)
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + X[:, 5] % 4 + rng.normal(size=n)
    X[rng.random(X.shape) < 0.08] = np.nan
    return X, y


def targets(y, task):
    return {"binary": (y > 1).astype(int), "multiclass": np.digitize(y, [0, 3])}.get(task, y)


@pytest.mark.parametrize("objective", ["regression", "binary", "multiclass"])
def test_contributions_equal_lightgbm(objective):
    X, y = table(np.random.default_rng(4))
    params = {"objective": objective, "num_leaves": 40, "min_data_in_leaf": 3, "num_threads": 1}
    params |= {"verbose": -1, "min_data_per_group": 5}
    params |= {"num_class": 3} if objective == "multiclass" else {}
    data = lightgbm.Dataset(X, targets(y, objective), categorical_feature=[5])
    booster = lightgbm.train(params, data, 10)
    trees, _, _ = lightgbm_reader.read(booster.model_to_string())
    expected = booster.predict(X, pred_contrib=True)
    result = contributions(trees, X, threads=2).reshape(expected.shape)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic", "multi:softprob"])
def test_contributions_equal_xgboost(objective):
    X, y = table(np.random.default_rng(5))
    task = {"binary:logistic": "binary", "multi:softprob": "multiclass"}.get(objective, "")
    params = {"objective": objective, "max_depth": 6, "nthread": 1, "max_cat_to_onehot": 2}
    params |= {"num_class": 3} if task == "multiclass" else {}
    data = xgboost.DMatrix(
        X, targets(y, task), feature_types=["q"] * 5 + ["c"], enable_categorical=True
    )
    booster = xgboost.train(params, data, 10)
    trees, _ = xgboost_reader.read(json.loads(booster.save_raw("json")))
    expected = booster.predict(data, pred_contribs=True)
    result = contributions(trees, X).reshape(expected.shape)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6 * scale)
    few = data.slice(range(50))
    expected = booster.predict(few, pred_interactions=True)
    result = interactions(trees, X[:50]).reshape(expected.shape)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=2e-6 * scale)


def test_rows_are_split_into_blocks(monkeypatch):
    rng = np.random.default_rng(7)
    trees = random_ensemble(rng)
    X = rows_for(trees, rng, 50)
    whole = contributions(trees, X)
    monkeypatch.setattr(shap_values, "MAX_ROWS", 3)
    assert np.array_equal(contributions(trees, X, threads=2), whole)
