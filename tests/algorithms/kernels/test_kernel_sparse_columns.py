"""Tests that sparse entries get the same bins by column and by row, for any threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from algorithms.gbdt import sparse_columns as hist_sparse
from algorithms.gbdt.binning import bin_sparse, find_bins, last_rounded, pad_edges, sample_rows
from algorithms.gbdt.sparse_columns import ByColumn, ByRow
from algorithms.gbdt.split_table import SplitTable, split_columns
from algorithms.histogram_boosting import HistogramBoostingClassifier
from algorithms.newton_boosting import NewtonBoostingRegressor
from algorithms.runtime.threads import Workers

seeds = st.integers(0, 2**32 - 1)


def drawn_matrix(seed, dtype):
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(1, 200)), int(rng.integers(1, 30))
    values = np.round(rng.normal(size=shape), int(rng.integers(0, 3)))
    values[rng.random(shape) < 0.05] = np.nan
    held = rng.random(shape) < rng.random(shape[1]) * 0.8  # of them some zeros
    return sparse.csr_array((values[held], np.nonzero(held)), shape, dtype=dtype)


def parts_of(columns, absent):
    nothing = np.empty((columns.shape[0], 0), columns.matrix.dtype)
    return SplitTable(nothing, np.empty(0, np.int64), columns, np.arange(columns.shape[1]), absent)


def entries_in(entries):
    spans = zip(entries.start, entries.end, strict=True)
    return [(entries.rows[a:b].tolist(), entries.bins[a:b].tolist()) for a, b in spans]


@given(seeds, st.integers(1, 3), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_row_and_column_access_give_the_same_bins(seed, threads, dtype, is_missing):
    X = drawn_matrix(seed, dtype)
    n_rows, n_columns = X.shape
    absent = np.nan if is_missing else 0.0
    numbers = np.zeros(n_columns, bool)
    by_column = parts_of(ByColumn(sparse.csc_array(X)), absent)
    with Workers(threads) as workers:
        by_row = parts_of(ByRow(X, workers), absent)
        expected = find_bins(by_column, numbers, 20, max(1, n_rows // 2), 1, workers)
        result = find_bins(by_row, numbers, 20, max(1, n_rows // 2), 1, workers)
        own = bin_sparse(by_row, result, workers)
        other = bin_sparse(by_column, expected, workers)
    assert all(map(np.array_equal, result.edges, expected.edges))
    assert np.array_equal(result.missing, expected.missing)
    assert np.array_equal(own.default, other.default)
    assert entries_in(own) == entries_in(other)
    assert np.array_equal(by_row.sparse.counts, by_column.sparse.counts)
    assert np.array_equal(by_row.sparse.has_missing, by_column.sparse.has_missing)


@pytest.mark.parametrize("reason", ["edges", "codes"])
def test_rows_are_transposed_when_needed(monkeypatch, reason):
    X = sparse.csr_array(np.abs(drawn_matrix(3, np.float64).toarray().round()))
    is_categorical = np.arange(X.shape[1]) == (0 if reason == "codes" else -1)
    if reason == "edges":
        monkeypatch.setattr(hist_sparse, "MAX_EDGES", 0)
    monkeypatch.delattr(hist_sparse, "bin_by_row")  # must not be called
    with Workers(2) as workers:
        by_row, by_column = parts_of(ByRow(X, workers), 0.0), parts_of(ByColumn(X.tocsc()), 0.0)
        binner = find_bins(by_row, is_categorical, 20, 1000, 1, workers)
        own, other = (bin_sparse(table, binner, workers) for table in (by_row, by_column))
    assert entries_in(own) == entries_in(other)


def test_duplicate_entries_are_summed_first():
    twice = sparse.csr_array(([1.0, 2.0, 5.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    assert isinstance(split_columns(twice).sparse, ByColumn)
    assert split_columns(twice).sparse.matrix.toarray().tolist() == [[3.0, 0.0], [0.0, 5.0]]
    twice.sum_duplicates()
    assert isinstance(split_columns(twice).sparse, ByRow)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_largest_float_rounded_to_an_edge(edges):
    edges = np.array([*edges, np.finfo(np.float32).max], np.float32)
    last = last_rounded(edges)
    is_largest = edges == np.finfo(np.float32).max  # beyond it no table has values
    with np.errstate(over="ignore"):
        rounded, after = (x.astype(np.float32) for x in (last, np.nextafter(last, np.inf)))
    assert ((rounded == edges) | is_largest).all()
    assert ((after > edges) | is_largest).all()
    assert (last[is_largest] >= np.finfo(np.float32).max).all()


def test_edges_of_float64_equal_edges_of_rounded_values():
    edges = [np.array([0.1, 0.30000001]), np.empty(0)]
    narrow = pad_edges(edges, split_columns(np.zeros((1, 2), np.float32), bundles=False))
    wide = pad_edges(edges, split_columns(np.zeros((1, 2)), bundles=False, rounds=True))
    assert (narrow[0].dtype, wide[0].dtype) == (np.float32, np.float64)
    assert np.array_equal(narrow[1], wide[1])
    assert (narrow[0] <= wide[0]).all()
    assert np.array_equal(wide[0].astype(np.float32), narrow[0])


def neighbors(rng, n, d):
    """Return float64 numbers at float32 values, half way to the next one, and just beside that."""
    base = rng.normal(size=6).astype(np.float32)[rng.integers(0, 6, (n, d))]
    after = np.nextafter(base, np.float32(np.inf)).astype(np.float64)
    half = (base.astype(np.float64) + after) / 2.0
    kinds = [base.astype(np.float64), half, np.nextafter(half, -np.inf), after]
    return np.choose(rng.integers(0, 4, (n, d)), kinds)


@given(seeds, st.integers(1, 2), st.sampled_from(["ties", "zeros", "gaps", "tiny", "lists"]))
@settings(max_examples=25)
def test_float64_rows_train_like_their_float32_copies(seed, threads, kind):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 400)), int(rng.integers(1, 9))
    X = neighbors(rng, n, d)
    if kind == "zeros":
        X[rng.random((n, d)) < 0.8] = 0.0
    elif kind == "gaps":
        X[rng.random((n, d)) < 0.1] = np.nan
    elif kind == "tiny":
        X *= 1e-44
    share = 0.5 if kind == "lists" else 1.0  # of columns a node draws: then lists of bins serve
    model = NewtonBoostingRegressor(
        n_estimators=3, max_bin=int(rng.integers(2, 64)), n_jobs=threads, colsample_bynode=share,
        random_state=0,
    )  # fmt: skip
    y = rng.normal(size=n)
    wide = model.fit(X, y).predict(X)
    dumped = model.ensemble_
    narrow = model.fit(X.astype(np.float32), y).predict(X)
    assert np.array_equal(wide, narrow)
    assert np.array_equal(dumped.threshold, model.ensemble_.threshold, equal_nan=True)


@pytest.mark.parametrize("value", [3.5e38, -1e300, np.inf])
def test_float64_rows_beyond_float32_are_refused(value):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[7, 1] = value
    with pytest.raises(ValueError, match=r"Input X contains infinity .* large for dtype.'float32'"):
        NewtonBoostingRegressor().fit(X, X[:, 0])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_empty_sample_leaves_features_unsplit(form):
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = X[:, 0] > 0.0
    model = HistogramBoostingClassifier(n_estimators=2, subsample_for_bin=1, min_data_in_bin=1)
    assert len(sample_rows(100, 1)) == 0
    assert np.unique(model.fit(form(X), y).predict_proba(form(X)), axis=0).shape == (1, 2)


def test_sparse_table_is_split_into_few_chunks():
    few = sparse.csr_array(([1.0, 2.0], ([0, 5], [3, 900])), shape=(1000, 1000))
    many = sparse.csr_array(np.ones((1000, 3)))
    with Workers(4) as workers:
        assert [len(ByRow(X, workers).parts) for X in (few, many)] == [1, 4]
