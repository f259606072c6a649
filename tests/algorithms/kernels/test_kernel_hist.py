"""Tests of the kernels of the histogram booster, against oracles."""

import math

import numpy as np
import oracles_histogram as oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import callable_kernel

from algorithms.estimator.constraints import all_free
from algorithms.gbdt import gradient_quantization as hist_records
from algorithms.gbdt.binning import Binner, bin_table, find_bins, runs_of
from algorithms.gbdt.grower import Grower
from algorithms.gbdt.kernels import booster_arrays as hist_layout
from algorithms.gbdt.kernels import gradient_packing as hist_pack
from algorithms.gbdt.kernels import gradients as hist_gradient
from algorithms.gbdt.kernels import histogram as hist_build
from algorithms.gbdt.kernels.bin_edges import find_edges
from algorithms.gbdt.kernels.gradient_packing import step_of_sizes
from algorithms.gbdt.kernels.gradients import ROWS, differentiate, differentiate_classes
from algorithms.gbdt.kernels.histogram import build_bounded, build_narrow, build_wide
from algorithms.gbdt.kernels.partition import partition
from algorithms.gbdt.kernels.row_sampling import draw_rows
from algorithms.gbdt.params import CONSTRAINTS, make_rules
from algorithms.histogram_boosting import HistogramBoostingRegressor
from algorithms.runtime import exact_sums
from algorithms.runtime.exact_sum_kernels import add_sizes
from algorithms.runtime.threads import Workers, make_team

ONE = np.empty(0, np.float32)
NO_WEIGHT = np.empty(0)
build_bounded, partition = callable_kernel(build_bounded), callable_kernel(partition)
few = settings(max_examples=25)


def rng_of(seed):
    return np.random.default_rng(seed)


# ------------------------------------------------------------------ bins


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]), st.integers(2, 255))
@few
def test_bins_equal_numpy_searchsorted(seed, dtype, max_bin):
    rng = rng_of(seed)
    X = rng.normal(size=(300, 3)).astype(dtype)
    X[:, 1] = rng.integers(0, 5, 300)
    X[rng.random(X.shape) < 0.1] = np.nan
    with Workers(2) as workers:
        binner = find_bins(X, np.zeros(3, bool), max_bin, 10**6, 1, workers)
        bins = bin_table(X, binner, np.zeros(3, np.int64), all_free(3), workers)
    assert (binner.counts <= max_bin).all()
    for f in range(3):
        there = ~np.isnan(X[:, f])
        expected = np.searchsorted(binner.edges[f], X[there, f].astype(np.float64))
        assert np.array_equal(bins.columns[f, there], expected)
        assert (bins.columns[f, ~there] == binner.missing[f]).all()
    assert np.array_equal(bins.rows.T, bins.columns)


def test_edges_lie_between_few_values_and_frequent_values_get_their_own_bin():
    edges = np.empty(255)
    count = find_edges(*runs_of(np.array([0.0, 4.0, 1.0, 1.0, 0.0])), 255, 1, edges)
    assert edges[:count].tolist() == [0.5, 2.5]
    values = np.sort(np.concatenate([np.zeros(900), np.arange(1.0, 101.0)]))
    count = find_edges(*runs_of(values), 11, 1, edges)
    assert edges[0] == 0.5
    assert np.diff(np.searchsorted(values, edges[:count])).max() <= 20
    assert count == 10


def test_edges_separate_adjacent_floats():
    low = np.float64(1.0)
    high = np.nextafter(low, 2.0)
    edges = np.empty(255)
    assert find_edges(*runs_of(np.array([low, high])), 255, 1, edges) == 1
    assert low <= edges[0] < high


def test_drawn_rows_do_not_depend_on_chunks():
    out = np.empty(10_000, np.uint32)
    whole = out[: draw_rows(np.uint32(7), 1 << 30, 0, 10_000, out)].copy()
    first = out[: draw_rows(np.uint32(7), 1 << 30, 0, 3_000, out)].copy()
    rest = out[: draw_rows(np.uint32(7), 1 << 30, 3_000, 10_000, out)].copy()
    assert np.array_equal(whole, np.concatenate([first, rest]))
    assert abs(len(whole) - 2500) < 5 * math.sqrt(2500)


# ------------------------------------------------------------------ derivatives


