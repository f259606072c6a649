"""Tests that exported trees give the raw scores of the library bitwise, on rows at thresholds."""

import dataclasses
from functools import cache

import numpy as np
import pandas as pd
import pytest

from algorithms.reference.catboost import coded
from harness import ALL_TASKS, HarnessError, Spec, Task, spread
from harness.data.loading import table_of
from harness.data.preparation import choose, fit_preparation, refusal
from harness.plugins.registry import load_registry

LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost")
REGISTRY = load_registry(modules=[f"algorithms.reference.{name}" for name in LIBRARIES])
NAMES = [n for n in REGISTRY.names("algorithm") if REGISTRY.algorithm(n).tasks >= ALL_TASKS]
N = 600
N_CLASSES = {Task.BINARY: 2, Task.MULTICLASS: 3, Task.REGRESSION: 0}


def scores(adapter, trees, X):
    """Return the library's raw scores and ours, or predictions if it has no raw scores."""
    kind = type(adapter).__name__
    if kind == "XGBoostAdapter":
        theirs = adapter.booster.inplace_predict(X, predict_type="margin")
    elif kind == "LightGBMAdapter":
        theirs = adapter.booster.predict(X, raw_score=True)
    elif kind == "CatBoostAdapter":
        theirs = adapter.model.predict(coded(X), prediction_type="RawFormulaVal")
    elif trees.combination == "sum" and trees.link in {"sigmoid", "softmax"}:
        theirs = adapter.model.decision_function(X)
    else:
        predict = getattr(adapter.model, "predict_proba", adapter.model.predict)
        return predict(X), trees.predict(X)
    ours = trees.raw(X)
    return np.reshape(theirs, ours.shape), ours


def numbers(rng, n, *, missing):
    """Return columns with ties, zeros, large, tiny and heavy-tailed values."""
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(-3, 4, n),
            np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
            1e7 + rng.integers(0, 60, n) / 8,
            1e-3 * rng.standard_cauchy(n),
        ]
    )
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def frame(rng, n, *, missing, unseen):
    """Return numbers and two categorical columns of 40 and of 4 levels."""
    result = pd.DataFrame(numbers(rng, n, missing=missing)).add_prefix("c")
    low = -1 if missing else 0
    for name, levels in (("c5", 40), ("c6", 4)):
        codes = rng.integers(low, levels + unseen, n)
        result[name] = pd.Categorical.from_codes(codes, categories=pd.RangeIndex(levels + 3))
    return result


def target(rng, X, task):
    signal = 2 * np.nan_to_num(np.asarray(X, float)[:, 0]) + np.nan_to_num(np.asarray(X)[:, 1])
    if isinstance(X, pd.DataFrame):
        signal += 2.0 * (X["c5"].cat.codes.to_numpy() % 5)
    signal += rng.normal(size=len(X))
    if task.is_classification:
        cuts = np.quantile(signal, np.arange(1, N_CLASSES[task]) / N_CLASSES[task])
        return np.searchsorted(cuts, signal).astype(np.int64)
    return np.exp(signal / 4)


def at_thresholds(trees, X, rng):
    """Return rows at thresholds, and one float64 or float32 step beside them."""
    numeric = np.flatnonzero((trees.feature >= 0) & (trees.categories < 0))
    rows = []
    for node in rng.permutation(numeric)[:80]:
        column, t = int(trees.feature[node]), trees.threshold[node]
        t32 = np.float32(np.clip(t, -3e38, 3e38))
        for value in (
            t,
            np.nextafter(t, np.inf),
            np.nextafter(t, -np.inf),
            float(np.nextafter(t32, np.float32(np.inf))),
            float(np.nextafter(t32, np.float32(-np.inf))),
            (float(t32) + float(np.nextafter(t32, np.float32(np.inf)))) / 2,
        ):
            row = X[int(rng.integers(len(X)))].copy()
            row[column] = np.clip(value, -3e38, 3e38)
            rows.append(row)
    return np.array(rows)


def fit(name, task, X, y, params=None, weight=None, categorical=()):
    algorithm = REGISTRY.algorithm(name)
    trees = {algorithm.capacity["trees"].name: 6} if "trees" in algorithm.capacity else {}
    params = {**algorithm.params, **trees, **(params or {})}
    spec = Spec(task, params, 1, 1, N_CLASSES[task], categorical)
    adapter = algorithm.adapter(spec)
    adapter.fit(adapter.prepare(X, y, weight))
    return adapter


def compare(adapter, task, X):
    """Assert bitwise equal raw scores, and predictions up to the rounding of the link."""
    trees = adapter.export_trees()
    theirs, ours = scores(adapter, trees, X)
    np.testing.assert_array_equal(ours, theirs)
    result = trees.predict(X)
    if task.is_classification:
        result = spread(result, np.array(trees.classes), N_CLASSES[task])
    eps = np.finfo(trees.sum_dtype).eps
    np.testing.assert_allclose(result, adapter.predict(X), rtol=4 * eps, atol=2 * eps)
    return trees


