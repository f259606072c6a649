"""Categorical columns in trees of ``grow_policy`` Depthwise and Lossguide."""

import numpy as np
import pandas as pd
import pytest
from catboost_categories import fit_both, random_categories
from catboost_kit import seeds_up_to

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.symmetric.derived_columns import Indicator
from algorithms.symmetric.derived_files import to_hashed
from algorithms.symmetric.tree import SymmetricTree

POLICIES = ["Depthwise", "Lossguide"]
LOSSES = ["RMSE", "Logloss", "MultiClass"]


def split_of(derived, column, border):
    """Return a split as a tuple that is the same for our models and for files of CatBoost."""
    if column < derived.n_features:
        return column, border
    one = derived.features[column - derived.n_features]
    if isinstance(one, Indicator):
        return "one-hot", one
    return derived.tables[one.table_key].kind, one.projection, one.target, one.formula, border


def nested(tree, derived, node=0):
    """Return a tree as nested lists."""
    leaves = tree.values.tolist()  # noqa: PD011 - not a frame
    if not len(tree.features):
        return leaves[0]
    children = int(tree.left[node]), int(tree.right[node])
    sides = [leaves[~c] if c < 0 else nested(tree, derived, c) for c in children]
    return [split_of(derived, int(tree.features[node]), float(tree.borders[node])), *sides]


def nested_levels(tree, derived, level=0, leaf=0):
    """Return a tree whose levels have one split each, as nested lists."""
    if level == tree.depth:
        return tree.values[leaf].tolist()  # noqa: PD011 - not a frame
    split = split_of(derived, int(tree.features[level]), float(tree.borders[level]))
    sides = (nested_levels(tree, derived, level + 1, leaf + (s << level)) for s in (0, 1))
    return [split, *sides]


def trees_of(model):
    """Return the trees of a fitted or loaded model as nested lists.

    Trees of one split are loaded as symmetric ones.
    """
    derived = to_hashed(model._derived)
    return [
        nested_levels(tree, derived) if isinstance(tree, SymmetricTree) else nested(tree, derived)
        for tree in model._trees
    ]


def differs(seed, loss, policy, folder):
    """Return the first tree in which we and CatBoost differ on a random table, or None."""
    rng = np.random.default_rng(seed)
    given = {"grow_policy": policy, "one_hot_max_size": int(rng.choice([1, 2, 5]))}
    if policy == "Lossguide":
        given["max_leaves"] = int(rng.integers(2, 40))
        given["min_data_in_leaf"] = int(rng.choice([1, 20]))
    X, y, weight, params = random_categories(seed, loss, **given)
    ours, theirs = fit_both(X, y, weight, params)
    theirs.save_model(str(folder / "model.json"), format="json")
    loaded = type(ours)().load_model(folder / "model.json")
    if loaded._derived is None:  # no tree of CatBoost has a split
        return None if not any(len(tree.features) for tree in ours._trees) else 0
    pairs = zip(trees_of(ours), trees_of(loaded), strict=True)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), None)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_trees_and_leaf_values_are_catboosts_to_the_bit(loss, policy, tmp_path):
    assert [differs(seed, loss, policy, tmp_path) for seed in (1, 6)] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loss", [*LOSSES, "Poisson", "MAE"])
def test_forty_random_tables_have_catboosts_bits(loss, policy, tmp_path):
    found = {seed: differs(seed, loss, policy, tmp_path) for seed in seeds_up_to(40)}
    assert {seed: tree for seed, tree in found.items() if tree is not None} == {}


def table(n_rows=400, seed=0):
    """Return a frame with a number and categories, and a target that needs them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n_rows),
            "b": rng.choice(["x", "y", "z"], n_rows),
            "c": rng.integers(0, 20, n_rows),
        }
    )
    effect = np.sin(3.0 * np.arange(20))[X["c"]] * 2
    return X, (X["a"] + effect + (X["b"] == "y") * 2 + 0.3 * rng.normal(size=n_rows)).to_numpy()


MODES = [
    {"grow_policy": "Depthwise"},
    {"grow_policy": "Depthwise", "one_hot_max_size": 5, "rsm": 0.8, "has_time": True},
    {"grow_policy": "Lossguide", "max_leaves": 9, "min_data_in_leaf": 5, "random_strength": 0},
]


@pytest.mark.parametrize("params", MODES)
def test_categories_help_and_threads_do_not_matter(params):
    X, y = table()
    other, target = table(seed=1)
    other.loc[:30, "c"] = 99
    fixed = {"iterations": 20, "learning_rate": 0.3, "cat_features": ["b", "c"], **params}
    model = SymmetricBoostingRegressor(**fixed, thread_count=1)
    model.fit(X, y, eval_set=(other, target), use_best_model=False)
    again = SymmetricBoostingRegressor(**fixed, thread_count=3).fit(X, y)
    predicted = model.predict(other)
    np.testing.assert_array_equal(again.predict(other), predicted)
    error = np.square(target - predicted)[31:].mean()
    assert error < 0.35 * target.var()
    last = model.evals_result_["validation"]["RMSE"][-1]
    assert last**2 == pytest.approx(np.square(target - predicted).mean(), rel=1e-5)
    assert (model.feature_importances_ > 5).all()
    kinds = {type(one) for one in model._derived.features}
    assert (Indicator in kinds) == ("one_hot_max_size" in params)
    np.testing.assert_allclose(model.predict_contributions(other).sum(axis=1), predicted, rtol=1e-9)


@pytest.mark.parametrize("policy", POLICIES)
def test_only_categories_and_edge_cases(policy):
    X, y = table(200)
    fixed = {"iterations": 5, "grow_policy": policy}
    labels = np.digitize(y, [0.0, 1.5])
    model = SymmetricBoostingClassifier(**fixed, learning_rate=0.5).fit(X[["b"]], labels)
    assert model.predict_proba(X[["b"]]).shape == (200, 3)
    same = pd.DataFrame({"c": ["x"] * 20})
    predicted = SymmetricBoostingRegressor(**fixed).fit(same, np.arange(20.0)).predict(same)
    np.testing.assert_allclose(predicted, 9.5, rtol=1e-6)
    with pytest.raises(ValueError, match="needs has_time=True with categorical columns and grow"):
        SymmetricBoostingRegressor(
            **fixed, parity="catboost", bootstrap_type="No", random_strength=0
        ).fit(X, y)
