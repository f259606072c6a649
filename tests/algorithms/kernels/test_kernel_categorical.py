"""Tests of categorical splits and category groups of the Newton booster, against oracles."""

from itertools import pairwise

import numpy as np
import oracles_sets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.estimator.constraints import all_free
from algorithms.gbdt.binning import Binner, bin_table
from algorithms.gbdt.grower import Grower
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS, Rules, Scale
from algorithms.gbdt.kernels.category_codes import add_codes, rebin
from algorithms.gbdt.split_table import split_columns
from algorithms.newton import categories
from algorithms.newton.params import Limits
from algorithms.runtime.threads import ALONE, Workers

UNIT = 1 << 16
NO_SIGNS = np.zeros(1, np.int64)
PLAIN = {"ridge": 1.0 * UNIT, "alpha": 0.0, "max_step": 0.0, "min_h": 0.0, "few": 4, "most": 64}


def split(codes, n_codes, g, h, sizes, rules):
    """Return the root of a tree with one split on codes, and the bins that go left."""
    binner = Binner((np.empty(0),), (np.arange(n_codes),), np.array([n_codes]))
    table = split_columns(codes[:, None], bundles=False)
    bins = bin_table(table, binner, NO_SIGNS, all_free(1), ALONE)
    if sizes is not None:
        bins.sizes[0, :n_codes] = sizes
    limits = Rules(
        num_leaves=2,
        max_depth=-1,
        min_child_samples=0,
        min_child_weight=rules["min_h"],
        reg_alpha=rules["alpha"],
        reg_lambda=rules["ridge"],
        min_split_gain=0.0,
        max_delta_step=rules["max_step"],
        path_smooth=0.0,
        cat_smooth=0.0,
        cat_l2=0.0,
        max_cat_threshold=rules["most"],
        max_cat_to_onehot=rules["few"],
        min_data_per_group=0,
        extra_trees=0,
        plain=int(not rules["alpha"] and not rules["max_step"]),
        sets_by_value=1,
    )
    grower = Grower(bins, binner, limits, ALONE)
    tree = grower.grow((g << 32) + h, Scale(1.0, 1.0), 0)
    return tree.nodes[0], grower.growth.goes_left[0], grower


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from([{}, {"alpha": 3.0 * UNIT}, {"max_step": 0.2}, {"min_h": 12.0 * UNIT}]),
    st.sampled_from([{}, {"most": 3}, {"few": 30}, {"few": 30, "alpha": 2.0 * UNIT}]),
    st.booleans(),
)
def test_best_category_set_equals_oracle(seed, gaps, held, sets, grouped):
    rng = np.random.default_rng(seed)
    n, n_codes = 200, int(rng.integers(2, 25))
    seen = rng.permutation(n_codes)[: rng.integers(1, n_codes + 1)]  # others are absent
    codes = rng.choice(seen, n).astype(np.float64)
    codes[rng.random(n) < gaps] = np.nan
    g = rng.integers(-UNIT, UNIT, n) + rng.integers(-UNIT, UNIT) * (np.nan_to_num(codes) % 3 > 1)
    g = g.astype(np.int64)
    h = rng.integers(UNIT // 2, UNIT, n)
    rules = PLAIN | held | sets
    sizes = rng.integers(1, 5, n_codes) if grouped else None
    root, goes_left, _ = split(codes, n_codes, g, h, sizes, rules)

    known = ~np.isnan(codes)
    sums = np.zeros((2, n_codes), np.int64)
    np.add.at(sums[0], codes[known].astype(int), g[known])
    np.add.at(sums[1], codes[known].astype(int), h[known])
    of_missing = g[~known].sum(), h[~known].sum()
    ones = np.ones(n_codes, np.int64)
    given_sizes = ones if sizes is None else sizes
    gain, ways = oracles_sets.best_set(*sums, of_missing, given_sizes, rules)
    if not ways:
        assert root["left"] < 0
        return
    assert root["gain"] == pytest.approx(gain, rel=1e-9)
    assert (set(np.flatnonzero(goes_left[:n_codes])), root["missing_left"]) in ways
    assert goes_left[n_codes] == root["missing_left"]


def test_rows_without_category_give_no_split():
    g, h = np.array([-UNIT, UNIT] * 20), np.full(40, UNIT)
    root, _, grower = split(np.full(40, np.nan), 5, g, h, None, PLAIN)
    assert root["left"] < 0
    assert grower.n_leaves == 1


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_packed_gradients_are_summed_and_rows_binned_by_code(dtype):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 301, 5000).astype(dtype)
    g, h = rng.integers(-(1 << 30), 1 << 30, 5000), rng.integers(0, 1 << 30, 5000)
    sums = np.zeros((301, 2), np.int64)
    add_codes(codes, (g << 32) + h, sums, 1000, 4000)
    expected = np.zeros((301, 2), np.int64)
    np.add.at(expected, codes[1000:4000], np.stack([g, h], axis=1)[1000:4000])
    assert np.array_equal(sums, expected)

    bins = rng.integers(0, 256, 301).astype(np.uint8)
    column, rows = np.zeros(5000, np.uint8), np.zeros((5000, 3), np.uint8)
    rebin(codes, bins, column, rows, 1, 1000, 4000)
    expected = np.where((np.arange(5000) >= 1000) & (np.arange(5000) < 4000), bins[codes], 0)
    assert np.array_equal(column, expected)
    assert np.array_equal(rows, np.stack([0 * expected, expected, 0 * expected], axis=1))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 40, 127]), st.booleans())
