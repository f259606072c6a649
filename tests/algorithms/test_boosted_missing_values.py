"""Tests of missing values in AdaBoost, bagging and gradient boosting."""

import numpy as np
import pytest
from sklearn import tree
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils import get_tags

from algorithms import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

CLASSIFIERS = [AdaBoostClassifier, BaggingClassifier, GradientBoostingClassifier]
REGRESSORS = [AdaBoostRegressor, BaggingRegressor, GradientBoostingRegressor]


def holed(n=300, n_classes=0, seed=0):
    """Return X with missing values that say something about y, new rows, and y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    is_missing = rng.random(X.shape) < 0.2
    y = X[:, 0] + 3.0 * is_missing[:, 1] + rng.normal(size=n) / 4
    X[is_missing] = np.nan
    new = rng.normal(size=(60, 4))
    new[rng.random(new.shape) < 0.3] = np.nan
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return X, new, y


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_are_those_of_the_exported_trees(kind, n_classes):
    X, new, y = holed(n_classes=n_classes if kind in CLASSIFIERS else 0)
    model = kind(n_estimators=12, random_state=0).fit(X, y)
    assert get_tags(model).input_tags.allow_nan
    assert model.score(X, y) > 0.75
    predict = getattr(model, "predict_proba", model.predict)
    for rows in (X, new, np.where(np.isnan(new), 0.0, new), new[:1]):
        assert predict(rows) == pytest.approx(model.ensemble_.predict(rows), abs=1e-12)
    if hasattr(model, "staged_predict"):
        assert np.array_equal(list(model.staged_predict(new))[-1], model.predict(new))


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_missing_values_absent_from_training_are_predicted(kind):
    X, new, y = holed(n_classes=2 if kind in CLASSIFIERS else 0)
    model = kind(n_estimators=6, random_state=0).fit(np.nan_to_num(X), y)
    predict = getattr(model, "predict_proba", model.predict)
    assert predict(new) == pytest.approx(model.ensemble_.predict(new), abs=1e-12)


def test_one_round_is_one_tree():
    X, new, y = holed()
    expected = DecisionTreeRegressor(max_depth=3).fit(X, y - y.mean()).predict(new) + y.mean()
    for params in ({}, {"parity": "scikit-learn"}, {"max_features": 4}):
        model = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, **params).fit(X, y)
        assert model.predict(new) == pytest.approx(expected, abs=1e-12)
    X, new, y = holed(n_classes=2)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    model = AdaBoostClassifier(n_estimators=1, random_state=0).fit(X, y)
    assert np.array_equal(model.predict(new), stump.predict(new))


def test_rounds_of_parity_mode_are_scikit_learn_trees_of_the_residuals():
    X, new, y = holed()
    params = {"n_estimators": 8, "subsample": 1.0, "parity": "scikit-learn", "random_state": 0}
    model = GradientBoostingRegressor(**params).fit(X, y)
    raw, predicted = np.full(len(y), y.mean()), np.full(len(new), y.mean())
    for member in model.estimators_[:, 0]:
        own = tree.DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y - raw)
        raw += 0.1 * own.predict(X)
        predicted += 0.1 * own.predict(new)
        assert np.array_equal(member.tree_.feature, own.tree_.feature)
    assert model.predict(new) == pytest.approx(predicted, abs=1e-9)


def test_rounds_of_adaboost_are_those_of_any_model():
    X, new, y = holed(n_classes=2)
    stump = tree.DecisionTreeClassifier(max_depth=1)
    params = {"n_estimators": 8, "random_state": 0}
    model = AdaBoostClassifier(parity="scikit-learn", **params).fit(X, y)
    other = AdaBoostClassifier(stump, parity="scikit-learn", **params).fit(X, y)
    assert np.array_equal(model.estimator_weights_, other.estimator_weights_)
    assert model.decision_function(new) == pytest.approx(other.decision_function(new), abs=1e-12)


def test_early_stopping_and_subsampling_work_with_missing_values():
    X, new, y = holed(n_classes=3)
    params = {"n_estimators": 40, "learning_rate": 1.0, "subsample": 0.7, "random_state": 0}
    model = GradientBoostingClassifier(n_iter_no_change=3, **params).fit(X, y)
    assert 1 < model.n_estimators_ < 40
    assert model.predict_proba(new) == pytest.approx(model.ensemble_.predict(new), abs=1e-12)
    leaves = model.apply(new)[:, 0, 0].astype(int)
    first = model.estimators_[0, 0].tree_
    assert np.array_equal(leaves, first.apply(np.asarray(new, np.float32)))


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(LogisticRegression()),
        AdaBoostRegressor(LinearRegression()),
        GradientBoostingRegressor(estimator=LinearRegression()),
        GradientBoostingRegressor(init=LinearRegression()),
    ],
    ids=str,
)
def test_models_that_need_values_refuse_missing_ones(model):
    X, _, y = holed(n_classes=2)
    assert not get_tags(model).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y)
    fitted = model.fit(np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(X)
