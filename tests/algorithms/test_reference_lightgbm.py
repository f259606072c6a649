"""Tests of the LightGBM plugin."""

import numpy as np
import pytest

from harness import HarnessError, Spec, Task
from harness.plugins.registry import load_registry

REGISTRY = load_registry(modules=["algorithms.reference.lightgbm"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = X[:, 0] + RNG.normal(size=400)


def prepared(name, **params):
    algorithm = REGISTRY.algorithm(f"lightgbm.{name}")
    given = {**algorithm.params, "n_estimators": 20, **params}
    adapter = algorithm.adapter(Spec(Task.REGRESSION, given, 1, 1, 0))
    return adapter, adapter.prepare(X, Y, None)


def test_data_is_binned_before_training_with_the_params():
    _, native = prepared("gbdt", max_bin=8)
    assert native.num_data() == 400
    assert native.feature_num_bin(0) <= 8


def test_misspelled_param_is_named_in_an_error():
    with pytest.raises(HarnessError, match="does not know the params num_leafs, rat: "):
        prepared("gbdt", num_leafs=3, rat=1)


def test_three_boosting_variants_grow_different_trees():
    results = {}
    for name in ("gbdt", "goss", "quantised"):
        adapter, native = prepared(name)
        adapter.fit(native)
        results[name] = adapter.predict(X)
    assert (results["gbdt"] != results["goss"]).any()
    assert (results["gbdt"] != results["quantised"]).any()


def test_warning_about_no_further_splits_is_silenced(capfd):
    adapter, _ = prepared("gbdt")
    adapter.fit(adapter.prepare(X[:10], Y[:10], None))
    assert capfd.readouterr() == ("", "")
