import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from harness.core.model import Spec, Task
from harness.worker.checks import PredictionError, checked

REGRESSION = Spec(Task.REGRESSION)
THREE = Spec(Task.MULTICLASS, n_classes=3)


@given(arrays.arrays(np.float64, st.integers(0, 20), elements=st.floats(-1e300, 1e300)))
def test_finite_values_pass_unchanged(values):
    np.testing.assert_array_equal(checked(values, REGRESSION, len(values)), values)


@given(arrays.arrays(np.float32, (7, 3), elements=st.floats(0.125, 1.0, width=32)))
def test_probabilities_in_float32_pass_as_float64(values):
    values /= values.sum(axis=1, keepdims=True)
    result = checked(values, THREE, 7)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, values)


EVEN = np.full((4, 3), 1 / 3)


@pytest.mark.parametrize(
    ("output", "spec", "message"),
    [
        (np.zeros(3), REGRESSION, r"shape \(3,\); \(4,\) is expected"),
        (np.zeros((4, 1)), REGRESSION, r"shape \(4, 1\)"),
        (np.zeros(4, dtype=int), REGRESSION, "int64 values"),
        (np.zeros(4, dtype=complex), REGRESSION, "complex128 values"),
        (np.array([1, None, 2, 3], dtype=object), REGRESSION, "object values"),
        (np.array(["1"] * 4), REGRESSION, "<U1 values"),
        (None, REGRESSION, "object values"),
        (np.array([0, np.nan, np.inf, 1]), REGRESSION, "2 values that are NaN or infinite"),
        (np.full(4, 0.5), THREE, r"shape \(4,\); \(4, 3\) is expected"),
        (EVEN * 1.01, THREE, "sum is off by 0.01"),
        (EVEN - [[0.5, 0.0, -0.5]], THREE, "probabilities from -0.166"),
    ],
)
def test_broken_contract_is_reported(output, spec, message):
    with pytest.raises(PredictionError, match=message):
        checked(output, spec, 4)


@given(st.one_of(st.none(), st.text(), st.floats(), st.lists(st.lists(st.integers()))))
def test_invalid_plugin_results_raise_contract_errors_only(output):
    with pytest.raises(PredictionError):
        checked(output, THREE, 4)
