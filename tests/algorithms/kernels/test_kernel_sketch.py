import numpy as np
import oracles_newton as oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from algorithms.gbdt.binning import find_bins
from algorithms.gbdt.kernels.weighted_sketch import (
    CELLS,
    MAX_CELLS,
    choose_ends,
    code_rows,
    cut_cells,
    lay_rows,
    weigh_entries,
    weigh_rows,
)
from algorithms.newton.value_cells import NO_WEIGHTS, Cells
from algorithms.newton.weighted_bins import weigh_edges
from algorithms.runtime.threads import ALONE, Workers

# ------------------------------------------------------------------ cells


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from([3, 20, 1000]),
    st.integers(1, 30),
    st.sampled_from([1, 4]),
    st.sampled_from([0.0, 0.5, 2.0]),
)
def test_sketch_cell_closes_when_full_and_before_a_large_value(
    seed, distinct, fewest, times, per_h
):
    rng = np.random.default_rng(seed)
    x = (rng.integers(-distinct, distinct, 300) / 8).astype(np.float32)
    h = rng.integers(-1, 12, 300).astype(np.float32)  # so that sums are exact
    order = np.argsort(x, kind="stable").astype(np.uint32)
    codes = np.empty(300, np.uint16)
    edges, counts = np.empty(MAX_CELLS), np.empty(MAX_CELLS, np.int64)
    several = np.empty(MAX_CELLS, bool)
    weights = h if per_h else NO_WEIGHTS
    sizes = weights, 1.0, per_h, float(fewest), float(times * fewest)
    n_cells = cut_cells(order, x[order], *sizes, codes, edges, counts, several)
    cells = oracles.sketch_cells(x, 1.0 + per_h * np.maximum(h, 0.0), fewest, times * fewest)
    assert n_cells == len(cells)
    for k, own in enumerate(cells):
        inside = np.isin(x, own)
        assert (codes[inside] == k).all()
        assert counts[k] == inside.sum()
        assert several[k] == (len(own) > 1)
        assert k == 0 or cells[k - 1][-1] <= edges[k - 1] < own[0]


def test_all_sketch_cells_have_room():
    often = np.arange(8001) % 2 == 1  # a frequent value between every two rare ones
    x = np.repeat(np.arange(8001, dtype=np.float32), np.where(often, 100, 1))
    cells = Cells(x[:, None], ALONE, "test")
    order = np.arange(len(x), dtype=np.uint32)
    fewest = len(x) / CELLS
    cells.cut(0, order, x, order[:0], (NO_WEIGHTS, 1.0, 0.0, fewest, fewest))
    assert CELLS < 8001 <= MAX_CELLS
    assert np.array_equal(cells.codes[0], x)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from([0, 1, 5]))
def test_edges_divide_the_hessians_evenly(seed, room, distinct):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=200).astype(np.float32)
    x = np.round(x * distinct) if distinct else x
    h = rng.integers(1, 8, 200).astype(np.float32)  # so that sums are exact
    order = np.argsort(x, kind="stable").astype(np.uint32)
    cells = Cells(x[:, None], ALONE, "test")
    cell, edges, counts = cells.codes[0], cells.edges[0], cells.counts[0]
    sums, listed = np.zeros((2, len(counts)))
    weigh_rows(cell, h, sums)
    weigh_entries(order, counts, h, listed)
    assert np.array_equal(sums, listed)
    ends = np.empty(room, np.int64)
    result = edges[ends[: choose_ends(sums, room, ends)]]
    expected = oracles.edges(x, h.astype(float), room)
    assert len(result) == len(expected)
    after = [x[x > low].min() for low in expected]
    for edge, low, high in zip(result, expected, after, strict=True):
        assert low <= edge < high
    codes, rows = np.zeros((1, 200), np.uint8), np.zeros((200, 1), np.uint8)
    bins = np.append(np.searchsorted(result, edges), len(result)).astype(np.uint8)
    code_rows(cell, bins, codes[0])
    assert np.array_equal(codes[0], np.searchsorted(result, x))
    lay_rows(codes, rows, 0, 200)
    assert np.array_equal(rows, codes.T)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_cells_are_nearly_even_and_in_order(missing):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50_000, 2)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1], 1)
    X[rng.random(X.shape) < missing] = np.nan
    with Workers(2) as workers:
        cells = Cells(X, workers, "test")
        listed = Cells(sparse.csr_matrix(np.where(np.isnan(X), 0.0, X)), workers, "test")
    for f in range(2):
        there = ~np.isnan(X[:, f])
        own = np.searchsorted(cells.edges[f], X[there, f])
        assert np.array_equal(cells.codes[f, there], own)
        assert (cells.codes[f, ~there] == len(cells.counts[f])).all()
        assert np.array_equal(np.bincount(own), cells.counts[f])
    assert cells.counts[0].max() <= 2 * -(-there.sum() // CELLS)
    assert len(cells.counts[1]) == len(np.unique(X[there, 1]))
    h = rng.integers(0, 4, len(X)).astype(np.float32)
    if missing:
        assert np.array_equal(listed.edges[0], cells.edges[0])
        assert np.array_equal(listed.weigh(0, h), cells.weigh(0, h))


@pytest.mark.parametrize("digits", [9, 3])
def test_value_of_few_rows_does_not_close_the_previous_cell(digits):
    x = np.round(np.random.default_rng(0).normal(size=16_000), digits).astype(np.float32)
    cells = Cells(x[:, None], ALONE, "test")
    expected = oracles.sketch_cells(x, np.ones(len(x)), -(-len(x) // CELLS), np.inf)
    lowest = [own[0] for own in expected]
    assert np.array_equal(cells.codes[0], np.searchsorted(lowest, x, side="right") - 1)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 60), st.sampled_from([1, 8, 1e6]))
def test_weighted_bins_equal_bins_of_repeated_rows(seed, max_bin, digits):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 10))
    X = (np.round(X * digits) / digits).astype(np.float32)
    X[:, 1:3][rng.random((400, 2)) < 0.3] = np.nan
    weight = rng.integers(1, 20, 400)
    weight[0] += (1 << 13) - weight.sum()  # so that sums of parts are exact, and one row is heavy
    is_categorical = np.arange(10) == 5
    X[:, 5] = rng.integers(0, 9, 400)
    binner = find_bins(X, is_categorical, max_bin, 1 << 20, 1, ALONE)
    result = weigh_edges(binner, X, weight.astype(float), max_bin, ALONE, "test")
    twice = find_bins(np.repeat(X, weight, axis=0), is_categorical, max_bin, 1 << 20, 1, ALONE)
    for edges, expected in zip(result.edges, twice.edges, strict=True):
        assert np.array_equal(edges, expected)
    assert np.array_equal(result.missing[~is_categorical], twice.missing[~is_categorical])
    assert result.codes is binner.codes


