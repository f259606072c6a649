"""Tests that bins stored in row-major order only give the same models."""

import json

import numpy as np
import pytest

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.gbdt import base
from algorithms.gbdt import row_order as hist_order
from algorithms.gbdt.grower import Grower

N = 9000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 5))
X[:, 1] = np.round(X[:, 1])
X[RNG.random(X.shape) < [0.0, 0.0, 0.2, 0.0, 0.0]] = np.nan
SCORE = np.nan_to_num(X[:, 0] + X[:, 2]) + X[:, 1] ** 2 + RNG.normal(size=N)
CLASS = np.searchsorted([0.0, 1.0], SCORE)


def decrease_bags(env):
    """Draw bags from the fourth round on."""
    if env.iteration == 3:
        env.model.reset_parameter({"subsample": 0.6, "subsample_freq": 1})


decrease_bags.before_iteration = True


def fit(kind, params, callbacks=None):
    """Return the trees of a model as a dict of arrays."""
    estimator = HistogramBoostingRegressor if kind == "value" else HistogramBoostingClassifier
    y = SCORE if kind == "value" else CLASS if kind == "classes" else CLASS > 0
    model = estimator(**{"n_estimators": 10, "num_leaves": 20, "n_jobs": 2} | params)
    return model.fit(X, y, callbacks=callbacks).ensemble_.to_arrays()


@pytest.mark.parametrize("is_reordered", [False, True])
@pytest.mark.parametrize(
    ("kind", "params", "callbacks"),
    [
        ("value", {}, None),
        ("value", {"objective": "regression_l1"}, None),
        ("two", {"colsample_bytree": 0.6}, None),
        ("classes", {}, None),
        ("two", {"boosting_type": "dart", "drop_rate": 0.5}, None),
        ("two", {}, [decrease_bags]),
        ("two", {"forcedsplits_filename": True}, None),
        ("value", {"linear_tree": True}, None),
    ],
)
def test_model_is_that_of_bins_in_both_orders(
    kind, params, callbacks, is_reordered, monkeypatch, tmp_path
):
    """With and without reordered rows; a callback may begin to draw bags."""
    if "forcedsplits_filename" in params:
        path = tmp_path / "forced.json"
        path.write_text(json.dumps({"feature": 2, "threshold": 0.3}))
        params = {"forcedsplits_filename": str(path)}
    if is_reordered:
        for name in ("MIN_VALUES_TO_REORDER", "MIN_TREES", "MIN_LEAVES"):
            monkeypatch.setattr(hist_order, name, 1)
    stored = []
    bin_table = base.bin_table

    def note(*given, **options):
        bins = bin_table(*given, **options)
        stored.append(len(bins.columns))
        return bins

    monkeypatch.setattr(base, "bin_table", note)
    both = fit(kind, params, callbacks)
    monkeypatch.setattr(base, "MIN_VALUES_BY_ROWS", 1)
    by_rows = fit(kind, params, callbacks)
    assert stored == [5, 0]
    assert by_rows.keys() == both.keys()
    for name, values in both.items():
        np.testing.assert_array_equal(by_rows[name], values)


@pytest.mark.parametrize("is_reordered", [False, True])
@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("value", {"objective": "regression_l1"}),
        ("two", {"subsample": 0.6, "subsample_freq": 1}),
        ("two", {"data_sample_strategy": "goss", "learning_rate": 0.5}),
        ("two", {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}),
        ("classes", {"n_jobs": 1}),
        ("classes", {"n_jobs": 1, "data_sample_strategy": "goss", "learning_rate": 0.5}),
    ],
)
def test_shared_memory_gives_the_same_model(kind, params, is_reordered, monkeypatch):
    """The grower uses the memory of gradients and of packed gradients; here also its own."""
    if is_reordered:
        for name in ("MIN_VALUES_TO_REORDER", "MIN_TREES", "MIN_LEAVES"):
            monkeypatch.setattr(hist_order, name, 1)
    shared = fit(kind, params)
    monkeypatch.setattr(Grower, "share_memory", lambda *_: None)
    own = fit(kind, params)
    for name, values in own.items():
        np.testing.assert_array_equal(shared[name], values)
