"""Tests of the kernels that follow HistGradientBoosting, against oracles."""

import numpy as np
import oracles_hgb as oracles
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.parity.hgb_binning import FeatureBins
from algorithms.parity.hgb_grower import Grower
from algorithms.parity.kernels.hgb_arrays import Rules
from algorithms.parity.kernels.hgb_gradient import (
    differentiate_by_hgb,
    differentiate_classes_by_hgb,
)

few = settings(max_examples=40)
NO_WEIGHT = np.empty(0)
MISSING = 6


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 5, 31]),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([1, 4]),
    st.sampled_from([0.0, 1.5]),
)
@few
def test_tree_equals_oracle(seed, num_leaves, max_depth, min_child_samples, reg_lambda):
    rng = np.random.default_rng(seed)
    n, missing = int(rng.integers(20, 150)), MISSING
    X = rng.integers(0, missing, (n, 3)).astype(float)
    X[rng.random(X.shape) < rng.choice([0.0, 0.3])] = np.nan
    edges = np.arange(missing - 1) + 0.5
    bins = [
        FeatureBins(edges, None),
        FeatureBins(None, np.arange(missing)),
        FeatureBins(edges, None),
    ]
    rules = Rules(num_leaves, max_depth, min_child_samples, reg_lambda)
    grower = Grower(bins, X, missing, rules)
    g = np.round(rng.normal(size=n), int(rng.choice([0, 7]))).astype(np.float32)
    h = rng.uniform(0.1, 1.0, n).astype(np.float32)
    nodes, _ = grower.grow(g, h, constant_h=False)
    inner = nodes["left"] >= 0
    result = np.zeros(missing + 1, [("g", float), ("h", float), ("rows", np.uint32)])
    for name, values in (("g", g), ("h", h)):
        result[name] = np.bincount(grower.table.columns[0], values, missing + 1)
    oracle = oracles.Oracle(grower.table, missing, g, h, rules)
    splits, values = oracle.grow(result["g"].sum(), result["h"].sum())
    order = np.argsort(nodes["left"][inner])  # children are numbered as splits are made
    counts = nodes["count"]
    ours = [
        (int(nodes["feature"][i]), int(counts[nodes["left"][i]]), int(counts[nodes["right"][i]]))
        for i in np.flatnonzero(inner)[order]
    ]
    assert ours == splits
    assert sorted(nodes["value"][~inner].tolist()) == values


@given(st.lists(st.floats(-800, 700), min_size=1, max_size=20), st.booleans())
@few
def test_derivatives_equal_oracle(scores, is_weighted):
    score = np.array(scores)
    n = len(score)
    y = (np.arange(n) % 2).astype(float)
    weight = np.linspace(0.1, 2.0, n) if is_weighted else NO_WEIGHT
    weights = weight if is_weighted else np.ones(n)
    g, h = np.empty((2, n), np.float32)
    differentiate_by_hgb(True, score, y, weight, g, h)
    expected = [oracles.logistic(*row) for row in zip(score, y, weights, strict=True)]
    assert list(zip(g, h, strict=True)) == expected
    differentiate_by_hgb(False, score, y, weight, g, h)
    np.testing.assert_array_equal(g, ((score - y) * weights).astype(np.float32))
    np.testing.assert_array_equal(h, weights.astype(np.float32))
    many = np.stack([score, score[::-1], np.zeros(n)])
    g, h = np.empty((2, 3, n), np.float32)
    differentiate_classes_by_hgb(many, y, weight, np.empty(3), g, h)
    for i in range(n):
        expected = oracles.softmax(many[:, i].tolist(), y[i], weights[i])
        assert (g[:, i].tolist(), h[:, i].tolist()) == expected
