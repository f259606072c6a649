"""Tests of the true function of a generated target."""

import numpy as np
import pytest

from harness.core.model import Dataset, DatasetRef, Table, Task
from harness.data import resolve
from harness.data.loading import table_of
from harness.data.noise_free_target import truth_of
from harness.plugins.registry import load_registry


@pytest.fixture(scope="module")
def registry():
    return load_registry(modules=["harness.data.providers.generators"])


def ref_of(dataset):
    return DatasetRef(dataset.name, dataset.digest, dataset.options)


def test_true_values_of_friedman1_equal_its_function(registry):
    dataset = resolve("friedman1:rows=300,seed=2,noise_kind=laplace", registry)
    x = table_of(dataset).X.to_numpy().T
    f = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    np.testing.assert_allclose(truth_of(ref_of(dataset), registry), f)


@pytest.mark.parametrize("name", ["hastie_10_2:rows=100", "heavy_tailed:rows=100"])
def test_true_values_are_unknown_without_a_noise_option(registry, name):
    assert truth_of(ref_of(resolve(name, registry)), registry) is None


def test_true_values_are_unknown_if_columns_depend_on_the_noise(registry):
    friedman = table_of(resolve("friedman1:rows=50", registry))

    def draw(noise):
        return Table(friedman.X + noise, friedman.y + noise)

    drift = Dataset("drift", Task.REGRESSION, draw, "d", 50, 10, options={"noise": 1.0})
    registry.add("dataset", Dataset, drift, "here", __file__)
    assert truth_of(ref_of(drift), registry) is None
    quiet = ref_of(resolve("drift:noise=0", registry))
    np.testing.assert_array_equal(truth_of(quiet, registry), friedman.y)
