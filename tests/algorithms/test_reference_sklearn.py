"""Tests of the scikit-learn plugin."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from algorithms.reference.sklearn import sparse_without_missing
from harness import Dataset, Spec, Task
from harness.plugins.registry import load_registry

REGISTRY = load_registry(modules=["algorithms.reference.sklearn"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + RNG.normal(size=200) > 0).astype(np.int64)


def fitted(name, X=X, threads=1, **params):
    algorithm = REGISTRY.algorithm(f"sklearn.{name}")
    spec = Spec(Task.BINARY, {**algorithm.params, **params}, 1, threads, 2)
    adapter = algorithm.adapter(spec)
    adapter.fit(adapter.prepare(X, Y, None))
    return adapter


@pytest.mark.parametrize("name", ["bagging", "random_forest"])
def test_one_row_is_predicted_without_threads_and_model_keeps_its_setting(name):
    adapter = fitted(name, threads=2, n_estimators=5)
    assert adapter.model.n_jobs == 2
    np.testing.assert_array_equal(adapter.predict_one(X[:1]), adapter.predict(X)[:1])
    assert adapter.model.n_jobs == 2


@pytest.mark.parametrize("name", ["bagging", "adaboost"])
def test_member_params_are_named_through_the_estimator(name):
    adapter = fitted(name, n_estimators=3, estimator__max_depth=2)
    assert max(member.get_depth() for member in adapter.model.estimators_) == 2
    assert max(member.get_depth() for member in fitted("adaboost").model.estimators_) == 1


def test_histogram_boosting_grows_all_trees_on_many_rows():
    many, y = np.tile(X, (60, 1)), np.tile(Y, 60)
    algorithm = REGISTRY.algorithm("sklearn.hist_gradient_boosting")
    params = {**algorithm.params, "max_iter": 15, "max_leaf_nodes": 3}
    adapter = algorithm.adapter(Spec(Task.BINARY, params, 1, 1, 2))
    adapter.fit(adapter.prepare(many, y, None))
    assert adapter.model.n_iter_ == 15


def test_columns_with_more_categories_than_bins_become_codes():
    codes = RNG.integers(-1, 300, 200)
    many = pd.Categorical.from_codes(codes, categories=pd.RangeIndex(300))
    few = pd.Categorical.from_codes(codes % 7, categories=pd.RangeIndex(7))
    frame = pd.DataFrame({"c0": many, "c1": few, "c2": X[:, 0]})
    adapter = fitted("hist_gradient_boosting", frame, max_iter=5)
    reduced = adapter.accepted(frame)
    assert [str(dtype) for dtype in reduced.dtypes] == ["float64", "category", "float64"]
    np.testing.assert_array_equal(reduced["c0"].isna(), codes == -1)
    assert str(frame.dtypes.iloc[0]) == "category"
    trees = adapter.export_trees()
    np.testing.assert_array_equal(trees.raw(frame)[:, 0], adapter.model.decision_function(reduced))
    values = trees.feature[trees.categories >= 0]
    assert set(values.tolist()) <= {1}
    stages = list(adapter.staged(frame))
    np.testing.assert_array_equal(stages[-1], adapter.predict(frame))


def test_columns_without_training_values_are_constant():
    empty = X.copy()
    empty[:, [1, 3]] = np.nan
    adapter = fitted("hist_gradient_boosting", empty, max_iter=5)
    assert np.isnan(empty[:, 1]).all()
    np.testing.assert_array_equal(adapter.predict(X), adapter.predict(empty))
    none = pd.Categorical.from_codes(np.full(200, -1), categories=pd.RangeIndex(3))
    frame = pd.DataFrame({"c0": X[:, 0], "c1": none})
    later = frame.assign(c1=pd.Categorical.from_codes(np.arange(200) % 3, dtype=none.dtype))
    adapter = fitted("hist_gradient_boosting", frame, max_iter=5)
    np.testing.assert_array_equal(adapter.predict(later), adapter.predict(frame))


def test_sparse_data_with_missing_values_is_skipped_with_a_reason():
    data = Dataset("d", Task.BINARY, lambda: None, "0", 9, 3, sparse=True, missing=True)
    assert "missing values in sparse data" in sparse_without_missing(data)
    assert sparse_without_missing(dataclasses.replace(data, missing=False)) is None


def test_misspelled_param_is_an_error():
    with pytest.raises(ValueError, match="max_deep"):
        fitted("random_forest", max_deep=3)


def test_nonconstant_initial_model_cannot_be_exported():
    from sklearn.linear_model import LogisticRegression

    from harness import HarnessError

    adapter = fitted("gradient_boosting", n_estimators=2, init=LogisticRegression())
    with pytest.raises(HarnessError, match="not exportable: its initial model is a LogisticReg"):
        adapter.export_trees()
    adapter.model = LogisticRegression()
    with pytest.raises(HarnessError, match="no rule for LogisticRegression"):
        adapter.export_trees()
