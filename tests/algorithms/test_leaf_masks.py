"""Tests that leaf masks, used where they are faster than a tree walk, find the same leaves."""

import pickle

import numpy as np
import pytest
from prediction_paths import assert_paths_agree, categorical_stumps
from scipy import sparse

from algorithms import HistogramBoostingRegressor
from algorithms.prediction import leaf_masks
from algorithms.prediction.predictor import FastPredictor
from harness import Missing, Tree, TreeEnsemble


def test_no_tree_is_walked_where_masks_are_faster():
    rng = np.random.default_rng(5)
    X = np.where(rng.random((3000, 50)) < 0.05, rng.normal(size=(3000, 50)), 0.0)
    y = (X != 0.0) @ rng.normal(size=50)
    model = HistogramBoostingRegressor(n_estimators=5, enable_bundle=False).fit(X, y)
    walker, trees = model._walker, model.ensemble_
    assert walker.masks_for(3000, slice(None)) is walker._masks
    assert walker.masks_for(7, slice(None)) is None
    fresh = FastPredictor(trees)
    assert fresh.masks_for(1000, slice(None)) is None  # nothing is packed for these
    assert fresh.masks_for(24, slice(None)) is fresh._masks  # but once there were as many
    for table in (X, X.astype(np.float32), sparse.csr_array(X), X[:50]):
        rows = table.toarray() if sparse.issparse(table) else table
        assert np.array_equal(model.predict(table), trees.raw(rows)[:, 0])
    Z = rng.normal(size=X.shape)
    even = HistogramBoostingRegressor(
        n_estimators=5, max_depth=6, num_leaves=64, min_child_samples=1
    )
    even.fit(Z, Z.sum(axis=1))
    assert even._walker.masks_for(3000, slice(None)) is None
    for bad in (np.inf, -np.inf):
        X[2000, 7] = bad
        with pytest.raises(ValueError, match="infinity"):
            model.predict(X)


@pytest.mark.parametrize(("n_leaves", "fits"), [(64, True), (65, False)])
def test_masks_support_as_many_leaves_as_bits(n_leaves, fits):
    rng = np.random.default_rng(11)
    n = n_leaves - 1  # inner nodes, each of which has a leaf on one side, numbers and sets in turn
    inner, on_left = np.arange(n), rng.random(n) < 0.5
    leaf, further = n + inner, np.append(inner[1:], 2 * n)
    tree = Tree(
        feature=np.append(inner % 2, [-1] * (n + 1)),
        threshold=np.append(rng.choice([-2.5, 4.5], n), np.zeros(n + 1)),
        left=np.append(np.where(on_left, leaf, further), [-1] * (n + 1)),
        right=np.append(np.where(on_left, further, leaf), [-1] * (n + 1)),
        value=rng.normal(size=(2 * n + 1, 1)),
        sets={k: ([int(k) % 90], bool(on_left[k])) for k in range(0, n, 2)},
        default_left=np.append(~on_left, [False] * (n + 1)),
        missing=np.full(2 * n + 1, Missing.NAN),
    )
    trees = TreeEnsemble.join([tree, tree], n_features=2)
    walker = FastPredictor(trees)
    X = rng.integers(-3, 95, (3000, 2)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 1] /= 20.0
    walker.raw(X)
    assert walker._masks.fits == (walker._masks._tables is not None) == fits
    assert_paths_agree(trees, X)


def test_too_large_mask_tables_are_not_built(monkeypatch):
    trees, X = categorical_stumps(4, np.arange(5000)), np.zeros((3000, 2))
    assert FastPredictor(trees).masks_for(3000, slice(None))
    assert not FastPredictor(trees).masks_for(8, slice(None))  # but not for few rows
    monkeypatch.setattr(leaf_masks, "MAX_ENTRIES", 10)
    assert not FastPredictor(trees).masks_for(3000, slice(None))
    assert_paths_agree(trees, X)


def test_threshold_below_all_numbers_is_not_used_by_masks():
    n = 7
    inner = np.arange(n)
    tree = Tree(  # a chain; of its first question missing values go left, and nothing else does
        feature=np.append(0 * inner, [-1] * (n + 1)),
        threshold=np.append([-np.inf, 0, 1, 2, 3, 4, 5], np.zeros(n + 1)),
        left=np.append(n + inner, [-1] * (n + 1)),
        right=np.append(np.append(inner[1:], 2 * n), [-1] * (n + 1)),
        value=np.arange(2 * n + 1.0)[:, None],
        default_left=np.append([True], [False] * (2 * n)),
        missing=np.full(2 * n + 1, Missing.NAN),
    )
    trees = TreeEnsemble.join([tree] * 3, n_features=1, comparison="<")
    X = np.tile([[0.5], [np.nan], [-3.0], [5.0]], (600, 1))
    assert np.array_equal(FastPredictor(trees).raw(X), trees.raw(X))
    assert not FastPredictor(trees)._masks.fits


def test_single_round_is_walked_where_row_layout_costs_more():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 40))
    y = X @ rng.normal(size=40)
    model = HistogramBoostingRegressor(n_estimators=60, n_jobs=1).fit(X, y)
    walker = model._walker
    assert walker.masks_for(3000, slice(0, 1)) is None
    assert walker.masks_for(3000, slice(None)) is walker._masks
    *_, last = model.staged_predict(X)
    assert np.array_equal(last, model.predict(X))


def test_ensemble_without_trees_predicts_its_base():
    trees = TreeEnsemble.join([], n_features=2, base=np.array([3.0]))
    walker = FastPredictor(trees)
    assert walker._masks.fits
    assert np.array_equal(walker.raw(np.zeros((2000, 2))), np.full((2000, 1), 3.0))


def test_trees_are_packed_at_the_first_prediction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 3] = rng.integers(0, 9, 300)
    y = X[:, 0] + (X[:, 3] > 4)
    for categorical in ([], [3]):
        model = HistogramBoostingRegressor(n_estimators=5, categorical_feature=categorical)
        model.fit(X, y)
        stored = pickle.dumps(model)
        assert "packed" not in model._walker.__dict__
        expected = FastPredictor(model.ensemble_).raw(X)[:, 0]
        assert np.array_equal(model.predict(X), expected)
        assert "packed" in model._walker.__dict__
        assert np.array_equal(pickle.loads(stored).predict(X), expected)
        with pytest.raises(AttributeError, match="no attribute 'absent'"):
            model._walker.absent  # noqa: B018
