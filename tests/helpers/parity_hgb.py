"""Bitwise comparison of histogram boosters in parity mode with HistGradientBoosting."""

import numpy as np
from parity_lightgbm import column, differing_node, target, unseen_rows
from sklearn import ensemble
from threadpoolctl import threadpool_limits

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.parity.hgb_boosting import SAME_AS
from algorithms.reference._export_sklearn import hist_gradient_boosting

CHOICES = {
    "num_leaves": [2, 4, 15, 31],
    "max_depth": [-1, None, 1, 3],
    "learning_rate": [0.1, 0.7, 1.0],
    "min_child_samples": [1, 5, 20],
    "reg_lambda": [0.0, 0.0, 1.0],
    "max_bin": [255, 2, 3, 15, 63],
    "random_state": [1, 12345],
}


def draw_case(seed, objective):
    """Return X, y, weights and parameters of a random case."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 600))
    results = [column(rng, n) for _ in range(int(rng.integers(1, 7)))]
    X = np.column_stack([np.where(np.isnan(x).all(), 0.0, x) for x, _ in results])
    params = {name: given[rng.integers(len(given))] for name, given in CHOICES.items()}
    categorical = []
    for f, (_, is_categorical) in enumerate(results):
        codes = np.minimum(X[:, f] + (np.nanmin(X[:, f]) < 0), params["max_bin"] - 1)
        if is_categorical and (codes >= 0).all() | np.isnan(codes).any():
            X[:, f] = codes
            categorical.append(f)
    weight = None
    if rng.random() < 0.5:
        weight = rng.lognormal(0.0, rng.choice([0.3, 2.0]), n)
        weight = rng.choice([weight, np.ones(n), np.round(weight)])
    return X, target(rng, X, objective), weight, params | {"categorical_feature": categorical}


def fit_both(objective, X, y, weight=None, *, n_estimators=5, **params):
    """Return our booster in parity mode and scikit-learn's, trained."""
    regression = objective == "regression"
    kind = HistogramBoostingRegressor if regression else HistogramBoostingClassifier
    params["n_estimators"] = n_estimators
    ours = kind(parity="scikit-learn", **params).fit(X, y, sample_weight=weight)
    theirs = {SAME_AS[name]: value for name, value in params.items()}
    theirs["max_depth"] = None if theirs.get("max_depth") in (None, -1) else theirs["max_depth"]
    theirs["categorical_features"] = list(theirs.get("categorical_features", [])) or None
    name = "Regressor" if regression else "Classifier"
    kind = getattr(ensemble, f"HistGradientBoosting{name}")
    with threadpool_limits(1):
        return ours, kind(early_stopping=False, **theirs).fit(X, y, sample_weight=weight)


def difference(ours, theirs):
    """Return the difference of the first two trees that are not bitwise equal, or an empty text."""
    theirs = hist_gradient_boosting(theirs)
    if ours.ensemble_.n_trees != theirs.n_trees or (ours.ensemble_.base != theirs.base).any():
        return f"other trees or base: {ours.ensemble_} and {theirs}"
    for number in range(theirs.n_trees):
        reported = differing_node(ours.ensemble_.tree(number), theirs.tree(number))
        if reported:
            return f"tree {number}: {reported}"
    return ""


def check_predictions(ours, theirs, X):
    """Compare raw scores and predictions bitwise."""
    raw = theirs._raw_predict(X)
    np.testing.assert_array_equal(ours._raw(X), raw)
    if hasattr(ours, "classes_"):
        np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def check_case(seed, objective):
    """Train a random case both ways; compare trees and predictions bitwise."""
    X, y, weight, params = draw_case(seed, objective)
    ours, theirs = fit_both(objective, X, y, weight, **params)
    assert difference(ours, theirs) == ""
    for rows in (X, unseen_rows(X, params["categorical_feature"])):
        check_predictions(ours, theirs, rows)
