"""Tests of the kernels that follow scikit-learn, against oracles and the library.

The grower is compared with the library itself: `tests/algorithms/test_sklearn_parity.py`.
"""

import numpy as np
import oracles_sklearn as oracles
import pytest
from columns import seeds, table
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import callable_kernel
from sklearn.tree._criterion import _py_precompute_absolute_errors
from sklearn.utils._sorting import _py_simultaneous_sort

from algorithms.parity.kernels import sklearn_arrays as layout
from algorithms.parity.kernels.sklearn_deviations import measure_deviations
from algorithms.parity.kernels.sklearn_rows import move_missing_to_start, sort_rows
from algorithms.parity.kernels.sklearn_sort import sort_pairs
from algorithms.parity.sklearn_grower import find_missing, new_search

_measure_deviations = callable_kernel(measure_deviations)
_sort_pairs = callable_kernel(sort_pairs)
_sort_rows = callable_kernel(sort_rows)
_move_missing_to_start = callable_kernel(move_missing_to_start)


def pending():
    return np.empty((layout.PENDING, 3), np.int64)


def sort_all_ways(values):
    """Sort with kernel, oracle and scikit-learn; return how often the oracle used heapsort."""
    n = len(values)
    expected = np.array(values, np.float64), np.arange(n)
    if n:
        _py_simultaneous_sort(*expected, n, use_three_way_partition=True)
    around = np.concatenate([[np.inf], values, [-np.inf]])
    rows = np.arange(-1, n + 1)
    _sort_pairs(around, rows, 1, n + 1, pending())
    assert np.array_equal(around[1:-1], expected[0])
    assert np.array_equal(rows[1:-1], expected[1])
    assert (around[0], around[-1], rows[0], rows[-1]) == (np.inf, -np.inf, -1, n)
    plain = oracles.sort_pairs(list(values), list(range(n)))
    assert (plain[0], plain[1]) == (expected[0].tolist(), expected[1].tolist())
    return plain[2]


@given(seed=seeds, n=st.integers(0, 300), levels=st.sampled_from([1, 2, 5, 40, 10**6]))
def test_equal_values_are_in_scikit_learn_order(seed, n, levels):
    sort_all_ways(np.random.default_rng(seed).integers(0, levels, n).astype(float))


@pytest.mark.parametrize("n", [15, 16, 200, 400, 1001])
def test_organ_pipes_and_steps_are_sorted(n):
    rising = np.arange(n, dtype=float)
    pipe = np.minimum(rising, n - rising)
    for values in (rising, rising[::-1], pipe, -pipe, rising // 7, rising % 7):
        sort_all_ways(values)


def test_deep_recursion_falls_back_to_heapsort():
    rising = np.arange(1000.0)
    assert sort_all_ways(np.minimum(rising, 999 - rising)) > 0


@given(seed=seeds, n=st.integers(1, 120), digits=st.sampled_from([0, 1, 12]), unit=st.booleans())
def test_absolute_errors_of_all_splits_equal_scikit_learn(seed, n, digits, unit):
    rng = np.random.default_rng(seed)
    y = np.round(rng.normal(size=n + 10) * 3, digits)
    w = np.ones(n + 10) if unit else rng.choice([0.25, 1.0, rng.random() + 0.1], n + 10)
    samples = rng.permutation(n + 10)
    start, end = 4, 4 + n
    result = np.full((layout.DEVIATIONS, n + 11), np.nan)
    ranks = np.empty((2, n + 10), np.int64)
    _measure_deviations(y, w, samples, start, end, False, result, ranks, pending())
    passes = (
        (layout.ERROR_LEFT, layout.MEDIAN_LEFT, start, end),
        (layout.ERROR_RIGHT, layout.MEDIAN_RIGHT, end - 1, start - 1),
    )
    for error, median, first, stop in passes:
        copied = samples[start:end].copy()  # the library's wrapper needs places that begin at 0
        expected = _py_precompute_absolute_errors(
            y[:, None], w, copied, first - start, stop - start, n
        )
        assert np.array_equal(result[error, start:end], expected[0])
        assert np.array_equal(result[median, start:end], expected[1])
    for p in range(start, end):
        rows = samples[p:end]
        error = oracles.absolute_error(y[rows], w[rows])
        assert result[layout.ERROR_RIGHT, p] == pytest.approx(error, abs=1e-9)
        rows = samples[start : p + 1]
        error = oracles.absolute_error(y[rows], w[rows])
        assert result[layout.ERROR_LEFT, p] == pytest.approx(error, abs=1e-9)


@given(seed=seeds, n=st.integers(1, 60))
@settings(max_examples=20)
def test_absolute_errors_of_several_outputs_are_added(seed, n):
    rng = np.random.default_rng(seed)
    ys, w, samples = rng.normal(size=(2, n)), rng.random(n) + 0.1, rng.permutation(n)
    each = np.full((3, layout.DEVIATIONS, n + 1), np.nan)
    ranks = np.empty((2, n), np.int64)
    for output, y in enumerate(ys):
        _measure_deviations(y, w, samples, 0, n, False, each[output], ranks, pending())
        _measure_deviations(y, w, samples, 0, n, output > 0, each[2], ranks, pending())
    for error in (layout.ERROR_LEFT, layout.ERROR_RIGHT):
        assert np.array_equal(each[2, error, :n], each[0, error, :n] + each[1, error, :n])
    assert np.array_equal(
        each[2, layout.MEDIAN_RIGHT], each[1, layout.MEDIAN_RIGHT], equal_nan=True
    )


@given(seed=seeds, n=st.integers(1, 60))
def test_missing_values_are_placed_last_then_first(seed, n):
    rng = np.random.default_rng(seed)
    values = np.ascontiguousarray(table(rng, n + 6, 1, missing=0.8).T, np.float32)
    columns = np.zeros(1, np.int64)
    missing = find_missing(values, columns)
    given = layout.Given(values, columns, missing, np.zeros((1, n + 6)), np.ones(n + 6))
    search = new_search(n + 6, _Rules, 1, np.zeros(layout.POSITION + 1, np.int64))
    search.samples[:] = rng.permutation(n + 6)
    before = search.samples.copy()
    start, end = 3, 3 + n
    count = _sort_rows(given, search, 0, start, end)
    here = values[0, search.samples]
    assert count == np.isnan(here[start:end]).sum()
    assert np.isnan(here[end - count : end]).all()
    assert np.array_equal(search.x[start : end - count], np.sort(here[start : end - count]))
    sorted_rows = search.samples[start:end].copy()
    _move_missing_to_start(search, start, end, count)
    turned = np.roll(sorted_rows, count)
    assert np.array_equal(search.samples[start:end], turned)
    assert np.array_equal(search.x[start + count : end], values[0, turned[count:]])
    assert np.array_equal(np.sort(search.samples), np.sort(before))
    assert np.array_equal(search.samples[:start], before[:start])


class _Rules:
    criterion = 0
    n_classes = 2