@pytest.mark.parametrize(
    ("name", "a"),
    [("L2", 0.0), ("POISSON", 0.0), ("GAMMA", 0.0), ("TWEEDIE", 1.3), ("LOGISTIC", 1.0)],
)
def test_derivatives_equal_those_of_the_loss(name, a):
    rng = rng_of(0)
    score, weight = rng.normal(size=500), rng.random(500) + 0.5
    y = rng.integers(0, 2, 500) * 1.0 if name == "LOGISTIC" else rng.random(500) + 0.1
    g, h = np.ones(500, np.float32), np.ones(500, np.float32)
    differentiate(getattr(hist_gradient, name), a, score, y, weight, g, h, 0, 500)
    e = 1e-4
    at, up, down = (oracles.loss(name, a, score + d, y) for d in (0.0, e, -e))
    np.testing.assert_allclose(g, weight * (up - down) / (2 * e), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(h, weight * (up + down - 2 * at) / e**2, rtol=1e-3, atol=1e-4)


def test_gradients_of_nonsmooth_losses():
    score, y = np.array([0.0, 2.0, -3.0]), np.array([1.0, 1.0, -3.0])
    g, h = np.empty(3, np.float32), ONE
    expected = {
        hist_gradient.L1: [-1.0, 1.0, 0.0],
        hist_gradient.HUBER: [-0.5, 0.5, 0.0],
        hist_gradient.QUANTILE: [-0.5, 0.5, 0.5],
    }
    for kind, slopes in expected.items():
        differentiate(kind, 0.5, score, y, NO_WEIGHT, g, h, 0, 3)
        np.testing.assert_allclose(g, slopes)


def test_softmax_derivatives_equal_formula():
    rng = rng_of(1)
    score, code, weight = 3 * rng.normal(size=(4, 50)), rng.integers(0, 4, 50), rng.random(50)
    g, h = np.empty((4, 50), np.float32), np.empty((4, 50), np.float32)
    work = np.empty((len(score) + 2, ROWS))
    differentiate_classes(score, code.astype(float), weight, work, g, h, 0, 50)
    p = np.exp(score) / np.exp(score).sum(axis=0)
    np.testing.assert_allclose(g, weight * (p - (code == np.arange(4)[:, None])), atol=1e-6)
    np.testing.assert_allclose(h, weight * 4 / 3 * p * (1 - p), atol=1e-6)


@given(st.floats(-700, 700))
@few
def test_exp_equals_numpy_exp(x):
    g, h = np.empty(1, np.float32), np.empty(1, np.float32)
    score = np.array([min(x, 80.0)])
    differentiate(hist_gradient.POISSON, 0.0, score, np.zeros(1), NO_WEIGHT, g, h, 0, 1)
    assert g[0] == pytest.approx(np.float32(math.exp(score[0])), rel=2e-7, abs=1e-44)


# ------------------------------------------------------------------ records


def test_rounding_is_unbiased_and_its_error_bounded():
    g = np.full(200_000, np.float32(0.3))
    g[0] = 1e4  # makes a step large
    h = np.full(200_000, np.float32(0.01))
    records = np.empty(200_000, np.int64)
    with Workers(1) as workers:
        scale = hist_records.pack_rows(g, h, np.uint32(3), records, workers)
    found_g, found_h = oracles.unpack(records)
    for result, true, step in ((found_g, g, scale.g), (found_h, h, scale.h)):
        error = (result * step - true).sum()
        assert abs(error) <= 4 * step * math.sqrt(len(g)) / 2
        assert np.abs(result * step - true).max() < step


@given(st.integers(0, 2**32 - 1), st.floats(-30, 30))
@few
def test_packed_gradients_hold_the_largest_value(seed, power):
    rng = rng_of(seed)
    g = (rng.standard_cauchy(1000) * 2.0**power).astype(np.float32)
    records = np.empty(1000, np.int64)
    with Workers(1) as workers:
        scale = hist_records.pack_rows(g, np.abs(g), np.uint32(seed), records, workers)
    found_g, found_h = oracles.unpack(records)
    assert np.abs(found_g).max() <= 1 << 30
    assert found_h.max() <= 1 << 30
    np.testing.assert_allclose(found_g * scale.g, g, atol=scale.g)
    assert math.frexp(scale.g)[0] == 0.5  # a power of two


@given(st.integers(0, 2**32 - 1), st.floats(-140, 120), st.integers(1, 40_000))
@few
def test_quantization_step_covers_mean_and_maximum(seed, power, n):
    values = np.abs(rng_of(seed).standard_cauchy(n) * 2.0**power)
    values = np.clip(values, 2.0**-149, np.finfo(np.float32).max).astype(np.float32)
    stride = hist_records.stride_of_sizes(n)
    table = exact_sums.size_table()
    add_sizes(values, 0, 0, n, stride, table)
    step, bound = step_of_sizes(table, stride, n)
    largest, mean = float(values.max()), math.fsum(values[::stride]) * stride / n
    by_mean, by_largest = mean / 2**hist_pack.MEAN_BITS, largest / 2**hist_pack.MAX_BITS
    assert step <= 2 * max(by_mean, by_largest)
    assert step > max(by_mean, by_largest) / 2 * (1 - 1e-12)
    assert largest <= 2**hist_pack.MAX_BITS * step
    assert largest / step < bound <= largest / step + 2


def test_nonfinite_derivatives_are_refused():
    good, records = np.ones(2, np.float32), np.zeros(2, np.int64)
    for wrong in (np.nan, np.inf, -np.inf):
        bad = np.array([1.0, wrong], np.float32)
        for g, h, what in (
            (bad, good, "gradients"),
            (good, bad, "hessians"),
            (bad, bad[:0], "gradients"),
        ):
            with Workers(2) as workers, pytest.raises(ValueError, match=f"{what}.* not finite"):
                hist_records.pack_rows(g, h, np.uint32(3), records, workers)
    assert not records.any()


# ------------------------------------------------------------------ histograms


strides = st.sampled_from([24, hist_build.FULL])


def some_rows(rng, count, together):
    """Return a number of 500 rows, ascending: random or consecutive."""
    if together:
        first = rng.integers(0, 501 - count)
        return np.arange(first, first + count, dtype=np.uint32)
    return np.sort(rng.choice(500, count, replace=False)).astype(np.uint32)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1 << 10, 1 << 30]),
    st.booleans(),
    st.booleans(),
    strides,
)
@few
def test_histograms_sum_packed_gradients(seed, size, every, together, stride):
    rng = rng_of(seed)
    bins = rng.integers(0, 9, (500, 70)).astype(np.uint8)
    g, h = rng.integers(-size, size, 500), rng.integers(0, size, 500)
    records = g * oracles.HALF + h
    rows = some_rows(rng, 300, together)
    features = np.arange(70) if every else np.sort(rng.choice(70, 11, replace=False))
    expected = oracles.histogram(bins, records, rows, stride)
    cells, wide = np.zeros(70 * stride, np.int64), np.zeros((2, 70 * stride), np.int64)
    sums = np.zeros(hist_layout.N_SUMS, np.int64)
    build_wide(bins, records, rows, 0, 300, features, 0, len(features), stride, cells, wide, sums)
    result = wide + np.array(oracles.unpack(cells))
    result = result.reshape(2, 70, stride)
    assert np.array_equal(result[:, features], expected[:, features])
    assert sums[hist_layout.SPREAD] == np.abs(g[rows]).sum()
    assert sums[hist_layout.TOTAL_G] == g[rows].sum()
    assert sums[hist_layout.TOTAL_H] == h[rows].sum()
    if size < 1 << 20:
        cells[:] = 0
        build_narrow(bins, records, rows, 0, 300, features, 0, len(features), stride, cells)
        result = np.array(oracles.unpack(cells)).reshape(2, 70, stride)
        assert np.array_equal(result[:, features], expected[:, features])


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.booleans(), strides)
@few
def test_narrow_entries_are_widened_before_overflow(seed, room, together, stride):
    rng = rng_of(seed)
    bins = rng.integers(0, 3, (500, 70)).astype(np.uint8)
    most = hist_layout.MAX_G // room  # so that one row more than `room` overflows a cell
    records = np.full(500, most * oracles.HALF + 1)
    rows = some_rows(rng, 301, together)
    features = np.arange(70)
    cells, wide = np.zeros(70 * stride, np.int64), np.zeros((2, 70 * stride), np.int64)
    moved = build_bounded(
        bins, records, rows, 0, 301, features, 0, 70, stride, cells, wide, np.int64(room)
    )
    result = (wide + np.array(oracles.unpack(cells))).reshape(2, 70, stride)
    assert np.array_equal(result, oracles.histogram(bins, records, rows, stride))
    assert moved == (room < 301)


