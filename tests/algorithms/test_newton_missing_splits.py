"""Tests of the threshold of splits that separate missing values from all others."""

import numpy as np
import pytest
import xgboost
from scipy import sparse

from algorithms import NewtonBoostingRegressor
from algorithms.newton import histogram_grower as newton_hist

LARGEST = np.finfo(np.float32).max
LISTS = {  # ways in which exact growth goes by lists
    "constraints": {"interaction_constraints": [[0, 1, 2]]},
    "alpha": {"reg_alpha": 1e-9},
    "deep": {"max_depth": 11},
    "local": {"tree_method": "approx", "proposal": "local", "sketch_eps": 1e-6},
}


def sparse_with_missing(X):
    """Return a CSR matrix whose absent entries are the missing values."""
    rows, columns = np.nonzero(~np.isnan(X))
    return sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)


def negative_table(n=400):
    """Return rows with negative or missing values, and a target of their presence."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-8.0, -4.0, (n, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.4] = np.nan
    return X, np.isnan(X) @ [4.0, 2.0, 1.0] + 0.01 * np.nan_to_num(X[:, 0])


def splits_of(model):
    """Return the splits of each tree, from the root and from left to right."""
    trees, results = model.ensemble_, []

    def walk(at):
        results.append((trees.feature[at], trees.threshold[at], trees.default_left[at]))
        if trees.left[at] >= 0:
            walk(trees.left[at])
            walk(trees.right[at])

    for root in trees.offsets[:-1].tolist():
        walk(root)
    return results


def fitted(X, y, **params):
    given = {"n_estimators": 3, "max_depth": 4, "tree_method": "exact", "random_state": 0}
    return NewtonBoostingRegressor(**(given | params)).fit(X, y)


@pytest.mark.parametrize("way", LISTS)
def test_exact_trees_of_negative_values_equal_dense_levels(way):
    X, y = negative_table()
    depth = LISTS[way].get("max_depth", 4)
    expected = splits_of(fitted(X, y, max_depth=min(depth, 10)))
    assert (np.array([t for f, t, _ in expected if f >= 0]) > 0.0).any()  # above all values
    assert splits_of(fitted(X, y, **LISTS[way])) == expected
    assert splits_of(fitted(sparse_with_missing(X), y, **LISTS[way])) == expected


def test_sparse_exact_trees_equal_dense_ones_with_row_sampling():
    X, y = negative_table()
    drawn = [fitted(rows, y, subsample=0.5) for rows in (X, sparse_with_missing(X))]
    assert splits_of(drawn[0]) == splits_of(drawn[1])


@pytest.mark.parametrize("way", ["dense", "sparse", *LISTS])
def test_unseen_values_above_all_seen_values_follow_them_as_in_xgboost(way):
    x = np.linspace(-8.0, -4.0, 200, dtype=np.float32)
    x[100:] = np.nan
    X, y = x[:, None], np.repeat([1.0, -1.0], 100)
    own = LISTS.get(way, {}) | ({"interaction_constraints": [[0]]} if way == "constraints" else {})
    ours = fitted(sparse_with_missing(X) if way == "sparse" else X, y, n_estimators=1, **own)
    given = {"n_estimators": 1, "max_depth": 4, "tree_method": "exact", "n_jobs": 1}
    theirs = xgboost.XGBRegressor(**given).fit(X, y)
    requested = np.float32([[-3.0], [-1.5], [-1e-3], [1.0], [np.nan]])
    np.testing.assert_allclose(ours.predict(requested), theirs.predict(requested), rtol=1e-6)


def test_sorted_column_bins_split_missing_values_like_histograms(monkeypatch):
    side = np.repeat([0.0, 1.0], 120)
    x = np.where(side == 0.0, np.tile([1.0, 2.0, np.nan], 80), np.tile([1.0, 2.0, 3.0], 80))
    X, y = np.column_stack([side, x]).astype(np.float32), 10.0 * side + np.isnan(x)
    given = {"tree_method": "hist", "max_depth": 2, "n_estimators": 1}

    def thresholds(rows):
        return [float(t) for feature, t, _ in splits_of(fitted(rows, y, **given)) if feature == 1]

    expected = thresholds(X)
    assert np.isclose(expected, 2.5).any()  # above the values of its node
    monkeypatch.setattr(newton_hist, "histograms_fit", lambda *_: False)
    assert thresholds(X) == thresholds(sparse_with_missing(X)) == expected


@pytest.mark.parametrize(
    "own",
    [
        {"tree_method": "hist"},
        {"tree_method": "hist", "colsample_bynode": 0.9},
        {"tree_method": "approx"},
        {"tree_method": "approx", "proposal": "random"},
        {"tree_method": "exact"},
        {"tree_method": "exact", "reg_alpha": 1e-9},
    ],
)
def test_largest_float_is_an_ordinary_value(own, tmp_path):
    X = np.full((200, 1), LARGEST, np.float32)
    X[:50], X[100:] = 1.0, np.nan
    y = np.repeat([1.0, 0.0], 100)
    model = fitted(X, y, n_estimators=1, max_depth=1, learning_rate=1.0, reg_lambda=0.0, **own)
    np.testing.assert_array_equal(model.predict(X), y)
    path = tmp_path / "model.json"
    model.save_model(path)
    served = xgboost.XGBRegressor()
    served.load_model(path)
    np.testing.assert_array_equal(served.predict(X), y)
    again = NewtonBoostingRegressor()
    again.load_model(path)
    np.testing.assert_array_equal(again.predict(X), y)
    model.save_model(path, format="harness")
    own_form = NewtonBoostingRegressor()
    own_form.load_model(path)
    np.testing.assert_array_equal(own_form.predict(X), y)


def test_largest_float_is_routed_correctly_in_deeper_levels():
    rng = np.random.default_rng(0)
    X = rng.choice([1.0, 2.0, LARGEST, np.nan], (400, 2)).astype(np.float32)
    y = np.isnan(X) @ [2.0, 1.0] + (X == LARGEST) @ [0.5, 0.25]
    levels, lists = (fitted(X, y, max_depth=depth) for depth in (6, 11))
    assert splits_of(levels) == splits_of(lists)
