"""``SymmetricBoosting*(parity="catboost")`` beside CatBoost itself, and in the harness."""

import numpy as np
import pytest
from catboost_kit import PARITY, first_difference, fit_library, random_case
from parity_kit import rows

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from harness import Spec, Task
from harness.analysis.parity import Side, compare
from harness.plugins.registry import load_registry

LOSSES = ["RMSE", "Logloss", "MultiClass", "Poisson", "MAE", "Quantile:alpha=0.3"]
MODULES = ["algorithms.symmetric_boosting", "algorithms.reference.catboost"]


def differs(seed, loss, folder, **params):
    """Return where our trees and CatBoost's differ on a random case."""
    X, y, weight, given = random_case(seed, loss)
    given = {**given, **params}
    classifies = loss in ("Logloss", "MultiClass")
    kind = SymmetricBoostingClassifier if classifies else SymmetricBoostingRegressor
    ours = kind(**PARITY, thread_count=1, **given).fit(X, y, sample_weight=weight)
    return first_difference(ours, fit_library(X, y, weight, given), folder)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", LOSSES)
def test_trees_and_leaf_values_are_catboosts_to_the_bit(loss, seed, tmp_path):
    assert differs(seed, loss, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_two_hundred_random_configurations_have_catboosts_bits(loss, tmp_path):
    found = {seed: differs(seed, loss, tmp_path) for seed in range(100, 300)}
    assert {seed: what for seed, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "params",
    [
        {"bootstrap_type": "MVS"},
        {"random_strength": 1},
        {"leaf_estimation_backtracking": "AnyImprovement", "leaf_estimation_iterations": 3},
    ],
)
def test_random_numbers_are_refused(params):
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
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
