"""The parts of an error: their sum, their plain twins, and truths that are known beforehand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_bias import class_parts, squared_parts

from harness.analysis.diagnostics import InapplicableError
from harness.analysis.diagnostics.bias_variance import of_classes, of_values

FEW = settings(max_examples=40, deadline=None)
SIZES = {
    "seed": st.integers(0, 2**32 - 1),
    "sets": st.integers(2, 7),
    "rows": st.integers(2, 12),
    "weighted": st.booleans(),
}


def values(found):
    return {name: part.value for name, part in found.parts.items()}


@given(**SIZES, known=st.booleans(), scale=st.sampled_from([1e-6, 1.0, 1e6]))
@FEW
def test_squared_parts_are_those_of_the_plain_twin_and_sum_to_the_error(
    seed, sets, rows, weighted, known, scale
):
    random = np.random.default_rng(seed)
    predicted = random.standard_normal((sets, rows)) * scale
    y, f = random.standard_normal((2, rows)) * scale
    weight = random.uniform(0.1, 2, rows) if weighted else None
    found = of_values(predicted, y, f if known else None, weight)
    plain = squared_parts(
        predicted, y, f if known else y, np.ones(rows) if weight is None else weight
    )
    told = values(found)
    assert told == {
        name: pytest.approx(plain[name], rel=1e-9, abs=1e-9 * scale**2) for name in told
    }
    assert set(told) == ({"noise", "cross"} if known else set()) | {"bias2", "variance", "error"}
    parts = sum(value for name, value in told.items() if name != "error")
    assert parts == pytest.approx(told["error"], rel=1e-12, abs=1e-14 * scale**2)
    # Of a few rows a quantile between two resamples may miss the mean by rounding alone.
    assert all(np.isfinite([p.low, p.high]).all() and p.low <= p.high for p in found.parts.values())


@given(**SIZES, n_classes=st.integers(2, 4))
@FEW
def test_parts_of_classes_are_those_of_the_plain_twin_and_sum_to_the_error(
    seed, sets, rows, weighted, n_classes
):
    random = np.random.default_rng(seed)
    predicted = random.integers(0, n_classes, (sets, rows))
    y = random.integers(0, n_classes, rows)
    weight = random.uniform(0.1, 2, rows) if weighted else None
    told = values(of_classes(predicted, y, n_classes, weight))
    plain = class_parts(predicted, y, n_classes, np.ones(rows) if weight is None else weight)
    assert told == {name: pytest.approx(plain[name], abs=1e-12) for name in plain}
    net = told["unbiased_variance"] - told["biased_variance"]
    assert told["bias"] + net == pytest.approx(told["error"], abs=1e-12)
    assert 0 <= told["biased_variance"] <= told["bias"]


def test_models_that_agree_have_no_variance_and_the_truth_no_bias():
    y = np.arange(6.0)
    told = values(of_values(np.tile(y, (3, 1)), y, y))
    assert told == dict.fromkeys(("error", "bias2", "variance", "noise", "cross"), 0.0)
    classes = np.array([0, 1, 2, 1])
    told = values(of_classes(np.tile(classes, (4, 1)), classes, 3))
    assert set(told.values()) == {0.0}


@pytest.mark.parametrize("kind", ["normal", "laplace"])
def test_bias_variance_and_noise_that_were_put_in_are_found(kind):
    random = np.random.default_rng(3)
    rows, sets, bias, spread, noise = 20_000, 10, 0.7, 0.5, 0.9
    f = random.uniform(-1, 1, rows)
    drawn = random.standard_normal(rows) if kind == "normal" else random.laplace(0, 0.5**0.5, rows)
    predicted = f + bias + spread * random.standard_normal((sets, rows))
    found = of_values(predicted, f + noise * drawn, f)
    told = values(found)
    for name, square in (("bias2", bias**2), ("variance", spread**2), ("noise", noise**2)):
        part = found.parts[name]
        assert part.low - (part.high - part.low) < square < part.high + (part.high - part.low)
        assert told[name] == pytest.approx(square, rel=0.06)
    assert "noise 0.8" in found.sentence


def test_without_the_truth_noise_counts_as_bias():
    random = np.random.default_rng(1)
    f = random.uniform(size=4000)
    y = f + random.standard_normal(4000)
    predicted = f + 0.3 * random.standard_normal((6, 4000))
    told = of_values(predicted, y)
    assert told.parts["bias2"].value == pytest.approx(1.0, abs=0.1)
    assert "bias² with noise" in told.sentence
    assert not told.truth


def test_biased_variance_pays():
    predicted = np.array([[0, 0], [0, 0], [1, 0]])
    told = values(of_classes(predicted, np.array([1, 0]), 2))
    assert told == {
        "error": pytest.approx(1 / 3),
        "bias": 0.5,
        "unbiased_variance": 0,
        "biased_variance": pytest.approx(1 / 6),
    }


@pytest.mark.parametrize("shape", [(1, 5), (5, 1)])
def test_one_training_set_or_row_says_nothing(shape):
    with pytest.raises(InapplicableError, match="two training sets"):
        of_values(np.zeros(shape), np.zeros(shape[1]))


def test_rows_without_weight_say_nothing():
    with pytest.raises(InapplicableError, match="are all zero"):
        of_values(np.zeros((2, 3)), np.zeros(3), weight=np.zeros(3))
