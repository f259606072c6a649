"""Bundles of CatBoost's sparse columns, and the orders that it takes from libraries."""

import numpy as np
import pytest
from catboost_kit import random_sparse_case

from algorithms.parity.catboost_bundles import find_bundles
from algorithms.parity.catboost_candidates import StaticCandidates, numeric_sources
from algorithms.parity.catboost_hashes import iteration_order
from algorithms.runtime.threads import ALONE
from algorithms.symmetric.binned_table import bin_rows
from algorithms.symmetric.kernels.segment_scores import BUNDLE


def columns_of(rows, n_bins):
    """Return columns that are 0 in all of ten rows but the given ones."""
    found = []
    for feature, own in enumerate(rows):
        bins = np.zeros(10, np.uint8)
        bins[own] = n_bins - 1
        found.append((feature, bins, n_bins))
    return found


def test_columns_that_exclude_each_other_are_bundled():
    assert find_bundles(columns_of([[0, 1], [2], [3, 4]], 3)) == [[0, 1, 2]]
    assert find_bundles(columns_of([[0, 1], [1], [3, 4]], 3)) == [[1, 2]]  # neighbors come first
    assert find_bundles(columns_of([[0, 1], [1, 2], [1, 3]], 3)) == []


def test_a_bundle_of_columns_with_two_bins_needs_four_of_them():
    assert find_bundles(columns_of([[0], [1], [2]], 2)) == []
    assert find_bundles(columns_of([[0], [1], [2], [3]], 2)) == [[0, 1, 2, 3]]


def test_the_order_that_saves_more_histograms_is_used():
    """In the order of the columns the first two are bundled; by counts there are two pairs."""
    rows = [[6], [3, 4, 5], [3, 5, 7, 8], [1, 6, 8]]
    assert find_bundles(columns_of(rows[:2], 3)) == [[0, 1]]
    assert find_bundles(columns_of(rows, 3)) == [[2, 0], [1, 3]]


@pytest.mark.parametrize("seed", range(6))
def test_bins_of_a_bundle_determine_those_of_its_columns(seed):
    X, _, _, _ = random_sparse_case(seed, "RMSE")

    class Params:
        nan_mode, feature_border_type, border_count = "Min", "GreedyLogSum", 32

    table = bin_rows(np.ascontiguousarray(X[:300]), Params, ALONE)
    found = StaticCandidates(numeric_sources(table), len(table.rows))
    for candidate, sources in enumerate(found.source_columns):
        if found.arrays.kinds[candidate] != BUNDLE:
            continue
        bins, begin = found.rows[:, candidate].astype(int), 0
        for source in sources:
            width = source.n_bins - 1
            own = np.where((bins >= begin) & (bins < begin + width), bins - begin + 1, 0)
            np.testing.assert_array_equal(own, source.bins)
            begin += width
        assert found.split_of(candidate, 0)[0] is sources[0]
        source, split = found.split_of(candidate, found.arrays.n_splits[candidate] - 1)
        assert source is sources[-1]
        assert split == source.n_bins - 2


def test_a_hash_set_is_read_by_buckets_and_the_last_key_first():
    assert iteration_order([0, 7, 1]) == [1, 0, 2]
    assert iteration_order([6, 5, 13, 0]) == [3, 1, 2, 0]
    many = [7 * i for i in range(8)]  # all in one bucket of 7, then in different ones of 17
    assert iteration_order(many) == sorted(range(8), key=lambda i: many[i] % 17)
