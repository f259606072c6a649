"""Tests of monotone constraints of symmetric trees."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.symmetric.monotone import order_leaves

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4)).astype(np.float32).astype(np.float64)
X[rng.random(X.shape) < 0.05] = np.nan
FILLED = np.nan_to_num(X)
Y = FILLED[:, 0] + np.sin(3 * FILLED[:, 1]) - 0.2 * FILLED[:, 2] ** 3 + rng.normal(size=600) / 2
SMALL = {"iterations": 30, "random_seed": 0, "learning_rate": 0.2}


def steps_of(predict, column, rows=X[:40]):
    """Return the changes of predictions along a grid of a column's values, for each row."""
    grid = np.linspace(-4.0, 4.0, 50)
    tables = [np.tile(row, (len(grid), 1)) for row in rows]
    for table in tables:
        table[:, column] = grid
    return np.diff(predict(np.vstack(tables)).reshape(len(tables), -1), axis=1)


@pytest.mark.parametrize(
    "constraints",
    [[1, 0, -1, 0], (1, 0, -1), {0: 1, 2: -1}, "(1,0,-1,0)", "0:1,2:-1"],
    ids=str,
)
@pytest.mark.parametrize("loss", ["RMSE", "MAE", "Quantile:alpha=0.6"])
def test_predictions_follow_the_constraints(constraints, loss):
    params = {"loss_function": loss, "monotone_constraints": constraints} | SMALL
    model = SymmetricBoostingRegressor(**params).fit(X, Y)
    free = SymmetricBoostingRegressor(**params | {"monotone_constraints": None}).fit(X, Y)
    assert (steps_of(model.predict, 0) >= 0).all()
    assert (steps_of(model.predict, 2) <= 0).all()
    assert (steps_of(free.predict, 0) < 0).any()
    assert model.score(X, Y) > 0.5


def test_probabilities_follow_the_constraints_beside_categories():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(k=pd.Categorical(rng.integers(0, 5, 600)))
    label = Y + (frame["k"] == 2) > 0.5
    model = SymmetricBoostingClassifier(
        cat_features=["k"], monotone_constraints={"a": 1}, **SMALL
    ).fit(frame, label)

    def predict(rows):
        table = pd.DataFrame(rows, columns=list("abcd"))
        codes = np.full(len(rows), 2)
        table["k"] = pd.Categorical(codes, categories=range(5))
        return model.predict_proba(table)[:, 1]

    assert (steps_of(predict, 0) >= 0).all()
    assert model.score(frame, label) > 0.8


def test_threads_do_not_change_the_model():
    rows, y = np.tile(X, (60, 1)), np.tile(Y, 60)
    params = {"monotone_constraints": [1, 0, -1, 0]} | SMALL | {"iterations": 5}
    one, two = (
        SymmetricBoostingRegressor(thread_count=n, **params).fit(rows, y).predict(X) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_values_of_leaves_are_the_isotonic_regression():
    """The oracle minimizes the weighted squared distance under the same inequalities."""
    for signs in ([1], [-1, 1], [1, 0, -1], [1, 1, 1]):
        n_leaves = 1 << len(signs)
        values, weights = rng.normal(size=n_leaves), rng.uniform(0.5, 2.0, n_leaves)
        pairs = [
            (leaf, leaf + (1 << j), sign)
            for j, sign in enumerate(signs)
            for leaf in range(n_leaves)
            if sign and not leaf & (1 << j)
        ]
        limits = [
            {"type": "ineq", "fun": lambda v, a=a, b=b, s=s: (v[b] - v[a]) * s} for a, b, s in pairs
        ]
        wanted = minimize(
            lambda v, values=values, weights=weights: weights @ (v - values) ** 2,
            values,
            constraints=limits,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        ).x
        order_leaves(values, weights, np.array(signs))
        np.testing.assert_allclose(values, wanted, atol=1e-5)
        assert all((values[b] - values[a]) * sign >= 0.0 for a, b, sign in pairs)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"monotone_constraints": [2, 0, 0, 0]}, "-1, 0 or 1"),
        ({"monotone_constraints": "a:1"}, "not a column of X"),
        ({"monotone_constraints": "0:x"}, "age:1,price:-1"),
        ({"monotone_constraints": [1], "boosting_type": "Ordered"}, "boosting_type='Ordered'"),
        ({"monotone_constraints": [1], "grow_policy": "Lossguide"}, "SymmetricTree"),
        ({"monotone_constraints": [1], "parity": "catboost"}, "parity"),
        ({"monotone_constraints": [1], "cat_features": [0]}, "categorical columns, such as 0"),
    ],
    ids=str,
)
def test_invalid_constraints_are_refused(params, match):
    with pytest.raises((ValueError, TypeError), match=match):
        SymmetricBoostingRegressor(iterations=2, **params).fit(FILLED.round().astype(int), Y)