def test_scale_gives_the_rows_that_fit_into_an_entry():
    records = np.empty(4000, np.int64)
    calm = rng_of(0).normal(size=4000).astype(np.float32)
    wild = np.where(np.arange(4000) == 7, np.float32(1e4), calm)
    with Workers(1) as workers:
        room = hist_records.pack_rows(calm, calm[:0], np.uint32(3), records, workers).room
        assert room * np.abs(oracles.unpack(records)[0]).max() <= hist_layout.MAX_G
        assert room >= hist_records.MIN_ROOM
        assert hist_records.pack_rows(wild, calm[:0], np.uint32(3), records, workers).room == 0


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 5000, 20_011])
@pytest.mark.parametrize("step", [1, 3])
def test_partition_is_stable(n, size, step):
    rng = rng_of(n)
    table = rng.integers(0, 4, (30_001, step)).astype(np.uint8)
    column = table.reshape(-1)[1::step][:30_000]
    goes_left = np.zeros(256, np.uint8)
    goes_left[[0, 2]] = 1
    rows = np.sort(rng.choice(30_000, n + 2, replace=False)).astype(np.uint32)
    given_rows = rows.copy()
    spare, sums = np.empty_like(rows), np.zeros((size, hist_layout.N_SUMS), np.int64)
    team, results = make_team(size), []

    def run(rank, _):
        own = table.reshape(-1)[1:], np.uint64(step)
        results.append(partition(team, rank, rows, spare, own, goes_left, 1, n + 1, sums))

    with Workers(size) as workers:
        workers.share(run, size)
    left = goes_left[column[given_rows[1 : n + 1]]].astype(bool)
    part = given_rows[1 : n + 1]
    assert results == [left.sum()] * size
    assert np.array_equal(rows[1 : n + 1], np.concatenate([part[left], part[~left]]))
    assert rows[0] == given_rows[0]
    assert rows[-1] == given_rows[-1]


