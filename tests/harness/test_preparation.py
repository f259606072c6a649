"""Tests of preparations: fitted on the training rows and applied to all rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse

from harness.core.errors import ConfigError, DataError
from harness.core.model import Accepts, Dataset, Table, Task
from harness.data.preparation import NAMES, choose, common, fit_preparation, refusal

ALL = Accepts(missing=True, categorical=True, sparse=True)
NONE = Accepts()


def dataset(**kwargs):
    empty = Table(pd.DataFrame(), np.empty(0))
    return Dataset("d", Task.BINARY, lambda: empty, "0", rows=9, columns=3, **kwargs)


def table():
    frame = pd.DataFrame(
        {
            "number": [1.0, np.nan, 3.0, 10.0, 5.0, np.nan],
            "color": pd.Categorical(["red", "blue", None, "red", "green", None]),
            "count": [3, 2, 1, 0, 1, 2],
        }
    )
    return Table(frame, np.zeros(6))


TRAIN = np.array([0, 1, 3])  # colors red, blue, red: green and missing are not seen


@pytest.mark.parametrize(
    ("accepts", "kwargs", "expected"),
    [
        (NONE, {}, "native"),
        (NONE, {"categorical": 2}, "ordinal"),
        (NONE, {"missing": True}, "native+impute"),
        (NONE, {"categorical": 2, "missing": True}, "ordinal+impute"),
        (Accepts(categorical=True), {"categorical": 2, "missing": True}, "native+impute"),
        (Accepts(missing=True), {"categorical": 2, "missing": True}, "ordinal"),
        (ALL, {"categorical": 2, "missing": True}, "native"),
    ],
)
def test_most_native_accepted_preparation_is_chosen(accepts, kwargs, expected):
    assert choose(accepts, dataset(**kwargs)) == expected


def test_pair_is_prepared_for_the_side_that_accepts_less():
    both = dataset(categorical=1, missing=True)
    assert common([ALL, ALL], both) == "native"
    assert common([ALL, NONE], both) == "ordinal+impute"
    assert common([Accepts(missing=True), Accepts(categorical=True)], both) == "ordinal+impute"


def test_refusals_name_the_unsupported_data():
    assert "sparse" in refusal(NONE, dataset(sparse=True))
    assert "missing" in refusal(Accepts(sparse=True), dataset(sparse=True, missing=True))
    assert "weights" in refusal(Accepts(weights=False), dataset(weighted=True))
    assert refusal(NONE, dataset(categorical=1, missing=True, weighted=True)) is None
    assert refusal(ALL, dataset(sparse=True, missing=True)) is None


def test_native_numbers_are_a_new_c_contiguous_array():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [np.inf, np.nan, -np.inf], "c": [True, False, True]})
    frame["d"] = pd.array([1, None, 3], dtype="Int64")
    before = frame.copy()
    prepared = fit_preparation("native", Table(frame, np.zeros(3)), np.arange(3))
    result = prepared.apply(frame)
    assert result.dtype == np.float64
    assert result.flags.c_contiguous
    assert result.flags.writeable
    np.testing.assert_array_equal(
        result, [[1, np.inf, 1, 1], [2, np.nan, 0, np.nan], [3, -np.inf, 1, 3]]
    )
    result[:] = 0.0
    pd.testing.assert_frame_equal(frame, before)


def test_native_categories_keep_the_codes_of_the_whole_dataset():
    data = table()
    prepared = fit_preparation("native", data, TRAIN)
    assert prepared.categorical == (1,)
    result = prepared.apply(data.X.iloc[[2, 4]])
    assert result.iloc[:, 1].cat.categories.tolist() == [0, 1, 2]
    assert result.iloc[:, 1].cat.codes.tolist() == [-1, 1]  # missing; blue, green, red
    assert result.iloc[:, 0].dtype == np.float64
    assert result.iloc[:, 2].dtype == np.float64


def test_native_with_imputation_makes_missing_a_category():
    data = table()
    result = fit_preparation("native+impute", data, TRAIN).apply(data.X)
    assert result.iloc[:, 1].cat.codes.tolist() == [2, 0, 3, 2, 1, 3]
    assert result.iloc[:, 0].tolist() == [1.0, 5.5, 3.0, 10.0, 5.0, 5.5]


def test_ordinal_codes_are_positions_among_sorted_training_categories():
    data = table()
    prepared = fit_preparation("ordinal", data, TRAIN)
    assert prepared.categorical == ()
    assert prepared.columns == ("number", "color", "count")
    np.testing.assert_array_equal(prepared.apply(data.X)[:, 1], [1, 0, np.nan, 1, -1, np.nan])


def test_imputed_missing_category_is_unseen_unless_in_training():
    data = table()
    unseen = fit_preparation("ordinal+impute", data, TRAIN).apply(data.X)
    np.testing.assert_array_equal(unseen[:, 1], [1, 0, -1, 1, -1, -1])
    seen = fit_preparation("ordinal+impute", data, np.arange(6)).apply(data.X)
    np.testing.assert_array_equal(seen[:, 1], [2, 0, 3, 2, 1, 3])


def test_onehot_has_a_column_for_each_training_category():
    data = table()
    plain = fit_preparation("onehot", data, TRAIN)
    assert plain.columns == ("number", "color=blue", "color=red", "count")
    expected = [[0, 1], [1, 0], [np.nan, np.nan], [0, 1], [0, 0], [np.nan, np.nan]]
    np.testing.assert_array_equal(plain.apply(data.X)[:, 1:3], expected)
    imputed = fit_preparation("onehot+impute", data, np.arange(6))
    assert imputed.columns[1:5] == ("color=blue", "color=green", "color=red", "color=(missing)")
    np.testing.assert_array_equal(imputed.apply(data.X)[:, 1:5].sum(axis=1), np.ones(6))
    np.testing.assert_array_equal(imputed.apply(data.X)[:, 4], [0, 0, 1, 0, 0, 1])


def test_sorted_order_is_by_label_or_as_in_the_data():
    numbers = pd.Categorical([10, 9, 10], categories=[10, 9])
    sizes = pd.Categorical(["s", "l", "m"], categories=["s", "m", "l"], ordered=True)
    frame = pd.DataFrame({"n": numbers, "size": sizes})
    result = fit_preparation("ordinal", Table(frame, np.zeros(3)), np.arange(3)).apply(frame)
    np.testing.assert_array_equal(result, [[1, 0], [0, 2], [1, 1]])


def test_column_without_training_values_is_filled_with_zero_and_reported():
    frame = pd.DataFrame({"x": [np.nan, np.nan, 7.0], "y": [1.0, np.inf, 2.0]})
    prepared = fit_preparation("native+impute", Table(frame, np.zeros(3)), np.array([0, 1]))
    assert prepared.notes == ("column 'x' has no value in the training rows; filled with 0",)
    np.testing.assert_array_equal(prepared.apply(frame), [[0, 1], [0, np.inf], [7, 2]])


def test_sparse_stays_sparse_and_is_only_native():
    X = csr_matrix(np.eye(4))
    prepared = fit_preparation("native", Table(X, np.zeros(4)), np.arange(3))
    result = prepared.apply(X[:2])
    assert issparse(result)
    assert result.format == "csr"
    with pytest.raises(DataError, match="only prepared as 'native'"):
        fit_preparation("ordinal", Table(X, np.zeros(4)), np.arange(3))


def test_unknown_names_and_text_columns_are_refused():
    with pytest.raises(ConfigError, match="did you mean 'ordinal'"):
        fit_preparation("ordinals", table(), TRAIN)
    text = pd.DataFrame({"t": ["a", "b"]})
    prepared = fit_preparation("native", Table(text, np.zeros(2)), np.arange(2))
    with pytest.raises(DataError, match="neither numbers nor categories"):
        prepared.apply(text)


@given(
    codes=st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=4, max_size=12),
    numbers=st.lists(st.floats(-9, 9) | st.just(float("nan")), min_size=4, max_size=12),
    n_train=st.integers(1, 4),
    name=st.sampled_from(NAMES),
)
def test_rows_are_prepared_equally_alone_and_together(codes, numbers, n_train, name):
    n = min(len(codes), len(numbers))
    colors = pd.Categorical.from_codes(codes[:n], categories=["b", "a", "c"])
    frame = pd.DataFrame({"c": colors, "x": numbers[:n]})
    prepared = fit_preparation(name, Table(frame, np.zeros(n)), np.arange(n_train))
    whole = prepared.apply(frame)
    assert whole.shape == (n, len(prepared.columns))
    for i in range(n):
        alone = prepared.apply(frame.iloc[[i]])
        if isinstance(whole, pd.DataFrame):
            pd.testing.assert_frame_equal(alone, whole.iloc[[i]].reset_index(drop=True))
            left = whole.isna().to_numpy()
        else:
            np.testing.assert_array_equal(alone, whole[[i]])
            left = np.isnan(whole)
    assert not (name.endswith("+impute") and left.any())
