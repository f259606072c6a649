"""Tests that very large or small weights give bitwise the same models as weights near 1."""

import numpy as np
import pytest
from columns import seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import algorithms
from algorithms import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.estimator.sample_weight import bring_near_one

FAR = st.sampled_from([-990, -500, -33, 33, 500, 990])
MODELS = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(criterion="entropy", random_state=0, min_weight_fraction_leaf=0.05),
    DecisionTreeRegressor(random_state=0, max_leaf_nodes=12),
    algorithms.RandomForestRegressor(3, bootstrap=False, random_state=0),
    algorithms.BaggingClassifier(n_estimators=3, random_state=0),
    algorithms.AdaBoostClassifier(n_estimators=5, random_state=0),
    algorithms.GradientBoostingClassifier(n_estimators=5, random_state=0),
    algorithms.GradientBoostingRegressor(n_estimators=5, random_state=0, loss="huber"),
]


@given(seed=seeds, power=st.integers(-1000, 1000), n=st.integers(1, 20))
def test_only_the_scale_changes(seed, power, n):
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, n)
    scaled, result = bring_near_one(np.ldexp(weight, power))
    assert np.array_equal(np.ldexp(scaled, result - power), weight)
    assert 2.0**-33 <= scaled.max() <= 2.0**33
    assert (result == 0) == (abs(np.frexp(np.ldexp(weight, power).max())[1]) <= 32)


@pytest.mark.parametrize("weight", [None, np.zeros(3), np.array([1.0, np.inf]), np.array([-2.0])])
def test_unscalable_data_is_unchanged(weight):
    assert bring_near_one(weight) == (weight, 0)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@given(seed=seeds, power=FAR)
@settings(max_examples=8)
def test_model_does_not_depend_on_the_scale(model, seed, power):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(80, 3)), rng.uniform(0.5, 2.0, 80)
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    near = clone(model).fit(X, y, sample_weight=weight)
    far = clone(model).fit(X, y, sample_weight=np.ldexp(weight, power))
    assert np.array_equal(near.predict(X), far.predict(X))
    if hasattr(near, "tree_"):
        message = near.tree_.weighted_n_node_samples
        assert np.array_equal(far.tree_.weighted_n_node_samples, np.ldexp(message, power))
        assert np.array_equal(far.feature_importances_, near.feature_importances_)


@given(seed=seeds, scale=st.sampled_from([1e300, 1e-300, 1e150, 1e-150]))
@settings(max_examples=10)
def test_predictions_of_any_magnitude_are_finite(seed, scale):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60)) * scale
    for model in (DecisionTreeRegressor(), algorithms.RandomForestRegressor(3)):
        with np.errstate(over="ignore", invalid="ignore"):
            assert np.isfinite(model.set_params(random_state=0).fit(X, y).predict(X)).all()


@pytest.mark.parametrize("depth", [1, 3])
def test_learning_rate_of_two_diverges(depth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=300) > 1).astype(int)
    tree = DecisionTreeClassifier(max_depth=depth)
    model = algorithms.AdaBoostClassifier(tree, n_estimators=300, learning_rate=2.0).fit(X, y)
    assert np.isfinite(model.estimator_weights_).all()
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.training_error_bounds_).all()
    assert (model.predict(X) != y).mean() <= model.training_error_bounds_[-1] + 1e-12
