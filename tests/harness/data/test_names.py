"""Tests of dataset names, options and references between planner and worker."""

import pandas as pd
import pytest

from harness.core.errors import ConfigError, DataError
from harness.core.model import Dataset, DatasetRef, Task
from harness.data import load_table, resolve
from harness.plugins.hookspecs import hookimpl
from harness.plugins.registry import load_registry


@pytest.fixture(scope="module")
def registry():
    return load_registry(
        modules=["harness.data.providers.cards", "harness.data.providers.generators"]
    )


def reference(dataset):
    return DatasetRef(dataset.name, dataset.digest, dict(dataset.options), dataset.file)


def test_options_change_name_counts_and_digest(registry):
    base = resolve("friedman1", registry)
    dataset = resolve("friedman1:columns=7,rows=123", registry)
    assert dataset.name == "friedman1:rows=123,columns=7", "in the order of the declaration"
    assert (dataset.rows, dataset.columns) == (123, 7)
    assert dataset.options == {**base.options, "rows": 123, "columns": 7}
    assert dataset.digest != base.digest
    assert resolve("friedman1:rows=0000123,columns=7", registry) == dataset


def test_explicit_default_is_the_same_data(registry):
    base = resolve("friedman1", registry)
    dataset = resolve(f"friedman1:rows={base.rows}", registry)
    assert dataset.digest == base.digest


@pytest.mark.parametrize("name", ["friedman1:rows=60,seed=3", "iris"])
def test_worker_finds_the_planned_dataset(registry, name):
    dataset = resolve(name, registry)
    assert load_table(reference(dataset), registry).X.shape == (dataset.rows, dataset.columns)


def test_different_digest_is_refused_and_both_are_named(registry):
    digest = resolve("iris", registry).digest
    with pytest.raises(DataError, match=f"{digest[:16]}.*{'0' * 16}.*plan the run again"):
        load_table(DatasetRef("iris", "0" * 64), registry)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("irs", "unknown dataset 'irs': did you mean 'iris'"),
        ("friedman1:rwos=5", "unknown option 'rwos': did you mean 'rows'"),
        ("iris:rows=5", "unknown option 'rows'; it takes none"),
        ("friedman1:rows=many", "rows must be a whole number, not 'many'"),
        ("friedman1:rows=1.5", "rows must be a whole number"),
        ("friedman1:rows=0", "rows must lie from 2"),
        ("friedman1:rows=99999999999", "rows must lie from 2 to 1,000,000,000"),
        ("friedman1:noise=nan", "noise must lie from"),
        ("friedman1:noise=inf", "noise must lie from"),
        ("friedman1:rows", "NAME:key=value"),
        ("friedman1:rows=", "NAME:key=value"),
        ("friedman1:", "NAME:key=value"),
        ("friedman1:rows=5,rows=6", "NAME:key=value"),
        ("friedman1:" + "x" * 10_000, "NAME:key=value"),
        ("../../x", "unknown dataset '../../x'"),
    ],
)
def test_invalid_names(registry, name, message):
    with pytest.raises(ConfigError, match=message) as caught:
        resolve(name, registry)
    assert len(str(caught.value)) < 400


def test_plugin_dataset_may_take_options():
    class Plugin:
        __file__ = __file__

        @staticmethod
        @hookimpl
        def register_datasets(register):
            def load(rows):
                X = pd.DataFrame({"a": range(rows)}, dtype=float)
                from harness.core.model import Table

                return Table(X, X["a"].to_numpy())

            options = {"rows": 10}
            register(
                Dataset("mine", Task.REGRESSION, load, "v1", rows=10, columns=1, options=options)
            )

    registry = load_registry(modules=["harness.data.providers.cards"])
    Plugin.register_datasets(lambda d: registry.add("dataset", Dataset, d, "mine", "mine.py"))
    dataset = resolve("mine:rows=4", registry)
    assert load_table(reference(dataset), registry).y.tolist() == [0, 1, 2, 3]
