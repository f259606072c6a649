"""Trees of symmetric boosting with ``grow_policy`` Depthwise and Lossguide."""

import json
import pickle

import catboost
import numpy as np
import pytest
from catboost_kit import (
    PARITY,
    fit_library,
    random_case,
    random_sampling,
    random_sparse_case,
    seeds_up_to,
)

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor, read_model, serve
from harness import Spec, Task
from harness.plugins.registry import load_registry

POLICIES = ["Depthwise", "Lossguide"]
LOSSES = ["RMSE", "Logloss", "Poisson", "MAE", "MultiClass"]
QUIET = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}


def library_nodes(node, columns):
    """Return a tree of CatBoost's file as nested lists."""
    if "value" in node:
        return np.ravel(node["value"]).tolist()
    split = node["split"]
    rule = [columns[split["float_feature_index"]], np.float32(split["border"])]
    return [*rule, *(library_nodes(node[side], columns) for side in ("left", "right"))]


def our_nodes(tree, node=0):
    """Return one of our trees as nested lists."""
    if not len(tree.features):
        return tree.values[0].tolist()
    children = int(tree.left[node]), int(tree.right[node])
    sides = [tree.values[~c].tolist() if c < 0 else our_nodes(tree, c) for c in children]
    return [int(tree.features[node]), tree.borders[node], *sides]


def differs(seed, loss, policy, folder, make=random_case, **params):
    """Return where our trees and CatBoost's differ on a random case."""
    X, y, weight, given = make(seed, loss)
    given |= {"grow_policy": policy, **params}
    if policy == "Lossguide":
        rng = np.random.default_rng(seed)
        given["max_leaves"] = int(rng.integers(2, 40))
        given["min_data_in_leaf"] = int(rng.choice([1, 20]))
    classifies = loss in ("Logloss", "MultiClass")
    kind = SymmetricBoostingClassifier if classifies else SymmetricBoostingRegressor
    ours = kind(**{**PARITY, "thread_count": 1, **given}).fit(X, y, sample_weight=weight)
    path = folder / "model.json"
    fit_library(X, y, weight, given).save_model(str(path), format="json")
    saved = json.loads(path.read_text())
    features = saved["features_info"].get("float_features", [])
    columns = {one["feature_index"]: one["flat_feature_index"] for one in features}
    for number, (tree, theirs) in enumerate(zip(ours._trees, saved["trees"], strict=True)):
        if our_nodes(tree) != library_nodes(theirs, columns):
            return f"tree {number}"
    return ""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_trees_and_leaf_values_are_catboosts_to_the_bit(loss, policy, tmp_path):
    assert [differs(seed, loss, policy, tmp_path) for seed in (1, 4)] == ["", ""]


@pytest.mark.parametrize("policy", POLICIES)
def test_bundles_of_sparse_columns_are_catboosts(policy, tmp_path):
    found = [
        differs(seed, "RMSE", policy, tmp_path, random_sparse_case, **random_sampling(seed))
        for seed in (0, 1)
    ]
    assert found == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_hundred_random_configurations_have_catboosts_bits(loss, policy, tmp_path):
    found = {seed: differs(seed, loss, policy, tmp_path) for seed in seeds_up_to(100)}
    assert {seed: what for seed, what in found.items() if what} == {}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loss", ["RMSE", "Logloss", "MultiClass"])
def test_samples_and_noise_follow_catboosts_generator(loss, policy, tmp_path):
    found = [differs(s, loss, policy, tmp_path, **random_sampling(s)) for s in (1, 4)]
    assert found == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_hundred_random_configurations_of_sampling(loss, policy, tmp_path):
    seeds = seeds_up_to(100)
    found = {s: differs(s, loss, policy, tmp_path, **random_sampling(s)) for s in seeds}
    assert {seed: what for seed, what in found.items() if what} == {}


