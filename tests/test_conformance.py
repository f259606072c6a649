"""What every registered algorithm must do, whoever wrote it; a new plugin is covered by itself."""

import copy
import dataclasses
import importlib.metadata
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from harness import HarnessError, Spec, Task, TreeEnsemble, spread
from harness.ids import canonical
from harness.model import Dataset, Table
from harness.plugins import load_registry
from harness.preparation import choose, fit_preparation, refusal

REGISTRY = load_registry(strangers=False)
NAMES = REGISTRY.names("algorithm")
CASES = [(name, task) for name in NAMES for task in Task if task in REGISTRY.algorithm(name).tasks]
FEW_TREES = 5
N_TRAIN, N = 100, 160
N_CLASSES = {Task.BINARY: 2, Task.MULTICLASS: 3, Task.REGRESSION: 0}

every_case = pytest.mark.parametrize(("name", "task"), CASES, ids=lambda v: getattr(v, "value", v))
every_algorithm = pytest.mark.parametrize("name", NAMES)


def declare(task, **kinds):
    """Return the declaration of the data that ``table`` makes."""
    given = {"rows": N, "columns": 5, "n_classes": N_CLASSES[task], **kinds}
    return Dataset("d", task, lambda: None, "0", **given)


def table(task, *, categorical=False, missing=False, sparse=False, noise=0.3):
    """Return noisy data in which the first column says much about the target."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(N, 5)).astype(float)
    X[:, 3] = rng.normal(size=N)
    signal = X[:, 0] + 0.5 * X[:, 1] + noise * rng.normal(size=N)
    y = signal
    if task.is_classification:
        cuts = np.quantile(signal, np.arange(1, N_CLASSES[task]) / N_CLASSES[task])
        y = np.searchsorted(cuts, signal).astype(np.int64)
    if sparse:
        return Table(csr_matrix(np.where(rng.random(X.shape) < 0.5, 0.0, X)), y)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[:N_TRAIN, 2] = np.nan  # a column whose first values are in test rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    if categorical:
        codes = rng.integers(-1 if missing else 0, 6, N)
        codes[:N_TRAIN][codes[:N_TRAIN] == 5] = 0  # one category is only in test rows
        frame["e"] = pd.Categorical.from_codes(codes, categories=[*"pqrstu"])
    return Table(frame, y)


def few_trees(algorithm):
    """Return the default params with few trees, where the algorithm counts trees."""
    argument = algorithm.capacity.get("trees")
    return {**algorithm.params, **({argument.name: FEW_TREES} if argument else {})}


class Run:
    """One algorithm, driven the way the worker drives it."""

    def __init__(self, name, task, data, *, params=None, weight=None, rows=None, **kinds):
        algorithm = REGISTRY.algorithm(name)
        train = np.arange(N_TRAIN) if rows is None else rows
        prepared = fit_preparation(choose(algorithm.accepts, declare(task, **kinds)), data, train)
        self.spec = Spec(
            task=task,
            params=few_trees(algorithm) if params is None else params,
            seed=3,
            threads=1,
            n_classes=N_CLASSES[task],
            categorical=prepared.categorical,
        )
        pick = data.X if isinstance(data.X, csr_matrix) else data.X.iloc
        self.train = prepared.apply(pick[train])
        self.test = prepared.apply(pick[np.arange(N_TRAIN, N)])
        self.y = data.y[train]
        self.adapter = algorithm.adapter(self.spec)
        self.native = self.adapter.prepare(self.train, self.y, weight)
        self.adapter.fit(self.native)
        self.output = np.asarray(self.adapter.predict(self.test))

    def rows(self, count):
        """Return the first test rows, each as an X of one row."""
        at = self.test.iloc if isinstance(self.test, pd.DataFrame) else self.test
        return [at[[i]] for i in range(count)]


@cache
def plain(name, task):
    return Run(name, task, table(task))


def check_output(output, task):
    n_classes = N_CLASSES[task]
    assert output.dtype == np.float64
    assert np.isfinite(output).all()
    if not n_classes:
        assert output.shape == (N - N_TRAIN,)
        return
    assert output.shape == (N - N_TRAIN, n_classes)
    assert (output >= 0).all()
    np.testing.assert_allclose(output.sum(axis=1), 1.0, rtol=1e-6)


# ------------------------------------------------------------------ the declaration


@every_algorithm
def test_declaration_is_complete(name):
    algorithm = REGISTRY.algorithm(name)
    canonical(algorithm.params)  # raises where params are no JSON
    assert algorithm.tasks
    assert algorithm.summary
    assert algorithm.paper
    for library in algorithm.libraries:
        assert importlib.metadata.version(library)
    if algorithm.reference is not None:
        assert REGISTRY.algorithm(algorithm.reference).origin == "reference"
    for argument in algorithm.capacity.values():
        assert argument.name or argument.match == "impossible"
        assert argument.note or argument.match == "exact"


@every_algorithm
def test_plugin_registers_when_it_is_loaded_alone(name):
    plugin = REGISTRY.entry("algorithm", name).plugin
    assert name in load_registry(modules=[plugin]).names("algorithm")


@every_algorithm
def test_capacity_is_said_in_words_that_the_algorithm_understands(name):
    algorithm = REGISTRY.algorithm(name)
    wanted = {
        "trees": 2,
        "rate": 0.5,
        "depth": 2,
        "leaves": 3,
        "bins": 16,
        "min_samples": 2,
        "l2": 1,
    }
    task = min(algorithm.tasks)
    for word, argument in algorithm.capacity.items():
        if argument.match != "impossible":
            value = argument.convert(wanted[word]) if argument.convert else wanted[word]
            params = {**few_trees(algorithm), argument.name: value}
            check_output(Run(name, task, table(task), params=params).output, task)


# ------------------------------------------------------------------ fit and predict


@every_case
def test_predictions_have_the_promised_form(name, task):
    check_output(plain(name, task).output, task)


@every_case
def test_predictions_are_better_than_a_constant(name, task):
    run, truth = plain(name, task), table(task).y[N_TRAIN:]
    if task.is_classification:
        truth = np.eye(N_CLASSES[task])[truth]
    assert np.mean((run.output - truth) ** 2) < 0.98 * np.mean((truth - truth.mean(axis=0)) ** 2)


@every_case
def test_a_repeated_fit_gives_the_same_bits(name, task):
    run = plain(name, task)
    again = Run(name, task, table(task))
    np.testing.assert_array_equal(again.output, run.output)
    again.adapter.fit(again.native)
    np.testing.assert_array_equal(again.adapter.predict(again.test), run.output)


@every_case
def test_what_is_given_is_left_as_it_was_and_nothing_is_printed(name, task, capfd):
    run = copy.copy(plain(name, task))
    weight = np.ones(N_TRAIN)
    given = [run.train, run.y, weight, run.test]
    before = copy.deepcopy(given)
    adapter = REGISTRY.algorithm(name).adapter(run.spec)
    adapter.fit(adapter.prepare(run.train, run.y, weight))
    adapter.predict(run.test)
    for now, then in zip(given, before, strict=True):
        np.testing.assert_array_equal(now, then)
    assert capfd.readouterr() == ("", "")


@every_case
def test_one_row_is_predicted_as_in_the_batch(name, task):
    run = plain(name, task)
    for row, expected in zip(run.rows(5), run.output, strict=False):
        found = np.asarray(run.adapter.predict_one(row))
        assert found.shape == expected[None].shape
        np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-12)


def stages(adapter, X):
    """Return the predictions after each member, or None where the adapter shows none."""
    if not hasattr(adapter, "staged"):
        return None
    try:
        return [np.array(stage) for stage in adapter.staged(X)]
    except AttributeError as error:
        if "staged_predict" not in str(error):  # what a scikit-learn estimator may lack
            raise
        return None


@every_case
def test_the_last_stage_is_the_prediction(name, task):
    run = plain(name, task)
    shown = stages(run.adapter, run.test)
    if shown is None:
        pytest.skip("shows no stages")
    np.testing.assert_allclose(shown[-1], run.output, rtol=1e-12, atol=1e-12)


def exported(adapter):
    """Return the trees, or None where there are none or the adapter says why it has none."""
    if not hasattr(adapter, "export_trees"):
        return None
    try:
        return adapter.export_trees()
    except (HarnessError, TypeError) as error:
        if "export" not in str(error):
            raise
        return None


@every_case
def test_exported_trees_predict_what_the_algorithm_predicts(name, task):
    run = plain(name, task)
    if (trees := exported(run.adapter)) is None:
        pytest.skip("has no trees in the common form")
    trees = TreeEnsemble.from_arrays(trees.to_arrays())
    found = trees.predict(run.test)
    if task.is_classification:
        found = spread(found, np.array(trees.classes), run.spec.n_classes)
    eps = np.finfo(trees.sum_dtype).eps
    np.testing.assert_allclose(found, run.output, rtol=16 * eps, atol=4 * eps)


# ------------------------------------------------------------------ kinds of data


@every_case
def test_heavier_rows_pull_predictions_towards_them(name, task):
    if not REGISTRY.algorithm(name).accepts.weights:
        pytest.skip("takes no weights")
    data = table(task, noise=2.0)
    few = data.X[["a", "b"]]  # equal rows with different targets: only weights decide there
    data = dataclasses.replace(data, X=few)
    high = data.y[:N_TRAIN] >= np.median(data.y)
    means = []
    for heavy in (high, ~high):
        output = Run(name, task, data, weight=np.where(heavy, 20.0, 1.0)).output
        value = output @ np.arange(output.shape[1]) if output.ndim > 1 else output
        means.append(value.mean())
    assert means[0] > means[1]


@every_algorithm
def test_a_class_without_a_training_row_has_a_column_of_nearly_nothing(name):
    if Task.MULTICLASS not in REGISTRY.algorithm(name).tasks:
        pytest.skip("is not for several classes")
    data = table(Task.MULTICLASS)
    for absent in (0, 1, 2):
        rows = np.flatnonzero(data.y[:N_TRAIN] != absent)
        output = Run(name, Task.MULTICLASS, data, rows=rows).output
        check_output(output, Task.MULTICLASS)
        assert output[:, absent].max() < 0.01


KINDS = (["missing"], ["categorical"], ["missing", "categorical"], ["sparse"])


@pytest.mark.parametrize("kinds", KINDS, ids="+".join)
@every_case
def test_every_kind_of_data_is_taken_or_refused_with_a_reason(name, task, kinds):
    algorithm = REGISTRY.algorithm(name)
    kinds = dict.fromkeys(kinds, True)
    if reason := refusal(algorithm.accepts, declare(task, **kinds)):
        assert not algorithm.accepts.sparse, reason
        return
    run = Run(name, task, table(task, **kinds), **kinds)
    check_output(run.output, task)
    again = Run(name, task, table(task, **kinds), **kinds)
    np.testing.assert_array_equal(run.output, again.output)
    for row, expected in zip(run.rows(2), run.output, strict=False):
        found = np.asarray(run.adapter.predict_one(row))
        np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-12)
