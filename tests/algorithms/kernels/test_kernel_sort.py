import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from algorithms.trees.kernels.presort import BUCKETS
from algorithms.trees.kernels.radix_sort import PASSES, sort_values

COUNTS = np.empty((PASSES, BUCKETS), np.uint32)


def sorted_by_kernel(values):
    result = values + values.dtype.type(0.0)
    bits = result.view(np.uint64 if result.itemsize == 8 else np.uint32)
    sort_values(result, bits, np.empty_like(bits), COUNTS)
    return result


@given(
    st.sampled_from([np.float64, np.float32]).flatmap(
        lambda dtype: hnp.arrays(dtype, st.integers(0, 80))
    )
)
def test_sort_equals_numpy(values):
    result = sorted_by_kernel(values)
    expected = np.sort(values)
    np.testing.assert_array_equal(result, expected)
    assert not np.signbit(result[result == 0.0]).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["normal", "whole", "wide", "equal", "close"])
def test_large_arrays_are_sorted(dtype, kind):
    rng = np.random.default_rng(0)
    n = 20_000
    values = {
        "normal": rng.normal(size=n),
        "whole": rng.integers(-300, 300, n),
        "wide": rng.normal(size=n) * 10.0 ** rng.integers(-30, 30, n),
        "equal": np.full(n, -3.25),
        "close": 1e15 + rng.integers(0, 50, n),
    }[kind].astype(dtype)
    values[rng.integers(0, n, 20)] = np.nan
    values[:2] = np.inf, -np.inf
    np.testing.assert_array_equal(sorted_by_kernel(values), np.sort(values))