@pytest.mark.parametrize("task", sorted(ALL_TASKS), ids=lambda t: t.value)
@pytest.mark.parametrize("name", NAMES)
def test_numeric_columns(name, task):
    rng = np.random.default_rng(1)
    missing = REGISTRY.algorithm(name).accepts.missing
    X = numbers(rng, N, missing=missing)
    adapter = fit(name, task, X, target(rng, X, task), weight=rng.uniform(0.5, 2, N))
    trees = compare(adapter, task, numbers(rng, N, missing=missing))
    compare(adapter, task, at_thresholds(trees, X, rng))


@pytest.mark.parametrize("name", [n for n in NAMES if REGISTRY.algorithm(n).accepts.missing])
def test_missing_values_absent_from_training(name):
    rng = np.random.default_rng(2)
    X = numbers(rng, N, missing=False)
    adapter = fit(name, Task.REGRESSION, X, target(rng, X, Task.REGRESSION))
    compare(adapter, Task.REGRESSION, numbers(rng, N, missing=True))


@pytest.mark.parametrize("task", sorted(ALL_TASKS), ids=lambda t: t.value)
@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize(
    "name",
    [
        n
        for n in NAMES
        # splits on target statistics have no common form: test_symmetric_categories.py
        if REGISTRY.algorithm(n).accepts.categorical and n != "symmetric_boosting"
    ],
)
def test_categories_seen_unseen_and_missing(name, task, missing):
    rng = np.random.default_rng(3)
    X = frame(rng, N, missing=missing, unseen=0)
    params = {"catboost": {"one_hot_max_size": 64}, "lightgbm": {"min_data_per_group": 10}}
    adapter = fit(
        name, task, X, target(rng, X, task), params.get(name.split(".")[0]), categorical=(5, 6)
    )
    trees = compare(adapter, task, frame(rng, N, missing=missing, unseen=3))
    compare(adapter, task, frame(rng, N, missing=True, unseen=3))
    assert (trees.categories >= 0).any()


VARIANTS = [
    ("sklearn.decision_tree", Task.MULTICLASS, {"max_leaf_nodes": 20, "criterion": "entropy"}),
    ("sklearn.bagging", Task.MULTICLASS, {"max_features": 0.5, "max_samples": 8}),
    ("sklearn.bagging", Task.REGRESSION, {"max_features": 0.5, "bootstrap_features": True}),
    ("sklearn.random_forest", Task.BINARY, {"max_leaf_nodes": 9, "bootstrap": False}),
    ("sklearn.adaboost", Task.BINARY, {"estimator__max_depth": 3, "learning_rate": 0.3}),
    ("sklearn.adaboost", Task.REGRESSION, {"loss": "exponential"}),
    ("sklearn.gradient_boosting", Task.BINARY, {"loss": "exponential"}),
    ("sklearn.gradient_boosting", Task.REGRESSION, {"loss": "huber", "init": "zero"}),
    ("sklearn.gradient_boosting", Task.REGRESSION, {"loss": "quantile", "subsample": 0.5}),
    ("sklearn.hist_gradient_boosting", Task.REGRESSION, {"loss": "poisson"}),
    ("sklearn.hist_gradient_boosting", Task.REGRESSION, {"loss": "gamma", "max_bins": 16}),
    ("xgboost.exact", Task.REGRESSION, {"gamma": 0.5}),
    ("xgboost.exact", Task.BINARY, {"gamma": 2.0, "scale_pos_weight": 3.0}),
    ("xgboost.hist", Task.REGRESSION, {"objective": "count:poisson", "max_depth": 3}),
    ("xgboost.hist", Task.REGRESSION, {"objective": "reg:absoluteerror", "reg_alpha": 1.0}),
    ("xgboost.hist", Task.MULTICLASS, {"num_parallel_tree": 2, "subsample": 0.5}),
    ("xgboost.hist", Task.BINARY, {"grow_policy": "lossguide", "max_leaves": 50, "max_depth": 0}),
    ("xgboost.approx", Task.BINARY, {"max_bin": 16, "base_score": 0.9}),
    ("lightgbm.gbdt", Task.REGRESSION, {"zero_as_missing": True}),
    ("lightgbm.gbdt", Task.REGRESSION, {"use_missing": False}),
    ("lightgbm.gbdt", Task.REGRESSION, {"objective": "tweedie"}),
    ("lightgbm.gbdt", Task.REGRESSION, {"objective": "regression_l1", "boosting": "dart"}),
    ("lightgbm.gbdt", Task.BINARY, {"sigmoid": 2.5, "is_unbalance": True}),
    ("lightgbm.gbdt", Task.MULTICLASS, {"num_leaves": 2, "boost_from_average": False}),
    ("catboost.plain", Task.BINARY, {"nan_mode": "Max", "depth": 1}),
    ("catboost.plain", Task.REGRESSION, {"loss_function": "Poisson", "border_count": 15}),
    ("catboost.plain", Task.REGRESSION, {"loss_function": "MAE", "l2_leaf_reg": 1}),
]