@settings(max_examples=40)
def test_category_groups_equal_oracle(seed, n_heavy, tied):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(256, 1500))
    weight = rng.integers(0, 50, n)
    weight[rng.permutation(n)[:n_heavy]] = 1 << 20
    slope = np.sort(rng.standard_t(2, n))
    if tied:
        slope = np.round(slope)
    result = categories.cut(weight, slope)
    expected = oracles_sets.cut(weight, slope, categories.ROOM)
    assert len(expected) <= categories.ROOM
    assert np.array_equal(result, np.repeat(np.arange(len(expected)), [len(w) for w in expected]))


def test_zero_residuals_give_one_group():
    assert categories.cut(np.zeros(300, np.int64), np.zeros(300)).tolist() == [0] * 300


def limits(**changes):
    options = {
        "max_depth": 6,
        "min_child_weight": 1.0,
        "reg_lambda": 1.0,
        "reg_alpha": 0.0,
        "max_delta_step": 0.0,
    }
    options |= {"least_gain": 0.0, "monotone": NO_SIGNS, "groups": all_free(1)} | changes
    return Limits(**options)


def test_groups_join_categories_with_similar_residuals():
    rng = np.random.default_rng(1)
    sums = np.stack([rng.integers(-900, 900, 600), rng.integers(1, 400, 600)], axis=1)
    result = categories.group_codes(sums, Scale(0.25, 0.5), limits(min_child_weight=20.0))
    g, h = sums[:, 0] * 0.25, sums[:, 1] * 0.5
    slope = np.where(h >= 20.0, g / (h + 1.0), 0.0)
    spans = [slope[result == k] for k in range(result.max() + 1)]
    assert all(a.max() <= b.min() for a, b in pairwise(spans))
    assert len(set(result[slope == 0.0])) == 1  # too light ones tie


@pytest.mark.parametrize("threads", [1, 3])
def test_column_is_binned_again_for_each_tree(threads):
    rng = np.random.default_rng(2)
    X = np.stack([rng.integers(0, 400, 9000), rng.integers(0, 9, 9000)], axis=1).astype(np.float32)
    X[::10, 0] = np.nan
    own = categories.Categories(X, np.array([True, True]))
    start = Binner((np.empty(0), np.empty(0)), (np.arange(9), np.arange(9)), np.array([9, 9]))
    binner = own.put_into(start)
    assert binner.counts.tolist() == [MAX_BINS, 10]
    with Workers(threads) as workers:
        table = split_columns(X, bundles=False)
        bins = bin_table(table, binner, np.zeros(2, np.int64), all_free(2), workers)
        before = bins.columns[1].copy()
        for _ in range(2):
            g = rng.integers(-99, 99, 9000)
            records = (g << 32) + 1
            own.regroup([0, 1], records, Scale(1.0, 1.0), limits(), bins, workers)
            codes = X[:, 0]
            sums = [(g[codes == c].sum(), (codes == c).sum()) for c in range(400)]
            expected = categories.group_codes(np.array(sums), Scale(1.0, 1.0), limits())
            assert np.array_equal(own.bins[0], expected)
            places = np.nan_to_num(codes).astype(int)
            expected = np.where(np.isnan(codes), categories.ROOM, expected[places])
            assert np.array_equal(bins.columns[0], expected)
            assert np.array_equal(bins.rows[:, 0], expected)
            assert bins.sizes[0, : categories.ROOM].sum() == 400
            kept = own.bins[0].copy()
            own.regroup([1], -records, Scale(1.0, 1.0), limits(), bins, workers)
            assert np.array_equal(own.bins[0], kept)  # the tree does not use it
        assert np.array_equal(bins.columns[1], before)
        assert np.array_equal(bins.rows[:, 1], before)


def test_codes_beyond_the_tree_format_are_refused():
    with pytest.raises(ValueError, match=r"codes must be below 2\*\*31"):
        categories.Categories(np.array([[0.0], [2.0**31]]), np.array([True]))
