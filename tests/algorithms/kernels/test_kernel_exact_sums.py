"""Tests of order-independent sums, against `math.fsum` and fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from algorithms.runtime import exact_sums
from algorithms.runtime.exact_sum_kernels import MIN_EXPONENT, add_sizes

DOUBLES = arrays.arrays(
    np.float64, st.integers(0, 60), elements=st.floats(allow_nan=False, allow_infinity=False)
)
SINGLES = arrays.arrays(
    np.float32, st.integers(1, 60), elements=st.floats(allow_nan=False, width=32)
)


def nearest(values):
    try:
        return math.fsum(values)
    except OverflowError:
        return None  # fsum gives up where a part of the sum overflows


@given(DOUBLES)
def test_total_is_the_exact_sum_rounded_once(values):
    expected = nearest(values)
    result = exact_sums.exact_total(values)
    assert expected is None or result == expected


@given(DOUBLES, st.integers(0, 60))
def test_tables_of_partitions_add_up_to_the_whole(values, at):
    parts = exact_sums.sum_table(values[at:]) + exact_sums.sum_table(values[:at])
    assert np.array_equal(parts, exact_sums.sum_table(values))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_total_of_nonfinite_values_is_nan(value):
    assert np.isnan(exact_sums.exact_total(np.array([1.0, value])))


def test_total_beyond_double_is_infinite():
    assert exact_sums.exact_total(np.full(4, -1e308)) == -np.inf


@given(SINGLES, st.integers(1, 8))
def test_magnitudes_are_summed_exactly_and_maximum_is_kept(values, stride):
    table = exact_sums.size_table()
    add_sizes(values, 0, 0, len(values), stride, table)
    assert table[-1].astype(np.int32).view(np.float32) == np.abs(values).max()
    if np.isfinite(values).all():
        expected = sum((abs(Fraction(float(v))) for v in values[::stride]), Fraction(0))
        units = sum(int(own) << max(e - 1, 0) for e, own in enumerate(table[:-1]))
        assert Fraction(units, 1 << -MIN_EXPONENT) == expected


@given(SINGLES, st.integers(0, 60))
def test_magnitudes_of_partitions_equal_the_whole(values, at):
    whole, first, second = (exact_sums.size_table() for _ in range(3))
    at = min(at, len(values))
    add_sizes(values, 0, 0, len(values), 1, whole)
    add_sizes(values, 0, 0, at, 1, first)
    add_sizes(values, at, at, len(values), 1, second)
    assert np.array_equal(exact_sums.merge_sizes([first, second]), whole)
