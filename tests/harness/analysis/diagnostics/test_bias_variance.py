"""Tests of bias, variance and noise: their sum, oracles, and simulated truths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_bias import class_parts, squared_parts

from harness.analysis.diagnostics import InapplicableError
from harness.analysis.diagnostics.bias_variance import of_classes, of_values

FEW = settings(max_examples=40)
SIZES = {
    "seed": st.integers(0, 2**32 - 1),
    "sets": st.integers(2, 7),
    "rows": st.integers(2, 12),
    "weighted": st.booleans(),
}


def values(result):
    return {name: part.value for name, part in result.parts.items()}


@given(**SIZES, known=st.booleans(), scale=st.sampled_from([1e-6, 1.0, 1e6]))
@FEW
def test_squared_error_parts_equal_oracle_and_sum_to_the_error(
    seed, sets, rows, weighted, known, scale
):
    random = np.random.default_rng(seed)
    predicted = random.standard_normal((sets, rows)) * scale
    y, f = random.standard_normal((2, rows)) * scale
    weight = random.uniform(0.1, 2, rows) if weighted else None
    result = of_values(predicted, y, f if known else None, weight)
    plain = squared_parts(
        predicted, y, f if known else y, np.ones(rows) if weight is None else weight
    )
    message = values(result)
    assert message == {
        name: pytest.approx(plain[name], rel=1e-9, abs=1e-9 * scale**2) for name in message
    }
    assert set(message) == ({"noise", "cross"} if known else set()) | {"bias2", "variance", "error"}
    parts = sum(value for name, value in message.items() if name != "error")
    assert parts == pytest.approx(message["error"], rel=1e-12, abs=1e-14 * scale**2)
    # Of a few rows a quantile between two resamples may miss the mean by rounding alone.
    assert all(
        np.isfinite([p.low, p.high]).all() and p.low <= p.high for p in result.parts.values()
    )


@given(**SIZES, n_classes=st.integers(2, 4))
@FEW
def test_class_error_parts_equal_oracle_and_sum_to_the_error(seed, sets, rows, weighted, n_classes):
    random = np.random.default_rng(seed)
    predicted = random.integers(0, n_classes, (sets, rows))
    y = random.integers(0, n_classes, rows)
    weight = random.uniform(0.1, 2, rows) if weighted else None
    message = values(of_classes(predicted, y, n_classes, weight))
    plain = class_parts(predicted, y, n_classes, np.ones(rows) if weight is None else weight)
    assert message == {name: pytest.approx(plain[name], abs=1e-12) for name in plain}
    net = message["unbiased_variance"] - message["biased_variance"]
    assert message["bias"] + net == pytest.approx(message["error"], abs=1e-12)
    assert 0 <= message["biased_variance"] <= message["bias"]


def test_equal_models_have_no_variance_and_the_truth_no_bias():
    y = np.arange(6.0)
    message = values(of_values(np.tile(y, (3, 1)), y, y))
    assert message == dict.fromkeys(("error", "bias2", "variance", "noise", "cross"), 0.0)
    classes = np.array([0, 1, 2, 1])
    message = values(of_classes(np.tile(classes, (4, 1)), classes, 3))
    assert set(message.values()) == {0.0}


@pytest.mark.parametrize("kind", ["normal", "laplace"])
def test_simulated_bias_variance_and_noise_are_recovered(kind):
    random = np.random.default_rng(3)
    rows, sets, bias, spread, noise = 20_000, 10, 0.7, 0.5, 0.9
    f = random.uniform(-1, 1, rows)
    drawn = random.standard_normal(rows) if kind == "normal" else random.laplace(0, 0.5**0.5, rows)
    predicted = f + bias + spread * random.standard_normal((sets, rows))
    result = of_values(predicted, f + noise * drawn, f)
    message = values(result)
    for name, square in (("bias2", bias**2), ("variance", spread**2), ("noise", noise**2)):
        part = result.parts[name]
        assert part.low - (part.high - part.low) < square < part.high + (part.high - part.low)
        assert message[name] == pytest.approx(square, rel=0.06)
    assert "noise 0.8" in result.sentence


def test_noise_counts_as_bias_without_the_truth():
    random = np.random.default_rng(1)
    f = random.uniform(size=4000)
    y = f + random.standard_normal(4000)
    predicted = f + 0.3 * random.standard_normal((6, 4000))
    message = of_values(predicted, y)
    assert message.parts["bias2"].value == pytest.approx(1.0, abs=0.1)
    assert "bias² with noise" in message.sentence
    assert not message.truth


def test_biased_variance_can_reduce_the_error():
    predicted = np.array([[0, 0], [0, 0], [1, 0]])
    message = values(of_classes(predicted, np.array([1, 0]), 2))
    assert message == {
        "error": pytest.approx(1 / 3),
        "bias": 0.5,
        "unbiased_variance": 0,
        "biased_variance": pytest.approx(1 / 6),
    }


@pytest.mark.parametrize("shape", [(1, 5), (5, 1)])
def test_one_training_set_or_row_gives_no_result(shape):
    with pytest.raises(InapplicableError, match="two training sets"):
        of_values(np.zeros(shape), np.zeros(shape[1]))


def test_rows_without_weight_give_no_result():
    with pytest.raises(InapplicableError, match="are all zero"):
        of_values(np.zeros((2, 3)), np.zeros(3), weight=np.zeros(3))
