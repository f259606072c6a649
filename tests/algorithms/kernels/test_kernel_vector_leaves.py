"""Tests of the histograms of vector leaves against numpy."""

import numpy as np
import pytest
from kernels import callable_kernel

from algorithms import NewtonBoostingRegressor
from algorithms.newton.kernels.vector_histogram import build_histogram
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
