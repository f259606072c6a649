"""Tests of the kernels that follow XGBoost, against oracles."""

import columns
import numpy as np
import oracles_xgboost as oracles
import pytest
from columns import seeds
from hypothesis import given
from hypothesis import strategies as st

from algorithms.parity.kernels import xgboost_gradient as gradient
from algorithms.parity.kernels.xgboost_arrays import LARGEST, SPLIT, STATS, Rules
from algorithms.parity.kernels.xgboost_exact import scan_columns
from algorithms.parity.kernels.xgboost_gain import compute_weights
from algorithms.parity.kernels.xgboost_hist import add_rows, scan_bins
from algorithms.parity.kernels.xgboost_sketch import ENTRY, fill_queue, pick_ranks
from algorithms.parity.kernels.xgboost_sort import PENDING, sort_columns
from algorithms.parity.kernels.xgboost_sorted_sketch import prune_between, summarize_sorted
from algorithms.parity.xgboost_cuts import combined, pruned, queue_summary, read_cuts
from algorithms.parity.xgboost_exact_grower import sort_present
from algorithms.parity.xgboost_hist_grower import bin_values

KINDS = [
    "SQUARED",
    "LOGISTIC",
    "POISSON",
    "GAMMA",
    "TWEEDIE",
    "PSEUDO_HUBER",
    "ABSOLUTE",
    "QUANTILE",
]


def draw_rules(rng, n_features):
    """Return random rules."""
    bound = rng.random() < 0.3
    return Rules(
        np.float32(rng.choice([0.0, 1.0, 0.3])),
        np.float32(rng.choice([0.0, 0.2])),
        np.float32(rng.choice([0.0, 1.0, 3.0])),
        np.float32(rng.choice([0.0, 0.0, 0.3])),
        rng.integers(-1, 2, n_features if bound else 0).astype(np.int32),
        bool(rng.random() < 0.5),
    )


def draw_node(rng, rules, g, h, rows):
    """Return the STATS (1,) of some rows, and their bounds."""
    stats = np.zeros(1, STATS)
    stats["g"], stats["h"] = (np.add.accumulate(v[rows], dtype=float)[-1] for v in (g, h))
    bound = np.float32(rng.choice([0.1, LARGEST]))
    stats["lower"], stats["upper"] = -bound, bound
    compute_weights(rules, stats)
    return stats, (-bound, bound)


def draw_slopes(rng, n):
    """Return g and h, float32; some rows have weight 0."""
    weight = rng.integers(0, 3, n)
    g = (rng.normal(size=n) * weight).astype(np.float32)
    return g, (rng.random(n) * weight).astype(np.float32)


def same_split(split, expected):
    """Return True if a SPLIT equals the oracle's split."""
    gain, feature, threshold, missing_left = expected
    names = ("gain", "feature", "threshold", "missing_left")
    return tuple(split[name] for name in names) == (gain, feature, threshold, missing_left)


@given(seed=seeds, n=st.integers(0, 400), distinct=st.sampled_from([2, 10, 300]))
def test_ties_are_ordered_like_gnu_sort(seed, n, distinct):
    values = np.random.default_rng(seed).integers(0, distinct, n).astype(np.float32)
    pairs = oracles.sort_like_gnu(zip(values, range(n), strict=True))
    rows = np.arange(n, dtype=np.int32)
    sort_columns(np.array([0, n]), values, rows, np.empty((PENDING, 3), np.int64))
    assert rows.tolist() == [row for _, row in pairs]


def test_deep_recursion_falls_back_to_heapsort(monkeypatch):
    heaps, heapsort = [], oracles.heapsort
    monkeypatch.setattr(
        oracles, "heapsort", lambda pairs: heaps.append(len(pairs)) or heapsort(pairs)
    )
    n = 3000  # every median of three is the second smallest
    values, half = np.empty(n, np.float32), n // 2
    for i in range(half):
        values[i] = i + 1 if i % 2 == 0 else half + i + (half % 2 == 0)
        values[half + i] = 2 * (i + 1)
    pairs = oracles.sort_like_gnu(zip(values, range(n), strict=True))
    rows = np.arange(n, dtype=np.int32)
    sort_columns(np.array([0, n]), values, rows, np.empty((PENDING, 3), np.int64))
    assert rows.tolist() == [row for _, row in pairs]
    assert max(heaps) > 100


