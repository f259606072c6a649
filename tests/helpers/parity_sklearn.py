"""Bitwise comparison of trees and bags in parity mode with scikit-learn."""

import warnings

import numpy as np
from columns import table
from hypothesis import strategies as st
from sklearn import ensemble, tree
from sktrees import difference

from algorithms import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

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
KINDS_AND_CRITERIA = [(kind, name) for kind, names in CRITERIA.items() for name in names]
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
DRAWS = st.fixed_dictionaries(
    {"random_state": st.integers(0, 10**6), "n_estimators": st.integers(1, 5)},
    optional={
        "max_samples": st.sampled_from([0.5, 0.9, 7]),
        "max_features": st.sampled_from([0.5, 2, 3]),
        "bootstrap": st.just(False),
        "bootstrap_features": st.just(True),
    },
)


def weights_of(rng, kind, n):
    """Return weights (n,) of a kind, the last one above 0; or None."""
    results = {
        "unit": lambda: None,
        "integer": lambda: np.append(rng.integers(0, 4, n - 1), 1).astype(float),
        "float": lambda: rng.uniform(0.1, 2.0, n),
        "skewed": lambda: np.append(rng.lognormal(0, 3, n - 1) * (rng.random(n - 1) < 0.7), 1.0),
    }
    return results[kind]()


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
    """Grow one tree both ways and compare it bitwise."""
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


def check_bag(seed, kind, draws, weighted):
    """Train one bag both ways and compare its trees and predictions bitwise."""
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
