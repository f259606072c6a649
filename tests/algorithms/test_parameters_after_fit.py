"""Tests that `set_params` after `fit` changes no prediction."""

import numpy as np
import pytest
from estimator_cases import (
    LOCAL,
    assert_same_predictions,
    is_classifier,
    predictions,
    small,
    table,
)
from sklearn.linear_model import LogisticRegression, Ridge

from algorithms import (
    BaggingRegressor,
    GradientBoostingRegressor,
    NewtonBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)

APART = {"n_jobs", "thread_count", "estimator", "estimators"}  # must be threads and estimators
OF_ANY = [name for name in LOCAL if name.startswith(("Bagging", "GradientBoosting", "AdaBoost"))]
ODD_VALUES = (7, 0.37, "other", None, [1])


@pytest.mark.parametrize("name", LOCAL)
def test_parameters_do_not_change_predictions_after_fit(name):
    """Each parameter is set to values of all kinds, also to values that `fit` would refuse."""
    X, y = table(name)
    X[::7, 2] = np.nan if name.startswith(("Newton", "Hist")) else 0.0
    expected = predictions(small(name).fit(X, y), X)
    for parameter in small(name).get_params(deep=False).keys() - APART:
        model = small(name).fit(X, y)
        for value in ODD_VALUES:
            setattr(model, parameter, value)
            assert_same_predictions(predictions(model, X), expected)


@pytest.mark.parametrize(
    "name", [n for n in LOCAL if n.startswith(("Bagging", "GradientB", "Ada"))]
)
def test_another_base_learner_does_not_change_predictions_after_fit(name):
    X, y = table(name)
    model = small(name).fit(X, y)
    expected = predictions(model, X)
    other = LogisticRegression() if is_classifier(name) else Ridge()
    assert_same_predictions(predictions(model.set_params(estimator=other), X), expected)
    if not is_classifier(name):
        model = small(name, estimator=Ridge()).fit(X, y)
        expected = model.predict(X)
        assert np.array_equal(model.set_params(estimator=None).predict(X), expected)


def test_warm_start_applies_its_learning_rate_to_all_rounds():
    X, y = table("GradientBoostingRegressor")
    model = GradientBoostingRegressor(n_estimators=2, warm_start=True, learning_rate=0.1)
    start = y.mean()
    step = model.fit(X, y).predict(X) - start
    model.set_params(n_estimators=3, learning_rate=0.2).fit(X, y)
    first_two = list(model.staged_predict(X))[1] - start
    np.testing.assert_allclose(first_two, 2.0 * step)


def test_warm_start_refuses_members_of_another_type():
    X, y = table("GradientBoostingRegressor")
    model = GradientBoostingRegressor(n_estimators=2, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="estimator is of another kind"):
        model.set_params(n_estimators=3, estimator=Ridge()).fit(X, y)


@pytest.mark.parametrize("kind", [BaggingRegressor, RandomForestRegressor])
def test_sampled_rows_do_not_change_after_fit(kind):
    X, y = table("BaggingRegressor")
    model = kind(n_estimators=2, random_state=0).fit(X, y)
    drawn = [rows.copy() for rows in model.estimators_samples_]
    model.set_params(bootstrap=False, max_samples=3)
    np.testing.assert_array_equal(model.estimators_samples_, drawn)


def test_missing_value_marker_does_not_change_after_fit(tmp_path):
    X, y = table("NewtonBoostingRegressor")
    X[::3, 0] = -9.0
    model = NewtonBoostingRegressor(n_estimators=3, missing=-9.0, random_state=0).fit(X, y)
    expected = model.predict(X)
    for value in (np.nan, 0.0, np.inf, None):
        assert np.array_equal(model.set_params(missing=value).predict(X), expected)
    model.set_params(missing=-9.0).save_model(tmp_path / "model.json", format="harness")
    loaded = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    assert np.array_equal(loaded.set_params(missing=np.nan).predict(X), expected)


def test_votes_do_not_change_after_fit():
    X, y = table("VotingClassifier")
    for voting in ("hard", "soft"):
        model = small("VotingClassifier", voting=voting, weights=[3, 1]).fit(X, y)
        expected = predictions(model, X)
        model.set_params(voting={"hard": "soft", "soft": "hard"}[voting], weights="linear")
        assert_same_predictions(predictions(model, X), expected)
    assert isinstance(model, VotingClassifier)


@pytest.mark.parametrize("kind", [VotingRegressor, StackingRegressor])
def test_blends_do_not_change_after_fit(kind):
    X, y = table(kind.__name__)
    model = small(kind.__name__).fit(X, y)
    expected = predictions(model, X)
    model.set_params(**({"weights": [1, 5]} if kind is VotingRegressor else {"passthrough": True}))
    assert_same_predictions(predictions(model, X), expected)
    model.set_params(tree="drop")
    assert_same_predictions(predictions(model, X), expected)
