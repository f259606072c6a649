"""Tests of growing boosted classification trees, against oracles and across thread counts."""

import numpy as np
import oracles_classes as plain
import pytest
from columns import seeds, table
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from algorithms.levelwise import class_grower
from algorithms.levelwise.class_grower import ClassGrower
from algorithms.levelwise.kernels import class_arrays
from algorithms.levelwise.kernels.class_arrays import ClassLimits
from algorithms.levelwise.kernels.class_search import TIE
from algorithms.levelwise.kernels.class_sums import sum_cells
from algorithms.runtime.threads import Workers

FREE = ClassLimits(2, 0.0, 0.0)


def grower_of(X, kinds, n_classes, weight, workers):
    return ClassGrower(X, kinds, n_classes, weight, workers, "test")


def case(seed, n=90, d=5, n_classes=3):
    """Return columns of all kinds, classes, and weights of very different magnitude."""
    rng = np.random.default_rng(seed)
    X = table(rng, n, d)
    kinds = rng.integers(0, n_classes, n)
    weight = rng.exponential(size=n) ** rng.choice([1, 4])
    return X, kinds, weight / weight.sum()


@given(seed=seeds, d=st.integers(1, 9))
@settings(max_examples=30)
def test_histogram_holds_weight_of_each_class_and_bin(seed, d):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 256, (d, 70)).astype(np.uint8)
    lane = rng.integers(0, 5, 70).astype(np.uint16)
    weight = rng.exponential(size=70)
    sums = np.full((d, 5 * class_arrays.CODES), np.nan)
    sum_cells(code, lane, weight, sums, 0, d)
    for f in range(d):
        expected = plain.class_histogram(code[f], lane, weight, 5)
        assert np.array_equal(sums[f].reshape(5, -1), expected)


@given(seed=seeds, n_classes=st.integers(2, 5), depth=st.integers(1, 4))
@settings(max_examples=40)
def test_every_node_has_the_best_split(seed, n_classes, depth):
    X, kinds, weight = case(seed, n_classes=n_classes)
    with Workers(1) as workers:
        tree, missed = grower_of(X, kinds, n_classes, weight, workers).grow(FREE, depth, 1)
    X = X.astype(np.float32)
    inside = {0: np.ones(len(X), bool)}
    wrong = 0.0
    for node in range(tree.node_count):
        rows = inside[node]
        shares = [weight[rows & (kinds == k)].sum() / weight[rows].sum() for k in range(n_classes)]
        assert tree.values[node] == pytest.approx(shares, abs=1e-9)
        assert tree.n_node_samples[node] == rows.sum()
        left, right = tree.children_left[node], tree.children_right[node]
        total = weight[rows].sum()
        best = plain.best_split(X[rows], kinds[rows], weight[rows], n_classes)
        if left < 0:
            is_pure = len(set(kinds[rows])) == 1
            deep = tree.compute_node_depths()[node] > depth
            assert is_pure or deep or best == -np.inf or tree.impurity[node] <= 2**-52
            wrong += weight[rows & (kinds != tree.values[node].argmax())].sum()
            continue
        goes_left = X[:, tree.feature[node]] <= tree.threshold[node]
        inside[left], inside[right] = rows & goes_left, rows & ~goes_left
        scores = plain.score(kinds[rows], weight[rows], goes_left[rows], n_classes)
        assert scores >= best - 2 * TIE * total - 1e-12 * total
    assert missed == pytest.approx(wrong, abs=1e-12)


@given(seed=seeds, share=st.floats(0.01, 0.4))
@settings(max_examples=30)
def test_limits_are_respected(seed, share):
    X, kinds, weight = case(seed, n_classes=2)
    limits = ClassLimits(10, share, 0.01)
    with Workers(1) as workers:
        tree, _ = grower_of(X, kinds, 2, weight, workers).grow(limits, 4, 1)
    leaf = tree.children_left < 0
    assert (tree.weighted_n_node_samples[1:] >= share - 1e-12).all()
    assert (tree.n_node_samples[~leaf] >= 10).all()
    gain = tree.common().gain
    assert (gain[~leaf] >= 0.01 - 1e-12).all()


@given(seed=seeds)
@settings(max_examples=30)
def test_weights_of_misclassified_rows_rise(seed):
    X, kinds, weight = case(seed)
    with Workers(1) as workers:
        grower = grower_of(X, kinds, 3, weight, workers)
        tree, missed = grower.grow(FREE, 2, 1)
        before = grower.total
        grower.reweigh(0.5, 3.0)
        wrong = tree.predict(X.astype(np.float32)).argmax(axis=1) != kinds
        clipped = np.maximum(weight, plain.EPSILON)
        expected = plain.reweighed(clipped, wrong, 0.5, 3.0)
        assert grower.total == pytest.approx(expected.sum(), rel=1e-12)
        assert before == pytest.approx(clipped.sum(), rel=1e-12)
        assert missed == pytest.approx(clipped[wrong].sum(), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same_bits(monkeypatch, threads, n_classes):
    monkeypatch.setattr(class_grower, "BIG", 1)
    rng = np.random.default_rng(5)
    n = class_arrays.BLOCK_ROWS * 2 + 100
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 9, n), rng.random((n, 4))])
    kinds = (X[:, 0] * 2 + rng.normal(size=n) * 2).round().astype(int) % n_classes
    grown = []
    for count in (1, threads):
        with Workers(count) as workers:
            grower = grower_of(X, kinds, n_classes, np.full(n, 1 / n), workers)
            for _ in range(4):
                tree, missed = grower.grow(FREE, 3, 7)
                grower.reweigh(1.0, 1.5)
            grown.append((tree.nodes.tobytes(), tree.values.tobytes(), missed, grower.total))
    assert grown[0] == grown[1]


def test_equal_columns_are_visited_in_scikit_learn_order():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    kinds = (x + rng.normal(size=60) > 0).astype(int)
    X = np.column_stack([np.zeros(60), x, x, np.ones(60), x, x])
    visited = set()
    with Workers(1) as workers:
        grower = grower_of(X, kinds, 2, np.full(60, 1 / 60), workers)
        for seed in range(20):
            theirs = DecisionTreeClassifier(max_depth=1, random_state=seed).fit(X, kinds)
            state = np.random.RandomState(seed).randint(0, 2**31 - 1)
            tree, _ = grower.grow(FREE, 1, state)
            grower.reweigh(1.0, 1.0)
            assert tree.feature[0] == theirs.tree_.feature[0]
            visited.add(int(tree.feature[0]))
    assert len(visited) > 1
