"""Tests of boosters of optional libraries: training, and trees equal to the library's own."""

import importlib.util
import pickle

import numpy as np
import pandas as pd
import pytest

from algorithms import trees_of
from algorithms.reference.optional_libraries import DECLARED
from harness import ALL_TASKS, Algorithm, HarnessError, Spec, Task, spread
from harness.plugins.registry import load_registry

N_CLASSES = {Task.BINARY: 2, Task.MULTICLASS: 3, Task.REGRESSION: 0}
# Params with which all trees have the common form.
EXPORTABLE = {
    "chimeraboost": {"n_estimators": 20, "cross_features": False, "linear_leaves": False},
    "perpetual": {"budget": 0.4},
    "ydf": {"num_trees": 20, "validation_ratio": 0.0},
}


def installed(*names):
    """Return test parameters, skipped where the library is not installed."""
    missing = {name for name in names if importlib.util.find_spec(name) is None}
    return [
        pytest.param(
            name, marks=pytest.mark.skipif(name in missing, reason=f"{name} is not installed")
        )
        for name in names
    ]


LIBRARIES = installed(*DECLARED)
TASKS = sorted(ALL_TASKS)


def numbers(seed, n=400):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(-3, 4, n), 1e6 + rng.normal(size=n)])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def frame(seed, n=400):
    """Return numbers and a column of six categories, some of them missing."""
    codes = np.random.default_rng(seed).integers(-1, 6, n)
    kinds = pd.Categorical.from_codes(codes, categories=pd.RangeIndex(6))
    return pd.DataFrame(numbers(seed, n)).add_prefix("c").assign(c5=kinds)


def target(X, task, seed=0):
    columns = np.nan_to_num(np.asarray(X, float))
    signal = 2 * columns[:, 0] + columns[:, 1] * columns[:, 3]
    signal += np.random.default_rng(seed).normal(size=len(X))
    if isinstance(X, pd.DataFrame):
        signal += 2.0 * (X["c5"].cat.codes.to_numpy() % 2)
    if not task.is_classification:
        return signal
    cuts = np.quantile(signal, np.arange(1, N_CLASSES[task]) / N_CLASSES[task])
    return np.searchsorted(cuts, signal).astype(np.int64)


def fitted(library, task, X, y, *, categorical=(), weight=None, params=None):
    params = EXPORTABLE[library] if params is None else params
    adapter = DECLARED[library]["adapter"](Spec(task, params, 1, 1, N_CLASSES[task], categorical))
    adapter.fit(adapter.prepare(X, y, weight))
    return adapter


def at_thresholds(trees, X):
    """Return rows at the thresholds of the trees, and one step below and above."""
    numeric = np.flatnonzero((trees.feature >= 0) & (trees.categories < 0))[:150]
    steps = np.array([-np.inf, 0.0, np.inf])
    rows = X[np.arange(len(numeric) * len(steps)) % len(X)].copy()
    for k, node in enumerate(np.repeat(numeric, len(steps))):
        value = np.float32 if trees.input_dtype == "float32" else np.float64
        threshold, step = value(trees.threshold[node]), value(steps[k % len(steps)])
        if np.isfinite(threshold):
            rows[k, trees.feature[node]] = np.nextafter(threshold, step) if step else threshold
    return rows


def assert_equal_predictions(adapter, X):
    trees = adapter.export_trees()
    result, task = trees.predict(X), adapter.spec.task
    if task.is_classification:
        result = spread(result, np.array(trees.classes), N_CLASSES[task])
    eps = np.finfo(trees.sum_dtype).eps
    np.testing.assert_allclose(result, adapter.predict(X), rtol=8 * eps, atol=4 * eps)
    return trees


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.value)
@pytest.mark.parametrize("library", LIBRARIES)
def test_exported_trees_predict_as_the_model(library, task):
    X = numbers(0)
    adapter = fitted(library, task, X, target(X, task))
    trees = assert_equal_predictions(adapter, numbers(1))
    assert trees.n_trees >= 10
    assert_equal_predictions(adapter, at_thresholds(trees, X))
    np.testing.assert_array_equal(adapter.predict_one(X[:1]), adapter.predict(X)[:1])


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.value)
@pytest.mark.parametrize("library", installed("perpetual", "ydf"))
def test_categories_are_sets_of_the_trees(library, task):
    X = frame(0)
    adapter = fitted(library, task, X, target(X, task), categorical=(5,))
    trees = assert_equal_predictions(adapter, frame(1))
    assert (trees.categories >= 0).any()


