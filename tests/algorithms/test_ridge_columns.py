"""Columns of ridge regressions: out-of-fold values, new rows, missing values and shares."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from algorithms import BoostingRegressor
from algorithms.gbdt.ridge_columns import LIMIT, RidgeColumns

PENALTY = 3.0


def table(n_rows=120):
    """Return X, two targets and folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)) * [1.0, 100.0, 0.01, 1.0] + 5.0
    targets = np.column_stack([X[:, 0] + X[:, 1] / 50.0, X[:, 2] * 100.0])
    return X, targets + 0.1 * rng.normal(size=targets.shape), rng.integers(3, size=n_rows)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_columns_are_predictions_of_regressions_on_the_other_folds(is_weighted):
    X, targets, fold = table()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(X)) if is_weighted else None
    ridge = RidgeColumns(PENALTY)
    columns = ridge.fit(X, [0, 1, 2], targets, weight, fold)
    used = X[:, :3]
    values = np.clip((used - used.mean(axis=0)) / used.std(axis=0), -LIMIT, LIMIT)
    unit = np.ones(len(X)) if weight is None else weight / weight.mean()
    for k in range(3):
        others, own = fold != k, fold == k
        model = Ridge(alpha=PENALTY).fit(values[others], targets[others], unit[others])
        np.testing.assert_allclose(columns[own], model.predict(values[own]), rtol=1e-9)
    every = Ridge(alpha=PENALTY).fit(values, targets, unit)
    np.testing.assert_allclose(ridge.transform(X), every.predict(values), rtol=1e-9)


def test_a_row_has_the_same_bits_alone():
    X, targets, fold = table()
    ridge = RidgeColumns(PENALTY)
    ridge.fit(X, [0, 1, 2, 3], targets, None, fold)
    alone = np.vstack([ridge.transform(row[None]) for row in X])
    np.testing.assert_array_equal(ridge.transform(X), alone)


@pytest.mark.parametrize(("n_rows", "n_features", "n_targets"), [(5000, 200, 8), (20000, 120, 1)])
def test_the_bits_do_not_depend_on_the_threads_of_blas(n_rows, n_features, n_targets):
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(n_rows, n_features)), rng.normal(size=(n_rows, n_targets))
    fold, columns = rng.integers(6, size=n_rows), []
    for threads in (1, 2):
        with threadpool_limits(threads):
            columns.append(RidgeColumns(PENALTY).fit(X, range(n_features), targets, None, fold))
    np.testing.assert_array_equal(*columns)


def test_missing_infinite_and_huge_values_give_finite_columns():
    X, targets, fold = table()
    X[:, 3] = np.nan
    X[::5, 0] = np.nan
    X[1, 1], X[2, 1] = np.inf, -np.inf
    X[::3, 2] *= 1e200
    ridge = RidgeColumns(PENALTY)
    columns = ridge.fit(X, [0, 1, 2, 3], targets, None, fold)
    assert np.isfinite(columns).all()
    assert np.isfinite(ridge.transform(X)).all()
    mean = X.copy()
    mean[::5, 0] = X[np.isfinite(X[:, 0]), 0].mean()
    np.testing.assert_allclose(ridge.transform(mean), ridge.transform(X), rtol=1e-12, atol=1e-12)


def test_shares_of_a_column_are_its_standardized_slopes():
    X, targets, fold = table()
    ridge = RidgeColumns(PENALTY)
    ridge.fit(X, [0, 1, 2], targets, None, fold)
    shares = ridge.shares(4)
    assert shares.shape == (4, 2)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    assert shares[1, 0] > shares[0, 0] > 10.0 * shares[2, 0]
    assert shares[2, 1] > 0.9
    assert (shares[3] == 0.0).all()


@pytest.mark.parametrize("n_weighted", [1, 2])
def test_rows_without_weight_outside_a_fold_are_no_error(n_weighted):
    X = np.random.default_rng(0).normal(size=(60, 3))
    weight = np.zeros(60)
    weight[:n_weighted] = 1.0
    model = BoostingRegressor(random_state=0).fit(X, X[:, 0], sample_weight=weight)
    assert np.isfinite(model.predict(X)).all()
