"""Tests of the XGBoost plugin."""

import numpy as np
import pytest
import xgboost

from algorithms.model_io.xgboost_reader import level_order, margin
from harness import HarnessError, Spec, Task
from harness.plugins.registry import load_registry

REGISTRY = load_registry(modules=["algorithms.reference.xgboost"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + RNG.normal(size=200) > 0).astype(np.int64)


def prepared(method, **params):
    algorithm = REGISTRY.algorithm(f"xgboost.{method}")
    spec = Spec(Task.BINARY, {**algorithm.params, "n_estimators": 4, **params}, 1, 1, 2)
    adapter = algorithm.adapter(spec)
    return adapter, adapter.prepare(X, Y, None)


@pytest.mark.parametrize("method", ["exact", "approx", "hist"])
def test_only_hist_is_binned_before_training(method):
    adapter, native = prepared(method)
    assert isinstance(native, xgboost.QuantileDMatrix) == (method == "hist")
    adapter.fit(native)
    assert adapter.booster.num_boosted_rounds() == 4


def test_bins_follow_the_params():
    _, native = prepared("hist", max_bin=8)
    indptr, _ = native.get_quantile_cut()
    assert np.diff(indptr).max() <= 9


@pytest.mark.parametrize("method", ["exact", "approx", "hist"])
def test_misspelled_param_is_named_in_an_error(method):
    adapter, native = prepared(method, max_deep=3)
    with pytest.raises(HarnessError, match='does not know the params "max_deep"'):
        adapter.fit(native)


def test_margins_have_single_precision():
    assert margin(0.25, "identity") == np.float32(0.25)
    assert margin(0.5, "sigmoid") == 0
    e = np.float32(np.e)  # below e, so its log is below 1; numpy's own float32 log says 1
    assert margin(np.float32(1.1987678), "exp") == np.float32(0.18129419)  # as XGBoost has it
    assert margin(e, "exp") == np.nextafter(np.float32(1), np.float32(0))


def test_pruned_nodes_are_left_out():
    left, right = np.array([3, -1, -1, -1, -1]), np.array([4, -1, -1, -1, -1])
    assert level_order(left, right).tolist() == [0, 3, 4]
