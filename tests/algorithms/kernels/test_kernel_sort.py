import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from algorithms.trees.kernels.presort import BUCKETS
from algorithms.trees.kernels.radix_sort import PASSES, sort_values

COUNTS = np.empty((PASSES, BUCKETS), np.uint32)


def sorted_by_kernel(values):
    found = values + values.dtype.type(0.0)
    bits = found.view(np.uint64 if found.itemsize == 8 else np.uint32)
    sort_values(found, bits, np.empty_like(bits), COUNTS)
    return found


@given(
    st.sampled_from([np.float64, np.float32]).flatmap(
        lambda dtype: hnp.arrays(dtype, st.integers(0, 80))
    )
)
def test_sort_equals_numpy(values):
    found = sorted_by_kernel(values)
    wanted = np.sort(values)
    np.testing.assert_array_equal(found, wanted)
    assert not np.signbit(found[found == 0.0]).any()


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
