"""Symmetric trees of small tables: the kernels for them give the same trees as the general ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.runtime.threads import ALONE
from algorithms.symmetric import grower
from algorithms.symmetric.grower import GrownTree
from algorithms.symmetric.kernels.leaf_steps import NOT_PROVEN, largest_proven_step
from algorithms.symmetric.leaf_values import LeafEstimator
from algorithms.symmetric.objectives import find_objective

CASES = {
    "defaults": {},
    "L2": {"score_function": "L2", "bootstrap_type": "No"},
    "no noise": {"random_strength": 0.0, "rsm": 0.5},
    "deep": {"depth": 8, "bootstrap_type": "Bayesian"},
    "few bins": {"border_count": 15, "bootstrap_type": "Bernoulli"},
}


def table(n_classes, seed=0):
    """Return X with missing values, a constant and a binary column; targets; and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 8))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 3], X[:, 4] = 1.0, rng.integers(0, 2, len(X))
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2]) + rng.normal(size=len(X)) / 5
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return X, y, rng.random(len(X)) + 0.1


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_sorted_rows_and_histograms_give_the_same_trees(n_classes, case, monkeypatch):
    X, y, weight = table(n_classes)
    kind = SymmetricBoostingClassifier if n_classes else SymmetricBoostingRegressor

    def fit():
        model = kind(iterations=15, **CASES[case]).fit(X, y, sample_weight=weight)
        return model.predict_proba(X) if n_classes else model.predict(X)

    of_sorted_rows = fit()
    monkeypatch.setattr(grower, "FEW_CELLS", 0)
    np.testing.assert_array_equal(of_sorted_rows, fit())


SMOOTH = [
    (loss, method, backtracking)
    for loss in ("RMSE", "Logloss", "Poisson")
    for method in ("Newton", "Gradient")
    for backtracking in ("AnyImprovement", "No")
]


@pytest.mark.parametrize(
    ("loss", "method", "backtracking"), [*SMOOTH, ("Quantile", "Gradient", "No")]
)
@pytest.mark.parametrize("iterations", [1, 7])
@pytest.mark.parametrize("n_rows", [500, 12_000])  # one block, and 128 blocks
def test_one_call_and_steps_give_the_same_leaf_values(
    loss, method, backtracking, iterations, n_rows
):
    params = SimpleNamespace(
        leaf_estimation_method=method,
        leaf_estimation_iterations=iterations,
        leaf_estimation_backtracking=backtracking,
        l2_leaf_reg=3.0,
        loss_function=loss,
    )
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n_rows).astype(np.float32)
    weight = (rng.random(n_rows) * (rng.random(n_rows) < 0.8)).astype(np.float32)
    leaf_of = rng.integers(0, 7, n_rows).astype(np.uint16)  # the last leaf is empty
    score = rng.exponential(size=(1, n_rows))
    grown = GrownTree(np.zeros(3, np.int64), np.zeros(3, np.int64), leaf_of)
    objective = find_objective(params, 2 if loss == "Logloss" else 0)
    estimator = LeafEstimator(params, objective, y, weight, ALONE)
    values, weights = estimator.estimate(score, grown)
    estimator.uses_single_kernel = False
    expected = estimator.estimate(score, grown)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(weights, expected[1])
    assert np.count_nonzero(values) == 7


def log_loss_rows(n_rows, seed):
    """Return parameters, an objective, y, scores and a tree of log loss without weights."""
    params = SimpleNamespace(
        leaf_estimation_method="Newton",
        leaf_estimation_iterations=10,
        leaf_estimation_backtracking="AnyImprovement",
        l2_leaf_reg=3.0,
        loss_function="Logloss",
    )
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.1 + 0.2 * seed).astype(np.float32)
    leaf_of = rng.integers(0, 8, n_rows).astype(np.uint16)
    grown = GrownTree(np.zeros(3, np.int64), np.zeros(3, np.int64), leaf_of)
    score = np.exp(rng.normal(size=(1, n_rows)) * 3**seed)
    return params, find_objective(params, 2), y, score, grown


@pytest.mark.parametrize("n_rows", [50, 2000, 12_000])
@pytest.mark.parametrize("seed", range(4))
def test_proven_steps_are_those_of_computed_losses(n_rows, seed, monkeypatch):
    params, objective, y, score, grown = log_loss_rows(n_rows, seed)
    estimator = LeafEstimator(params, objective, y, np.empty(0, np.float32), ALONE)
    losses, original = [], LeafEstimator.loss
    monkeypatch.setattr(LeafEstimator, "loss", lambda *of: losses.append(1) or original(*of))
    found = [estimator.estimate(score, grown)]
    estimator.uses_single_kernel = False
    losses.clear()
    found.append(estimator.estimate(score, grown))
    n_computed = len(losses)
    estimator.has_float64_loss = False  # all losses are computed
    expected = estimator.estimate(score, grown)
    for values, weights in found:
        np.testing.assert_array_equal(values, expected[0])
        np.testing.assert_array_equal(weights, expected[1])
    assert n_computed < len(losses) - n_computed == 11


def test_a_step_without_a_clear_decrease_is_not_proven():
    sums = np.array([[1e-9, -1.0, 4.0]])  # a decrease of 5e-19
    changes = np.exp(np.array([1e-9]))
    assert largest_proven_step(sums, changes, 4, 4, 1.0, 3.0) == NOT_PROVEN
    leaf, change = np.array([[1.0, -1.0, 4.0]]), np.exp(np.ones(1))
    assert largest_proven_step(leaf, change, 4, 4, 1.0, 3.0) == 1.0
    assert largest_proven_step(sums * 1e9, np.exp(np.full(1, 2.5)), 4, 4, 1.0, 3.0) == NOT_PROVEN
    assert largest_proven_step(leaf, change, 4, 4, np.inf, 3.0) < 0.0