@given(seed=seeds)
def test_weights_and_gains(seed):
    rng = np.random.default_rng(seed)
    rules = draw_rules(rng, 1)
    g, h = draw_slopes(rng, 5)
    stats, bounds = draw_node(rng, rules, g, h, np.arange(5))
    sums = stats["g"][0], stats["h"][0]
    assert stats["weight"][0] == oracles.weight_of(rules, *sums, bounds)
    assert stats["gain"][0] == oracles.gain_of(rules, *sums, bounds)


@given(seed=seeds, n=st.integers(1, 60))
def test_exact_splits(seed, n):
    rng = np.random.default_rng(seed)
    X = columns.table(rng, n, 3, missing=0.5).astype(np.float32)
    g, h = draw_slopes(rng, n)
    rules = draw_rules(rng, 3)
    slots = rng.integers(-1, 2, n).astype(np.int32)
    slots[0] = 0
    values, given_columns = np.zeros(2, SPLIT), sort_present(X)
    stats, bounds = [], []
    for slot in range(2):
        rows = np.flatnonzero(slots == slot)
        node, bound = draw_node(rng, rules, g, h, rows if len(rows) else np.array([0]))
        stats.append(node)
        bounds.append(bound)
    last = np.zeros(2, np.float32)
    both = np.concatenate(stats)
    scan_columns(given_columns, slots, g, h, rules, both, np.empty((2, 2)), last, values)
    start, rows = given_columns.start, given_columns.rows
    order = [rows[start[f] : start[f + 1]].tolist() for f in range(3)]
    for slot in range(2):
        mine = set(np.flatnonzero(slots == slot).tolist())
        whole = both["g"][slot], both["h"][slot]
        expected = oracles.best_exact_split(X, mine, order, g, h, rules, whole, bounds[slot])
        assert same_split(values[slot], expected)


@given(seed=seeds, n=st.integers(1, 60))
def test_histograms_and_their_splits(seed, n):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)) * 2).astype(np.float32)
    X[rng.random(X.shape) < rng.choice([0.0, 0.3])] = np.nan
    ends = [np.sort(rng.choice(np.arange(-4, 5), 4, replace=False)) for _ in range(3)]
    given_cuts = np.concatenate([np.array([-9.0, *end, 99.0]) for end in ends])
    cuts = read_cuts((np.arange(4) * 6, given_cuts), 3)
    g, h = draw_slopes(rng, n)
    bins = bin_values(X, cuts)
    histogram = np.zeros((len(cuts.values), 2))
    add_rows(bins, np.arange(n), g, h, histogram)
    expected = [[[0.0, 0.0] for _ in range(5)] for _ in range(3)]
    for row in range(n):
        for f in range(3):
            if not np.isnan(X[row, f]):
                cell = expected[f][sum(X[row, f] >= end for end in ends[f])]
                cell[0] += float(g[row])
                cell[1] += float(h[row])
    assert histogram.reshape(3, 5, 2).tolist() == expected
    rules = draw_rules(rng, 3)
    stats, bounds = draw_node(rng, rules, g, h, np.arange(n))
    split = np.zeros(1, SPLIT)
    scan_bins(histogram, cuts, rules, stats, split)
    all_ends = [[*map(np.float32, end), np.float32(99.0)] for end in ends]
    whole = stats["g"][0], stats["h"][0]
    least = [np.float32(-9.0)] * 3
    best = oracles.best_bin_split(expected, all_ends, least, rules, whole, bounds)
    assert same_split(split[0], best)


@pytest.mark.parametrize("name", KINDS)
def test_gradients_of_a_loss(name):
    rng = np.random.default_rng(3)
    n = 300
    score = (rng.normal(size=n) * 4).astype(np.float32)
    y = rng.integers(0, 3, n).astype(np.float32)
    weight = rng.random(n).astype(np.float32)
    g, h = np.empty((2, n), np.float32)
    a = np.float32(1.3)
    gradient.differentiate(getattr(gradient, name), a, score, y, weight, g, h)
    for i in range(n):
        first, second = oracles.slopes(name, a, score[i], y[i])
        assert (g[i], h[i]) == (first * weight[i], second * weight[i])


