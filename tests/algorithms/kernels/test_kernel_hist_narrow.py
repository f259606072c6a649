"""Tests that packed histogram sums of narrow leaves are scanned like separate sums."""

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
from algorithms.gbdt.kernels.narrow_leaf import scan_constrained_sums, scan_sums
from algorithms.gbdt.kernels.split import NodeStats, scan
from algorithms.gbdt.params import make_rules
from algorithms.histogram_boosting import HistogramBoostingRegressor

scan, scan_sums = callable_kernel(scan), callable_kernel(scan_sums)
scan_constrained = callable_kernel(scan_constrained)
scan_constrained_sums = callable_kernel(scan_constrained_sums)


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
    base = total_g**2 / (total_h + rules.reg_lambda)
    least = max(1, int(rng.integers(1, 3) * total_h // 10))
    facts = NodeStats(
        total_g, total_h, n_rows, least, base, 0.0, rules.reg_lambda, 1.0, -np.inf, np.inf, 0.0, 3
    )
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
    scan_sums(cells.cumsum(), n_bins, missing_bin, 4, facts, rules, spare, scores, values[0])
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
    value = float(rng.normal())
    limits = max(1, total_h // 10), base, 0.0, reg_lambda, unit, -1.0, 1.5, value, 3
    facts = NodeStats(total_g, total_h, 300, *limits)
    missing_bin = n_bins - 1 if missing else -1
    expected, values = np.zeros(1, BEST), np.zeros(1, BEST)
    for best in (expected, values):
        best["feature"], best["gain"] = (-1, 0.0) if known == 0.0 else (2, known * base * unit)
    two, spare = np.zeros((2, MAX_BINS), np.int64), np.zeros(MAX_BINS, np.int64)
    shared = n_bins, missing_bin, 4, direction, weight, facts, rules, scale
    scan_constrained(g, h, *shared, two, expected[0])
    scan_constrained_sums(((g << HALF) + h).cumsum(), *shared, spare, values[0])
    assert values.tobytes() == expected.tobytes()
