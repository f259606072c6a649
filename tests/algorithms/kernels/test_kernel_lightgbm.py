"""Tests of the kernels that follow LightGBM, against oracles."""

import lightgbm
import numpy as np
import oracles_lightgbm as oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.gbdt.kernels.gradients import L2, LOGISTIC
from algorithms.parity.kernels.lightgbm_arrays import Rules
from algorithms.parity.kernels.lightgbm_edges import choose_edges
from algorithms.parity.kernels.lightgbm_gradient import (
    differentiate_by_lightgbm,
    differentiate_classes_by_lightgbm,
    link_by_lightgbm,
)
from algorithms.parity.kernels.lightgbm_random import draw_sample
from algorithms.parity.lightgbm_binning import FeatureBins, find_feature_bins
from algorithms.parity.lightgbm_grower import Grower
from algorithms.parity.lightgbm_objectives import quantile_of

few = settings(max_examples=40)
NO_WEIGHT = np.empty(0, np.float32)
PLAIN = {
    "num_leaves": 31,
    "max_depth": -1,
    "min_child_samples": 1,
    "min_child_weight": 1e-3,
    "reg_alpha": 0.0,
    "reg_lambda": 0.0,
    "min_split_gain": 0.0,
    "max_delta_step": 0.0,
    "path_smooth": 0.0,
    "cat_smooth": 10.0,
    "cat_l2": 10.0,
    "max_cat_threshold": 32,
    "max_cat_to_onehot": 4,
    "min_data_per_group": 100,
}


@given(st.integers(0, 2**31 - 1), st.integers(2, 400), st.data())
@few
def test_sampled_rows_equal_oracle(seed, n, data):
    expected = data.draw(st.integers(1, n - 1))
    drawn = np.zeros(n, np.uint8)
    draw_sample(seed, expected, drawn)
    assert np.flatnonzero(drawn).tolist() == oracles.draw(seed, n, expected)


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=80, unique=True),
    st.integers(1, 30),
    st.sampled_from([1, 3, 20]),
    st.integers(0, 2**32 - 1),
)
@few
def test_bin_edges_equal_oracle(values, room, least, seed):
    rng = np.random.default_rng(seed)
    values = np.sort(np.array(values, np.float64)) / 7.0
    counts = rng.integers(1, 5, len(values)) + 50 * (rng.random(len(values)) < 0.1)
    edges = np.empty(room + 1)
    result = choose_edges(values, counts, room, int(counts.sum()), least, edges)
    assert edges[:result].tolist() == oracles.edges(values.tolist(), counts.tolist(), room, least)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 5, 31]),
    st.sampled_from([1, 5]),
    st.sampled_from([0.0, 2.0]),
)
@few
def test_tree_equals_oracle(seed, num_leaves, min_child_samples, reg_lambda):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    X = rng.integers(0, 6, (n, 3)).astype(float)
    bins = [FeatureBins(np.arange(5) + 0.5, None, has_missing=False, most_freq_bin=0)] * 3
    rules = Rules(**PLAIN)._replace(
        num_leaves=num_leaves, min_child_samples=min_child_samples, reg_lambda=reg_lambda
    )
    grower = Grower(bins, X, rules)
    g = rng.normal(size=n).astype(np.float32)
    h = rng.uniform(0.5, 1.5, n).astype(np.float32)
    nodes, _ = grower.grow(g, h)
    splits, values = oracles.Oracle(grower.table.columns, [6] * 3, g, h, grower.rules).grow()
    inner = np.flatnonzero(nodes["left"] >= 0)
    counts = nodes["count"]
    ours = [
        (nodes["feature"][i], nodes["bin"][i], counts[nodes["left"][i]], counts[nodes["right"][i]])
        for i in inner[np.argsort(nodes["left"][inner])]
    ]
    assert ours == splits
    assert sorted(nodes["value"][nodes["left"] < 0].tolist()) == sorted(values)


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=20), st.booleans())
@few
def test_derivatives_and_links_equal_oracle(scores, is_weighted):
    score = np.array(scores)
    n = len(score)
    y = (np.arange(n) % 2).astype(np.float32)
    weight = np.linspace(0.1, 2.0, n).astype(np.float32) if is_weighted else NO_WEIGHT
    weights = weight.astype(float) if is_weighted else np.ones(n)
    g, h = np.empty((2, n), np.float32)
    differentiate_by_lightgbm(LOGISTIC, 1.0, score, y, weight, g, h)
    expected = [oracles.logistic(*row) for row in zip(score, y, weights, strict=True)]
    assert list(zip(g, h, strict=True)) == expected
    differentiate_by_lightgbm(L2, 0.0, score, y, weight, g, h)
    slope = (score - y).astype(np.float32) * weights.astype(np.float32)
    np.testing.assert_array_equal(g, slope.astype(np.float32))
    many = np.stack([score, score[::-1], np.zeros(n)])
    g, h = np.empty((2, 3, n), np.float32)
    differentiate_classes_by_lightgbm(many, y, weight, np.empty(3), g, h)
    for i in range(n):
        expected = oracles.softmax(many[:, i].tolist(), y[i], weights[i])
        assert (g[:, i].tolist(), h[:, i].tolist()) == expected
    p = np.empty((3, n))
    link_by_lightgbm(many, True, p)
    np.testing.assert_allclose(p.sum(axis=0), 1.0, rtol=1e-14)
    link_by_lightgbm(many, False, p)
    np.testing.assert_allclose(p[2], 0.5)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.5, 0.9]))
@few
def test_unweighted_quantiles_equal_numpy(seed, share):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=int(rng.integers(1, 40)))
    np.testing.assert_allclose(quantile_of(values, None, share), np.quantile(values, share))


@pytest.mark.parametrize("max_bin", [2, 16, 255])
def test_bins_equal_lightgbm(tmp_path, max_bin):
    rng = np.random.default_rng(max_bin)
    X = rng.normal(size=(500, 4))
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(500) < 0.2, 2] = np.nan
    X[:, 3] = np.floor(rng.exponential(4.0, 500))
    params = {"max_bin": max_bin, "verbosity": -1, "enable_bundle": False, "min_data_in_bin": 3}
    params["feature_pre_filter"] = False
    data = lightgbm.Dataset(X, params=params, categorical_feature=[3]).construct()
    data._dump_text(str(tmp_path / "bins"))
    lines = (tmp_path / "bins").read_text().split("\n")[-len(X) :]
    values = np.array([line.split(", ")[:4] for line in lines], np.int64)
    ours = [find_feature_bins(X[:, f], f == 3, max_bin, 3).number(X[:, f]) for f in range(4)]
    np.testing.assert_array_equal(np.column_stack(ours), values)