@pytest.mark.parametrize("name", ["ABSOLUTE", "QUANTILE"])
@pytest.mark.parametrize("kind", ["usual", "weights of zero", "residuals of zero"])
def test_gradients_of_a_smoothed_loss(kind, name):
    rng = np.random.default_rng(5)
    n = 300
    score = np.round(rng.normal(size=n) * 4).astype(np.float32)
    y = score.copy() if kind == "residuals of zero" else np.round(score + rng.normal(size=n))
    weight = np.where(rng.random(n) < 0.1, 0.0, rng.random(n)).astype(np.float32)
    if kind == "weights of zero":
        weight[:] = 0.0
    g, h = np.empty((2, n), np.float32)
    a = np.float32(0.3)
    values = score, y.astype(np.float32), weight
    gradient.differentiate_smoothed(getattr(gradient, name), a, *values, g, h)
    expected = oracles.smoothed_slopes(name, a, *values)
    assert (g.tolist(), h.tolist()) == tuple(list(map(float, one)) for one in expected)


def test_gradients_of_classes():
    rng = np.random.default_rng(4)
    n = 200
    score = (rng.normal(size=(3, n)) * 4 - 2).astype(np.float32)
    y = rng.integers(0, 3, n).astype(np.float32)
    weight = rng.random(n).astype(np.float32)
    g, h = np.empty((2, 3, n), np.float32)
    gradient.differentiate_classes(score, y, weight, g, h)
    for i in range(n):
        first, second = oracles.class_slopes(score[:, i], y[i])
        assert g[:, i].tolist() == [value * weight[i] for value in first]
        assert h[:, i].tolist() == [max(value * weight[i], np.float32(1e-16)) for value in second]


def draw_summary(rng, n):
    """Return values and weights, their summary, and the oracle's."""
    values = np.round(rng.normal(size=n), int(rng.integers(0, 3))).astype(np.float32)
    weights = rng.uniform(0.1, 2.0, n).astype(np.float32)
    expected = oracles.summary_of(values, weights)
    return queue_summary(values, weights), expected


@given(seed=seeds, n=st.integers(1, 80), most=st.integers(2, 20))
def test_summaries_are_made_merged_and_pruned(seed, n, most):
    rng = np.random.default_rng(seed)
    first, expected_first = draw_summary(rng, n)
    second, expected_second = draw_summary(rng, int(rng.integers(1, 40)))
    assert first.tolist() == expected_first
    both, expected = combined(first, second), oracles.combined(expected_first, expected_second)
    assert both.tolist() == expected
    assert pruned(both, most).tolist() == oracles.pruned(expected, most)
    if len(both) > most:
        cuts = np.empty(most, np.float32)
        size = pick_ranks(both, most, cuts)
        assert cuts[:size].tolist() == oracles.picked_by_rank(expected, most)


@given(seed=seeds, n=st.integers(1, 80), most=st.integers(2, 20), keeps_few=st.booleans())
def test_sorted_summaries_are_made_and_pruned(seed, n, most, keeps_few):
    rng = np.random.default_rng(seed)
    values = np.sort(np.round(rng.normal(size=n), int(rng.integers(0, 3)))).astype(np.float32)
    weights = (rng.random(n) ** rng.choice([0.0, 1.0, 8.0])).astype(np.float32)
    out = np.empty((41, ENTRY), np.float32)
    rows = np.arange(n, dtype=np.int32)
    result = out[: summarize_sorted(values, rows, weights, 40, keeps_few, out)]
    expected = oracles.sorted_summary(values, weights, 40, keeps_few)
    assert result.tolist() == expected
    if len(result) > most:
        fewer = np.empty((most, ENTRY), np.float32)
        size = prune_between(result, most, fewer)
        assert fewer[:size].tolist() == oracles.pruned_between(expected, most)


def test_full_queue_stops_growth():
    values = np.array([1, 1, 2, 2, 3, 1, 4], np.float32)
    weights = np.array([1, 2, 0, 4, 5, 6, 7], np.float32)
    queue, queued = np.empty((2, 3), np.float32)
    assert fill_queue(values, weights, 0, queue, queued) == (5, 3)
    assert (queue.tolist(), queued.tolist()) == ([1, 2, 3], [3, 4, 5])
    assert fill_queue(values, weights, 5, queue, queued) == (7, 2)
    assert (queue[:2].tolist(), queued[:2].tolist()) == ([1, 4], [6, 7])
