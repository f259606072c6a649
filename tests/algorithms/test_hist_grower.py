"""Tests of the grower: root gain, more than 65 536 leaves, concurrent threads."""

import time
from typing import NamedTuple

import numpy as np
import pytest

from algorithms import HistogramBoostingRegressor
from algorithms.gbdt import gradient_quantization as hist_records
from algorithms.gbdt.kernels import booster_arrays as hist_layout
from algorithms.gbdt.kernels.score_update import mark_leaves
from algorithms.runtime.threads import Workers


def shifted(n=4000):
    """Return a relevant number, an irrelevant category, and y far from 0."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 20, n)])
    return X, 100.0 + 5.0 * (X[:, 0] > 0)


def test_root_gain_is_subtracted_for_categorical_and_numeric_splits():
    X, y = shifted()
    one = {"n_estimators": 1, "boost_from_average": False}
    model = HistogramBoostingRegressor(categorical_feature=[1], **one).fit(X, y)
    assert model.ensemble_.feature[0] == 0


@pytest.mark.parametrize("held", [{"reg_alpha": 0.1}, {"max_delta_step": 103}, {"path_smooth": 1}])
def test_split_gain_is_the_increase_over_the_root_gain(held):
    """Σ(y − ȳ)² of the two halves, not Σy², is compared with the least gain."""
    X, y = shifted()
    requested = {"n_estimators": 1, "boost_from_average": False, "learning_rate": 1.0}
    requested |= {"num_leaves": 2, **held}
    model = HistogramBoostingRegressor(**requested).fit(X[:, :1], y)
    gain = model.ensemble_.gain[0]
    added = ((y - y.mean()) ** 2).sum()
    assert 0 < gain < 1.1 * added
    none = HistogramBoostingRegressor(**requested, min_split_gain=10 * gain).fit(X[:, :1], y)
    assert none.ensemble_.n_nodes == 1


class Marked(NamedTuple):
    leaves: np.ndarray
    rows: np.ndarray


def test_more_leaves_than_uint16():
    n = (1 << 16) + 100
    leaves = np.zeros(n, hist_layout.LEAF)
    leaves["start"], leaves["end"] = np.arange(n), np.arange(n) + 1
    leaf_of = np.zeros(n, np.uint32)
    mark_leaves(Marked(leaves, np.arange(n, dtype=np.uint32)), n, leaf_of, 0, n)
    assert np.array_equal(leaf_of, np.arange(n))


def test_slow_starting_threads_give_the_same_steps(monkeypatch):
    rng = np.random.default_rng(0)
    g = rng.normal(size=400_000).astype(np.float32)
    h = rng.random(400_000).astype(np.float32)
    g[399_999] = 1e6
    results, write = [], hist_records.write_records

    def write_late(team, rank, *given):
        time.sleep(0.01 * rank)
        write(team, rank, *given)

    for size in (1, 2, 4):
        records = np.empty(len(g), np.int64)
        with Workers(size) as workers:
            scale = hist_records.pack_rows(g, h, np.uint32(3), records, workers)
        results.append((scale, records.tobytes()))
        monkeypatch.setattr(hist_records, "write_records", write_late)
    assert results[0] == results[1] == results[2]