def table(n_rows=800):
    """Return rows with missing values, and a target that needs interactions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.1 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


MODES = [
    {"grow_policy": "Depthwise"},
    {"grow_policy": "Depthwise", "min_data_in_leaf": 100, "rsm": 0.7},
    {"grow_policy": "Lossguide", "max_leaves": 9, "bootstrap_type": "Bayesian"},
    {"grow_policy": "Lossguide", "depth": 16, "score_function": "L2", "nan_mode": "Max"},
]


@pytest.mark.parametrize("params", MODES)
def test_prediction_importance_shap_and_files(params, tmp_path):
    X, y = table()
    fixed = {"iterations": 20, "learning_rate": 0.3, "random_seed": 3, **params}
    model = SymmetricBoostingRegressor(**fixed, thread_count=1).fit(X, y)
    predicted = model.predict(X)
    again = SymmetricBoostingRegressor(**fixed, thread_count=3).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), predicted)
    assert np.square(predicted - y).mean() < 0.3 * y.var()
    np.testing.assert_allclose(model.predict_contributions(X).sum(axis=1), predicted, rtol=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(100)
    assert model.feature_importances_[3] < 10
    assert len(model.apply(X)) == len(X)
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], predicted, rtol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), predicted)
    np.testing.assert_array_equal(serve(model.ensemble_).predict(X), predicted)
    for name in ("harness", "json"):
        model.save_model(tmp_path / name, format=name)
        loaded = SymmetricBoostingRegressor().load_model(tmp_path / name)
        np.testing.assert_array_equal(loaded.predict(X), predicted)
        np.testing.assert_allclose(loaded.feature_importances_, model.feature_importances_)
        np.testing.assert_array_equal(read_model(tmp_path / name).raw(X)[:, 0], predicted)


def test_limits_of_leaves_depth_and_rows():
    X, y = table()
    fixed = {"iterations": 3, "bootstrap_type": "No", "grow_policy": "Lossguide"}
    model = SymmetricBoostingRegressor(**fixed, max_leaves=7, depth=16).fit(X, y)
    assert [len(tree.values) for tree in model._trees] == [7, 7, 7]
    model = SymmetricBoostingRegressor(**fixed, max_leaves=100, depth=2).fit(X, y)
    assert [len(tree.values) for tree in model._trees] == [4, 4, 4]
    usual = SymmetricBoostingRegressor(**fixed, depth=16).fit(X, y)
    assert [len(tree.values) for tree in usual._trees] == [31, 31, 31]
    for policy in POLICIES:
        given = {**fixed, "grow_policy": policy, "min_data_in_leaf": 200}
        model = SymmetricBoostingRegressor(**given, num_leaves=None).fit(X, y)
        ensemble = model.ensemble_
        assert ensemble.cover[ensemble.left >= 0].min() >= 200
        assert ensemble.n_nodes > 9


def test_importances_are_catboosts():
    X, y = table()
    fixed = {"iterations": 10, "bootstrap_type": "No", "random_strength": 0, "depth": 4}
    for policy in POLICIES:
        given = {**fixed, "grow_policy": policy, "score_function": "L2"}
        ours = SymmetricBoostingRegressor(**given, parity="catboost", thread_count=1).fit(X, y)
        theirs = catboost.CatBoostRegressor(**given, **QUIET).fit(X, y)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)


@pytest.mark.parametrize("policy", POLICIES)
def test_edge_cases_and_several_classes(policy):
    fixed = {"iterations": 5, "grow_policy": policy}
    lonely = SymmetricBoostingRegressor(**fixed).fit([[1.0]], [7.0])
    assert lonely.predict([[2.0]]) == pytest.approx(7.0)
    X, y = table(300)
    np.testing.assert_allclose(
        SymmetricBoostingRegressor(**fixed).fit(X, np.full(300, 4.0)).predict(X), 4.0
    )
    labels = np.digitize(y, [0.0, 1.0])
    model = SymmetricBoostingClassifier(**fixed, learning_rate=0.5).fit(X, labels)
    assert np.mean(model.predict(X) == labels) > 0.7
    parity = {"parity": "catboost", "bootstrap_type": "No", "random_strength": 0}
    if policy == "Depthwise":
        with pytest.raises(ValueError, match="needs min_data_in_leaf=1"):
            SymmetricBoostingRegressor(**fixed, **parity, min_data_in_leaf=2).fit(X, y)


def test_the_harness_exports_the_trees():
    X, y = table(300)
    spec = Spec(Task.REGRESSION, {"n_estimators": 5, "grow_policy": "Lossguide"}, 1, 1, 0)
    algorithm = load_registry(modules=["algorithms.symmetric_boosting"]).algorithm(
        "symmetric_boosting"
    )
    adapter = algorithm.adapter(spec)
    adapter.fit(adapter.prepare(X, y, None))
    np.testing.assert_allclose(adapter.export_trees().raw(X)[:, 0], adapter.predict(X))
