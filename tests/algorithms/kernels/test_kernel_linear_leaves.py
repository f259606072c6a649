"""Tests of the regressions of linear leaves against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.gbdt.linear_leaves import GrownLeaves, LinearLeafFitter, call_once
from algorithms.gbdt.model import GrownTree
from algorithms.runtime.threads import Workers
from harness import LinearLeaves

NODES = np.dtype([(n, np.int64) for n in ("left", "right", "feature")] + [("value", np.float64)])
FEW = settings(max_examples=25)


def grow_random(rng, n_features, n_leaves):
    """Return the nodes of a random tree."""
    nodes = np.zeros(2 * n_leaves - 1, NODES)
    nodes["left"] = nodes["right"] = -1
    leaves = [0]
    for at in range(1, len(nodes), 2):
        node = leaves.pop(int(rng.integers(len(leaves))))
        nodes["left"][node], nodes["right"][node] = at, at + 1
        nodes["feature"][node] = rng.integers(n_features)
        leaves += [at, at + 1]
    nodes["value"] = rng.normal(size=len(nodes))
    return nodes, rng.permutation(leaves)


def path_features(nodes, leaf, is_categorical):
    """Return the numeric features above a leaf, ascending."""
    found, at = set(), leaf
    while at:
        (at,) = np.flatnonzero((nodes["left"] == at) | (nodes["right"] == at))
        found.add(int(nodes["feature"][at]))
    return sorted(f for f in found if not is_categorical[f])


def expected_leaf(X, g, h, features, penalty):
    """Return coefficients and constant of a leaf by numpy, or None if it has too few rows."""
    A = np.column_stack([X[:, features], np.ones(len(X))])
    kept = ~np.isnan(A).any(axis=1)
    A, g, h = A[kept], g[kept], h[kept]
    if len(A) < A.shape[1] or not features:
        return None
    ridge = np.diag([penalty] * len(features) + [0.0])
    solution = -np.linalg.solve((A.T * h) @ A + ridge, A.T @ g)
    return solution[:-1], solution[-1]


def random_case(seed, n_rows=400):
    """Return a fitter's table, gradients, a random tree and its leaves."""
    rng = np.random.default_rng(seed)
    n_features, n_leaves = int(rng.integers(1, 9)), int(rng.integers(2, 12))
    X = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.integers(-2, 3, n_features)
    X[rng.random(X.shape) < 0.03] = np.nan
    g, h = rng.normal(size=n_rows).astype(np.float32), rng.random(n_rows).astype(np.float32) + 0.1
    nodes, leaf_nodes = grow_random(rng, n_features, n_leaves)
    ends = np.sort(rng.integers(0, n_rows + 1, n_leaves - 1))
    spans = np.stack([np.r_[0, ends], np.r_[ends, n_rows]], axis=1)
    rows = rng.permutation(n_rows).astype(np.uint32)
    is_categorical = rng.random(n_features) < 0.2
    return X, is_categorical, g, h, nodes, GrownLeaves(leaf_nodes, rows, spans)


class Alone:
    """Stands for a grower with one thread."""

    share_rows = staticmethod(call_once)


def fit_all(fitter, nodes, leaves, g, h):
    """Return the fitted leaves of a tree, in one thread."""
    return LinearLeaves(*fitter.fit(nodes, leaves, g, h, call_once))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 100.0]), st.booleans())
