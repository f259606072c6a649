"""Ordered boosting with categorical columns: CatBoost's trees, permutations, edge cases."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from catboost_categories import first_difference, fit_both, random_categories

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.symmetric.ordered_categories import OrderedCategoryGrower
from algorithms.symmetric.target_statistics import ordered_bins

LEVELS = {2: {}, 3: {"one_hot_max_size": 5, "max_ctr_complexity": 4}}  # parity levels


def differs(seed, loss, folder, level):
    """Return where our trees and CatBoost's differ on a random table."""
    fixed = {**LEVELS[level], "boosting_type": "Ordered"}
    X, y, weight, params = random_categories(seed, loss, **fixed)
    return first_difference(*fit_both(X, y, weight, params), folder)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_trees_and_leaf_values_are_catboosts_to_the_bit(loss, level, tmp_path):
    assert [differs(seed, loss, tmp_path, level) for seed in (1, 6)] == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("loss", ["RMSE", "Logloss", "Poisson", "MAE"])
def test_a_hundred_random_tables_have_catboosts_bits(loss, level, tmp_path):
    found = {seed: differs(seed, loss, tmp_path, level) for seed in range(100, 200)}
    assert {seed: what for seed, what in found.items() if what} == {}


def table(n_rows=600, seed=0):
    """Return a frame with a number and two categorical columns, and a target that needs them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n_rows),
            "b": rng.choice(["x", "y", "z"], n_rows),
            "c": rng.integers(0, 20, n_rows).astype(str),
        }
    )
    effect = np.random.default_rng(9).normal(size=20)[X["c"].astype(int)] * 2
    return X, (X["a"] + effect + (X["b"] == "y") * 2 + rng.normal(size=n_rows)).to_numpy()


MODES = [
    {},
    {"max_ctr_complexity": 3, "rsm": 0.7, "bootstrap_type": "Bernoulli"},
    {"approx_on_full_history": True, "fold_len_multiplier": 1.4, "one_hot_max_size": 4},
    {"has_time": True, "random_strength": 0, "bootstrap_type": "No"},
]


@pytest.mark.parametrize("params", MODES)
def test_categories_help_and_threads_do_not_matter(params):
    (X, y), (other, target) = table(), table(seed=1)
    fixed = {"iterations": 20, "boosting_type": "Ordered", "learning_rate": 0.3, **params}
    model = SymmetricBoostingRegressor(**fixed, thread_count=1).fit(X, y)
    again = SymmetricBoostingRegressor(**fixed, thread_count=3).fit(X, y)
    numeric = SymmetricBoostingRegressor(**fixed).fit(X[["a"]], y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    loss = np.square(target - model.predict(other)).mean()
    assert loss < 0.6 * np.square(target - numeric.predict(other[["a"]])).mean()


def test_several_classes_and_the_seed():
    X, y = table()
    labels = np.digitize(y, [-1.0, 1.5])
    fixed = {"iterations": 10, "boosting_type": "Ordered", "learning_rate": 0.3}
    proba = [
        SymmetricBoostingClassifier(**fixed, random_seed=seed).fit(X, labels).predict_proba(X)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(proba[0], proba[1])
    assert (proba[0] != proba[2]).any()
    assert np.mean(proba[0].argmax(axis=1) == labels) > 0.6


def leaves_by_hand(data, splits, number):
    """Return the leaf of each row by the statistics of a permutation, computed from the codes."""
    leaf_of = np.zeros(len(data.X), int)
    for level, split in enumerate(splits):
        projection = split.feature.projection
        combiner, ctrs = data.combiner(projection), data.ctrs(projection)
        order = data.orders[number]
        bins = ordered_bins(combiner.codes, combiner.size, ctrs, data.classes, order)
        at = data.bins(projection, number).statistics.index(split.feature)
        leaf_of += (bins[:, at] > split.bin) << level
    return leaf_of


def test_segments_follow_the_statistics_of_their_own_permutation(monkeypatch):
    """Every fold assigns rows to leaves by statistics in the order of the fold."""
    seen = []

    def leaves_in(grower, grown, number):
        leaf_of = original(grower, grown, number)
        wanted = leaves_by_hand(grower.data, grown.splits, number)
        seen.append((number, grower.data.orders[number], leaf_of, wanted))
        return leaf_of

    original = OrderedCategoryGrower.leaves_in
    monkeypatch.setattr(OrderedCategoryGrower, "leaves_in", leaves_in)
    X, y = table(200)
    SymmetricBoostingRegressor(iterations=2, boosting_type="Ordered", depth=3).fit(X[["c"]], y)
    assert [number for number, *_ in seen] == [0, 1, 2] * 2
    for _, _, leaf_of, wanted in seen:
        np.testing.assert_array_equal(leaf_of, wanted)
    np.testing.assert_array_equal(seen[0][1], np.arange(len(y)))
    assert all((one[2] != other[2]).any() for one, other in pairwise(seen[:3]))


@pytest.mark.parametrize("parity", [None, "catboost"])
@pytest.mark.parametrize("levels", [1, 2, 60])
def test_one_level_two_levels_and_unique_levels(levels, parity):
    X = pd.DataFrame({"c": [f"v{i % levels}" for i in range(60)]})
    y = np.arange(60) % 2 + 0.1 * np.random.default_rng(0).normal(size=60)
    fixed = {"iterations": 30, "bootstrap_type": "No", "random_strength": 0, "parity": parity}
    fixed = {**fixed, "has_time": parity is not None, "boosting_type": "Ordered"}
    predicted = SymmetricBoostingRegressor(**fixed, learning_rate=0.1).fit(X, y).predict(X)
    if levels == 2:
        assert np.corrcoef(predicted, y)[0, 1] > 0.9
    elif levels == 1:
        np.testing.assert_allclose(predicted, y.mean(), rtol=1e-6)
    else:
        assert predicted.std() < 0.1 * y.std()
