"""Tests of the best split of a node, against trying all splits."""

import numpy as np
import oracles
import pytest
from columns import seeds, table
from hypothesis import given
from hypothesis import strategies as st
from kernels import growth_of, rules_of, table_of

from algorithms.trees.cart import CRITERIA, entropy_table
from algorithms.trees.grower import Target
from algorithms.trees.kernels.search import search_features
from algorithms.trees.kernels.tree_arrays import ROW, Rows

HERE = sorted({*CRITERIA} - {"absolute_error", "poisson"})  # those are searched by other kernels
WEIGHTS = {
    "unit": lambda rng, n: None,
    "integer": lambda rng, n: rng.integers(1, 5, n).astype(float),
    "float": lambda rng, n: rng.uniform(0.1, 3.0, n),
}


def search(X, target, criterion, **limits):
    """Return the arrays that a search of the root writes, and its sorted columns."""
    n, d = X.shape
    sorted_table = table_of(X)
    mark, y, weight = target.pick(None)
    rows = Rows(sorted_table.order, np.arange(d), np.arange(n, dtype=np.uint32), mark, y, weight)
    w = np.ones(n) if target.weight is None else target.weight
    rules = rules_of(
        criterion=CRITERIA[criterion],
        n_classes=target.n_classes,
        x_log_x=entropy_table(CRITERIA[criterion], w.sum(), n),
        **limits,
    )
    growth, scratch = growth_of(n, rules, d)
    growth.visit[:] = np.arange(d)
    y, k = (target.y, 0) if target.n_classes == 0 else (target.codes, target.n_classes)
    sums = [(w * (y == c)).sum() for c in range(k)] or [(w * y).sum(), (w * y * y).sum()]
    growth.totals[:] = [w.sum(), *sums]
    bounds = (0, n, -np.inf, np.inf)
    search_features(sorted_table, rows, rules, growth, scratch, bounds, 0, d)
    return growth, rows, w


def rows_on_the_left(growth, rows, v, x):
    left = np.zeros(len(x), bool)
    left[rows.lists[v, : growth.position[v]] & ROW] = True
    return left | (np.isnan(x) & bool(growth.to_left[v]))


@given(data=st.data(), seed=seeds, n=st.integers(2, 150), criterion=st.sampled_from(HERE))
def test_best_split_of_all_features_is_found(data, seed, n, criterion):
    rng = np.random.default_rng(seed)
    X = table(rng, n, int(rng.integers(1, 4)), missing=data.draw(st.sampled_from([0.0, 0.5])))
    kind = data.draw(st.sampled_from([*WEIGHTS]))
    weight = WEIGHTS[kind](rng, n)
    leaf = data.draw(st.sampled_from([1, 1, 3, 10]))
    if criterion == "squared_error":
        y = rng.normal(size=n) if rng.random() < 0.5 else rng.integers(0, 4, n).astype(float)
        target = Target(0, y=y, weight=weight)
    else:
        k = int(rng.integers(1, 6))
        y = rng.integers(0, k, n)
        target = Target(k, codes=y, weight=weight)
    light = 0.2 * (n if weight is None else weight.sum()) * data.draw(st.sampled_from([0, 0, 1]))
    growth, rows, w = search(X, target, criterion, min_samples_leaf=leaf, min_weight_leaf=light)
    tried = [oracles.best_split(criterion, x, y, w, leaf, light) for x in X.T.astype(np.float32)]
    best = max((t[0] for t in tried if t), default=None)
    results = [v for v in range(X.shape[1]) if growth.position[v] > 0]
    assert bool(results) == (best is not None)
    if results:
        v = max(results, key=lambda v: growth.proxy[v])
        left = rows_on_the_left(growth, rows, v, X[:, v])
        gained = oracles.decrease(criterion, y, w, left)
        assert gained == pytest.approx(best, rel=1e-9, abs=1e-9 * w.sum())
        assert min(left.sum(), (~left).sum()) >= leaf
        assert min(w[left].sum(), w[~left].sum()) >= light


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_first_of_equal_splits_is_taken(criterion, n_classes):
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    target = Target(n_classes, codes=np.array([0, 1, 1, 0]))
    growth, _, _ = search(X, target, criterion)
    assert growth.position.tolist() == [1, 0]  # the first place of the first feature


def test_perfect_split_ends_the_search():
    X = np.column_stack([[0.0, 1.0, 2.0, 3.0]] * 2)
    growth, _, _ = search(X, Target(2, codes=np.array([0, 0, 1, 1])), "gini")
    assert growth.position.tolist() == [2, 0]
    assert growth.proxy[0] == 0.0


def test_x_log_x_is_tabulated():
    result = entropy_table(CRITERIA["entropy"], 6.0, 6)
    expected = [0.0, 0.0, *(i * np.log2(i) for i in range(2, 7))]
    assert result == pytest.approx(expected, rel=1e-15)
