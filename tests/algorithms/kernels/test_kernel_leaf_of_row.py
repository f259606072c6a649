"""Tests of the leaf of every row by runs of bins, against a walk down the tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms import HistogramBoostingClassifier
from algorithms.gbdt.grower import Grower
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS, NODE
from algorithms.gbdt.kernels.leaf_lookup import AT_ONCE, list_runs, place_rows

N_FEATURES, N_ROWS = 3, AT_ONCE + 77
few = settings(max_examples=50)


def draw_tree(rng, n_leaves, length):
    """Return random nodes like those of growth, and the bins that go left: cyclic runs."""
    nodes = np.zeros(2 * n_leaves - 1, NODE)
    nodes["left"] = -1
    goes_left = rng.integers(0, 2, (len(nodes), MAX_BINS)).astype(np.uint8)
    for split in range(n_leaves - 1):
        at = rng.choice(np.flatnonzero(nodes["left"][: 2 * split + 1] < 0))
        nodes["left"][at], nodes["right"][at] = 2 * split + 1, 2 * split + 2
        f = nodes["feature"][at] = rng.integers(N_FEATURES)
        begin, width = rng.integers(length[f]), rng.integers(1, length[f])
        goes_left[at, : length[f]] = (np.arange(length[f]) - begin) % length[f] < width
    return nodes, goes_left


def walk(nodes, goes_left, columns):
    """Return the node of the leaf of each row."""
    values = np.zeros(columns.shape[1], np.int64)
    for i in range(len(values)):
        while nodes["left"][values[i]] >= 0:
            at = values[i]
            b = columns[nodes["feature"][at], i]
            values[i] = nodes["left" if goes_left[at, b] else "right"][at]
    return values


def runs_of(nodes, goes_left, length):
    """Return whether all splits are runs, the runs, and the leaf number of each node."""
    number, runs = np.empty(len(nodes), np.int64), np.empty((len(nodes) // 2, 4), np.int64)
    place = np.arange(N_FEATURES)
    return list_runs(nodes, goes_left, place, length, number, runs), runs, number


@given(st.integers(0, 2**32 - 1), st.integers(1, 256), st.sampled_from([2, 9, 255, 256]))
@few
def test_leaf_of_every_row_equals_tree_walk(seed, n_leaves, n_bins):
    rng = np.random.default_rng(seed)
    length = np.append(rng.integers(2, n_bins + 1, N_FEATURES - 1), n_bins)
    columns = np.stack([rng.integers(0, n, N_ROWS) for n in length]).astype(np.uint8)
    nodes, goes_left = draw_tree(rng, n_leaves, length)
    is_found, runs, number = runs_of(nodes, goes_left, length)
    assert is_found
    leaf_of = np.full(N_ROWS, 999, np.uint16)
    place_rows(columns, runs, 5, N_ROWS - 1, np.empty(AT_ONCE, np.uint8), leaf_of)
    expected = number[walk(nodes, goes_left, columns)]
    assert np.array_equal(leaf_of[5:-1], expected[5:-1])
    assert (leaf_of[:5] == 999).all()
    assert leaf_of[-1] == 999


@pytest.mark.parametrize(
    ("sides", "is_run"),
    [("LRLLRL", False), ("RLRLLR", False), ("RLLLLR", True), ("LRRRLL", True), ("LLLLLR", True)],
)
def test_split_is_at_most_one_run_of_bins(sides, is_run):
    nodes, goes_left = draw_tree(np.random.default_rng(0), 2, np.full(N_FEATURES, 6))
    goes_left[0, :6] = [side == "L" for side in sides]
    assert runs_of(nodes, goes_left, np.full(N_FEATURES, 6))[0] == is_run


@pytest.mark.parametrize(
    "params",
    [
        {"data_sample_strategy": "goss", "learning_rate": 1.0, "num_leaves": 200},
        {"subsample": 0.3, "subsample_freq": 1},
        {"subsample": 0.8, "subsample_freq": 1, "num_leaves": 100},
        {"subsample": 0.3, "subsample_freq": 1, "categorical_feature": [0], "cat_smooth": 1.0},
    ],
)
def test_rows_outside_the_sample_get_the_scores_of_partitioning(params, monkeypatch):
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 40, 9000), rng.normal(size=(9000, 2))])
    X[rng.random(X.shape) < 0.1] = np.nan
    X = np.column_stack([X, np.eye(5)[rng.integers(0, 5, 9000)]])  # these make a bundle
    y = np.nan_to_num(np.sin(X[:, 0]) + X[:, 1]) + X[:, 4] + 0.3 * rng.normal(size=9000) > 0.5
    kinds, runs = [], Grower._runs

    def note(grower):
        result = runs(grower)
        kinds.append(result is not None)
        return result

    result = []
    for used in (note, lambda _: None):
        monkeypatch.setattr(Grower, "_runs", used)
        model = HistogramBoostingClassifier(n_estimators=6, random_state=0, n_jobs=2, **params)
        result.append(model.fit(X, y).predict_proba(X))
    assert np.array_equal(*result)
    assert any(kinds) != ("categorical_feature" in params)
