"""Tests of the kernels of feature bundles and sparse columns against oracles."""

import numpy as np
import oracles_bundles as oracles
import oracles_histogram
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import callable_kernel
from scipy import sparse

from algorithms.estimator.constraints import all_free
from algorithms.gbdt.binning import bin_table, find_bins, runs_of
from algorithms.gbdt.bundles import NO_BUNDLES, Layout, stride_of
from algorithms.gbdt.grower import Grower
from algorithms.gbdt.kernels import booster_arrays as hist_layout
from algorithms.gbdt.kernels.bundling import find_bundles
from algorithms.gbdt.kernels.sparse_columns import build_sparse_histogram
from algorithms.gbdt.params import make_rules
from algorithms.gbdt.split_table import are_exclusive, entries_of, exclusive_columns, split_columns
from algorithms.histogram_boosting import HistogramBoostingRegressor
from algorithms.runtime.threads import Workers

build_sparse_histogram = callable_kernel(build_sparse_histogram)
few = settings(max_examples=25)
seeds = st.integers(0, 2**32 - 1)
LAYOUTS = [
    *(NO_BUNDLES, Layout(), Layout(order="degree")),
    *(Layout(sparse=False), Layout(bundles=False, sparse=False)),
]


def zeros_mostly(rng, n, d, share=0.1):
    values = np.round(rng.normal(size=(n, d)), 1)
    values[rng.random((n, d)) < 0.05] = np.nan
    return np.where(rng.random((n, d)) < share, values, 0.0)


@given(seeds, st.integers(0, 3), st.sampled_from([np.float32, np.float64]))
@few
def test_runs_are_counted_by_value_and_zero(seed, n_zeros, dtype):
    rng = np.random.default_rng(seed)
    values = zeros_mostly(rng, rng.integers(0, 30), 1, 0.7)[:, 0].astype(dtype)
    result = runs_of(values, n_zeros)
    for own, expected in zip(result, oracles.runs(values, n_zeros), strict=True):
        assert np.array_equal(own, expected)


@given(seeds, st.integers(0, 6), st.integers(1, 5))
@few
def test_feature_joins_first_bundle_with_room(seed, most, room):
    rng = np.random.default_rng(seed)
    n_rows, d = 150, 12
    is_nonzero = rng.random((n_rows, d)) < rng.random(d) * 0.3
    rows = [np.flatnonzero(own).astype(np.uint32) for own in is_nonzero.T]
    ends = np.cumsum([len(own) for own in rows])
    starts = ends - [len(own) for own in rows]
    order, needed = rng.permutation(d), rng.integers(1, 120, d)
    taken, bundle = np.zeros((room, 3), np.uint64), np.full(d, -1)
    used, conflicts = np.zeros((2, room), np.int64)
    given_arrays = starts, ends, np.concatenate(rows), order, needed
    count = find_bundles(*given_arrays, most, taken, used, conflicts, bundle)
    entries = [set(own.tolist()) for own in rows]
    bundles, left_out = oracles.find_bundles(entries, order, needed, most, room)
    assert count == len(bundles)
    assert [sorted(own) for own in bundles] == [
        np.flatnonzero(bundle == number).tolist() for number in range(count)
    ]
    assert sorted(left_out) == np.flatnonzero(bundle < 0).tolist()


@given(seeds, st.booleans(), st.sampled_from(LAYOUTS))
@few
def test_bins_are_recovered_from_bundles_and_sparse_columns(seed, is_missing, layout):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 300)), int(rng.integers(1, 40))
    X = zeros_mostly(rng, n, d, rng.random() * 0.3)
    X[:, rng.random(d) < 0.1] = 1.0
    filled = np.where(X == 0.0, np.nan, X) if is_missing else X
    none = np.zeros(d, np.int64)
    with Workers(1) as workers:
        expected = find_bins(filled, np.zeros(d, bool), 20, 10**6, 1, workers)
        plain = bin_table(filled, expected, none, all_free(len(none)), workers)
        table = split_columns(sparse.csr_array(X), absent=np.nan if is_missing else 0.0)
        result = find_bins(table, np.zeros(d, bool), 20, 10**6, 1, workers)
        bins = bin_table(table, result, none, all_free(len(none)), workers, layout)
    assert all(map(np.array_equal, result.edges, expected.edges))
    assert np.array_equal(result.missing, expected.missing)
    assert np.array_equal(oracles.bins_of(bins, n), plain.rows)
    if not layout.bundles:
        assert (np.diff(bins.layout.start)[: bins.rows.shape[1]] == 1).all()
    if not layout.sparse:
        assert bins.rows.shape[1] == len(bins.layout.length)


def test_allowed_conflict_loses_one_value():
    X = np.zeros((100, 2))
    X[:10, 0] = X[9:19, 1] = 1.0
    none = np.zeros(2, np.int64)
    with Workers(1) as workers:
        table = split_columns(sparse.csc_array(X))
        binner = find_bins(table, np.zeros(2, bool), 255, 100, 1, workers)
        facts = none, all_free(len(none)), workers
        bins = bin_table(table, binner, *facts, Layout(max_conflict_rate=0.01))
        apart = bin_table(table, binner, *facts, Layout(max_conflict_rate=0.009))
    assert bins.rows.shape[1] == 1
    assert len(apart.layout.length) == 2
    lost = oracles.bins_of(bins, 100) != X
    assert np.argwhere(lost).tolist() == [[9, 1]]


