"""Tests of the histograms of vector leaves against numpy."""

import numpy as np
import pytest
from kernels import callable_kernel
from scipy import special

from algorithms import NewtonBoostingRegressor
from algorithms.newton.kernels import softmax
from algorithms.newton.kernels.vector_arrays import LARGE, Rounding
from algorithms.newton.kernels.vector_histogram import (
    ROUNDED,
    SUMMED,
    build_histogram,
    round_derivatives,
    sum_absolute_values,
)
from algorithms.newton.params import Limits
from algorithms.newton.vector_grower import VectorGrower
from algorithms.runtime.threads import Workers

build_histogram = callable_kernel(build_histogram)


@pytest.mark.parametrize(("n_outputs", "shares_h"), [(3, True), (7, False), (9, False)])
def test_histogram_equals_numpy(n_outputs, shares_h):
    rng = np.random.default_rng(n_outputs)
    X = rng.integers(0, [[9, 200, 3, 30]], (2500, 4)).astype(np.float32)
    no_groups = np.empty((4, 0), np.uint64)
    limits = Limits(4, 1.0, 1.0, 0.0, 0.0, 1e-6, np.zeros(4, np.int64), no_groups)
    grower = VectorGrower(X, limits, NewtonBoostingRegressor(), Workers(1), None, n_outputs)
    grower.allocate(shares_h)
    pairs, growth = grower.pairs, grower.growth
    pairs[:] = rng.integers(-9, 9, pairs.shape)
    rows = np.sort(rng.permutation(2500)[:1500])
    growth.rows[3:1503] = rows
    growth.nodes["start"][0], growth.nodes["end"][0], growth.nodes["slot"][0] = 3, 1503, 0
    growth.cells[0] = 7
    build_histogram(0, 1, 3, grower.bins, pairs, growth, 0)
    found = growth.cells[0].reshape(-1, pairs.shape[1])
    ends = np.append(growth.offsets[1:], len(found))
    for c, (first, last) in enumerate(zip(growth.offsets, ends, strict=True)):
        expected = np.full((last - first, pairs.shape[1]), 7)
        if 1 <= c < 3:
            expected[:] = 0
            np.add.at(expected, grower.bins.rows[rows, c], pairs[rows])
        np.testing.assert_array_equal(found[first:last], expected)


def test_rows_of_a_node_without_a_slot_are_subtracted():
    rng = np.random.default_rng(3)
    X = rng.integers(0, [[9, 200, 3]], (1300, 3)).astype(np.float32)
    limits = Limits(4, 1.0, 1.0, 0.0, 0.0, 1e-6, np.zeros(3, np.int64), np.empty((3, 0), np.uint64))
    grower = VectorGrower(X, limits, NewtonBoostingRegressor(), Workers(1), None, 7)
    grower.allocate(shares_h=False)
    pairs, growth = grower.pairs, grower.growth
    pairs[:] = rng.integers(-9, 9, pairs.shape)
    growth.rows[:] = np.arange(1300)
    growth.nodes["start"][:3], growth.nodes["end"][:3] = (0, 0, 700), (1300, 700, 1300)
    growth.nodes["slot"][:3] = 0, 1, -1
    growth.state[LARGE] = 0
    build_histogram(0, 0, 3, grower.bins, pairs, growth, 0)
    growth.rows[:] = rng.permutation(1300)
    build_histogram(1, 0, 3, grower.bins, pairs, growth, 0)
    build_histogram(2, 0, 3, grower.bins, pairs, growth, 0)
    assert growth.cells[1].any()
    np.testing.assert_array_equal(growth.cells[0], growth.cells[1])


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1, softmax.ROWS, 2 * softmax.ROWS + 5])
def test_softmax_equals_numpy(n_rows, is_weighted):
    rng = np.random.default_rng(n_rows)
    score, code = rng.normal(size=(5, n_rows)) * 9.0, rng.integers(0, 5, n_rows).astype(float)
    weight = rng.uniform(0.1, 3.0, n_rows if is_weighted else 0)
    g, h = np.empty((2, 5, n_rows), np.float32)
    work = np.empty((7, softmax.ROWS), np.float32)
    for first, last in ((0, n_rows // 2), (n_rows // 2, n_rows)):
        softmax.differentiate_softmax(score, code, weight, work, g, h, first, last)
    p, w = special.softmax(score, axis=0), weight if is_weighted else 1.0
    np.testing.assert_allclose(g, w * (p - (code == np.arange(5)[:, None])), atol=2e-5)
    np.testing.assert_allclose(h, w * 2.0 * p * (1.0 - p), rtol=1e-4, atol=2e-6)
    assert (h > 0.0).all()


def test_softmax_of_scores_that_are_not_finite_is_nan():
    score = np.zeros((3, 4))
    score[1] = np.nan, np.inf, 1e300, 0.0
    g, h = np.empty((2, 3, 4), np.float32)
    work = np.empty((5, softmax.ROWS), np.float32)
    softmax.differentiate_softmax(score, np.zeros(4), np.empty(0), work, g, h, 0, 4)
    np.testing.assert_array_equal(np.isnan(g).any(axis=0), [True, True, True, False])


@pytest.mark.parametrize("n_rows", [1, ROUNDED, 2 * ROUNDED + 5])
def test_derivatives_are_rounded_to_neighboring_units(n_rows):
    rng = np.random.default_rng(n_rows)
    g, h = rng.normal(size=(2, 3, n_rows)).astype(np.float32)
    per_unit = np.ones(16)
    per_unit[:3], per_unit[8:11] = 2.0 ** np.array([[10, 12, 3], [8, 1, 6]])
    rounding = Rounding(per_unit, rng.random(16), 8, np.uint32(5))
    found = []
    for middle in (0, n_rows // 2):  # in one part, and in two parts
        pairs = np.full((n_rows, 16), 7, np.int32)
        for first, last in ((0, middle), (middle, n_rows)):
            work = np.empty(ROUNDED), np.zeros((16, ROUNDED), np.int32)
            round_derivatives(g, h, rounding, *work, first, last, pairs)
        found.append(pairs)
    np.testing.assert_array_equal(*found)
    expected = np.zeros((n_rows, 16))
    expected[:, :3], expected[:, 8:11] = g.T * per_unit[:3], h.T * per_unit[8:11]
    assert (np.abs(found[0] - expected) < 1.0).all()
    assert np.abs((found[0] - expected).mean()) < 3.0 / np.sqrt(n_rows)


def test_sizes_are_summed_by_block():
    values = np.random.default_rng(2).normal(size=(3, 2 * SUMMED + 13)).astype(np.float32)
    totals = np.full((3, 3), np.nan)
    sum_absolute_values(values, 0, 2, totals)
    sum_absolute_values(values, 2, 3, totals)
    ends = SUMMED, 2 * SUMMED
    expected = [np.abs(one).sum(axis=1, dtype=float) for one in np.split(values, ends, axis=1)]
    np.testing.assert_allclose(totals, expected, rtol=1e-12)
