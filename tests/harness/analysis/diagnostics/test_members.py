"""Tests of votes, margins, strength and correlation, against definitions and scikit-learn."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
)

from algorithms.reference._export_sklearn import export
from harness.analysis.diagnostics import InapplicableError, margins, members, strength


def vote_tables(n_classes=3):
    """Return a strategy of (votes, y)."""
    size = st.tuples(st.integers(2, 6), st.integers(2, 8))
    codes = st.integers(0, n_classes - 1)

    def table(shape):
        votes = arrays(np.int64, shape, elements=codes)
        return st.tuples(votes, arrays(np.int64, shape[1], elements=codes))

    return size.flatmap(table)


@pytest.fixture(scope="module")
def forest():
    X, y = load_iris(return_X_y=True)
    return RandomForestClassifier(8, max_depth=2, random_state=0).fit(X[::2], y[::2]), X, y


def test_members_predict_like_the_estimator(forest):
    model, X, _ = forest
    votes = members.member_predictions(export(model), X)
    each = [m.predict(X.astype(np.float32)) for m in model.estimators_]
    np.testing.assert_array_equal(votes, each)


def test_members_of_a_regression_predict_values():
    X, y = load_diabetes(return_X_y=True)
    model = BaggingRegressor(n_estimators=4, random_state=0).fit(X, y)
    values = members.member_predictions(export(model), X)
    np.testing.assert_allclose(values.mean(axis=0), model.predict(X), rtol=1e-12)


def test_boosting_steps_and_single_trees_are_no_members():
    X, y = load_diabetes(return_X_y=True)
    boosted = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(InapplicableError, match="terms of a sum"):
        members.member_predictions(export(boosted), X)
    alone = export(BaggingRegressor(n_estimators=1).fit(X, y))
    with pytest.raises(InapplicableError, match="single tree"):
        members.member_predictions(alone, X)


def test_adaboost_margins_equal_decision_function():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=15, random_state=0).fit(X[::2], y[::2])
    trees = export(model)
    votes = members.member_predictions(trees, X)
    result = margins.margins(votes, trees.weight, y, 2)
    signed = model.decision_function(X) * (2 * y - 1)
    np.testing.assert_allclose(2 * result, signed, atol=1e-12)  # it counts both classes
    message = margins.distribution(result)
    assert message.wrong == pytest.approx(np.mean(model.predict(X) != y), abs=1e-12)
    assert (message.below[0], message.below[-1]) == (np.mean(result <= -1), 1)


@given(vote_tables(), st.data())
def test_margin_equals_its_formula(table, data):
    votes, y = table
    weight = data.draw(arrays(np.float64, len(votes), elements=st.floats(0.125, 4)))
    result = margins.margins(votes, weight, y, 3)
    for i in range(len(y)):
        got = [sum(w for w, v in zip(weight, votes[:, i], strict=True) if v == k) for k in range(3)]
        rest = max(got[k] for k in range(3) if k != y[i])
        assert result[i] == pytest.approx((got[y[i]] - rest) / weight.sum(), abs=1e-12)
    assert np.all(np.abs(result) <= 1 + 1e-12)


def test_zero_weight_members_are_reported():
    with pytest.raises(InapplicableError, match="are all zero"):
        margins.margins(np.zeros((2, 3), int), np.zeros(2), np.zeros(3, int), 2)


@given(vote_tables())
def test_strength_and_correlation_equal_breiman(table):
    votes, y = table
    result = strength.of_votes(votes, y, 3)
    n = votes.shape[1]
    share = np.array([[np.mean(votes[:, i] == k) for k in range(3)] for i in range(n)])
    rival, mr = [], []
    for i in range(n):
        others = [k for k in range(3) if k != y[i]]
        rival.append(max(others, key=lambda k, i=i: (share[i, k], -k)))
        mr.append(share[i, y[i]] - share[i, rival[i]])
    raw = np.array(
        [[(v == y[i]) * 1.0 - (v == rival[i]) for i, v in enumerate(row)] for row in votes]
    )
    pairs = [np.cov(a, b, bias=True)[0, 1] for a, b in itertools.permutations(raw, 2)]
    spread = np.mean([np.std(row) for row in raw])
    assert result.strength == pytest.approx(np.mean(mr), abs=1e-12)
    expected = np.mean(pairs) / spread**2 if spread > 1e-9 else 0
    assert result.correlation == pytest.approx(expected, abs=1e-9)
    assert result.error == pytest.approx(np.mean(np.array(mr) < -1e-12))
    assert result.member_error == np.mean(votes != y)


@given(arrays(np.float64, (5, 7), elements=st.floats(-10, 10)))
def test_variance_of_means_is_measured(values):
    law = strength.variance_law(values)
    assert law.m == (1, 2, 4, 5)
    two = [np.var(values[i : i + 2].mean(axis=0)) for i in (0, 2)]
    assert law.measured[1] == pytest.approx(np.mean(two), abs=1e-12)
    assert law.measured[3] == pytest.approx(np.var(values.mean(axis=0)), abs=1e-12)
    assert law.measured[0] == pytest.approx(law.variance, abs=1e-12)
    assert law.formula[0] == pytest.approx(law.variance, abs=1e-12)


def test_formula_holds_for_exchangeable_members_only():
    rng = np.random.default_rng(0)
    shared, own = rng.normal(size=20_000), rng.normal(size=(16, 20_000))
    alike = strength.variance_law(0.6 * shared + 0.8 * own)
    assert alike.correlation == pytest.approx(0.36, abs=0.01)
    assert alike.deviation < 0.02
    unequal = strength.variance_law((0.6 * shared + 0.8 * own) * np.linspace(0.1, 3, 16)[:, None])
    assert unequal.deviation > 0.05


def test_copies_correlate_fully_and_independent_members_not():
    rng = np.random.default_rng(1)
    y = rng.normal(size=5000)
    copies = strength.of_values(np.tile(y + rng.normal(size=5000), (4, 1)), y)
    assert copies.correlation == pytest.approx(1)
    assert copies.error == pytest.approx(copies.member_error)
    independent = strength.of_values(y + rng.normal(size=(40, 5000)), y)
    assert abs(independent.correlation) < 0.01
    assert independent.error == pytest.approx(independent.member_error / 40, rel=0.1)


def test_mean_correlation_covers_all_pairs():
    values = np.random.default_rng(2).normal(size=(6, 50)) + np.arange(50)
    pairs = np.corrcoef(values)[np.triu_indices(6, 1)]
    assert strength.mean_correlation(values) == pytest.approx(pairs.mean(), abs=1e-12)
    flat = np.vstack([values, np.zeros(50)])  # one that does not vary has none
    assert strength.mean_correlation(flat) == pytest.approx(pairs.mean(), abs=1e-12)
    assert strength.mean_correlation(np.zeros((3, 5))) == 0


def test_one_member_has_no_correlation():
    with pytest.raises(InapplicableError, match="two members"):
        strength.of_values(np.zeros((1, 5)), np.zeros(5))


def test_sentence_names_the_bound(forest):
    model, X, y = forest
    result = strength.of_votes(members.member_predictions(export(model), X), y, 3)
    s = result.strength
    assert result.bound == pytest.approx(result.correlation * (1 - s**2) / s**2)
    assert result.error <= result.bound
    assert f"strength {s:.3f}" in result.sentence
