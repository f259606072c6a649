"""Tests of verdicts on real trainings: equivalent, worse, undecided."""

import numpy as np
import pytest
from fake_runs import FakeRun, trial
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

from harness import Spec, Task
from harness.core.model import Split
from harness.data.providers.generators import GENERATORS
from harness.plugins.registry import load_registry

FOLDS = 5
ROUNDS = 100
REGISTRY = load_registry(modules=["harness.plugins.metrics", "algorithms.reference.lightgbm"])
LIGHTGBM = REGISTRY.algorithm("lightgbm.gbdt")


def boost(X, y, folds, *, seed=0, **params):
    """Train on each fold; return the task, arrays and facts of its trial."""
    k = len(np.unique(y))
    task = Task.BINARY if k == 2 else Task.MULTICLASS
    given = {**LIGHTGBM.params, "n_estimators": ROUNDS, "learning_rate": 0.1, "subsample": 0.5}
    given |= {"subsample_freq": 1, "verbosity": -1, **params}
    parts = StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y)
    trials = []
    for train, test in parts:
        adapter = LIGHTGBM.adapter(Spec(task, given, seed, 1, k))
        adapter.fit(adapter.prepare(X[train], y[train], None))
        output = adapter.predict(X[test])
        shares = np.bincount(y[train], minlength=k) / len(train)
        facts = {"train_rows": len(train), "test_rows": len(test), "train_prior": shares.tolist()}
        arrays = {"output": output, "y": y[test], "scale": np.float64(1)}
        trials.append((task, arrays, facts))
    return trials


def judged(*sides):
    """Return the verdict of the first of two algorithms, by their trials, against the second."""
    fake = FakeRun({"pairs": [["first", "second"]], "margin": 0.02})
    for name, trials in zip(("first", "second"), sides, strict=True):
        for fold, (task, arrays, facts) in enumerate(trials):
            where = {"split": Split(folds=len(trials), fold=fold), "task": task}
            fake.add(trial(name, "set", fold, **where), arrays, facts)
    (result,) = [a for a in fake.view(REGISTRY).accuracy if a.dataset]
    return result


@pytest.fixture(scope="module")
def large():
    """Rows enough for the difference of two seeds to be far below the margin."""
    (hastie,) = [g for g in GENERATORS if g.name == "hastie_10_2"]
    table = hastie.draw(rows=20_000, seed=0)
    return table.X.to_numpy(), table.y, FOLDS


@pytest.fixture(scope="module")
def second(large):
    return boost(*large, seed=2)


def test_two_seeds_of_one_algorithm_on_a_large_dataset_are_equivalent(large, second):
    verdict = judged(boost(*large, seed=1), second)
    assert verdict.verdict == "equivalent"
    assert verdict.difference.value != 0


def test_half_the_rounds_are_worse(large, second):
    verdict = judged(boost(*large, seed=1, n_estimators=ROUNDS // 2), second)
    assert verdict.verdict == "worse"
    assert verdict.difference.high < -verdict.margin


def test_three_folds_of_a_tiny_dataset_are_undecided_with_a_suggestion():
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:10, 50:60, 100:110]
    tiny = (X[rows], y[rows], 3)
    params = {"min_child_samples": 2}
    verdict = judged(*(boost(*tiny, seed=seed, **params) for seed in (1, 2)))
    assert verdict.verdict == "inconclusive"
    assert "repeat" in verdict.advice
    assert verdict.difference.low < 0 < verdict.difference.high
