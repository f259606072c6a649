"""Tests that packed histogram sums of narrow leaves are scanned like separate sums."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernels import callable_kernel

from algorithms.gbdt.kernels.booster_arrays import (
    BEST,
    HALF,
    LOW,
    MAX_BINS,
    MAX_G,
    MAX_H,
    Scale,
)
from algorithms.gbdt.kernels.constrained_split import scan_constrained
from algorithms.gbdt.kernels.narrow_leaf import (
    factor_to_exceed,
    scan_constrained_sums,
    scan_sums,
    score_limits,
)
from algorithms.gbdt.kernels.split import NodeStats, scan
from algorithms.gbdt.params import make_rules
from algorithms.histogram_boosting import HistogramBoostingRegressor
from algorithms.runtime.cell_lanes import take_sums
from algorithms.runtime.jit import kernel
from algorithms.runtime.vector_lanes import WIDTH

scan, scan_sums = callable_kernel(scan), callable_kernel(scan_sums)
scan_constrained = callable_kernel(scan_constrained)
scan_constrained_sums = callable_kernel(scan_constrained_sums)


@kernel
def take_two(entries, first, count, sums, rest, stats, rest_stats, best):
    """Call `take_sums`; return its result."""
    places = np.uint64(first), np.uint64(count)
    limits = score_limits(stats), score_limits(rest_stats)
    factors = factor_to_exceed(best, stats), factor_to_exceed(best, rest_stats)
    return take_sums(entries, *places, sums, rest, limits, factors)


def padded(entries):
    """Return entries followed by zeros up to a multiple of the vectors' width."""
    return np.concatenate([entries, np.zeros(-len(entries) % WIDTH, np.int64)])


def stats_of(g, h, n_rows, least, reg_lambda, unit=1.0, bounds=(-np.inf, np.inf, 0.0)):
    """Return the `NodeStats` of a leaf with sums g and h, int."""
    per_h = 1.0 / (h + 2.0 * reg_lambda)
    base = g**2 / (h + reg_lambda)
    given = n_rows, least, base, 0.0, reg_lambda, unit, *bounds, 3, g * per_h, per_h
    return NodeStats(g, h, *given)


