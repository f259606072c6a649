"""Tests of `TreeExplainer`: our models, the libraries' models, and the plots of shap."""

import importlib
import sys

import catboost
import lightgbm
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xgboost
from estimator_cases import LOCAL, small, table
from sklearn import ensemble

import algorithms
import algorithms.compat.lightgbm as lgb
import algorithms.compat.xgboost as xgb
from algorithms import (
    BoostingRegressor,
    RandomForestClassifier,
    SymmetricBoostingRegressor,
    VotingClassifier,
)
from algorithms.inspection.tree_models import read_model_trees
from algorithms.prediction.shap_values import contributions

TREES = [name for name in LOCAL if not name.startswith(("Voting", "Stacking"))]
TREES.remove("AdaBoostRegressor")  # a median
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:The set_(bad|over|under) function:PendingDeprecationWarning"
    ),
    pytest.mark.filterwarnings("ignore:LightGBM binary classifier with:UserWarning"),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 5)).astype(np.float32)
SCORE = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * RNG.normal(size=80)
CLASSES = np.digitize(SCORE, [0.3, 1.0])


@pytest.fixture
def shap():
    """Return the shap package; its import takes two seconds, and matplotlib gives a warning."""
    import shap

    return shap


@pytest.fixture
def explainer_of(shap):
    """Return a function that makes the `TreeExplainer` of a model."""
    from algorithms import TreeExplainer

    assert issubclass(TreeExplainer, shap.Explainer)
    return TreeExplainer


def assert_consistent(explainer, rows, raw):
    """Check shapes, and that interactions sum to SHAP values, and these to raw scores (n, k)."""
    values, pairs = explainer.shap_values(rows), explainer.shap_interaction_values(rows)
    n, k = raw.shape
    p = rows.shape[1]
    assert values.shape == ((n, p) if k == 1 else (n, p, k))
    assert pairs.shape == ((n, p, p) if k == 1 else (n, p, p, k))
    np.testing.assert_allclose(pairs.sum(axis=2), values, atol=1e-10)
    np.testing.assert_allclose(pairs, pairs.swapaxes(1, 2), atol=1e-12)
    total = explainer.expected_value + values.sum(axis=1)
    np.testing.assert_allclose(total.reshape(n, k), raw, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", TREES)
def test_every_model_of_ours(explainer_of, name):
    rows, y = table(name)
    model = small(name).fit(rows, y)
    trees = read_model_trees(model)
    raw = trees.ensemble.raw(trees.read_rows(rows[:9]))
    assert_consistent(explainer_of(model, n_jobs=1), rows[:9], raw)


def test_several_classes_and_scores(explainer_of):
    for model in (
        RandomForestClassifier(n_estimators=3, random_state=0),
        lgb.LGBMClassifier(n_estimators=3, min_child_samples=2, n_jobs=1),
        xgb.XGBClassifier(n_estimators=3, n_jobs=1),
    ):
        model.fit(X, CLASSES)
        explanation = explainer_of(model)(X[:7])
        assert explanation.shape == (7, 5, 3)
        assert explanation.base_values.shape == (7, 3)
        assert_consistent(explainer_of(model), X[:7], model.ensemble_.raw(X[:7]))


def test_native_boosters(explainer_of):
    params = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 3}
    native = lgb.train(params, lgb.Dataset(X, SCORE, feature_name=list("abcde")), 3)
    explanation = explainer_of(native)(X)
    assert explanation.feature_names == list("abcde")
    assert np.array_equal(explanation.values, native.predict(X, pred_contrib=True)[:, :-1])
    native = xgb.train({"nthread": 1}, xgb.DMatrix(X, SCORE), 3, verbose_eval=False)
    found = explainer_of(native)(X, interactions=True)
    expected = native.predict(xgb.DMatrix(X), pred_interactions=True)
    assert found.feature_names is None
    np.testing.assert_allclose(found.values, expected[:, :-1, :-1], atol=1e-6)


def frame_with_categories(n=80):
    """Return a frame with a categorical column of many categories, and a target."""
    codes = np.arange(n) % 20
    frame = pd.DataFrame({"a": X[:n, 0], "c": pd.Categorical([f"c{one}" for one in codes])})
    return frame, frame["a"].to_numpy() + np.sin(codes)


@pytest.mark.parametrize(
    "model",
    [
        SymmetricBoostingRegressor(iterations=4, depth=3, random_seed=0),
        BoostingRegressor(effort=0.25, random_state=0),
    ],
    ids=["symmetric", "boosting"],
)
def test_derived_columns_count_for_their_sources(explainer_of, model):
    frame, y = frame_with_categories()
    model.fit(frame, y)
    assert model.ensemble_.n_features > 2
    explainer = explainer_of(model)
    assert_consistent(explainer, frame, model.predict(frame)[:, None])
    explanation = explainer(frame)
    assert explanation.feature_names == ["a", "c"]
    if isinstance(model, SymmetricBoostingRegressor):
        np.testing.assert_allclose(explanation.values, model.predict_contributions(frame)[:, :-1])


