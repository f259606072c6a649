"""``parity="scikit-learn"``: the library's own trees to the bit, whatever is summed."""

import warnings

import numpy as np
import pytest
from columns import seeds, table
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets, ensemble, tree
from sktrees import difference

from algorithms import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from algorithms._common import parity, sklearn_growing

REFERENCE = {
    DecisionTreeClassifier: tree.DecisionTreeClassifier,
    DecisionTreeRegressor: tree.DecisionTreeRegressor,
    BaggingClassifier: ensemble.BaggingClassifier,
    BaggingRegressor: ensemble.BaggingRegressor,
}
CRITERIA = {
    DecisionTreeClassifier: ["gini", "entropy", "log_loss"],
    DecisionTreeRegressor: ["squared_error", "absolute_error", "poisson"],
}
LIMITS = st.fixed_dictionaries(
    {"random_state": st.integers(0, 10**6)},
    optional={
        "max_depth": st.integers(1, 6),
        "max_features": st.sampled_from([1, "sqrt", "log2", 0.5]),
        "max_leaf_nodes": st.integers(2, 30),
        "min_samples_leaf": st.sampled_from([2, 5, 0.1]),
        "min_samples_split": st.sampled_from([5, 0.2]),
        "min_weight_fraction_leaf": st.sampled_from([0.05, 0.2]),
        "min_impurity_decrease": st.sampled_from([0.001, 0.02]),
        "ccp_alpha": st.sampled_from([0.001, 0.02, 0.1]),
    },
)
WEIGHTS = st.sampled_from(["unit", "integer", "float", "skewed"])


def weights_of(rng, kind, n):
    """Return weights (n,) of a kind, the last one above 0; or None."""
    found = {
        "unit": lambda: None,
        "integer": lambda: np.append(rng.integers(0, 4, n - 1), 1).astype(float),
        "float": lambda: rng.uniform(0.1, 2.0, n),
        "skewed": lambda: np.append(rng.lognormal(0, 3, n - 1) * (rng.random(n - 1) < 0.7), 1.0),
    }
    return found[kind]()


def target_of(rng, kind, criterion, X):
    """Return class codes, values or counts: noise, or in part a function of the first column."""
    n, first = len(X), np.nan_to_num(X[:, 0])
    if kind in {DecisionTreeClassifier, BaggingClassifier}:
        k = int(rng.choice([1, 2, 2, 3, 10]))
        return rng.integers(0, k, n) if rng.random() < 0.5 else (first * 3).astype(np.int64) % k
    if criterion == "poisson":
        counts = rng.poisson(np.minimum(np.abs(first), 5) + 0.2).astype(float)
        return np.append(counts[1:], 1.0) * rng.choice([1.0, 0.1])
    return np.round(rng.normal(size=n) + first * rng.integers(2), rng.choice([0, 1, 15]))


