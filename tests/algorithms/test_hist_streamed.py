"""Tests of tables that are read in batches: the same models as of the table in memory."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from algorithms import Batches, HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.gbdt import base
from algorithms.gbdt import row_order as hist_order

N = 6000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
X[:, 1] = np.round(X[:, 1])
X[RNG.random(X.shape) < [0.0, 0.0, 0.2, 0.0]] = np.nan
Y = np.nan_to_num(X[:, 0] + X[:, 2]) + X[:, 1] ** 2 + RNG.normal(size=N)
WEIGHT = RNG.uniform(0.5, 2.0, N)


def batches_of(X, y, size=1000):
    """Return the `Batches` of a table."""
    spans = [slice(first, first + size) for first in range(0, len(y), size)]
    return Batches(lambda: ((X[span], y[span]) for span in spans))


def regressor(**params):
    return HistogramBoostingRegressor(n_estimators=10, num_leaves=15, n_jobs=2, **params)


def assert_same(one, other):
    """Assert that two models have the same trees."""
    trees, expected = one.ensemble_.to_arrays(), other.ensemble_.to_arrays()
    assert trees.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(trees[name], values)
    assert one.n_features_in_ == other.n_features_in_


@pytest.fixture(params=["in order", "reordered", "by rows"])
def storage(request, monkeypatch):
    """Store small tables as large ones: with reordered rows, or in row-major order only."""
    if request.param != "in order":
        for name in ("MIN_VALUES_TO_REORDER", "MIN_TREES", "MIN_LEAVES"):
            monkeypatch.setattr(hist_order, name, 1)
    if request.param == "by rows":
        monkeypatch.setattr(base, "MIN_VALUES_BY_ROWS", 1)


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "params",
    [
        {"subsample_for_bin": 1000},
        {"subsample": 0.7, "subsample_freq": 1},
        {"zero_as_missing": True},
        {"use_missing": False},
    ],
)
def test_model_is_that_of_the_whole_table(dtype, params):
    """The sample of the bin edges may have fewer rows than a batch, or all rows of the table."""
    own = X.astype(dtype)
    streamed = regressor(**params).fit(batches_of(own, Y), None, sample_weight=WEIGHT)
    assert_same(streamed, regressor(**params).fit(own, Y, sample_weight=WEIGHT))


@pytest.mark.parametrize("row_group", [700, N])
def test_parquet_file_is_read_by_row_groups(row_group, tmp_path):
    """Column names, labels and a column of integers; early stopping on a table in memory."""
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcd"))
    frame["whole"] = RNG.integers(0, 9, N)
    labels = np.where(Y > 1.0, "high", "low")
    path = tmp_path / "table.parquet"
    frame.assign(label=labels).to_parquet(path, row_group_size=row_group)
    watched = {"eval_set": [(frame[:500], labels[:500])]}
    model = HistogramBoostingClassifier(n_estimators=8, n_jobs=2)
    expected = HistogramBoostingClassifier(n_estimators=8, n_jobs=2).fit(frame, labels, **watched)
    for given in (str(path), path):
        assert_same(model.fit(given, "label", **watched), expected)
        assert model.classes_.tolist() == ["high", "low"]
        assert model.feature_names_in_.tolist() == [*"abcd", "whole"]
        assert model.evals_result_ == expected.evals_result_


def test_batches_of_several_dtypes_are_read_as_float64():
    parts = (X[:2000].astype(np.float32), Y[:2000]), (X[2000:], Y[2000:]), (X[:0], Y[:0])
    whole = np.concatenate([part for part, _ in parts])
    assert_same(regressor().fit(Batches(lambda: iter(parts)), None), regressor().fit(whole, Y))


def changing(first, second):
    """Return `Batches` that yield other rows in the second pass."""
    passes = iter([first, second])
    return Batches(lambda: iter([next(passes)]))


@pytest.mark.parametrize(
    ("given", "y", "params", "message"),
    [
        (batches_of(X, Y), Y, {}, "Batches yield the targets"),
        (Batches(lambda: iter(())), None, {}, "no batch has a row"),
        (batches_of(X, Y), None, {"linear_tree": True}, "linear_tree=True needs the whole table"),
        (batches_of(X, Y), None, {"boosting_type": "dart"}, "'dart' needs the whole table"),
        (batches_of(X, Y), None, {"parity": "lightgbm"}, "parity='lightgbm' needs the whole table"),
        (batches_of(X, Y), None, {"categorical_feature": [1]}, "categorical_feature"),
        (Batches(lambda: iter([(X, Y[:9])])), None, {}, "6000 rows and 9 values of y"),
        (Batches(lambda: iter([(X, Y), (X[:, :2], Y)])), None, {}, "2 features"),
        (Batches(lambda: iter([(X, Y), (np.full((9, 4), np.inf), Y[:9])])), None, {}, "infinity"),
        (Batches(lambda: iter([(X, Y * np.nan)])), None, {}, "NaN"),
        (changing((X, Y), (X[:99], Y[:99])), None, {}, "have 99 rows; they had 6000 before"),
        (Batches(lambda: None), None, {}, "returned None"),
        (Batches(lambda: [(X, Y, Y)]), None, {}, "must be a pair"),
        (Batches(lambda: [(sparse.csr_array(X), Y)]), None, {}, "only dense batches"),
        (
            Batches(lambda: iter([(pd.DataFrame({"a": pd.Categorical(["u", "v"])}), Y[:2])])),
            None,
            {},
            "categorical dtype cannot be read in batches",
        ),
    ],
)
def test_invalid_batches_and_options_raise(given, y, params, message):
    model = regressor(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(given, y)
    assert not hasattr(model, "ensemble_")


def test_missing_target_and_rows_of_weight_zero_are_refused(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]}).to_parquet(path)
    with pytest.raises(ValueError, match="has no column 'c'; it has a, b"):
        regressor().fit(path, "c")
    with pytest.raises(TypeError, match="y must be the name of the target column"):
        regressor().fit(path, Y)
    with pytest.raises(FileNotFoundError):
        regressor().fit(tmp_path / "other.parquet", "b")
    with pytest.raises(ValueError, match="eval_set needs tables in memory"):
        regressor().fit(path, "b", eval_set=[(path, "b")])
    with pytest.raises(TypeError, match="needs a function"):
        Batches([(X, Y)])
    weight = np.where(np.arange(N) < 9, 0.0, 1.0)
    with pytest.raises(ValueError, match="sample_weight has zeros"):
        regressor().fit(batches_of(X, Y), None, sample_weight=weight)


def test_an_index_that_pandas_stored_is_a_column(tmp_path):
    path = tmp_path / "table.parquet"
    frame = pd.DataFrame(X[:200], columns=list("abcd"), index=pd.Index(Y[:200], name="target"))
    frame.to_parquet(path)
    named = pd.DataFrame(X[:200], columns=list("abcd"))
    assert_same(regressor().fit(path, "target"), regressor().fit(named, Y[:200]))
