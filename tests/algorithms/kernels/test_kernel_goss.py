"""Tests of one-side sampling (GOSS), against an oracle of the paper's rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.gbdt.kernels.row_sampling import KEY_BITS, hash_rows
from algorithms.gbdt.sampling import ALL, one_side_rule, size_rows, take_one_side
from algorithms.runtime.threads import Workers

SEEDS = st.integers(0, 2**32 - 1)
few = settings(max_examples=40)


def sample(g, h, top_rate, other_rate, seed, runs=None, threads=2):
    """Return the sampled rows, the rule, and the reweighted g and h."""
    g, h = g.copy(), h.copy()
    with Workers(threads) as workers:
        sizes, counts = size_rows(g, h, workers)
        rule = one_side_rule(counts, top_rate, other_rate, seed)
        rows = take_one_side(sizes, rule, g, h, runs or [(0, g.shape[1], 0)], workers)
    return rows, rule, g, h


def draw(rng, n_scores, n_rows):
    """Return random derivatives for given numbers of scores and rows, some of them equal."""
    g = rng.normal(size=(n_scores, n_rows)).astype(np.float32)
    g[:, rng.random(n_rows) < 0.2] = np.float32(0.5)
    return g, rng.random((n_scores, n_rows)).astype(np.float32)


@given(SEEDS, st.integers(1, 3), st.integers(1, 3000))
@few
def test_one_side_sampling_follows_the_paper(seed, n_scores, n_rows):
    rng = np.random.default_rng(seed)
    g, h = draw(rng, n_scores, n_rows)
    a, b = rng.uniform(0.05, 0.6), rng.uniform(0.05, 0.4)
    rows, rule, new_g, new_h = sample(g, h, a, b, seed)

    key = np.abs(g * h).sum(axis=0, dtype=np.float32).view(np.int32) >> KEY_BITS
    hashes, others_hashes = np.empty((2, n_rows), np.uint32)
    hash_rows(np.uint32(seed), hashes)
    hash_rows(rule.others_seed, others_hashes)
    expected = max(int(a * n_rows), 1)
    edge = np.sort(key)[-expected]
    share = (expected - (key > edge).sum()) / (key == edge).sum()
    top = (key > edge) | ((key == edge) & (hashes <= int(share * ALL) - 1))
    n_others = n_rows - expected
    other = ~top & (others_hashes <= int(b * n_rows / max(n_others, 1) * ALL) - 1)
    assert np.array_equal(rows, np.flatnonzero(top | other))
    factor = np.where(other, np.float32(max(n_others / (b * n_rows), 1.0)), np.float32(1.0))
    assert np.array_equal(new_g, g * factor)
    assert np.array_equal(new_h, h * factor)


@given(SEEDS, st.integers(1, 500), st.integers(1, 500))
@few
def test_row_draw_depends_on_row_number_only(seed, n_first, n_second):
    g, h = draw(np.random.default_rng(seed), 1, n_first + n_second)
    rows, _, new_g, _ = sample(g, h, 0.2, 0.3, seed, threads=1)
    swapped = np.roll(g, n_second, axis=1), np.roll(h, n_second, axis=1)
    runs = [(0, n_second, n_first), (n_second, n_first + n_second, 0)]
    there, _, there_g, _ = sample(*swapped, 0.2, 0.3, seed, runs)
    assert np.array_equal(np.sort((there + n_first) % (n_first + n_second)), rows)
    assert np.array_equal(np.roll(there_g, -n_second, axis=1), new_g)


def test_sample_sums_estimate_sums_over_all_rows():
    g, h = draw(np.random.default_rng(0), 1, 200_000)
    true = g.sum(dtype=float), h.sum(dtype=float)
    results = []
    for seed in range(20):
        rows, _, new_g, new_h = sample(g, h, 0.2, 0.1, seed)
        assert len(rows) == pytest.approx(60_000, rel=0.02)
        results.append((new_g[0, rows].sum(dtype=float), new_h[0, rows].sum(dtype=float)))
    error = np.mean(results, axis=0) - true
    noise = np.std(results, axis=0) / np.sqrt(len(results))
    assert (np.abs(error) < 4 * noise).all()