def fit_both(kind, X, y, weight=None, **params):
    """Return our estimator in parity mode and scikit-learn's, fitted."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB")
        warnings.filterwarnings("ignore", ".*low number")
        warnings.filterwarnings("ignore", "invalid value encountered in divide")
        warnings.filterwarnings("ignore", "When fitting")
        ours = kind(parity="scikit-learn", **params).fit(X, y, sample_weight=weight)
        theirs = REFERENCE[kind](**params).fit(X, y, sample_weight=weight)
    return ours, theirs


def check_tree(seed, kind, criterion, limits, weights, n):
    """Grow one tree both ways and compare every bit of it."""
    rng = np.random.default_rng(seed)
    X = table(rng, n, int(rng.integers(1, 8)), missing=rng.choice([0.0, 0.3]))
    y = target_of(rng, kind, criterion, X)
    weight = weights_of(rng, weights, n)
    params = {"criterion": criterion, **limits}
    few = kind is DecisionTreeRegressor or len(np.unique(y)) == 2
    if few and rng.random() < 0.3:
        params["monotonic_cst"] = rng.integers(-1, 2, X.shape[1])
    if kind is DecisionTreeClassifier and rng.random() < 0.2:
        params["class_weight"] = "balanced"
    ours, theirs = fit_both(kind, X, y, weight, **params)
    assert difference(ours, theirs) == ""
    new = table(rng, 20, X.shape[1], missing=0.3)
    assert np.array_equal(ours.predict(new), theirs.predict(new))


KINDS_AND_CRITERIA = [(kind, name) for kind, names in CRITERIA.items() for name in names]


@given(
    seed=seeds,
    how=st.sampled_from(KINDS_AND_CRITERIA),
    limits=LIMITS,
    weights=WEIGHTS,
    n=st.integers(2, 200),
)
@settings(max_examples=250)
def test_trees_are_scikit_learns_to_the_bit(seed, how, limits, weights, n):
    check_tree(seed, *how, limits, weights, n)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 40}, {"max_features": "sqrt"}])
@pytest.mark.parametrize("criterion", CRITERIA[DecisionTreeRegressor])
def test_real_values_give_the_same_trees(criterion, limits):
    X, y = datasets.load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    both = {"criterion": criterion, "random_state": 3, **limits}
    for w in (None, weight):
        assert difference(*fit_both(DecisionTreeRegressor, X, y, w, **both)) == ""


@pytest.mark.parametrize("load", [datasets.load_iris, datasets.load_wine, datasets.load_digits])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_real_classes_give_the_same_trees(load, criterion):
    X, y = load(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    for limits in ({}, {"max_features": "sqrt", "ccp_alpha": 0.003}, {"max_leaf_nodes": 10}):
        both = {"criterion": criterion, "random_state": 7, **limits}
        for w in (None, weight):
            assert difference(*fit_both(DecisionTreeClassifier, X, y, w, **both)) == ""


def test_the_pruning_path_is_scikit_learns():
    X, y = datasets.load_diabetes(return_X_y=True)
    weight = np.random.default_rng(1).uniform(0.1, 2, len(y))
    ours = DecisionTreeRegressor(random_state=0, min_samples_leaf=5, parity="scikit-learn")
    theirs = tree.DecisionTreeRegressor(random_state=0, min_samples_leaf=5)
    a = ours.cost_complexity_pruning_path(X, y, sample_weight=weight)
    b = theirs.cost_complexity_pruning_path(X, y, sample_weight=weight)
    assert np.array_equal(a.ccp_alphas, b.ccp_alphas)
    assert np.array_equal(a.impurities, b.impurities)


def test_a_tree_that_needs_more_room_is_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    monkeypatch.setattr(sklearn_growing, "FIRST_ROOM", 3)
    assert difference(*fit_both(DecisionTreeRegressor, X, y, random_state=0)) == ""


DRAWS = st.fixed_dictionaries(
    {"random_state": st.integers(0, 10**6), "n_estimators": st.integers(1, 5)},
    optional={
        "max_samples": st.sampled_from([0.5, 0.9, 7]),
        "max_features": st.sampled_from([0.5, 2, 3]),
        "bootstrap": st.just(False),
        "bootstrap_features": st.just(True),
    },
)


def check_bag(seed, kind, draws, weighted):
    """Train one bag both ways and compare every bit of its trees and predictions."""
    rng = np.random.default_rng(seed)
    X = table(rng, 80, 4, missing=rng.choice([0.0, 0.3]))
    y = target_of(rng, kind, "", X)
    weight = rng.uniform(0.3, 1, 80) if weighted else None
    draws = {**draws, "oob_score": draws.get("bootstrap", True)}
    ours, theirs = fit_both(kind, X, y, weight, **draws)
    for a, b in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert difference(a, b) == ""
    new = table(rng, 30, 4, missing=0.3)
    assert np.array_equal(ours.predict(new), theirs.predict(new))
    if draws["oob_score"] and kind is BaggingRegressor:
        assert np.array_equal(ours.oob_prediction_, theirs.oob_prediction_)


@given(
    seed=seeds,
    kind=st.sampled_from([BaggingClassifier, BaggingRegressor]),
    draws=DRAWS,
    weighted=st.booleans(),
)
@settings(max_examples=60)
def test_bags_are_scikit_learns_to_the_bit(seed, kind, draws, weighted):
    check_bag(seed, kind, draws, weighted)


def test_a_bag_follows_with_limited_trees_and_in_any_threads():
    X, y = datasets.load_diabetes(return_X_y=True)
    limits = {"max_depth": 4, "max_features": 3, "criterion": "absolute_error"}
    given_both = {"n_estimators": 4, "random_state": 2}
    theirs = ensemble.BaggingRegressor(tree.DecisionTreeRegressor(**limits), **given_both)
    wanted = theirs.fit(X, y).predict(X)
    model = DecisionTreeRegressor(**limits)
    for threads in (1, 2):
        ours = BaggingRegressor(model, parity="scikit-learn", n_jobs=threads, **given_both)
        assert np.array_equal(ours.fit(X, y).predict(X), wanted)
    assert model.parity is None
    assert ours.estimator_.parity == "scikit-learn"


def test_a_bag_of_trees_that_follow_needs_no_word_of_its_own():
    X, y = datasets.load_diabetes(return_X_y=True)
    ours = BaggingRegressor(DecisionTreeRegressor(parity="scikit-learn"), random_state=2)
    theirs = ensemble.BaggingRegressor(random_state=2)
    assert np.array_equal(ours.fit(X, y).predict(X), theirs.fit(X, y).predict(X))


def test_parity_does_not_change_what_it_is_given():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(50, 3)), rng.normal(size=50), rng.random(50)
    before = X.copy(), y.copy(), weight.copy()
    DecisionTreeRegressor(parity="scikit-learn").fit(X, y, sample_weight=weight)
    for a, b in zip(before, (X, y, weight), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("kind", list(REFERENCE))
def test_another_version_is_warned_of(kind, monkeypatch):
    monkeypatch.setitem(parity.FOLLOWED, "scikit-learn", "0.1")
    X, y = datasets.load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match=r"rules of scikit-learn 0\.1, but 1\.") as caught:
        kind(parity="scikit-learn").fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    kind().fit(X, y)


def test_a_library_that_is_not_installed_is_no_other_version(monkeypatch):
    monkeypatch.setitem(parity.FOLLOWED, "no-such-library", "1.0")
    parity.warn_of_other_version("no-such-library")


@pytest.mark.parametrize(
    ("y", "text"), [([1.0, -1.0, 2.0], r"y are negative"), ([0.0, 0.0, 0.0], r"y is not positive")]
)
def test_poisson_needs_counts_as_in_scikit_learn(y, text):
    X = np.arange(3.0)[:, None]
    with pytest.raises(ValueError, match=text) as wanted:
        tree.DecisionTreeRegressor(criterion="poisson").fit(X, y)
    with pytest.raises(ValueError, match=text) as found:
        DecisionTreeRegressor(criterion="poisson", parity="scikit-learn").fit(X, y)
    assert str(found.value) == str(wanted.value)


def test_an_unknown_library_is_refused():
    X, y = datasets.load_iris(return_X_y=True)
    for kind in REFERENCE:
        with pytest.raises(ValueError, match="'parity' parameter"):
            kind(parity="xgboost").fit(X, y)
