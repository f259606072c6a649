"""Tests of the bin edges of the histogram booster."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from algorithms import HistogramBoostingClassifier
from algorithms.gbdt import sparse_edges
from algorithms.gbdt.binning import codes_by_frequency, find_bins
from algorithms.gbdt.split_table import split_columns
from algorithms.runtime.threads import Workers


def draw_values(seed, n_rows):
    """Return columns of many and few entries, of both signs, some with NaN."""
    rng = np.random.default_rng(seed)
    share = rng.random(12) ** 3
    values = np.round(rng.normal(size=(n_rows, 12)), rng.integers(0, 3))
    values[:, ::4][rng.random((n_rows, 3)) < 0.1] = np.nan
    return np.where(rng.random((n_rows, 12)) < share, values, 0.0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 2, 9]), st.sampled_from([0, 20, 4096]))
@settings(max_examples=40)
def test_one_kernel_finds_the_edges_that_are_found_column_by_column(seed, min_in_leaf, max_entries):
    X = draw_values(seed, 60)
    numeric, limits = np.zeros(12, bool), (30, 1000, 3)
    with pytest.MonkeyPatch.context() as patch, Workers(2) as workers:
        patch.setattr(sparse_edges, "MAX_ENTRIES", 0)  # every column by itself
        alone = find_bins(X, numeric, *limits, workers, min_in_leaf)
        patch.setattr(sparse_edges, "MAX_ENTRIES", max_entries)
        table = split_columns(sparse.csr_array(X), workers)
        for given in (X, table):
            together = find_bins(given, numeric, *limits, workers, min_in_leaf)
            for expected, edges in zip(alone.edges, together.edges, strict=True):
                assert np.array_equal(expected, edges)
            assert np.array_equal(alone.missing, together.missing)
            assert np.array_equal(alone.counts, together.counts)


@pytest.mark.parametrize("largest", [3, 40, 10**6])
def test_categories_are_sorted_by_frequency(largest):
    rng = np.random.default_rng(0)
    values = rng.integers(-2, largest, 60) * rng.choice([1.0, 1.0, np.nan], 60)
    values = np.where(rng.random(60) < 0.2, 0.7, values)  # read as 0
    counts = Counter(int(value) for value in values if value >= 0)
    expected = sorted(counts, key=lambda code: (-counts[code], code))
    assert codes_by_frequency(values).tolist() == expected


def count_smaller_sides(values, edges):
    """Return the number of rows on the smaller side of each edge."""
    below = (values[:, None] <= edges).sum(axis=0)
    return np.minimum(below, len(values) - below)


@given(st.integers(0, 2**32 - 1), st.integers(2, 25))
@settings(max_examples=40)
def test_a_column_without_enough_rows_on_both_sides_has_no_edges(seed, min_in_leaf):
    X = draw_values(seed, 60)
    numeric = np.zeros(12, bool)
    with Workers(1) as workers:
        every = find_bins(X, numeric, 30, 1000, 3, workers)
        kept = find_bins(X, numeric, 30, 1000, 3, workers, min_in_leaf)
        sampled = find_bins(X, numeric, 30, 59, 3, workers, min_in_leaf)
        all_sampled = find_bins(X, numeric, 30, 59, 3, workers)
    for f in range(12):
        sides = count_smaller_sides(X[:, f], every.edges[f])
        is_kept = np.isnan(X[:, f]).any() or sides.max(initial=0) >= min_in_leaf
        assert np.array_equal(kept.edges[f], every.edges[f] if is_kept else [])
        assert np.array_equal(sampled.edges[f], all_sampled.edges[f])


def rare_columns(n_rows):
    """Return a table, its classes, and columns of ten rows that are all of one class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    y = (X[:, 0] + 2.0 * rng.normal(size=n_rows) > 0.0).astype(int)
    rare = np.zeros((n_rows, 6))
    for j in range(6):
        rare[rng.choice(np.flatnonzero(y == j % 2), 10, replace=False), j] = 1.0
    return X, y, rare


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_columns_of_few_rows_are_not_used(form):
    X, y, rare = rare_columns(400)
    options = {"n_estimators": 10, "min_child_samples": 11, "random_state": 0}
    alone = HistogramBoostingClassifier(**options).fit(form(X), y)
    wide = HistogramBoostingClassifier(**options).fit(form(np.hstack([X, rare])), y)
    for name in ("feature", "threshold", "value", "gain"):
        own, expected = (getattr(model.ensemble_, name) for model in (wide, alone))
        assert np.array_equal(own, expected, equal_nan=True)


def test_weighted_rows_may_use_columns_of_few_rows():
    X, y, rare = rare_columns(400)
    weight = np.where(rare.any(axis=1), 4.0, 1.0)
    options = {"n_estimators": 10, "min_child_samples": 11, "random_state": 0}
    model = HistogramBoostingClassifier(**options).fit(np.hstack([X, rare]), y, weight)
    assert (model.ensemble_.feature >= 3).any()