# ------------------------------------------------------------------ weights that differ


def weigh(kind, x, rng):
    """Return weights over twelve orders of magnitude."""
    n = len(x)
    if kind == "anywhere":
        power = rng.uniform(-6, 6, n)
    elif kind == "few":
        power = np.where(rng.random(n) < 20 / n, 6.0, -6.0)
    else:  # neighbors
        at = np.sort(x)[rng.integers(n)]
        power = 6 - 12 * np.minimum(np.abs(x - at) / rng.uniform(0.001, 0.5), 1.0)
    return (10.0**power).astype(np.float32)


def largest_doubt(x, h, edges):
    """Return the largest weight between two candidates, without the highest value."""
    values, at = np.unique(x, return_inverse=True)
    weights = np.bincount(at, h.astype(float))
    bins = np.searchsorted(edges, values)
    return max(weights[bins == b][:-1].sum() for b in np.unique(bins))


def propose(cells, f, h, room):
    """Return the candidates of a column."""
    weights, ends = cells.weigh_finely(f, h, room), np.empty(room, np.int64)
    return cells.edges[f][ends[: choose_ends(weights, room, ends)]]


@settings(max_examples=30)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["anywhere", "few", "neighbors"]),
    st.sampled_from([2, 20, 256]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 0.4]),
)
def test_every_threshold_is_near_a_candidate(seed, kind, room, missing, zeros):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=12_000).astype(np.float32)
    x[rng.random(len(x)) < zeros] = 0.0
    h = weigh(kind, x, rng)
    x[rng.random(len(x)) < missing] = np.nan
    there = ~np.isnan(x)
    rows = np.flatnonzero(there)
    listed = sparse.csr_matrix((x[there], (rows, 0 * rows)), shape=(len(x), 1))
    total = h[there].sum(dtype=float)
    results = []
    for X in (x[:, None], listed):
        cells = Cells(X, ALONE, "test")
        for _ in range(2):
            edges = propose(cells, 0, h, room)
            assert len(edges) < room
            assert largest_doubt(x[there], h[there], edges) <= (1.5 / room) * total * (1 + 1e-6)
        results.append(edges)
    assert np.array_equal(*results)


def test_column_is_sketched_once_for_equal_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2)).astype(np.float32)
    h = weigh("neighbors", X[:, 0], rng)
    cells = Cells(X, ALONE, "test")
    before = cells.edges[:]
    propose(cells, 0, h, 256)
    after = cells.edges[:]
    assert len(after[0]) != len(before[0])
    assert after[1] is before[1]
    propose(cells, 0, h, 256)
    assert cells.edges[0] is after[0]
    assert np.array_equal(cells.codes[0], np.searchsorted(after[0], X[:, 0]))
    even = np.ones(len(X), np.float32)
    propose(cells, 0, even, 256)
    assert cells.edges[0] is after[0]  # its bins are fine enough for these weights


def test_frequent_values_do_not_cause_another_sketch():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30_000, 1)).astype(np.float32)
    x[rng.random(len(x)) < 0.5] = 0.0
    cells = Cells(x, ALONE, "test")
    before = cells.edges[0]
    propose(cells, 0, rng.uniform(0.5, 1.0, len(x)).astype(np.float32), 256)
    assert cells.edges[0] is before


@pytest.mark.parametrize("h", [0.0, -1.0])
def test_column_without_weight_is_unchanged(h):
    x = np.arange(10_000, dtype=np.float32)[:, None]
    cells = Cells(x, ALONE, "test")
    before = cells.edges[0]
    propose(cells, 0, np.full(len(x), h, np.float32), 256)
    assert cells.edges[0] is before
