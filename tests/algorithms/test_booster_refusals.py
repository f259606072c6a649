"""What neither booster of second order can read is refused, and by its name."""

import re

import numpy as np
import pandas as pd
import pytest

from algorithms import HistogramBoostingRegressor, NewtonBoostingRegressor

KINDS = [NewtonBoostingRegressor, HistogramBoostingRegressor]
every_kind = pytest.mark.parametrize("kind", KINDS)


def table(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    return X, X["a"].to_numpy() + 0.1 * rng.normal(size=n)


def refusal(model, error, **given):
    """Return what a fit is refused with."""
    X, y = table()
    with pytest.raises(error) as told:
        model.fit(X, y, **given)
    return str(told.value)


@every_kind
@pytest.mark.parametrize(
    ("signs", "told"),
    [
        ([0.5, 0, 0, 0], r"monotone_constraints=\[0.5, 0, 0, 0\] must hold -1, 0 or 1"),
        ([1, 2, 0, 0], r"monotone_constraints=\[1, 2, 0, 0\] must hold -1, 0 or 1"),
        (["a", "b", "c", "d"], "monotone_constraints=.*must hold -1, 0 or 1"),
        ([None] * 4, "monotone_constraints=.*must hold -1, 0 or 1"),
        ([[1, 0, 0, 0]] * 4, "monotone_constraints=.*must hold -1, 0 or 1"),
        ({0: 0.7}, r"monotone_constraints=\{0: 0.7\} must hold -1, 0 or 1"),
        ({7: 1}, "monotone_constraints names 7, which is no column of X"),
        ([1] * 5, r"monotone_constraints=.* has 5 numbers; X has 4 columns"),
    ],
)
def test_signs_that_are_none(kind, signs, told):
    assert re.match(told, refusal(kind(monotone_constraints=signs), ValueError))


@every_kind
@pytest.mark.parametrize(
    ("lists", "told"),
    [
        ([[0.5, 1]], "interaction_constraints has 0.5 for a column"),
        ([[None]], "interaction_constraints has None for a column"),
        ([0, 1], r"interaction_constraints=\[0, 1\] must be lists of columns"),
        ([["q"]], "interaction_constraints names 'q', which is no column of X"),
        ([[0, 9]], "interaction_constraints names 9, which is no column of X"),
        ([[-1, 0]], "interaction_constraints names -1, which is no column of X"),
    ],
)
def test_groups_that_are_none(kind, lists, told):
    found = refusal(kind(interaction_constraints=lists), (TypeError, ValueError))
    assert re.match(told, found)


@every_kind
@pytest.mark.parametrize(
    ("shape", "told"),
    [
        (lambda X, _y: [X], "a list of DataFrame"),
        (lambda _X, _y: "valid", "a str"),
        (lambda X, y: [(X, y, y)], "a list of tuple"),
        (lambda X, y: {0: (X, y)}, "a dict"),
        (lambda _X, _y: 5, "a int"),
    ],
)
def test_evaluation_tables_that_are_no_pairs(kind, shape, told):
    found = refusal(kind(n_estimators=2), TypeError, eval_set=shape(*table()))
    assert found.startswith("eval_set must be a list of (X, y), such as eval_set=[(X, y)]")
    assert found.endswith(f"; it is {told}")


def test_a_pair_is_one_table_as_in_lightgbm_and_none_as_in_xgboost():
    X, y = table()
    model = HistogramBoostingRegressor(n_estimators=2, random_state=0)
    alone, listed = (model.fit(X, y, eval_set=t).evals_result_ for t in ((X, y), [(X, y)]))
    assert alone == listed
    found = refusal(NewtonBoostingRegressor(n_estimators=2), TypeError, eval_set=(X, y))
    assert found.endswith("it is a tuple of DataFrame, ndarray")
    listed = NewtonBoostingRegressor(n_estimators=2).fit(X, y, eval_set=[[X, y], (X, y)])
    assert len(listed.evals_result()) == 2


@every_kind
@pytest.mark.parametrize(
    ("objective", "told"),
    [
        (lambda _y, _raw: None, "must return two arrays, gradients and hessians; it returned None"),
        (lambda y, _raw: (y, y, y), "it returned a tuple of ndarray, ndarray, ndarray"),
        (lambda y, _raw: y, "it returned a ndarray"),
        (lambda _y, _raw: "gh", "it returned a str"),
        (lambda y, _raw: (y[1:], y), r"returned gradients of shape \(59,\); scores have \(60,\)"),
        (lambda y, raw: (raw - y, -np.ones(len(y))), "returned negative hessians"),
    ],
)
def test_an_objective_that_returns_something_else(kind, objective, told):
    found = refusal(kind(n_estimators=2, objective=objective), (TypeError, ValueError))
    assert found.startswith("the objective ")
    assert re.search(told, found)
