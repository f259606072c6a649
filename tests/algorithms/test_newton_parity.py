"""Tests of ``NewtonBoosting*(parity="xgboost")`` against XGBoost's estimators."""

import numpy as np
import pandas as pd
import pytest
import xgboost
from parity_kit import rows
from parity_xgboost import METHODS, difference, read_trees
from scipy import sparse
from sklearn import datasets

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor
from harness import ALL_TASKS, Spec, Task
from harness.analysis.parity import Side, compare
from harness.plugins.registry import load_registry

LOADERS = [datasets.load_diabetes, datasets.load_breast_cancer, datasets.load_iris]
MODULES = ["algorithms.newton_boosting", "algorithms.reference.xgboost"]


def first_difference(ours, theirs):
    """Return the first difference of the trees of two estimators, or an empty text."""
    trees = [tree for trees in ours._rounds for tree in trees]
    others = read_trees(theirs.get_booster())
    assert len(trees) == len(others)
    return next(filter(None, map(difference, trees, others)), "")


def pair_of(is_classifier, **params):
    """Return our estimator and XGBoost's."""
    if is_classifier:
        ours, theirs = NewtonBoostingClassifier, xgboost.XGBClassifier
    else:
        ours, theirs = NewtonBoostingRegressor, xgboost.XGBRegressor
    return ours(parity="xgboost", **params), theirs(n_jobs=1, **params)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("load", LOADERS)
def test_estimator_trees_equal_xgboost(load, method):
    X, y = load(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    is_classifier = load is not datasets.load_diabetes
    ours, theirs = pair_of(is_classifier, n_estimators=5, tree_method=method, reg_alpha=0.1)
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    assert first_difference(ours, theirs) == ""
    name = "predict_proba" if is_classifier else "predict"
    np.testing.assert_allclose(getattr(ours, name)(X), getattr(theirs, name)(X), rtol=1e-5)


def test_early_stopping_ends_at_the_same_round():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    for model in (both := pair_of(True, n_estimators=60, early_stopping_rounds=3)):
        model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], **silent(model))
    assert both[0].best_iteration == both[1].best_iteration
    assert first_difference(*both) == ""


def silent(model):
    """Return a context that silences XGBoost's estimator."""
    return {"verbose": False} if model.__module__.startswith("xgboost") else {}


def test_bin_edges_of_another_table_are_accepted():
    X, y = datasets.load_diabetes(return_X_y=True)
    wider = np.concatenate([X, X * 1.5])
    matrix = xgboost.QuantileDMatrix(wider, label=np.concatenate([y, y]), max_bin=16)
    ours, _ = pair_of(False, n_estimators=3)
    ours.fit(X, y, cuts=matrix.get_quantile_cut())
    binned = xgboost.QuantileDMatrix(X, label=y, ref=matrix, max_bin=16)
    theirs = read_trees(xgboost.train({"nthread": 1, "max_bin": 16}, binned, 3))
    assert [difference(own[0], other) for own, other in zip(ours._rounds, theirs, strict=True)] == [
        ""
    ] * 3


@pytest.mark.parametrize("method", METHODS)
def test_absent_sparse_entries_are_missing(method):
    rng = np.random.default_rng(2)
    X = sparse.random(300, 4, 0.4, format="csr", random_state=2)
    y = X.toarray()[:, 0] + rng.normal(size=300)
    ours, theirs = pair_of(False, n_estimators=3, tree_method=method)
    assert first_difference(ours.fit(X, y), theirs.fit(X, y)) == ""


def test_constraints_may_name_columns():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    y = X["a"] - X["b"] + rng.normal(size=200)
    given = {"tree_method": "exact", "monotone_constraints": {"b": -1, "a": 1}}
    ours, theirs = pair_of(False, n_estimators=4, **given)
    assert first_difference(ours.fit(X, y), theirs.fit(X, y)) == ""


def test_categories_are_refused():
    X = pd.DataFrame({"a": pd.Categorical(list("xyz") * 10), "b": np.arange(30.0)})
    with pytest.raises(ValueError, match="does not support categorical splits"):
        NewtonBoostingRegressor(parity="xgboost").fit(X, np.arange(30.0))


def compared(task, method, **own):
    """Return the harness's comparison of our trees with XGBoost's."""
    registry, training = load_registry(modules=MODULES), rows(task, missing=True, weight=True)
    sides = []
    for name, params in (
        ("newton_boosting", {"tree_method": method, **own}),
        (f"xgboost.{method}", {}),
    ):
        algorithm = registry.algorithm(name)
        n_classes = {Task.BINARY: 2, Task.MULTICLASS: 3, Task.REGRESSION: 0}[task]
        spec = Spec(task, {**algorithm.params, "n_estimators": 4, **params}, 1, 1, n_classes)
        adapter = algorithm.adapter(spec)
        adapter.fit(adapter.prepare(training.X, training.y, training.weight))
        sides.append(Side(adapter.export_trees(), name, dict(spec.params), name))
    return compare(*sides, training)


@pytest.mark.parametrize("task", sorted(ALL_TASKS))
@pytest.mark.parametrize("method", METHODS)
def test_harness_finds_bitwise_equal_trees(method, task):
    assert compared(task, method, parity="xgboost").agreement == "bits"


WHYS = (
    "a tie, which the two break differently",
    "within the error of sums in single precision",
    "a rule of the leaves differs",
    "No training row lies between the two",
    "which may lie between its bins",
    "The scores start from",
)


@pytest.mark.parametrize("task", sorted(ALL_TASKS))
@pytest.mark.parametrize("method", ["exact", "hist"])
def test_harness_names_the_node_and_reason_where_default_trees_differ(method, task):
    result = compared(task, method)
    assert result.differences
    for one in result.differences:
        assert one.sentence.startswith((f"Tree {one.tree}, ", "The scores start from"))
        assert any(why in one.sentence for why in WHYS), one.sentence
    if method == "exact":  # only ties and rounding make them differ: see the page on decisions
        structure = [one.cause for one in result.differences if one.level == "structure"]
        assert set(structure) <= {"tie", "rounding"}


@pytest.mark.parametrize("rounds", [1, 8])
def test_nonfinite_leaves_of_the_library_are_reported(rounds):
    y = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1e3, 1e3, 2.0] * 4)
    X = np.arange(32.0)[:, None] % 8
    params = {"objective": "count:poisson", "learning_rate": 5.0, "n_estimators": rounds}
    params |= {"reg_lambda": 0.0, "min_child_weight": 0.0, "max_delta_step": 0.0}
    theirs = xgboost.XGBRegressor(n_jobs=1, **params).fit(X, y).predict(X, output_margin=True)
    ours = NewtonBoostingRegressor(parity="xgboost", **params)
    if rounds == 1:
        predictions = ours.fit(X, y).predict(X, output_margin=True)
        np.testing.assert_array_equal(predictions, theirs)
        return
    assert np.isnan(theirs).any()
    with pytest.raises(ValueError, match="computed a leaf value that is NaN, as XGBoost would"):
        ours.fit(X, y)