@pytest.mark.parametrize(
    "model",
    [
        lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=3, n_jobs=1, verbose=-1),
        xgboost.XGBRegressor(n_estimators=3, max_depth=3, n_jobs=1),
        ensemble.RandomForestClassifier(n_estimators=3, random_state=0),
        ensemble.RandomForestRegressor(n_estimators=3, random_state=0),
    ],
    ids=["lightgbm", "xgboost", "forest of classes", "forest of values"],
)
def test_values_equal_those_of_shap_for_models_of_the_libraries(shap, explainer_of, model):
    is_classifier = type(model).__name__.endswith("Classifier")
    model.fit(X, (CLASSES > 0).astype(int) if is_classifier else SCORE)
    ours = explainer_of(model)
    theirs = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    few = X[:20]
    expected = theirs.shap_values(few, check_additivity=False)
    assert ours.shap_values(few).shape == expected.shape
    np.testing.assert_allclose(ours.shap_values(few), expected, atol=2e-6)
    np.testing.assert_allclose(ours.expected_value, np.squeeze(theirs.expected_value), atol=2e-6)
    expected = theirs.shap_interaction_values(few)
    np.testing.assert_allclose(ours.shap_interaction_values(few), expected, atol=5e-6)


def test_catboost_models(shap, explainer_of):
    """CatBoost reads the splits of a tree in reverse order, so only the sums are the same."""
    options = {"verbose": False, "thread_count": 1, "allow_writing_files": False}
    model = catboost.CatBoostRegressor(iterations=3, depth=3, **options).fit(X, SCORE)
    explainer = explainer_of(model)
    assert_consistent(explainer, X[:9], model.predict(X[:9])[:, None])
    theirs = shap.TreeExplainer(model)
    theirs.shap_values(X[:2])
    assert explainer.expected_value == pytest.approx(theirs.expected_value, rel=1e-6)


def test_plots_of_shap(shap, explainer_of):
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    frame = pd.DataFrame(X, columns=list("abcde"))
    model = algorithms.HistogramBoostingRegressor(n_estimators=5, min_child_samples=3, n_jobs=1)
    explanation = explainer_of(model.fit(frame, SCORE))(frame)
    assert isinstance(explanation, shap.Explanation)
    for draw, given in (
        (shap.plots.waterfall, explanation[0]),
        (shap.plots.beeswarm, explanation),
        (shap.plots.bar, explanation),
    ):
        draw(given, show=False)
        labels = [label.get_text() for label in plt.gcf().axes[0].get_yticklabels()]
        assert any(label.endswith("a") for label in labels), labels
        plt.close("all")


def test_models_and_options_without_values_give_the_reason(explainer_of):
    model = small("AdaBoostRegressor").fit(X, SCORE)
    with pytest.raises(ValueError, match="the median of trees"):
        explainer_of(model)
    voting = VotingClassifier([("a", small("DecisionTreeClassifier"))]).fit(X, CLASSES)
    for given in (voting, small("DecisionTreeClassifier")):
        with pytest.raises((TypeError, ValueError), match=r"fitted"):
            explainer_of(given)
    tree = small("DecisionTreeClassifier").fit(X, CLASSES)
    for options in (
        {"data": X},
        {"model_output": "probability"},
        {"feature_perturbation": "interventional"},
    ):
        with pytest.raises(ValueError, match=r"not supported|must be"):
            explainer_of(tree, **options)
    assert explainer_of.supports_model_with_masker(tree, None)
    assert not explainer_of.supports_model_with_masker(voting, None)


def test_the_values_do_not_depend_on_threads(explainer_of):
    model = small("RandomForestRegressor", n_estimators=5).fit(X, SCORE)
    rows = np.tile(X, (3, 1))
    one, two = explainer_of(model, n_jobs=1), explainer_of(model, n_jobs=2)
    assert np.array_equal(one.shap_interaction_values(rows), two.shap_interaction_values(rows))
    assert np.array_equal(one.shap_values(rows), contributions(model.ensemble_, rows)[:, 0, :-1])


def test_without_shap_an_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    monkeypatch.delitem(sys.modules, "algorithms.inspection.tree_explainer", raising=False)
    importlib.import_module("algorithms.inspection.tree_models")
    with pytest.raises(ImportError, match="pip install shap"):
        algorithms.TreeExplainer  # noqa: B018 - the name is looked up
