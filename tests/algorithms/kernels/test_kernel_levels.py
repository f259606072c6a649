"""Tests of level-wise growth: every split is the best one, whatever the bins."""

import columns
import numpy as np
import oracles_levels
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from algorithms.levelwise import binned_columns
from algorithms.levelwise import grower as level_growing
from algorithms.levelwise.grower import LevelGrower
from algorithms.levelwise.kernels.level_arrays import MISSING, Limits
from algorithms.runtime.threads import Workers


def plain_limits(total_weight):
    """Return limits that restrict nothing."""
    return Limits(2, 1, 0.0, 0.0, float(total_weight), 0.0)


def grow(X, value, weight=None, depth=3, threads=1, **limits):
    """Return the grown tree."""
    total = len(value) if weight is None else weight.sum()
    with Workers(threads) as workers:
        grower = LevelGrower(X, workers, "test")
        return grower.grow(value, weight, plain_limits(total)._replace(**limits), depth)


def problem(seed, missing=0.3):
    """Return random X (float32), values, and weights or None."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 120)), int(rng.integers(1, 4))
    X = columns.table(rng, n, d, missing).astype(np.float32)
    value = [
        lambda: rng.normal(size=n),
        lambda: rng.integers(0, 2, n).astype(float),
        lambda: 1000.0 + rng.normal(size=n),
        lambda: rng.standard_cauchy(size=n),
    ][rng.integers(4)]()
    weight = None
    if rng.random() < 0.5:
        weight = rng.random(n) * (rng.random(n) < 0.8)
        weight[0] = 0.5
    return X, value, weight


@given(columns.seeds, st.sampled_from([0.0, 0.7]), st.integers(1, 5))
def test_every_split_is_the_best_split(seed, l2, fewest):
    X, value, weight = problem(seed)
    grown = grow(X, value, weight, l2=l2, min_samples_leaf=fewest, min_samples_split=2 * fewest)
    w = np.ones(len(value)) if weight is None else weight
    limits = {"l2": l2, "fewest": fewest}
    rows = {0: np.flatnonzero(w > 0)}
    for at, node in enumerate(grown.nodes):
        own = rows.pop(at)
        s = (w * value)[own].sum()
        close = 1e-12 * np.abs(w * value)[own].sum() / (w[own].sum() + l2)
        assert node["n"] == len(own)
        assert node["weight"] == pytest.approx(w[own].sum(), rel=1e-12)
        assert grown.values[at] == pytest.approx(s / (w[own].sum() + l2), rel=1e-12, abs=close)
        if node["left"] < 0:
            assert (grown.leaf[own] == at).all()
            continue
        x = X[own, node["feature"]]
        best = oracles_levels.best_scores(X[own], value[own], w[own], **limits).max()
        options = oracles_levels.scores(x, value[own], w[own], **limits)
        to_left = bool(node["missing_left"])
        taken = options[node["threshold"], to_left and bool(np.isnan(x).any())]
        assert taken == pytest.approx(best, rel=1e-10)
        goes_left = (x <= node["threshold"]) | (np.isnan(x) & to_left)
        rows[int(node["left"])] = own[goes_left]
        rows[int(node["right"])] = own[~goes_left]
    assert not rows


@settings(max_examples=40)
@given(columns.seeds, st.integers(1, 6))
def test_splits_equal_scikit_learn_except_for_ties(seed, depth):
    X, value, weight = problem(seed)
    ours = grow(X, value, weight, depth).tree()
    w = np.ones(len(value)) if weight is None else weight
    theirs = DecisionTreeRegressor(max_depth=depth, random_state=seed % 1000)
    theirs = theirs.fit(X, value, sample_weight=w).tree_
    pairs = [(0, 0)]
    rounding = 1e-13 * (w * value**2).sum()
    while pairs:
        a, b = pairs.pop()
        assert ours.n_node_samples[a] == theirs.n_node_samples[b]
        ends = ours.children_left[a] < 0, theirs.children_left[b] < 0
        gains = gain(ours, a), gain(theirs, b)
        assert gains[0] == pytest.approx(gains[1], rel=1e-9, abs=rounding)
        same = ours.feature[a] == theirs.feature[b] and ours.threshold[a] == theirs.threshold[b]
        if not any(ends) and same:
            pairs.append((ours.children_left[a], theirs.children_left[b]))
            pairs.append((ours.children_right[a], theirs.children_right[b]))


def gain(tree, at):
    """Return the decrease of a node's weighted impurity by its split."""
    if tree.children_left[at] < 0:
        return 0.0
    spread = tree.weighted_n_node_samples * tree.impurity
    return spread[at] - spread[tree.children_left[at]] - spread[tree.children_right[at]]


@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("depth", [1, 3, 5])
def test_result_does_not_depend_on_threads(missing, depth, monkeypatch):
    monkeypatch.setattr(level_growing, "VALUES_OF_A_THREAD", 1)
    rng = np.random.default_rng(7)
    X = columns.table(rng, 20_000, 9, missing).astype(np.float32)
    value, weight = rng.normal(size=len(X)), rng.random(len(X))
    trees = [grow(X, value, weight, depth, threads) for threads in (1, 2, 3, 12)]
    for name in ("nodes", "values", "leaf"):
        assert len({getattr(tree, name).tobytes() for tree in trees}) == 1


