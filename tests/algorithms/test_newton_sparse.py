"""Tests of sparse rows, whose absent entries are missing values."""

import tracemalloc

import numpy as np
import pytest
from newton_kit import digest, table
from scipy import sparse
from sklearn.base import clone

from algorithms import NewtonBoostingRegressor

METHODS = ["exact", "approx", "hist"]


@pytest.mark.parametrize("method", METHODS)
def test_absent_entries_are_missing_values(method):
    X, y = table(1500, missing=0.4)
    rows = sparse.csr_matrix(np.where(np.isnan(X), 0, X))
    ours = [
        NewtonBoostingRegressor(n_estimators=5, tree_method=method, random_state=0).fit(data, y)
        for data in (X, rows)
    ]
    if method == "exact":  # of dense rows trees grow by other sums
        assert ours[0].ensemble_.n_nodes == ours[1].ensemble_.n_nodes
        np.testing.assert_allclose(ours[1].predict(rows), ours[0].predict(X), atol=1e-4)
    else:
        assert digest(ours[0]) == digest(ours[1])
    assert np.array_equal(ours[1].predict(rows), ours[1].ensemble_.predict(rows))


@pytest.mark.parametrize(
    "drawn",
    [
        {"colsample_bynode": 0.5},
        {"colsample_bylevel": 0.5, "subsample": 0.7},
        {"colsample_bynode": 0.5, "max_bin": 16, "max_depth": 0},
    ],
)
@pytest.mark.parametrize(
    "own",
    [{}, {"tree_method": "approx"}, {"tree_method": "approx", "proposal": "random"}],
)
def test_node_sampling_treats_absent_entries_as_missing(own, drawn):
    X, y = table(1500, missing=0.4)
    X[:, 5] = np.round(X[:, 5], 1)
    X[X == 0.0] = np.nan
    rows = sparse.csr_matrix(np.nan_to_num(X))
    rows.data[::50] = np.nan  # an entry that is missing
    dense = rows.toarray()
    dense[dense == 0.0] = np.nan
    model = NewtonBoostingRegressor(n_estimators=3, random_state=0, **own, **drawn)
    assert digest(clone(model).fit(rows, y)) == digest(clone(model).fit(dense, y))


@pytest.mark.parametrize("own", [{}, {"tree_method": "approx"}, {"tree_method": "exact"}])
@pytest.mark.parametrize("drawn", ["colsample_bynode", "colsample_bylevel"])
def test_sparse_rows_stay_sparse_with_node_sampling(own, drawn):
    n_rows, n_columns = 8000, 1000
    X = sparse.random(n_rows, n_columns, 0.01, format="csr", random_state=0, dtype=np.float32)
    y = np.asarray(X[:, :100].sum(axis=1)).ravel()
    model = NewtonBoostingRegressor(n_estimators=1, random_state=0, **{drawn: 0.5}, **own)
    model.fit(X[:100], y[:100])  # compiled
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_rows * n_columns  # a quarter of the dense table


def test_stages_of_sparse_and_dense_rows_are_equal():
    X, y = table(300)
    X[:, 1] = np.nan
    model = NewtonBoostingRegressor(n_estimators=3).fit(X, y)
    listed = sparse.csr_array(np.nan_to_num(X))
    dense = np.where(np.nan_to_num(X) == 0.0, np.nan, X)
    for one, other in zip(model.staged_predict(listed), model.staged_predict(dense), strict=True):
        assert np.array_equal(one, other)
