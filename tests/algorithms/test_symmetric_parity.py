"""``SymmetricBoosting*(parity="catboost")`` beside CatBoost itself, and in the harness."""

import catboost
import numpy as np
import pytest
from catboost_kit import (
    PARITY,
    first_difference,
    fit_library,
    random_case,
    random_sampling,
    random_sparse_case,
    seeds_up_to,
)
from mirror_tables import SKIPPED, read_table
from parity_kit import rows

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.parity.catboost_leaves import log_loss_sums
from algorithms.symmetric.leaf_values import LeafEstimator
from harness import Spec, Task
from harness.analysis.parity import Side, compare
from harness.plugins.registry import load_registry

LOSSES = ["RMSE", "Logloss", "MultiClass", "Poisson", "MAE", "Quantile:alpha=0.3"]
MODULES = ["algorithms.symmetric_boosting", "algorithms.reference.catboost"]


def differs(seed, loss, folder, make=random_case, **params):
    """Return where our trees and CatBoost's differ on a random case."""
    X, y, weight, given = make(seed, loss)
    given = {**given, **params}
    classifies = loss in ("Logloss", "MultiClass")
    kind = SymmetricBoostingClassifier if classifies else SymmetricBoostingRegressor
    ours = kind(**{**PARITY, "thread_count": 1, **given}).fit(X, y, sample_weight=weight)
    return first_difference(ours, fit_library(X, y, weight, given), folder)