@given(seeds, st.sampled_from([1 << 10, 1 << 30]))
@few
def test_sparse_columns_sum_packed_gradients(seed, size):
    rng = np.random.default_rng(seed)
    n, d = 1500, 400
    X = zeros_mostly(rng, n, d, 0.01)
    none = np.zeros(d, np.int64)
    with Workers(1) as workers:
        table = split_columns(sparse.csr_array(X))
        binner = find_bins(table, np.zeros(d, bool), 9, n, 1, workers)
        bins = bin_table(table, binner, none, all_free(len(none)), workers)
    stride = stride_of(bins.layout)
    begin, n_cells = bins.rows.shape[1] * stride, len(bins.layout.length) * stride
    assert begin < n_cells
    g, h = rng.integers(-size, size, n), rng.integers(0, size, n)
    records = g * oracles_histogram.HALF + h
    rows = np.sort(rng.choice(n, 1100, replace=False)).astype(np.uint32)
    cells, wide = np.zeros(n_cells, np.int64), np.zeros((2, n_cells), np.int64)
    sums = np.zeros(hist_layout.N_SUMS, np.int64)
    build_sparse_histogram(bins.sparse, records, rows, 0, len(rows), 1, cells, wide, begin, sums)
    result = wide + np.array(oracles_histogram.unpack(cells))
    own = oracles.bins_of(bins, n)
    expected = oracles_histogram.histogram(own, records, rows, 9)
    for f in np.flatnonzero(bins.layout.column >= 0):
        first = bins.layout.column[f] * stride + bins.layout.first[f]
        others = np.delete(np.arange(bins.count[f]), bins.layout.default[f])
        assert np.array_equal(result[:, first : first + len(others)], expected[:, f, others])
    assert sums[hist_layout.SPREAD] == np.abs(g[rows]).sum()
    assert (sums[hist_layout.TOTAL_G], sums[hist_layout.TOTAL_H]) == (g[rows].sum(), h[rows].sum())
    assert bool(sums[hist_layout.SPARSE_FLUSHED]) == (size > 1 << 20)


def test_exclusive_columns_are_made_dense():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 4, 3000)
    X = np.column_stack([rng.normal(size=3000), level[:, None] == np.arange(4)]).astype(float)
    X = np.column_stack([X, rng.random((3000, 2)) < 0.4])
    assert exclusive_columns(X, X.dtype).tolist() == [1, 2, 3, 4]
    assert exclusive_columns(X[:, [0, 1, 5]], X.dtype).tolist() == []
    assert exclusive_columns(np.hstack([X, np.ones((3000, 20))]), X.dtype).tolist() == []


@given(st.integers(0, 10_000), st.integers(1, 200), st.integers(1, 12))
def test_columns_without_common_rows_have_zero_product(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    is_nonzero = rng.random((n_rows, n_columns)) < rng.choice([0.0, 0.02, 0.1, 0.5], n_columns)
    together = is_nonzero.T.astype(int) @ is_nonzero
    np.fill_diagonal(together, 1)
    assert are_exclusive(is_nonzero).tolist() == (together == 0).any(axis=1).tolist()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_of_dense_columns_are_in_row_order(threads, dtype):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9000, 4)).astype(dtype) * (rng.random((9000, 4)) < 0.3)
    X[5, 2], X[8999, 2], X[4095, 0] = np.nan, np.inf, -0.0
    chosen = np.array([0, 2, 3])
    with Workers(threads) as workers:
        result = entries_of(X, chosen, workers)
    expected = sparse.csc_array(X[:, chosen])
    assert result.has_canonical_format
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.indptr, expected.indptr)
    np.testing.assert_array_equal(result.indices, expected.indices)
    np.testing.assert_array_equal(result.data, expected.data)
    with Workers(threads) as workers:
        assert entries_of(X[:0], chosen, workers).shape == (0, 3)


@given(seeds, st.booleans(), st.integers(1, 3))
@settings(max_examples=15)
def test_trees_on_bundles_and_sparse_columns_equal_plain_grower(seed, has_bundles, threads):
    rng = np.random.default_rng(seed)
    n, d = 300, 12
    level = rng.integers(0, 5, n)
    X = np.column_stack([level[:, None] == np.arange(5), zeros_mostly(rng, n, d - 5, 0.15)])
    X = np.where(rng.random(d) < 0.3, -X, X)
    none = np.zeros(d, np.int64)
    g = rng.integers(-(1 << 16), 1 << 16, n) + (level == 2) * 40_000 - (level == 4) * 30_000
    h = rng.integers(1 << 14, 1 << 16, n)
    limits = {"num_leaves": 10, "min_child_samples": 4, "reg_lambda": 1e4, "min_child_weight": 0.0}
    model = HistogramBoostingRegressor(**limits)
    with Workers(threads) as workers:
        table = split_columns(sparse.csr_array(X))
        binner = find_bins(table, np.zeros(d, bool), 12, n, 1, workers)
        layout = Layout(bundles=has_bundles)
        bins = bin_table(table, binner, none, all_free(len(none)), workers, layout)
        grower = Grower(bins, binner, make_rules(model, none), workers)
        tree = grower.grow(g * oracles_histogram.HALF + h, hist_layout.Scale(1.0, 1.0), 0)
    own = oracles.bins_of(bins, n)
    rules = {"ridge": 1e4, "min_rows": 4, "min_h": 0.0, "num_leaves": 10}
    facts = bins.count, bins.missing
    splits, leaves = oracles_histogram.grow(own, g.astype(float), h.astype(float), *facts, **rules)
    assert tree.n_leaves == len(leaves)
    for result, expected in zip(grower.rows_of_leaves(), leaves, strict=True):
        assert np.array_equal(result, expected)
    inner = tree.nodes[tree.nodes["left"] >= 0]
    assert sorted(zip(inner["feature"], inner["bin"], inner["count"], strict=True)) == sorted(
        (feature, last, count) for feature, last, _, count in splits
    )