def histogram(rng, n_bins, share, *, large):
    """Return g and h of bins, int64, some empty; the largest just fit into an entry."""
    g = rng.integers(-1000, 1001, n_bins)
    h = rng.integers(0, 2000, n_bins)
    empty = rng.random(n_bins) >= share
    g[empty] = h[empty] = 0
    if large:
        g = g * (MAX_G // max(1, np.abs(g).sum()))
        h = h * (MAX_H // max(1, h.sum()))
    return g, h


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, MAX_BINS),
    st.sampled_from([0.05, 0.5, 1.0]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_narrow_sums_are_scanned_as_two_sums(seed, n_bins, share, missing, large, extra):
    rng = np.random.default_rng(seed)
    g, h = histogram(rng, n_bins, share, large=large)
    n_rows = max(1, int(rng.integers(1, 500)))
    total_g, total_h = int(g.sum()), int(h.sum())
    model = HistogramBoostingRegressor(extra_trees=extra, reg_lambda=1.0)
    rules = make_rules(model, np.zeros(1, np.int64))
    least = max(1, int(rng.integers(1, 3) * total_h // 10))
    facts = stats_of(total_g, total_h, n_rows, least, rules.reg_lambda)
    missing_bin = n_bins - 1 if missing else -1
    scores = np.zeros(MAX_BINS)
    expected, values = np.zeros(1, BEST), np.zeros(1, BEST)
    expected["feature"] = values["feature"] = -1
    two = np.zeros((2, MAX_BINS), np.int64)
    scan(g, h, n_bins, missing_bin, 4, facts, rules, two, scores, expected[0])
    cells = (g << HALF) + h
    assert np.array_equal(cells >> HALF, g)
    assert np.array_equal(cells & LOW, h)
    spare = np.zeros(MAX_BINS, np.int64)
    scan_sums(
        padded(cells.cumsum()), n_bins, missing_bin, 4, facts, rules, spare, scores, values[0]
    )
    assert values.tobytes() == expected.tobytes()


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, MAX_BINS),
    st.sampled_from([0.05, 0.5, 1.0]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from([0.0, 0.3]),
)
def test_constrained_narrow_sums_are_scanned_as_two_sums(
    seed, n_bins, share, missing, extra, direction, weight, known
):
    rng = np.random.default_rng(seed)
    g, h = histogram(rng, n_bins, share, large=False)
    total_g, total_h = int(g.sum()), int(h.sum())
    model = HistogramBoostingRegressor(
        extra_trees=extra, reg_lambda=0.01, reg_alpha=0.5, path_smooth=1.0
    )
    rules = make_rules(model, np.zeros(1, np.int64))
    scale = Scale(2.0**-10, 2.0**-9)
    reg_lambda, unit = rules.reg_lambda / scale.h, scale.g**2 / scale.h
    base = total_g**2 / (total_h + reg_lambda)
    bounds = -1.0, 1.5, float(rng.normal())
    facts = stats_of(total_g, total_h, 300, max(1, total_h // 10), reg_lambda, unit, bounds)
    missing_bin = n_bins - 1 if missing else -1
    expected, values = np.zeros(1, BEST), np.zeros(1, BEST)
    for best in (expected, values):
        best["feature"], best["gain"] = (-1, 0.0) if known == 0.0 else (2, known * base * unit)
    two, spare = np.zeros((2, MAX_BINS), np.int64), np.zeros(MAX_BINS, np.int64)
    shared = n_bins, missing_bin, 4, direction, weight, facts, rules, scale
    scan_constrained(g, h, *shared, two, expected[0])
    scan_constrained_sums(((g << HALF) + h).cumsum(), *shared, spare, values[0])
    assert values.tobytes() == expected.tobytes()


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, MAX_BINS),
    st.sampled_from([0.05, 0.5, 1.0]),
    st.booleans(),
    st.sampled_from([0.0, 0.001, 0.1, 10.0]),
)
def test_taken_sums_are_subtracted_and_no_better_threshold_is_missed(
    seed, n_bins, share, large, known
):
    rng = np.random.default_rng(seed)
    (g, h), (more_g, more_h) = (histogram(rng, n_bins, share, large=False) for _ in range(2))
    if large:  # h of all rows is beyond an int32
        more_h[rng.integers(n_bins)] += 1 << 31
    reg_lambda, first = float(rng.integers(0, 3)), WIDTH * int(rng.integers(0, 3))
    entries, rest = np.zeros((2, first + len(padded(g)) + WIDTH), np.int64)
    entries[first : first + n_bins] = (g << HALF) + h
    rest[first : first + n_bins] = np.cumsum(((g + more_g) << HALF) + h + more_h)
    sums, best = np.zeros(len(padded(g)), np.int64), np.zeros(1, BEST)
    best["feature"], best["gain"] = -1, known * abs(int(more_g.sum()))
    stats = [
        stats_of(int(a.sum()), int(b.sum()), 100, max(1, int(b.sum()) // 20), reg_lambda)
        for a, b in ((g, h), (more_g, more_h))
        if b.sum()
    ]
    if len(stats) < 2:
        return
    found = take_two(entries, first, n_bins, sums, rest, *stats, best[0])
    assert not entries.any()
    assert not rest[:first].any()
    for own, own_g, own_h in ((sums, g, h), (rest[first:], more_g, more_h)):
        assert np.array_equal(own[:n_bins], np.cumsum((own_g << HALF) + own_h))
    for is_found, own, (own_g, own_h) in zip(found, stats, ((g, h), (more_g, more_h)), strict=True):
        left_g, left_h = np.cumsum(own_g)[:-1], np.cumsum(own_h)[:-1]
        allowed = (left_h >= own.least) & (own.h - left_h >= own.least)
        left_g, left_h = left_g[allowed], left_h[allowed] + reg_lambda
        scores = left_g**2 / left_h + (own.g - left_g) ** 2 / (own.h + 2 * reg_lambda - left_h)
        if (scores - own.base > best["gain"]).any():
            assert is_found
        if not allowed.any() and own.h < 1 << 31:
            assert not is_found


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 5]))
def test_leaves_that_cannot_be_split_any_more_do_not_change_a_tree(seed, min_child_samples):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (200, 4)).astype(float)
    X[:, 3] //= 10
    y = X[:, 0] * (X[:, 1] > 20) + rng.normal(size=200)
    options = {"n_estimators": 1, "min_child_samples": min_child_samples, "n_jobs": 1}
    options["categorical_feature"] = [3]
    gains = []
    for num_leaves in range(2, 30):
        model = HistogramBoostingRegressor(num_leaves=num_leaves, **options).fit(X, y)
        own = model.ensemble_.gain
        gains.append(np.sort(own[~np.isnan(own)]))
    for fewer, more in pairwise(gains):
        assert len(more) - len(fewer) in (0, 1)
        assert np.isin(fewer, more).all()  # each tree is the beginning of the next one