def test_result_does_not_depend_on_earlier_trees():
    rng = np.random.default_rng(13)
    X = columns.table(rng, 5_000, 9, 0.3).astype(np.float32)
    value, weight = rng.normal(size=len(X)), rng.random(len(X))
    limits = plain_limits(weight.sum())
    with Workers(2) as workers:
        grower = LevelGrower(X, workers, "test")
        for depth in (6, 2, 6, 3):
            fresh = LevelGrower(X, workers, "test").grow(value, weight, limits, depth)
            again = grower.grow(value, weight, limits, depth)
            for name in ("nodes", "values", "leaf"):
                assert getattr(again, name).tobytes() == getattr(fresh, name).tobytes()


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_result_does_not_depend_on_the_room_for_candidates(missing, monkeypatch):
    rng = np.random.default_rng(9)
    X = columns.table(rng, 20_000, 6, missing).astype(np.float32)
    value, weight = rng.normal(size=len(X)), rng.random(len(X))
    trees = [grow(X, value, weight, 6)]
    monkeypatch.setattr(level_growing, "VALUES_OF_A_THREAD", 1)
    monkeypatch.setattr(level_growing, "MAX_CANDIDATES", 0)  # the least room: two bins of a slot
    trees += [grow(X, value, weight, 6, threads) for threads in (1, 2)]
    for name in ("nodes", "values", "leaf"):
        assert len({getattr(tree, name).tobytes() for tree in trees}) == 1


@pytest.mark.parametrize("shift", [0, 2, 4])
def test_coarser_bins_keep_all_thresholds(shift, monkeypatch):
    rng = np.random.default_rng(8)
    X = columns.table(rng, 500, 3, 0.5).astype(np.float32)
    value = rng.normal(size=len(X)) + (X[:, 0] > np.nanmedian(X[:, 0]))
    monkeypatch.setattr(level_growing, "choose_shift", lambda k, n: shift)
    root = grow(X, value, depth=1).nodes[0]
    best = oracles_levels.best_scores(X, value, np.ones(len(X)))
    score = oracles_levels.scores(X[:, root["feature"]], value, np.ones(len(X)))
    assert score[root["threshold"], bool(root["missing_left"])] == pytest.approx(best.max())


@settings(max_examples=30)
@given(columns.seeds, st.integers(2, 40))
def test_bin_edges_lie_between_values(seed, wanted):
    rng = np.random.default_rng(seed)
    x = columns.column(rng, 200, 0.5).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch, Workers(1) as workers:
        patch.setattr(binned_columns, "count_bins", lambda _: wanted)
        _, codes = binned_columns.sort_coded(x[:, None], workers, "test")
    expected = oracles_levels.cut(x, wanted)
    np.testing.assert_array_equal(codes.code[0], np.where(expected < 0, MISSING, expected))
    assert codes.bins[0] == expected.max() + 1
    for b in range(codes.bins[0]):
        in_bin = x[expected == b]
        assert codes.starts[0, b + 1] - codes.starts[0, b] == len(in_bin)
        assert bool(codes.plain[0, b]) == (np.unique(in_bin).size == 1)


@given(columns.seeds, st.sampled_from([np.float32, np.float64]), st.sampled_from("CF"))
def test_rows_of_weight_zero_get_their_leaf(seed, kind, order):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 400))
    X = columns.table(rng, n, 3, 0.3).astype(kind, order=order)
    weight = (rng.random(n) < 0.5).astype(float)
    weight[0] = 1.0
    grown = grow(X, rng.normal(size=n), weight, 4)
    np.testing.assert_array_equal(grown.leaf, grown.tree().apply(X.astype(np.float32)))


def test_result_does_not_depend_on_memory_layout_of_x():
    rng = np.random.default_rng(12)
    X, value = rng.normal(size=(500, 4)), rng.normal(size=500)
    grown = grow(np.ascontiguousarray(X, np.float32), value)
    for same in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.astype(object)):
        np.testing.assert_array_equal(grow(same, value).nodes, grown.nodes)


def test_gini_of_two_classes_equals_squared_error_of_codes():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    code = (X[:, 0] * X[:, 1] + rng.normal(size=400) > 0).astype(float)
    weight = rng.integers(1, 5, 400).astype(float)
    ours = grow(X, code, weight, 3).tree(gini=True)
    theirs = DecisionTreeClassifier(max_depth=3, random_state=0)
    theirs = theirs.fit(X, code, sample_weight=weight).tree_
    np.testing.assert_array_equal(ours.feature, theirs.feature)
    np.testing.assert_array_equal(ours.threshold, theirs.threshold)
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-12)
    np.testing.assert_allclose(ours.impurity, theirs.impurity, atol=1e-12)


def test_split_must_reach_the_minimum_improvement():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    value = (X[:, 0] > 0) + 0.1 * rng.normal(size=300)
    tree = grow(X, value, depth=5, min_impurity_decrease=0.01).tree()
    theirs = DecisionTreeRegressor(max_depth=5, min_impurity_decrease=0.01).fit(X, value).tree_
    assert tree.node_count == theirs.node_count == 3