@FEW
def test_leaves_solve_the_ridge_regression(seed, penalty, like_lightgbm):
    X, is_categorical, g, h, nodes, leaves = random_case(seed)
    fitter = LinearLeafFitter(X, is_categorical, penalty, like_lightgbm=like_lightgbm)
    linear = fit_all(fitter, nodes, leaves, g, h)
    for leaf, (start, end) in zip(leaves.nodes, leaves.spans, strict=True):
        rows = leaves.rows[start:end]
        features = path_features(nodes, leaf, is_categorical)
        values = fitter.values[rows]
        expected = expected_leaf(values, g[rows].astype(float), h[rows], features, penalty)
        terms = slice(linear.start[leaf], linear.start[leaf + 1])
        if expected is None or len(rows) < 4 * (len(features) + 1):  # too ill-conditioned
            continue
        assert linear.feature[terms].tolist() == features
        np.testing.assert_allclose(linear.coefficient[terms], expected[0], rtol=1e-6)
        np.testing.assert_allclose(linear.constant[leaf], expected[1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("like_lightgbm", [False, True])
def test_dependent_features_get_no_coefficient(like_lightgbm):
    rng = np.random.default_rng(3)
    x = rng.integers(-8, 9, 200).astype(float)
    X = np.column_stack([x, np.full(200, 4.0), 2.0 * x])
    nodes = np.zeros(7, NODES)  # a chain of three splits, one by each feature
    nodes["left"], nodes["right"] = [1, -1, 3, -1, 5, -1, -1], [2, -1, 4, -1, 6, -1, -1]
    nodes["feature"][[0, 2, 4]] = 0, 1, 2
    spans = np.array([[0, 0], [0, 0], [0, 0], [0, 200]])
    leaves = GrownLeaves(np.array([1, 3, 5, 6]), np.arange(200, dtype=np.uint32), spans)
    g = (-3.0 * x - 1.0).astype(np.float32)
    fitter = LinearLeafFitter(X, np.zeros(3, bool), 0.0, like_lightgbm=like_lightgbm)
    linear = fit_all(fitter, nodes, leaves, g, np.empty(0, np.float32))
    n_terms = 2 if like_lightgbm else 1  # LightGBM takes the feature 4 instead of the constant
    assert linear.start.tolist() == [0, 0, 0, 0, 0, 0, 0, n_terms]
    at = np.full(200, 6)
    np.testing.assert_allclose(linear.outputs(nodes["value"], at, X), 3.0 * x + 1.0, atol=1e-9)


def test_distant_origin_loses_no_digits():
    rng = np.random.default_rng(5)
    x = rng.random(300)
    nodes = np.zeros(3, NODES)
    nodes["left"], nodes["right"] = [1, -1, -1], [2, -1, -1]
    spans = np.array([[0, 150], [150, 300]])
    leaves = GrownLeaves(np.array([1, 2]), np.arange(300, dtype=np.uint32), spans)
    g = (-x).astype(np.float32)
    fitter = LinearLeafFitter((x + 1e9)[:, None], np.zeros(1, bool), 0.0)
    linear = fit_all(fitter, nodes, leaves, g, np.empty(0, np.float32))
    np.testing.assert_allclose(linear.coefficient, 1.0, rtol=1e-5)


def test_any_number_of_threads_gives_the_same_bits():
    X, is_categorical, g, h, nodes, leaves = random_case(11, n_rows=3000)
    fitter = LinearLeafFitter(X, is_categorical, 0.1)
    results = []
    for n_threads in (1, 3):
        with Workers(n_threads) as workers:
            results.append(fitter.fit(nodes, leaves, g, h, workers.share))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


def test_outputs_are_added_to_the_scores_of_all_rows():
    X, is_categorical, g, h, nodes, leaves = random_case(12, n_rows=900)
    spans = np.minimum(leaves.spans, 800)
    fitter = LinearLeafFitter(X, is_categorical, 0.1)
    linear = fit_all(fitter, nodes, leaves._replace(spans=spans), g, h)
    leaf_of = leaf_numbers(leaves)
    grown = GrownLeaves(leaves.nodes, leaves.rows[:800], spans)
    score = np.ones(len(X))
    fitter.add_to(score, leaf_of, GrownTree(nodes, {}, linear), grown, Alone)
    expected = linear.outputs(nodes["value"], leaves.nodes[leaf_of], X)
    assert np.array_equal(score, 1.0 + expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("share_missing", [0.0, 0.1])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_scores_are_updated_while_leaves_are_fitted(threads, share_missing, is_weighted):
    X, is_categorical, g, h, nodes, leaves = random_case(12, n_rows=900)
    rng = np.random.default_rng(1)
    X = np.where(rng.random(X.shape) < share_missing, np.nan, np.nan_to_num(X))
    h = h if is_weighted else h[:0]
    fitter = LinearLeafFitter(X, is_categorical, 0.1)
    score = np.ones(len(X))
    with Workers(threads) as workers:
        linear = fitter.fit(nodes, leaves, g, h, workers.share, score, 0.3)
    for one, other in zip(linear, fitter.fit(nodes, leaves, g, h, call_once), strict=True):
        assert np.array_equal(one, other)
    tree = GrownTree(nodes, {}, linear)
    tree.scale(0.3)
    outputs = LinearLeaves(*tree.linear).outputs(
        tree.nodes["value"], leaves.nodes[leaf_numbers(leaves)], X
    )
    assert np.array_equal(score, 1.0 + outputs)


def leaf_numbers(leaves):
    """Return the number of each row's leaf, uint16 (n_rows,)."""
    leaf_of = np.empty(len(leaves.rows), np.uint16)
    for number, (start, end) in enumerate(leaves.spans):
        leaf_of[leaves.rows[start:end]] = number
    return leaf_of