@pytest.mark.parametrize("library", LIBRARIES)
def test_better_than_a_constant_and_equal_after_pickling(library):
    X = frame(0)
    y = target(X, Task.REGRESSION)
    adapter = fitted(library, Task.REGRESSION, X, y, categorical=(5,))
    predictions = adapter.predict(frame(1))
    error = predictions - target(frame(1), Task.REGRESSION, seed=1)
    assert np.std(error) < 0.8 * np.std(y)
    again = pickle.loads(pickle.dumps(adapter))
    np.testing.assert_array_equal(again.predict(frame(1)), predictions)


@pytest.mark.parametrize("library", LIBRARIES)
def test_seed_repeats_a_fit_and_weights_count(library):
    X = numbers(0)
    y = target(X, Task.REGRESSION)
    one, other = (fitted(library, Task.REGRESSION, X, y).predict(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    weight = np.where(y > np.median(y), 20.0, 0.05)
    assert fitted(library, Task.REGRESSION, X, y, weight=weight).predict(X).mean() > one.mean()


@pytest.mark.parametrize("library", LIBRARIES)
def test_class_without_rows_has_probability_zero(library):
    X = numbers(0)
    y = 2 * target(X, Task.BINARY)
    adapter = fitted(library, Task.MULTICLASS, X, y)
    shares = adapter.predict(X)
    assert shares.shape == (len(X), 3)
    assert (shares[:, 1] == 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"linear_leaves": True, "cross_features": False}, "linear leaves"),
        (
            {"n_ensembles": 2, "ensemble_n_jobs": 1, "learning_rate": 0.1, "colsample": 1.0},
            "it averages several models",
        ),
    ],
)
def test_chimeraboost_without_the_common_form(params, reason):
    pytest.importorskip("chimeraboost")
    X = numbers(0, 3000)  # it fits no linear leaves to few rows
    params = {"n_estimators": 5, **params}
    adapter = fitted("chimeraboost", Task.REGRESSION, X, target(X, Task.REGRESSION), params=params)
    with pytest.raises(HarnessError, match=f"not exportable: {reason}"):
        adapter.export_trees()


def test_categories_of_chimeraboost_are_statistics():
    pytest.importorskip("chimeraboost")
    X = frame(0)
    y = target(X, Task.REGRESSION)
    adapter = fitted("chimeraboost", Task.REGRESSION, X, y, categorical=(5,))
    with pytest.raises(HarnessError, match="not exportable: statistics of categories"):
        adapter.export_trees()


def test_text_categories_have_no_codes():
    perpetual = pytest.importorskip("perpetual")
    X = frame(0)
    y = target(X, Task.REGRESSION)
    X["c5"] = X["c5"].cat.rename_categories(list("uvwxyz"))
    model = perpetual.PerpetualRegressor(budget=0.3, num_threads=1).fit(X, y)
    with pytest.raises(HarnessError, match=r"categories of 'c5' must be whole numbers 0, 1"):
        trees_of(model)


def test_other_models_of_ydf_are_refused():
    ydf = pytest.importorskip("ydf")
    X = numbers(0)
    data = {**{f"c{j}": X[:, j] for j in range(5)}, "target": target(X, Task.REGRESSION)}
    task = ydf.Task.REGRESSION
    model = ydf.RandomForestLearner(label="target", task=task, num_trees=2).train(data, verbose=0)
    with pytest.raises(HarnessError, match="not exportable: it is a RandomForestModel"):
        trees_of(model)


def test_only_installed_libraries_are_registered():
    registry = load_registry(modules=["algorithms.reference.optional_libraries"])
    expected = {d["name"] for n, d in DECLARED.items() if importlib.util.find_spec(n) is not None}
    assert set(registry.names("algorithm")) == expected
    for library, declared in DECLARED.items():
        algorithm = Algorithm(tasks=ALL_TASKS, origin="reference", **declared)
        assert algorithm.name.startswith(library)
