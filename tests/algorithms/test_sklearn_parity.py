"""Tests of ``parity="scikit-learn"``: trees of the library, bitwise."""

import numpy as np
import pytest
from columns import seeds
from hypothesis import given
from hypothesis import strategies as st
from numba import config
from parity_sklearn import (
    CRITERIA,
    DRAWS,
    KINDS_AND_CRITERIA,
    LIMITS,
    REFERENCE,
    WEIGHTS,
    check_bag,
    check_tree,
    fit_both,
)
from sklearn import datasets, ensemble, tree
from sktrees import difference

from algorithms import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from algorithms.estimator import library_versions as parity
from algorithms.parity import sklearn_grower
from algorithms.parity.kernels.sklearn_grow import grow_by_sklearn_rules


@given(
    seed=seeds,
    how=st.sampled_from(KINDS_AND_CRITERIA),
    limits=LIMITS,
    weights=WEIGHTS,
    n=st.integers(2, 200),
)
def test_trees_equal_scikit_learn_bitwise(seed, how, limits, weights, n):
    check_tree(seed, *how, limits, weights, n)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 40}, {"max_features": "sqrt"}])
@pytest.mark.parametrize("criterion", CRITERIA[DecisionTreeRegressor])
def test_trees_on_real_values_equal_scikit_learn(criterion, limits):
    X, y = datasets.load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    both = {"criterion": criterion, "random_state": 3, **limits}
    for w in (None, weight):
        assert difference(*fit_both(DecisionTreeRegressor, X, y, w, **both)) == ""


@pytest.mark.parametrize("load", [datasets.load_iris, datasets.load_wine, datasets.load_digits])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_trees_on_real_classes_equal_scikit_learn(load, criterion):
    X, y = load(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    for limits in ({}, {"max_features": "sqrt", "ccp_alpha": 0.003}, {"max_leaf_nodes": 10}):
        both = {"criterion": criterion, "random_state": 7, **limits}
        for w in (None, weight):
            assert difference(*fit_both(DecisionTreeClassifier, X, y, w, **both)) == ""


def test_pruning_path_equals_scikit_learn():
    X, y = datasets.load_diabetes(return_X_y=True)
    weight = np.random.default_rng(1).uniform(0.1, 2, len(y))
    ours = DecisionTreeRegressor(random_state=0, min_samples_leaf=5, parity="scikit-learn")
    theirs = tree.DecisionTreeRegressor(random_state=0, min_samples_leaf=5)
    a = ours.cost_complexity_pruning_path(X, y, sample_weight=weight)
    b = theirs.cost_complexity_pruning_path(X, y, sample_weight=weight)
    assert np.array_equal(a.ccp_alphas, b.ccp_alphas)
    assert np.array_equal(a.impurities, b.impurities)


def test_classes_of_zero_weight_leave_an_empty_node():
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    weights = {0: 0.0, 1: 0.0}
    ours, theirs = fit_both(DecisionTreeClassifier, X, y, class_weight=weights, random_state=0)
    assert ours.tree_.n_node_samples.tolist() == theirs.tree_.n_node_samples.tolist() == [0]
    assert np.isnan(ours.tree_.value).all()
    assert np.isnan(theirs.tree_.value).all()


def test_tree_that_outgrows_its_arrays_is_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    monkeypatch.setattr(sklearn_grower, "INITIAL_CAPACITY", 3)
    assert difference(*fit_both(DecisionTreeRegressor, X, y, random_state=0)) == ""


@given(
    seed=seeds,
    kind=st.sampled_from([BaggingClassifier, BaggingRegressor]),
    draws=DRAWS,
    weighted=st.booleans(),
)
def test_bagging_equals_scikit_learn_bitwise(seed, kind, draws, weighted):
    check_bag(seed, kind, draws, weighted)


def test_bagging_parity_with_limited_trees_and_threads():
    X, y = datasets.load_diabetes(return_X_y=True)
    limits = {"max_depth": 4, "max_features": 3, "criterion": "absolute_error"}
    given_both = {"n_estimators": 4, "random_state": 2}
    theirs = ensemble.BaggingRegressor(tree.DecisionTreeRegressor(**limits), **given_both)
    expected = theirs.fit(X, y).predict(X)
    model = DecisionTreeRegressor(**limits)
    for threads in (1, 2):
        ours = BaggingRegressor(model, parity="scikit-learn", n_jobs=threads, **given_both)
        assert np.array_equal(ours.fit(X, y).predict(X), expected)
    assert model.parity is None
    assert ours.estimator_.parity == "scikit-learn"


def test_bagging_of_parity_trees_needs_no_parity_of_its_own():
    X, y = datasets.load_diabetes(return_X_y=True)
    ours = BaggingRegressor(DecisionTreeRegressor(parity="scikit-learn"), random_state=2)
    theirs = ensemble.BaggingRegressor(random_state=2)
    assert np.array_equal(ours.fit(X, y).predict(X), theirs.fit(X, y).predict(X))


def test_parity_does_not_modify_its_inputs():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(50, 3)), rng.normal(size=50), rng.random(50)
    before = X.copy(), y.copy(), weight.copy()
    DecisionTreeRegressor(parity="scikit-learn").fit(X, y, sample_weight=weight)
    for a, b in zip(before, (X, y, weight), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_read_only_arrays_use_the_same_kernel():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(50, 3)), rng.normal(size=50), rng.random(50)
    for array in (X, y, weight):
        array.setflags(write=False)
    assert difference(*fit_both(DecisionTreeRegressor, X, y, weight, random_state=0)) == ""
    assert len(grow_by_sklearn_rules.signatures) == 1


@pytest.mark.parametrize("kind", list(REFERENCE))
def test_another_library_version_gives_a_warning(kind, monkeypatch):
    monkeypatch.setitem(parity.FOLLOWED, "scikit-learn", ("0.1",))
    X, y = datasets.load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match=r"rules of scikit-learn 0\.1, but 1\.") as caught:
        kind(parity="scikit-learn").fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_no_warning_without_parity_or_without_the_library(monkeypatch):
    monkeypatch.setitem(parity.FOLLOWED, "no-such-library", ("1.0",))
    parity.warn_of_other_version(None)
    parity.warn_of_other_version("no-such-library")


@pytest.mark.parametrize(
    ("y", "text"), [([1.0, -1.0, 2.0], r"y are negative"), ([0.0, 0.0, 0.0], r"y is not positive")]
)
def test_poisson_needs_counts_as_in_scikit_learn(y, text):
    X = np.arange(3.0)[:, None]
    with pytest.raises(ValueError, match=text) as expected:
        tree.DecisionTreeRegressor(criterion="poisson").fit(X, y)
    with pytest.raises(ValueError, match=text) as error:
        DecisionTreeRegressor(criterion="poisson", parity="scikit-learn").fit(X, y)
    assert str(error.value) == str(expected.value)


def test_unknown_library_is_refused():
    X, y = datasets.load_iris(return_X_y=True)
    for kind in REFERENCE:
        with pytest.raises(ValueError, match="'parity' parameter"):
            kind(parity="xgboost").fit(X, y)
