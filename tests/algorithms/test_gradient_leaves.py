"""Tests of leaf steps, summed over blocks of rows or row by row for many leaves."""

import tracemalloc

import numpy as np
import pytest

from algorithms import GradientBoostingClassifier
from algorithms.boosting import losses
from algorithms.boosting.classification_losses import Binomial, Exponential, Multinomial
from algorithms.boosting.losses import Groups, Poisson, newton_steps


def leaves_of(rng, n_rows, n_nodes, *, weighted=False, n_outputs=1):
    y = rng.integers(0, max(2, n_outputs), n_rows).astype(float)
    return Groups(
        leaf=rng.integers(0, n_nodes, n_rows),
        means=np.zeros(n_nodes),
        used=rng.random(n_rows) < 0.7 if weighted else None,
        y=y,
        raw=np.zeros((n_rows, n_outputs)),
        gradient=(y == n_outputs - 1)[:, None] - rng.uniform(0.1, 0.9, (n_rows, n_outputs)),
        output=n_outputs - 1,
        weight=rng.uniform(0.5, 2.0, n_rows) if weighted else None,
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [Binomial(), Exponential(), Poisson(), Multinomial(3)])
def test_both_summation_methods_give_the_same_steps(loss, weighted, monkeypatch):
    groups = leaves_of(
        np.random.default_rng(0), 40_000, 50, weighted=weighted, n_outputs=loss.n_outputs
    )
    own = groups.output if loss.n_outputs > 1 else losses.ALL_CLASSES
    in_blocks = newton_steps(loss, groups, own)
    monkeypatch.setattr(losses, "MAX_SUMS", 0)
    one_by_one = newton_steps(loss, groups, own)
    assert not np.array_equal(in_blocks, one_by_one)  # two orders of sums
    np.testing.assert_allclose(one_by_one, in_blocks, rtol=1e-9)


def test_memory_does_not_grow_with_the_number_of_leaves():
    groups = leaves_of(np.random.default_rng(1), 200_000, 400_000)
    tracemalloc.start()
    newton_steps(Binomial(), groups)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # 13 blocks of sums of all nodes are 83 MB


def test_deep_trees_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(losses, "MAX_SUMS", 1000)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20_000, 3))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    params = {"n_estimators": 2, "max_depth": None, "random_state": 0}
    one, three = (
        GradientBoostingClassifier(n_jobs=n, **params).fit(X, y).decision_function(X)
        for n in (1, 3)
    )
    assert np.array_equal(one, three)
