"""Tests that labels and categories become codes and bins as by numpy and a search."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from algorithms.estimator.labels import code_classes
from algorithms.gbdt import category_bins
from algorithms.gbdt.binning import take_columns
from algorithms.gbdt.category_bins import bins_of_codes
from algorithms.gbdt.input_table import place_among
from algorithms.gbdt.split_table import split_columns
from algorithms.runtime.threads import Workers

LABELS = [np.int64, np.uint64, np.int8, np.uint32, np.bool_, np.float64, "<U3"]


@given(y=st.sampled_from(LABELS).flatmap(lambda dtype: hnp.arrays(dtype, st.integers(1, 50))))
def test_classes_equal_numpy_unique(y):
    labels, codes = code_classes(y)
    expected, places = np.unique(y, return_inverse=True)
    assert labels.dtype == expected.dtype
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(codes, places)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("end", ["min", "max"])
def test_classes_at_the_ends_of_a_dtype_equal_numpy_unique(dtype, end):
    limit = getattr(np.iinfo(dtype), end)
    steps = np.array([0, 3, 3, 120, 0]) * (1 if end == "min" else -1)
    y = np.array([limit + int(step) for step in steps], dtype)
    labels, codes = code_classes(y)
    expected, places = np.unique(y, return_inverse=True)
    assert labels.dtype == dtype
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(codes, places)


@pytest.mark.parametrize("largest", [1 << 20, 0])
def test_values_map_to_the_bins_of_their_codes(largest, monkeypatch):
    monkeypatch.setattr(category_bins, "MAX_TABLE", largest)
    codes = np.array([7, 0, 3, 1000])
    values = np.array([7, 0, 3, 1000, 1, 7.5, -1, -0.0, np.nan, 1001, 1e30, np.inf, -np.inf, -0.5])
    expected = [0, 1, 2, 3, 4, 0, 4, 1, 4, 4, 4, 4, 4, 4]  # a fraction is cut off
    assert bins_of_codes(values, codes).tolist() == expected
    strided = np.stack([values, values], axis=1)[:, 0].astype(np.float32)
    assert bins_of_codes(strided, codes).tolist() == expected
    assert bins_of_codes(values, codes[:0]).tolist() == [0] * len(values)


def test_categories_are_matched_by_value_not_by_code():
    known = pd.Index(["b", "a", "c"])
    column = pd.Series(pd.Categorical(["a", None, "z", "c", "b"], categories=["z", "a", "b", "c"]))
    assert place_among(column, known).tolist() == [1, -1, -1, 2, 0]
    assert place_among(column.astype(object), known).tolist() == [1, -1, -1, 2, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [0, 1, 8, 21])
def test_sampled_rows_are_transposed(dtype, columns):
    X = np.random.default_rng(0).normal(size=(9001, columns)).astype(dtype)
    rows = np.arange(0, 9001, 2)
    table = split_columns(X, bundles=False)
    with Workers(2) as workers:
        result = take_columns(table, np.arange(columns), rows, workers)
        some = take_columns(table, np.arange(columns)[1::2], rows, workers)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, X[rows].T)
    np.testing.assert_array_equal(some, result[1::2])