@pytest.mark.parametrize(("name", "task", "params"), VARIANTS, ids=str)
def test_variants(name, task, params):
    rng = np.random.default_rng(4)
    missing = REGISTRY.algorithm(name).accepts.missing
    X = numbers(rng, N, missing=missing)
    adapter = fit(name, task, X, target(rng, X, task), params)
    trees = compare(adapter, task, numbers(rng, N, missing=missing))
    compare(adapter, task, at_thresholds(trees, X, rng))


@pytest.mark.parametrize("name", ["lightgbm.gbdt", "xgboost.hist"])
def test_one_vs_rest_categories(name):
    rng = np.random.default_rng(5)
    X = frame(rng, N, missing=True, unseen=0)
    params = {"max_cat_to_onehot": 64}
    adapter = fit(name, Task.BINARY, X, target(rng, X, Task.BINARY), params, categorical=(5, 6))
    trees = compare(adapter, Task.BINARY, frame(rng, N, missing=True, unseen=3))
    assert (np.diff(trees.set_indptr) == 1).all()


@pytest.mark.parametrize(
    "name",
    [n for n in NAMES if n not in ("sklearn.adaboost", "catboost.plain")],
)  # AdaBoost and CatBoost refuse to learn from constants
def test_trees_of_one_leaf(name):
    X = np.zeros((50, 2))
    adapter = fit(name, Task.BINARY, X, np.arange(50) % 2)
    trees = compare(adapter, Task.BINARY, X[:3])
    assert trees.n_nodes == trees.n_trees


@pytest.mark.parametrize(
    ("name", "task", "params", "reason"),
    [
        (
            "lightgbm.gbdt",
            Task.REGRESSION,
            {"objective": "cross_entropy_lambda"},
            "'cross_entropy_lambda'",
        ),
        ("lightgbm.gbdt", Task.REGRESSION, {"reg_sqrt": True}, "sqrt"),
    ],
    ids=str,
)
def test_unsupported_model_gives_the_reason(name, task, params, reason):
    rng = np.random.default_rng(6)
    X = numbers(rng, 300, missing=False)
    y = target(rng, X, task)
    adapter = fit(name, task, X, y / y.max() if task is Task.REGRESSION else y, params)
    with pytest.raises(HarnessError, match=f"not exportable: .*{reason}"):
        adapter.export_trees()


@pytest.mark.parametrize("task", [Task.REGRESSION, Task.BINARY, Task.MULTICLASS], ids=str)
@pytest.mark.parametrize("policy", ["Depthwise", "Lossguide"])
def test_catboost_trees_of_other_shapes_are_exported(policy, task):
    rng = np.random.default_rng(8)
    X = numbers(rng, 300, missing=True)
    adapter = fit("catboost.plain", task, X, target(rng, X, task), {"grow_policy": policy})
    trees = adapter.export_trees()
    theirs, ours = scores(adapter, trees, X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert len(trees.classes) == N_CLASSES[task]


def test_categories_in_catboost_trees_of_other_shapes_are_refused():
    rng = np.random.default_rng(9)
    X, policy = frame(rng, 300, missing=False, unseen=0), {"grow_policy": "Lossguide"}
    y = target(rng, X, Task.BINARY)
    adapter = fit("catboost.plain", Task.BINARY, X, y, policy, categorical=(5, 6))
    with pytest.raises(HarnessError, match="not exportable: it has categorical_features"):
        adapter.export_trees()


def test_catboost_category_statistics_cannot_be_exported():
    rng = np.random.default_rng(7)
    X = frame(rng, 300, missing=True, unseen=0)
    adapter = fit("catboost.plain", Task.BINARY, X, target(rng, X, Task.BINARY), categorical=(5, 6))
    with pytest.raises(HarnessError, match="not exportable: a split on OnlineCtr"):
        adapter.export_trees()


# ------------------------------------------------------------------ real data


@pytest.fixture(scope="module")
def real(mirror):
    """Return a function that loads a shared dataset: declaration and table of at most 900 rows."""
    registry = load_registry(modules=["harness.data.providers.mirror"])

    def bring(name):
        dataset = registry.dataset(name)
        table = table_of(dataset)
        rows = np.random.default_rng(0).permutation(len(table.y))[:900]
        pick = table.X if dataset.sparse else table.X.iloc
        return dataset, dataclasses.replace(table, X=pick[rows], y=table.y[rows])

    return cache(bring)


@pytest.mark.parametrize("data", ["titanic", "horse_colic", "ames_housing", "agaricus_libsvm"])
@pytest.mark.parametrize("name", NAMES)
def test_real_data_with_missing_values_and_categories(real, name, data):
    dataset, table = real(data)
    accepts = REGISTRY.algorithm(name).accepts
    if reason := refusal(accepts, dataset):
        pytest.skip(reason)
    train = np.arange(len(table.y) * 2 // 3)
    prepared = fit_preparation(choose(accepts, dataset), table, train)
    X = prepared.apply(table.X)
    pick = X.iloc if isinstance(X, pd.DataFrame) else X
    params = {"one_hot_max_size": 255} if name == "catboost.plain" else None
    given = {"categorical": prepared.categorical, "params": params}
    adapter = fit(name, dataset.task, pick[train], table.y[train], **given)
    compare(adapter, dataset.task, X)
