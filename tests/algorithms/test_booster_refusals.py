"""Tests that invalid arguments of both boosters are refused by name."""

import re

import numpy as np
import pandas as pd
import pytest

from algorithms import (
    DecisionTreeClassifier,
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingRegressor,
    RandomForestClassifier,
)

KINDS = [NewtonBoostingRegressor, HistogramBoostingRegressor]
every_kind = pytest.mark.parametrize("kind", KINDS)


def table(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    return X, X["a"].to_numpy() + 0.1 * rng.normal(size=n)


def refusal(model, error, **given):
    """Return the error message of a fit."""
    X, y = table()
    with pytest.raises(error) as message:
        model.fit(X, y, **given)
    return str(message.value)


@every_kind
@pytest.mark.parametrize(
    ("signs", "message"),
    [
        ([0.5, 0, 0, 0], r"monotone_constraints=\[0.5, 0, 0, 0\] must hold -1, 0 or 1"),
        ([1, 2, 0, 0], r"monotone_constraints=\[1, 2, 0, 0\] must hold -1, 0 or 1"),
        (["a", "b", "c", "d"], "monotone_constraints=.*must hold -1, 0 or 1"),
        ([None] * 4, "monotone_constraints=.*must hold -1, 0 or 1"),
        ([[1, 0, 0, 0]] * 4, "monotone_constraints=.*must hold -1, 0 or 1"),
        ({0: 0.7}, r"monotone_constraints=\{0: 0.7\} must hold -1, 0 or 1"),
        ({7: 1}, "monotone_constraints names 7, which is not a column of X"),
        ([1] * 5, r"monotone_constraints=.* has 5 numbers; X has 4 columns"),
    ],
)
def test_invalid_monotone_signs(kind, signs, message):
    assert re.match(message, refusal(kind(monotone_constraints=signs), ValueError))


@every_kind
@pytest.mark.parametrize(
    ("lists", "reported"),
    [
        ([[0.5, 1]], "interaction_constraints has 0.5 for a column"),
        ([[None]], "interaction_constraints has None for a column"),
        ([0, 1], r"interaction_constraints=\[0, 1\] must be lists of columns"),
        ([["q"]], "interaction_constraints names 'q', which is not a column of X"),
        ([[0, 9]], "interaction_constraints names 9, which is not a column of X"),
        ([[-1, 0]], "interaction_constraints names -1, which is not a column of X"),
    ],
)
def test_invalid_interaction_groups(kind, lists, reported):
    message = refusal(kind(interaction_constraints=lists), (TypeError, ValueError))
    assert re.match(reported, message)


@every_kind
@pytest.mark.parametrize(
    ("shape", "reported"),
    [
        (lambda X, _y: [X], "a list of DataFrame"),
        (lambda _X, _y: "valid", "a str"),
        (lambda X, y: [(X, y, y)], "a list of tuple"),
        (lambda X, y: {0: (X, y)}, "a dict"),
        (lambda _X, _y: 5, "a int"),
    ],
)
def test_evaluation_sets_that_are_not_pairs(kind, shape, reported):
    message = refusal(kind(n_estimators=2), TypeError, eval_set=shape(*table()))
    assert message.startswith("eval_set must be a list of (X, y), such as eval_set=[(X, y)]")
    assert message.endswith(f"; it is {reported}")


def test_single_pair_is_one_table_in_lightgbm_but_not_in_xgboost():
    X, y = table()
    model = HistogramBoostingRegressor(n_estimators=2, random_state=0)
    alone, listed = (model.fit(X, y, eval_set=t).evals_result_ for t in ((X, y), [(X, y)]))
    assert alone == listed
    message = refusal(NewtonBoostingRegressor(n_estimators=2), TypeError, eval_set=(X, y))
    assert message.endswith("it is a tuple of DataFrame, ndarray")
    listed = NewtonBoostingRegressor(n_estimators=2).fit(X, y, eval_set=[[X, y], (X, y)])
    assert len(listed.evals_result()) == 2


@every_kind
@pytest.mark.parametrize(
    ("objective", "reported"),
    [
        (lambda _y, _raw: None, "must return two arrays, gradients and hessians; it returned None"),
        (lambda y, _raw: (y, y, y), "it returned a tuple of ndarray, ndarray, ndarray"),
        (lambda y, _raw: y, "it returned a ndarray"),
        (lambda _y, _raw: "gh", "it returned a str"),
        (lambda y, _raw: (y[1:], y), r"returned gradients of shape \(59,\); scores have \(60,\)"),
        (lambda y, raw: (raw - y, -np.ones(len(y))), "returned negative hessians"),
    ],
)
def test_objective_with_invalid_result(kind, objective, reported):
    message = refusal(kind(n_estimators=2, objective=objective), (TypeError, ValueError))
    assert message.startswith("the objective ")
    assert re.search(reported, message)


@every_kind
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("what", ["gradients", "hessians"])
def test_objective_with_nonfinite_result(kind, what, bad):
    def objective(y, raw):
        h = np.ones_like(y)
        return (h * bad, h) if what == "gradients" else (raw - y, h * bad)

    message = refusal(kind(n_estimators=2, objective=objective), ValueError)
    assert message == f"{what} of the loss are not finite: the objective returned such numbers"


@pytest.mark.parametrize(
    ("objective", "watched", "message"),
    [
        (None, lambda y: y * np.nan, "Input y of eval_set contains NaN"),
        (None, lambda y: y * np.inf, "Input y of eval_set contains infinity"),
        (lambda y, raw: (raw - y, y * 0 + 1), lambda y: y * np.nan, "Input y of eval_set contains"),
        (None, lambda y: np.c_[y, y], "y should be a 1d array, got an array of shape (60, 2)"),
        ("poisson", lambda y: -y, "objective 'poisson' needs y >= 0 in eval_set"),
        ("tweedie", lambda y: -y, "objective 'tweedie' needs y >= 0 in eval_set"),
        ("gamma", lambda y: y * 0.0, "objective 'gamma' needs y > 0 in eval_set"),
        ("xentropy", lambda y: y + 2.0, "needs shares: y between 0 and 1 in eval_set"),
    ],
)
def test_invalid_evaluation_targets(objective, watched, message):
    X, y = table()
    y = 1.0 / (1.0 + np.exp(-y))  # fits every objective
    model = HistogramBoostingRegressor(n_estimators=2, objective=objective)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(X, y, eval_set=[(X, watched(y))])


def test_evaluation_counts_may_all_be_zero():
    X, y = table()
    model = HistogramBoostingRegressor(n_estimators=2, objective="poisson")
    model.fit(X, np.exp(y), eval_set=[(X, y * 0.0)])
    assert np.isfinite(model.evals_result_["valid_0"]["poisson"]).all()


def test_gamma_targets_below_the_smallest_normal_number():
    X, y = table()
    model = HistogramBoostingRegressor(n_estimators=2, objective="gamma")
    with pytest.raises(ValueError, match=r"needs y > 0, of at least 2\.2250738585072014e-308"):
        model.fit(X, np.exp(y) * 1e-310)


@pytest.mark.parametrize("weight", [np.nan, np.inf, "a", None])
@pytest.mark.parametrize(
    "kind", [HistogramBoostingClassifier, DecisionTreeClassifier, RandomForestClassifier]
)
def test_invalid_class_weights(kind, weight):
    X, y = table()
    model = kind(class_weight={0: weight, 1: 1})
    with pytest.raises(ValueError, match=f"class_weight of 0 is {weight!r}; it must be a finite"):
        model.fit(X, y > 0.0)


def test_class_weights_of_zero_only():
    X, y = table()
    for kind in (HistogramBoostingClassifier, DecisionTreeClassifier, RandomForestClassifier):
        with pytest.raises(ValueError, match="class_weight must leave at least one non-zero"):
            kind(class_weight={0: 0, 1: 0}).fit(X, y > 0.0)


def test_negative_class_weights_are_allowed_for_trees_only():
    X, y = table()
    DecisionTreeClassifier(class_weight={0: -1, 1: 1}).fit(X, y > 0.0)  # as scikit-learn's
    with pytest.raises(ValueError, match="class_weight of 0 is -1; it must be a finite number"):
        HistogramBoostingClassifier(class_weight={0: -1, 1: 1}).fit(X, y > 0.0)


def test_evaluation_weights_must_be_a_list():
    X, y = table()
    model = HistogramBoostingRegressor(n_estimators=2)
    reported = (
        "eval_sample_weight must be a list, with an entry for each of eval_set; it is a ndarray"
    )
    assert refusal(model, TypeError, eval_set=[(X, y)], eval_sample_weight=np.ones(60)) == reported
    message = refusal(model, ValueError, eval_set=[(X, y)], eval_sample_weight=[None, None])
    assert message == "eval_sample_weight has 2 entries for 1 tables of eval_set"
    message = refusal(model, ValueError, eval_set=[(X, y)], eval_sample_weight=[-np.ones(60)])
    assert "Negative values" in message


@pytest.mark.parametrize(
    ("returned", "described"), [(0.5, "a float"), ((0.5, True), "a tuple of float")]
)
def test_metric_with_invalid_result(returned, described):
    X, y = table()
    message = refusal(
        HistogramBoostingRegressor(n_estimators=2),
        TypeError,
        eval_set=[(X, y)],
        eval_metric=lambda _y, _scores: returned,
    )
    assert message.startswith(
        "eval_metric must return its name, the value, and whether higher is better; it returned "
        + described
    )


@pytest.mark.parametrize("rounds", [2.5, "x", [1]])
def test_invalid_numbers_of_rounds(rounds):
    X, y = table()
    model = HistogramBoostingRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match="num_iteration must be a whole number or None, not "):
        model.predict(X, num_iteration=rounds)
    assert len(model.predict(X, num_iteration=np.int32(1))) == 60


def test_objectives_of_another_task():
    message = refusal(HistogramBoostingRegressor(objective="binary"), ValueError)
    assert message.startswith(
        "objective 'binary' is not one for regression: these are cross_entropy"
    )
    assert "multiclass" not in message
    for name in ("regression", "nope"):
        message = refusal(HistogramBoostingClassifier(objective=name), ValueError)  # y of values
        assert "Unknown label type" in message
        X, y = table()
        with pytest.raises(
            ValueError,
            match=f"objective '{name}' is not one for classification: "
            "these are binary, multiclass, multiclass_ova, multiclassova, ova, ovr, softmax",
        ):
            HistogramBoostingClassifier(objective=name).fit(X, y > 0.0)