def backtracked(seed):
    """Return the parameters of leaf estimation with backtracking in a random configuration."""
    iterations = int(np.random.default_rng(10**6 + seed).integers(2, 12))
    return {
        "leaf_estimation_iterations": iterations,
        "leaf_estimation_backtracking": "AnyImprovement",
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", LOSSES)
def test_trees_and_leaf_values_are_catboosts_to_the_bit(loss, seed, tmp_path):
    assert differs(seed, loss, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_two_hundred_random_configurations_have_catboosts_bits(loss, tmp_path):
    found = {seed: differs(seed, loss, tmp_path) for seed in seeds_up_to(200)}
    assert {seed: what for seed, what in found.items() if what} == {}


@pytest.mark.parametrize("seed", [0, 3, 4])
@pytest.mark.parametrize("loss", ["Logloss", "Poisson", "RMSE"])
def test_backtracking_halves_the_same_steps(loss, seed, tmp_path):
    assert differs(seed, loss, tmp_path, **backtracked(seed)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["Logloss", "Poisson", "RMSE"])
def test_two_hundred_random_configurations_with_backtracking(loss, tmp_path):
    found = {s: differs(s, loss, tmp_path, **backtracked(s)) for s in seeds_up_to(200)}
    assert {seed: what for seed, what in found.items() if what} == {}


def test_the_metric_of_log_loss_is_a_float32_sum_in_four_lanes():
    rng = np.random.default_rng(0)
    score, change = np.exp(rng.normal(size=(2, 4 * 300 + 3)))
    y = (rng.random(len(score)) < 0.5).astype(np.float32)
    weight = rng.uniform(0.5, 2.0, len(score)).astype(np.float32)
    loss, total = log_loss_sums(score, change, y, weight)
    after = score * change
    exact = weight.astype(float) @ (np.log1p(after) - y * np.log(after))
    np.testing.assert_allclose(loss, exact, rtol=1e-4)
    lanes = np.zeros(4, np.float32)
    for row in range(0, 1200, 4):
        lanes += weight[row : row + 4]
    expected = float((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
    for row in (1200, 1201, 1202):
        expected += float(weight[row])
    assert total == expected


def test_a_halved_step_counts_as_an_iteration():
    """With n iterations there are n evaluations: the last one may follow n − 1 halvings."""
    tried = []

    class Rising(LeafEstimator):
        def _try_step(self, _score, step, _grown):
            tried.append(float(step[0, 0]))
            return np.inf, None

    estimator = Rising.__new__(Rising)
    left = estimator._search(None, np.ones((1, 1)), None, np.zeros((1, 1)), (0.0, 2))
    assert tried == [1.0, 0.5, 0.25]
    assert left == (0.0, -1)


def defaults(seed):
    """Return CatBoost's default sampling, noise and backtracking with a seed."""
    return {
        "bootstrap_type": None,
        "random_strength": 1.0,
        "leaf_estimation_backtracking": "AnyImprovement",
        "random_seed": seed,
    }


@pytest.mark.parametrize("seed", [0, 1, 4])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_default_sampling_and_noise_follow_catboosts_generator(loss, seed, tmp_path):
    assert differs(seed, loss, tmp_path, **defaults(seed)) == ""


@pytest.mark.parametrize("seed", [1, 4])
@pytest.mark.parametrize("loss", LOSSES)
def test_any_sampling_follows_catboosts_generator(loss, seed, tmp_path):
    assert differs(seed, loss, tmp_path, **random_sampling(seed)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_two_hundred_random_configurations_with_default_randomness(loss, tmp_path):
    found = {s: differs(s, loss, tmp_path, **defaults(s)) for s in seeds_up_to(200)}
    assert {seed: what for seed, what in found.items() if what} == {}


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_two_hundred_random_configurations_of_sampling(loss, tmp_path):
    found = {s: differs(s, loss, tmp_path, **random_sampling(s)) for s in seeds_up_to(200)}
    assert {seed: what for seed, what in found.items() if what} == {}


@pytest.mark.parametrize("mode", ["no numbers", "defaults", "any", "ordered"])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_bundles_of_sparse_columns_are_catboosts(loss, mode, tmp_path):
    found = [differs(s, loss, tmp_path, random_sparse_case, **sparse_mode(mode, s)) for s in (0, 3)]
    assert found == ["", ""]


def sparse_mode(mode, seed):
    """Return parameters of a test with sparse tables."""
    if mode == "ordered":
        return {"boosting_type": "Ordered", **random_sampling(seed)}
    modes = {"no numbers": {}, "defaults": defaults(seed), "any": random_sampling(seed)}
    return modes[mode]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["no numbers", "defaults", "any", "ordered"])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_two_hundred_random_sparse_tables(loss, mode, tmp_path):
    found = {
        s: differs(s, loss, tmp_path, random_sparse_case, **sparse_mode(mode, s))
        for s in seeds_up_to(200)
    }
    assert {seed: what for seed, what in found.items() if what} == {}


@SKIPPED
@pytest.mark.slow
@pytest.mark.parametrize("name", ["spambase", "agaricus_libsvm", "adult_onehot_a1a"])
def test_real_sparse_tables_have_catboosts_bits_at_its_defaults(name, tmp_path):
    X, y, _, _ = read_table(name, most_rows=20_000, seed=0)
    X = X.astype(np.float32)
    ours = SymmetricBoostingClassifier(parity="catboost", iterations=30, thread_count=1).fit(X, y)
    quiet = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}
    theirs = catboost.CatBoostClassifier(iterations=30, **quiet).fit(X, y)
    assert first_difference(ours, theirs, tmp_path) == ""


@pytest.mark.parametrize("classifies", [False, True])
def test_an_estimator_with_only_parity_is_catboost_with_its_defaults(classifies, tmp_path):
    rng = np.random.default_rng(classifies)
    X = rng.normal(size=(400, 25)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + rng.normal(size=400)
    y = y > 0 if classifies else y
    kind = SymmetricBoostingClassifier if classifies else SymmetricBoostingRegressor
    ours = kind(parity="catboost", iterations=20).fit(X, y)
    kind = catboost.CatBoostClassifier if classifies else catboost.CatBoostRegressor
    quiet = {"logging_level": "Silent", "allow_writing_files": False}
    theirs = kind(iterations=20, **quiet).fit(X, y)
    assert first_difference(ours, theirs, tmp_path) == ""


@pytest.mark.parametrize(
    "params",
    [
        {"bootstrap_type": "MVS", "cat_features": [0], "grow_policy": "Depthwise"},
        {"random_strength": 1, "cat_features": [0], "grow_policy": "Lossguide"},
        {"rsm": 0.5, "cat_features": [0], "boosting_type": "Ordered", "has_time": True},
        {
            "leaf_estimation_backtracking": "AnyImprovement",
            "leaf_estimation_iterations": 3,
            "loss_function": "MultiClass",
        },
    ],
)
def test_randomness_and_backtracking_that_are_not_followed_are_refused(params):
    X, y = np.arange(20)[:, None], np.arange(20) % 2
    model = SymmetricBoostingClassifier(**{**PARITY, **params}, iterations=2)
    with pytest.raises(ValueError, match=f"parity='catboost' needs {next(iter(params))}="):
        model.fit(X, y)


def compared(task):
    """Return what the harness says of our trees and CatBoost's."""
    registry, training = load_registry(modules=MODULES), rows(task, missing=True, weight=True)
    fixed = {k: v for k, v in PARITY.items() if k != "parity"}
    sides = []
    for name, params in (("symmetric_boosting", PARITY), ("catboost.plain", fixed)):
        algorithm = registry.algorithm(name)
        n_classes = {Task.BINARY: 2, Task.REGRESSION: 0}[task]
        spec = Spec(task, {**algorithm.params, "n_estimators": 4, **params}, 1, 1, n_classes)
        adapter = algorithm.adapter(spec)
        adapter.fit(adapter.prepare(training.X, training.y, training.weight))
        sides.append(Side(adapter.export_trees(), name, dict(spec.params), name))
    return compare(*sides, training)


@pytest.mark.parametrize("task", [Task.BINARY, Task.REGRESSION])
def test_the_harness_finds_the_same_bits(task):
    assert compared(task).agreement == "bits"
