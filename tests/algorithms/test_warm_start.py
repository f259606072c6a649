"""Tests that a warm start with other columns or classes is refused and keeps the model."""

import numpy as np
import pandas as pd
import pytest

from algorithms import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

CLASSIFIERS = [BaggingClassifier, GradientBoostingClassifier, RandomForestClassifier]
REGRESSORS = [BaggingRegressor, GradientBoostingRegressor, RandomForestRegressor]
N = 60


def columns(count):
    return np.random.default_rng(count).normal(size=(N, count))


def grown(kind, X, y):
    """Return a model of two members, configured for two more, and its predictions."""
    model = kind(n_estimators=2, warm_start=True, random_state=0).fit(X, y)
    return model.set_params(n_estimators=4), model.predict(X)


def assert_refused(model, X, y, message):
    for _ in range(2):  # a refused fit leaves no state for the next one
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(("first", "second"), [(2, 3), (3, 2)])
def test_different_classes_are_refused(kind, first, second):
    X, y = columns(4), np.arange(N) % first
    model, before = grown(kind, X, y)
    assert_refused(model, X, np.arange(N) % second, r"y has the classes 0, 1.* warm_start=True")
    assert model.classes_.tolist() == list(range(first))
    assert np.array_equal(model.predict(X), before)
    assert len(model.fit(X, y).estimators_) == 4


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("other", [3, 6])
def test_different_columns_are_refused(kind, other):
    X, y = columns(4), np.arange(N) % 2
    model, before = grown(kind, X, y)
    assert_refused(model, columns(other), y, f"X has {other} features, and 4 .* warm_start=True")
    assert model.n_features_in_ == 4
    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_other_column_names_are_refused(kind):
    X, y = pd.DataFrame(columns(3), columns=["a", "b", "c"]), np.arange(N) % 2
    model, before = grown(kind, X, y)
    message = "X has the columns c, b, a, and a, b, c .* warm_start=True"
    assert_refused(model, X[["c", "b", "a"]], y, message)
    assert np.array_equal(model.predict(X), before)
    assert len(model.fit(X, y).estimators_) == 4


@pytest.mark.parametrize("parity", [None, "scikit-learn"])
def test_hist_gradient_boosting_refuses_other_data(parity):
    X, y = pd.DataFrame(columns(3), columns=["a", "b", "c"]), np.arange(N) % 2
    model = HistGradientBoostingClassifier(max_iter=2, warm_start=True, parity=parity).fit(X, y)
    before = model.set_params(max_iter=4).predict(X)
    assert_refused(model, X[["c", "b", "a"]], y, "X has the columns c, b, a, and a, b, c")
    assert_refused(model, X, np.arange(N) % 3, "y has the classes 0, 1, 2, and 0, 1 in")
    assert np.array_equal(model.predict(X), before)
    assert model.fit(X, y).n_iter_ == 4


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_cold_start_accepts_any_table(kind):
    model = kind(n_estimators=2, random_state=0).fit(columns(4), np.arange(N) % 2)
    assert model.fit(columns(3), np.arange(N) % 3).n_features_in_ == 3


def test_failed_cold_fit_keeps_the_earlier_members():
    X, y = columns(4), np.arange(N) % 2
    model = BaggingClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="Out of bag"):
        model.set_params(oob_score=True, bootstrap=False).fit(columns(3), y)
    model.set_params(oob_score=False, bootstrap=True, warm_start=True, n_estimators=4)
    assert_refused(model, columns(3), y, "X has 3 features, and 4")
    model.fit(X, y)
    assert [member.n_features_in_ for member in model] == [4] * 4
