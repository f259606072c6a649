"""Batches of rounds of symmetric trees give the same bits as rounds one by one."""

import numpy as np
import pytest
from kernels import callable_kernel

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.symmetric import base, round_batches
from algorithms.symmetric.kernels.row_sampling import mean_size, sum_squares

CASES = {
    "defaults": {},
    "several leaf steps": {"leaf_estimation_iterations": 4, "leaf_estimation_method": "Gradient"},
    "no sampling": {"bootstrap_type": "No", "rsm": 0.4, "score_function": "L2"},
    "Bernoulli": {"bootstrap_type": "Bernoulli", "random_strength": 0.0, "depth": 3},
    "fixed MVS": {"mvs_reg": 0.5, "subsample": 0.4, "border_count": 9, "depth": 8},
}


def table(loss, n_rows):
    """Return X with missing values and a constant column, and targets for a loss."""
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 6))
    X[:, 2], X[:, 3] = 1.0, rng.integers(0, 2, n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=n_rows) / 5
    if loss == "Logloss":
        return X, y > np.median(y)
    return X, np.round(np.abs(y)) if loss == "Poisson" else y


def fit(loss, n_rows, *, is_weighted, **params):
    """Return a fitted model."""
    X, y = table(loss, n_rows)
    kind = SymmetricBoostingClassifier if loss == "Logloss" else SymmetricBoostingRegressor
    weight = np.arange(n_rows) % 4 if is_weighted else None
    params = {"iterations": 30, "thread_count": 1, "random_seed": 2} | params
    return kind(loss_function=loss, **params).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("loss", ["RMSE", "Logloss", "Poisson"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_batches_and_single_rounds_give_the_same_trees(loss, case, is_weighted, monkeypatch):
    monkeypatch.setattr(round_batches, "MAX_ROUNDS", 12)
    called = []

    def add(booster, count, after):
        round_batches.add_in_batches(booster, count, after)
        called.append(len(booster.done))

    monkeypatch.setattr(base, "add_in_batches", add)
    trees = fit(loss, 400, is_weighted=is_weighted, **CASES[case])._trees
    assert called == [30]
    monkeypatch.setattr(base, "can_batch", lambda _: False)
    expected = fit(loss, 400, is_weighted=is_weighted, **CASES[case])._trees
    assert len(trees) == len(expected) == 30
    for tree, other in zip(trees, expected, strict=True):
        for field in ("features", "borders", "nan_right", "values", "weights"):
            own = getattr(tree, field)
            assert own.dtype == getattr(other, field).dtype
            np.testing.assert_array_equal(own, getattr(other, field))


@pytest.mark.parametrize("n_rows", [2, 9000])
def test_very_small_and_larger_tables_are_batched(n_rows, monkeypatch):
    trees = fit("RMSE", n_rows, is_weighted=False, iterations=3)._trees
    monkeypatch.setattr(base, "can_batch", lambda _: False)
    expected = fit("RMSE", n_rows, is_weighted=False, iterations=3)._trees
    for tree, other in zip(trees, expected, strict=True):
        np.testing.assert_array_equal(tree.borders, other.borders)
        np.testing.assert_array_equal(tree.values, other.values)


def test_diverging_leaf_values_raise_an_error():
    X, y = table("Poisson", 100)
    model = SymmetricBoostingRegressor(
        loss_function="Poisson", learning_rate=1e4, iterations=50, leaf_estimation_iterations=1
    )
    with pytest.raises(ValueError, match="finite"):
        model.fit(X, y)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 15, 16, 1000, 4097])
def test_sum_of_squares_is_that_of_a_loop_over_exact_numbers(n):
    values = np.random.default_rng(n).integers(-1000, 1000, n).astype(np.float64)
    assert sum_squares(values) == (values**2).sum()


@pytest.mark.parametrize("n", [1, 2, 4, 8, 64, 128, 256, 4096])
def test_mean_size_has_the_bits_of_numpy(n):
    values = np.random.default_rng(n).normal(size=n)
    assert callable_kernel(mean_size)(values, np.empty(n)) == np.sqrt(values**2).mean()
