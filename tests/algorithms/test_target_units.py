"""Tests that regression trees and ensembles fit targets of any unit, also far from 0."""

import numpy as np
import pytest

from algorithms import (
    AdaBoostRegressor,
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    HistogramBoostingRegressor,
    RandomForestRegressor,
)
from algorithms.trees.target_scale import TargetScale, find_target_scale

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] * X[:, 2]).astype(float)
WEIGHT = RNG.integers(0, 3, 300).astype(float)
UNITS = {
    "nano": (1e-9, 0.0),
    "tiny": (1e-100, 0.0),
    "far": (1.0, 1e8),
    "small and far": (1e-9, 1.0),
}
MODELS = {
    "tree": DecisionTreeRegressor(),
    "leaf-wise": DecisionTreeRegressor(max_leaf_nodes=20),
    "random splits": DecisionTreeRegressor(splitter="random"),
    "absolute error": DecisionTreeRegressor(criterion="absolute_error", max_depth=5),
    "monotonic": DecisionTreeRegressor(monotonic_cst=[1, 0, 0]),
    "forest": RandomForestRegressor(n_estimators=5),
    "bagging": BaggingRegressor(n_estimators=5),
    "AdaBoost": AdaBoostRegressor(n_estimators=5),
    "boosting": GradientBoostingRegressor(n_estimators=20),
    "boosting on samples": GradientBoostingRegressor(n_estimators=20, subsample=0.5),
    "boosting of deep trees": GradientBoostingRegressor(n_estimators=5, max_depth=None),
    "boosting on some columns": GradientBoostingRegressor(n_estimators=20, max_features=2),
    "boosting, huber": GradientBoostingRegressor(n_estimators=20, loss="huber"),
    "boosting, absolute error": GradientBoostingRegressor(n_estimators=20, loss="absolute_error"),
    "boosting, quantile": GradientBoostingRegressor(n_estimators=20, loss="quantile", alpha=0.5),
    "boosting, global steps": GradientBoostingRegressor(n_estimators=20, step="global"),
    "boosting of any trees": GradientBoostingRegressor(
        n_estimators=20, estimator=DecisionTreeRegressor(max_depth=3)
    ),
    "histograms": HistogramBoostingRegressor(n_estimators=20),
}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", MODELS)
def test_fit_does_not_depend_on_the_unit(name, unit, weight):
    if unit == "tiny" and name == "histograms":
        pytest.skip("as in LightGBM, gradients are float32")
    factor, shift = UNITS[unit]
    model = MODELS[name].set_params(random_state=0)
    plain = model.fit(X, Y, sample_weight=weight).predict(X)
    moved = (model.fit(X, Y * factor + shift, sample_weight=weight).predict(X) - shift) / factor
    spread = Y.std()
    assert plain.std() > 0.3 * spread
    assert np.abs(plain - moved).mean() < 0.1 * spread  # rounding decides ties of drawn rows


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor])
def test_small_counts_are_fitted_by_the_poisson_criterion(kind):
    y = np.exp(Y)
    model = kind(criterion="poisson", random_state=0, max_depth=5)
    plain = model.fit(X, y).predict(X)
    scaled = model.fit(X, y * 2.0**-60).predict(X) * 2.0**60
    assert np.abs(scaled - plain).mean() < 0.02 * plain.std()  # rounding of y log y decides ties


def test_power_of_two_changes_only_the_unit():
    model = DecisionTreeRegressor(max_depth=4, min_impurity_decrease=0.01, random_state=0)
    plain = model.fit(X, Y).tree_
    small = model.set_params(min_impurity_decrease=0.01 * 2.0**-60).fit(X, Y * 2.0**-30).tree_
    assert np.array_equal(plain.threshold, small.threshold)
    assert np.array_equal(plain.values, small.values * 2.0**30)
    assert np.array_equal(plain.impurity, small.impurity * 2.0**60)
    assert np.array_equal(plain.compute_feature_importances(), small.compute_feature_importances())


def test_penalties_and_pruning_use_the_unit_of_the_target():
    penalized = {"leaf_penalty": 0.5, "l2_regularization": 1.0, "n_estimators": 5}
    model = GradientBoostingRegressor(**penalized, random_state=0)
    plain = model.fit(X, Y).predict(X)
    small = model.set_params(leaf_penalty=0.5 * 2.0**-60).fit(X, Y * 2.0**-30).predict(X)
    np.testing.assert_allclose(small * 2.0**30, plain)
    tree = DecisionTreeRegressor(ccp_alpha=0.01, random_state=0)
    plain = tree.fit(X, Y)
    leaves = plain.get_n_leaves()
    assert tree.set_params(ccp_alpha=0.01 * 2.0**-60).fit(X, Y * 2.0**-30).get_n_leaves() == leaves


@pytest.mark.parametrize(
    "y", [Y, 1e4 * Y, 1e-2 * Y, Y + 100.0, Y.round(), np.zeros(9), np.array([3.0, 3.0])]
)
def test_ordinary_targets_are_unchanged(y):
    assert find_target_scale(y).is_none
    assert TargetScale().apply(y) is y


def test_rows_of_weight_zero_do_not_count():
    y = np.array([1e-9, 3e-9, 1.0])
    assert find_target_scale(y).is_none
    assert not find_target_scale(y, np.array([1.0, 2.0, 0.0])).is_none
    assert find_target_scale(y, np.zeros(3)).is_none


def test_parity_equals_the_library():
    tree = DecisionTreeRegressor(parity="scikit-learn", random_state=0).fit(X, Y * 1e-9)
    assert tree.get_n_leaves() == 1
