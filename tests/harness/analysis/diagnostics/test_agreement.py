"""Tests of distances between predictions in representable numbers, and of repeated fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import pearsonr

from harness.analysis.diagnostics import InapplicableError, agreement, determinism
from harness.analysis.parity.causes import ulps_between

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=10))
def test_distances_equal_those_of_single_pairs(pairs):
    x, y = (np.array(side, np.float64) for side in zip(*pairs, strict=True))
    steps, dtype = agreement.ulp_steps(x, y)
    for a, b, result in zip(x, y, steps, strict=True):
        if dtype == "float64":
            assert ulps_between(a, b, "float64")[0] == result
        else:
            assert ulps_between(a, b, "float32") == (result, "float32")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", [1.0, -1.0, 0.0, 1e-30, 0.1])
def test_step_leads_to_the_next_float(start, dtype):
    a = dtype(start)
    b = np.nextafter(np.nextafter(a, dtype(2)), dtype(2))
    steps, named = agreement.ulp_steps(np.array([a, a], float), np.array([b, a], float))
    assert steps.tolist() == [2, 0]
    assert named == np.dtype(dtype).name


def test_extreme_floats_are_further_apart_than_int64():
    largest = np.finfo(np.float64).max
    steps, _ = agreement.ulp_steps(np.array([-largest]), np.array([largest]))
    assert int(steps[0]) == 2 * int(np.array(largest).view(np.int64))


def test_histogram_has_every_distance_once():
    steps = np.array([0, 0, 1, 2, 3, 4, 15, 16, 255, 256, 65535, 65536, 2**63], np.uint64)
    result = agreement.histogram(steps)
    assert result == {
        "0": 2,
        "1": 1,
        "2-3": 2,
        "4-15": 2,
        "16-255": 2,
        "256-65535": 2,
        "65536+": 2,
    }


def test_compared_numbers():
    one = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    other = one.copy()
    other[:5] = other[:5, ::-1]
    comparison = agreement.compare(one, other)
    flat = np.abs(one - other).ravel()
    assert comparison.rows == 50
    assert comparison.same == np.mean(flat == 0)
    assert comparison.largest == flat.max()
    assert comparison.quantiles["0.9"] == np.quantile(flat, 0.9)
    assert comparison.correlation == pytest.approx(
        pearsonr(one.ravel(), other.ravel())[0], abs=1e-12
    )
    assert comparison.labels == np.mean(one.argmax(1) == other.argmax(1))


def test_one_probability_of_two_classes_is_compared():
    p = np.array([0.25, 0.5])
    one = np.column_stack([1 - p, p])
    other = np.column_stack([np.nextafter(1 - p, 2), p])
    assert agreement.compare(one, other).same == 1


@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(-1e9, 1e9)))
def test_same_means_bitwise_equal(x):
    comparison = agreement.compare(x, x.copy())
    assert (comparison.same, comparison.largest, comparison.most_ulps, comparison.labels) == (
        1,
        0,
        0,
        None,
    )
    assert sum(comparison.ulps.values()) == comparison.ulps["0"] == len(x)
    assert "the same to the bit" in comparison.sentence


def test_nothing_to_compare_is_reported():
    with pytest.raises(InapplicableError):
        agreement.compare(np.zeros(3), np.zeros(4))
    assert agreement.pearson(np.ones(3), np.arange(3.0)) is None


def test_fit_that_differs_by_one_step_is_found():
    base = np.array([0.1, 0.2, 0.3])
    varied = base.copy()
    varied[1] = np.nextafter(0.2, 1)
    result = determinism.check("threads", base, varied, "rmse_sd", lambda x: float(x.sum()))
    assert result.same is False
    assert result.agreement.most_ulps == 1
    assert result.change == varied.sum() - base.sum()
    words = "33.3% of the predicted numbers differ, by up to 1 float64 steps"
    assert words in result.sentence
    assert "rmse_sd by" in result.sentence


def test_equal_bytes_and_equal_numbers_are_distinguished():
    zero = np.array([0.0])
    assert determinism.check("seed", zero, zero.copy()).sentence.endswith("the same bytes")
    other = determinism.check("seed", zero, -zero)
    assert other.same is False
    assert "not the same bytes" in other.sentence


def test_checks_are_summarized_in_one_line():
    base = np.array([0.5])
    checks = [
        determinism.check("seed", base, base.copy()),
        determinism.check("rows", base, base + 1),
        determinism.Check("threads", None, reason="it crashed"),
    ]
    message = determinism.summary(checks)
    assert message == "the same bytes for seed; not the same for row order; unknown for threads"
    assert checks[2].sentence.endswith("could not be run: it crashed")