# ------------------------------------------------------------------ whole trees


def grown(X, g, h, threads=1, room=0, **params):
    """Return the grower, its bins and its splits in order."""
    model = HistogramBoostingRegressor(**params)
    with Workers(threads) as workers:
        binner = find_bins(X, np.zeros(X.shape[1], bool), model.max_bin, 10**6, 1, workers)
        monotone = np.zeros(X.shape[1], np.int64)
        bins = bin_table(X, binner, monotone, all_free(X.shape[1]), workers)
        grower = Grower(bins, binner, make_rules(model, monotone), workers)
        records = g * oracles.HALF + h
        tree = grower.grow(records, hist_layout.Scale(1.0, 1.0, room), 0)
    return grower, bins, tree


@pytest.mark.parametrize("threads", [1, 2])
def test_trees_do_not_depend_on_when_entries_are_widened(threads):
    rng = rng_of(5)
    X = rng.normal(size=(20_000, 5)).astype(np.float32)
    g = rng.integers(-(1 << 21), 1 << 21, 20_000) + (X[:, 1] > 0) * (1 << 19)
    h = rng.integers(1, 1 << 20, 20_000)
    params = {"num_leaves": 15, "min_child_samples": 5, "threads": threads}
    room = hist_layout.MAX_G // int(np.abs(g).max())
    assert room < 20_000
    looked, bounded = (grown(X, g, h, room=r, **params)[2] for r in (0, room))
    assert looked.nodes.tobytes() == bounded.nodes.tobytes()


@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 3))
@settings(max_examples=15)
def test_trees_equal_plain_grower(seed, large, threads):
    rng = rng_of(seed)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.15] = np.nan
    size = 1 << (30 if large else 16)
    g = rng.integers(-size, size, 400) + np.where(X[:, 1] > 0, size // 3, 0).astype(np.int64)
    g = np.clip(g, -(1 << 30), 1 << 30)
    h = rng.integers(size // 2, size, 400)
    rules = {"ridge": float(size), "min_rows": 5, "min_h": 0.0}
    grower, bins, tree = grown(
        X,
        g,
        h,
        threads,
        max_bin=20,
        num_leaves=12,
        min_child_samples=5,
        reg_lambda=float(size),
        min_child_weight=0.0,
    )
    splits, leaves = oracles.grow(
        bins.rows,
        g.astype(object).astype(float),
        h.astype(float),
        bins.count,
        bins.missing,
        num_leaves=12,
        **rules,
    )
    assert tree.n_leaves == len(leaves)
    rows = grower.rows_of_leaves()
    for own, expected in zip(rows, leaves, strict=True):
        assert np.array_equal(own, expected)
    nodes = tree.nodes
    for number, (feature, last, missing_left, n_rows) in enumerate(splits):
        parents = np.flatnonzero(nodes["left"][: 2 * len(leaves) - 1] == 2 * number + 1)
        node = nodes[parents[0]]
        assert (node["feature"], node["bin"], node["count"]) == (feature, last, n_rows)
        if (bins.rows[:, feature] == bins.missing[feature]).any():
            assert node["missing_left"] in (missing_left, 0)
    for leaf, own in enumerate(rows):
        value = tree.nodes["value"][grower.leaves["node"][leaf]]
        assert value == pytest.approx(-g[own].sum() / (h[own].sum() + float(size)), rel=1e-12)


def test_constraints_cover_every_parameter():
    assert set(CONSTRAINTS) | {"objective"} == set(HistogramBoostingRegressor().get_params())


def test_binner_counts_missing_bins():
    binner = Binner((np.zeros(3), np.empty(0)), (None, np.arange(4)), np.array([4, 4]))
    assert binner.counts.tolist() == [5, 5]
