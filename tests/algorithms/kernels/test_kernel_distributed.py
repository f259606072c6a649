"""Tests of the kernels of distributed training, against local kernels and oracles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import callable_kernel

from algorithms.distributed.rows import Rows
from algorithms.estimator.constraints import all_free
from algorithms.gbdt.binning import bin_table, find_bins
from algorithms.gbdt.grower import Grower, make_partition_task
from algorithms.gbdt.kernels import booster_arrays
from algorithms.gbdt.kernels import gradient_packing as hist_pack
from algorithms.gbdt.kernels.booster_arrays import Scale
from algorithms.gbdt.kernels.distributed_growth import (
    Features,
    GlobalTree,
    SplitScratch,
    export_cells,
    find_best_splits_of_features,
    propose,
)
from algorithms.gbdt.kernels.distributed_rows import pack_run
from algorithms.gbdt.kernels.row_sampling import draw_rows
from algorithms.gbdt.params import make_rules
from algorithms.histogram_boosting import HistogramBoostingRegressor
from algorithms.runtime.threads import Workers

SEEDS = st.integers(0, 2**32 - 1)
NUMBERED = np.empty(0, np.uint32)  # by place
few = settings(max_examples=25)
pack = callable_kernel(hist_pack.pack)


@given(SEEDS, st.lists(st.integers(0, 40), min_size=1, max_size=5))
@few
def test_rows_are_numbered_across_partitions(seed, lengths):
    rng = np.random.default_rng(seed)
    owner = rng.integers(0, 3, len(lengths))
    whole = np.arange(sum(lengths))
    parts = np.split(whole, np.cumsum(lengths)[:-1])
    for rank in range(3):
        own = [i for i in range(len(lengths)) if owner[i] == rank]
        rows = Rows.of_parts(lengths, own)
        expected = np.concatenate([*(parts[i] for i in own), np.empty(0, int)])
        assert np.array_equal(rows.numbers(), expected)
        assert len(rows) == len(expected)
        assert rows.total == len(whole)


@given(SEEDS, st.integers(1, 200), st.integers(0, 200), st.booleans())
@few
def test_partition_is_packed_and_rounded_like_the_whole_table(seed, n, cut, with_h):
    rng = np.random.default_rng(seed)
    g = rng.normal(size=n).astype(np.float32)
    h = rng.random(n if with_h else 0).astype(np.float32)
    whole, values = np.empty(n, np.int64), np.empty(n, np.int64)
    pack(g, h, 1024.0, 512.0, np.uint32(seed), NUMBERED, whole, 0, n)
    cut = min(cut, n)
    for first, last in ((0, cut), (cut, n)):
        own = np.empty(last - first, np.int64)
        args = g[first:last], h[first:last], 1024.0, 512.0, np.uint32(seed), first
        pack_run(*args, own, 0, last - first)
        values[first:last] = own
    assert np.array_equal(values, whole)
    out = np.empty(n + 1, np.uint32)
    count = draw_rows(np.uint32(seed), 1 << 31, 0, n, out)
    rows = Rows(np.array([0, n - cut]), np.array([cut]), n)
    assert np.array_equal(rows.draw(seed, 1 << 31) + cut, out[:count][out[:count] >= cut])


@given(SEEDS, st.booleans())
@few
def test_exported_histogram_is_unpacked_and_cleared(seed, flushed):
    rng = np.random.default_rng(seed)
    count, stride = np.array([3, 5, 2]), 8
    g = rng.integers(-(2**29), 2**29, (3, stride))
    h = rng.integers(0, 2**30, (3, stride))
    planes = rng.integers(-(2**40), 2**40, (2, 3 * stride)) * flushed
    cells, wide = ((g << 32) + h).ravel(), planes.copy()
    features, first = np.array([0, 1, 2]), np.array([1, 4, 9])
    out = np.full((2, 11), -7)
    export_cells(cells, wide, int(flushed), features, count, stride, first, out)
    for f in range(3):
        for b in range(count[f]):
            at = f * stride + b
            assert out[0, first[f] + b] == g[f, b] + planes[0, at]
            assert out[1, first[f] + b] == h[f, b] + planes[1, at]
            assert cells[at] == wide[0, at] == wide[1, at] == 0
    assert (out[:, 0] == -7).all()


@pytest.mark.parametrize("categorical", [False, True])
def test_rows_are_partitioned_into_the_leaves_of_growth(categorical):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 30, (400, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    with Workers(1) as workers:
        binner = find_bins(X, np.full(3, categorical), 255, 10**6, 1, workers)
        bins = bin_table(X, binner, np.zeros(3, np.int64), all_free(3), workers)
        model = HistogramBoostingRegressor(num_leaves=9, min_data_per_group=1, cat_smooth=1.0)
        grower = Grower(bins, binner, make_rules(model, np.zeros(3)), workers)
        g = np.round(rng.normal(size=400) * 1000).astype(np.int64)
        tree = grower.grow((g << 32) + 1, Scale(1.0, 1.0), 0)
    values = np.zeros(400, np.uint16)
    of_leaves = grower.leaves["node"][: tree.n_leaves]
    goes_left, places = grower.growth.goes_left, bins.layout.column
    task = make_partition_task(tree.nodes, of_leaves, goes_left, bins.columns, places, values)
    every = np.arange(400, dtype=np.uint32)
    task(every[:0])
    assert not values.any()
    task(every[:399].copy())
    task(every[399:].copy())
    assert tree.n_leaves == 9
    assert np.array_equal(values, grower.leaf_of)


def histogram(rng, n_rows, counts):
    """Return the (g, h) sums of features with given numbers of bins, over the same rows."""
    g, h = rng.integers(-1000, 1000, n_rows), rng.integers(1, 50, n_rows)
    results = []
    for count in counts:
        at = rng.integers(0, count, n_rows)
        results.append(np.stack([np.bincount(at, one, count) for one in (g, h)]).astype(np.int64))
    return np.concatenate(results, axis=1), int(g.sum()), int(h.sum())


def best_gain(sums, g, h, n_rows, rules):
    """Return the best gain of a threshold on one feature by a simple loop, with λ = 0."""
    left = np.cumsum(sums[:, :-1], axis=1).astype(float)
    right = np.array([[g], [h]]) - left
    least = max(
        np.ceil(max((rules.min_child_samples - 0.5) * h / n_rows, rules.min_child_weight)), 1
    )
    allowed = (left[1] >= least) & (right[1] >= least)
    left, right = left[:, allowed], right[:, allowed]
    gains = left[0] ** 2 / left[1] + right[0] ** 2 / right[1] - g * g / h
    return max([gain for gain in gains if gain > 4.0 * n_rows / h], default=0.0)


@given(SEEDS)
@few
def test_rank_proposes_local_gains_and_scans_merged_histograms(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, 9, 3)
    first = np.cumsum(counts) - counts
    small, g, h = histogram(rng, 60, counts)
    large, rest_g, rest_h = histogram(rng, 90, counts)
    model = HistogramBoostingRegressor(min_child_samples=5, min_child_weight=0.0, reg_lambda=0.0)
    rules = make_rules(model, np.zeros(3, np.int64))._replace(num_leaves=2)
    facts = Features(
        counts,
        np.full(3, -1),
        is_categorical=np.zeros(3, np.int64),
        sizes=np.empty((0, booster_arrays.MAX_BINS), np.int32),
        monotone=np.zeros(3, np.int64),
        groups=all_free(3),
    )
    leaves = np.zeros(2, booster_arrays.LEAF)
    for leaf, own in zip(leaves, ((60, g, h, 1), (90, rest_g, rest_h, 0)), strict=True):
        leaf["end"], leaf["g"], leaf["h"], leaf["slot"] = own
        leaf["lower"], leaf["upper"] = -np.inf, np.inf
    left = all_free(2)
    desk = SplitScratch(
        small=np.zeros((1, 8, booster_arrays.MAX_BINS), np.int64),
        scores=np.zeros((1, booster_arrays.MAX_BINS)),
        order=np.zeros((1, booster_arrays.MAX_BINS), np.int64),
        best=np.zeros((1, 2), booster_arrays.BEST),
        left_bins=np.zeros((1, 2, booster_arrays.MAX_BINS), np.uint8),
    )
    planes = np.stack([small + large, np.zeros_like(small)])
    features, gains, scale = np.arange(3), np.full((2, 3), -1.0), Scale(1.0, 1.0)
    own = leaves, left, features, first, planes, small, desk, rules, scale
    propose(facts, *own, np.ones(3, np.int64), gains)
    assert np.array_equal(planes, [large, small])
    expected = [
        [best_gain(sums[:, f : f + n], *of, rules) for f, n in zip(first, counts, strict=True)]
        for sums, of in ((small, (g, h, 60)), (large, (rest_g, rest_h, 90)))
    ]
    assert np.allclose(gains, expected)
    nothing = np.zeros(0, np.uint8)
    board = GlobalTree(
        leaves, left, desk.best[0], desk.left_bins[0], nothing, nothing, np.zeros(1, np.int64)
    )
    for which, sums in enumerate((small, large)):
        find_best_splits_of_features(
            facts, board, which, features, first, sums, desk, rules, scale, which
        )
        best = desk.best[0, which]
        assert best["gain"] == pytest.approx(max(expected[which]))
        assert best["feature"] == (np.argmax(gains[which]) if gains[which].any() else -1)
