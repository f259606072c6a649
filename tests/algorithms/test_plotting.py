"""Tests of the plots: importances, metrics and trees, and LightGBM's and XGBoost's functions."""

import inspect
import sys

import lightgbm
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xgboost
from estimator_cases import LOCAL, small, table

import algorithms.compat.lightgbm as lgb
import algorithms.compat.xgboost as xgb
from algorithms import (
    HistogramBoostingRegressor,
    NewtonBoostingRegressor,
    SymmetricBoostingRegressor,
    plot_importance,
    plot_metric,
    plot_tree,
)
from algorithms.inspection.plotting import importances
from algorithms.inspection.tree_models import read_model_trees

mpl.use("Agg")
TREES = [name for name in LOCAL if not name.startswith(("Voting", "Stacking"))]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2]
NAMES = ["one", "two", "three", "four"]


@pytest.fixture(autouse=True)
def close_figures():
    """Close all figures after a test."""
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def lengths(ax):
    return [bar.get_width() for bar in ax.patches]


@pytest.mark.parametrize("name", TREES)
def test_every_model_has_importances_and_trees(name):
    rows, y = table(name)
    model = small(name).fit(rows, y)
    found = read_model_trees(model)
    counts = importances(found, "split")
    assert counts.sum() == (model.ensemble_.left >= 0).sum()
    ax = plot_importance(model)
    assert lengths(ax) == sorted(counts[counts > 0].tolist())
    ax = plot_tree(model, tree_index=0, show_info=["internal_count", "leaf_count"])
    nodes = np.diff(model.ensemble_.offsets)[0]
    assert len(texts(ax)) == 2 * nodes - 1  # a text for each node and each edge
    assert sum(text.startswith("leaf") for text in texts(ax)) == (nodes + 1) // 2


def test_text_of_a_known_tree():
    frame = pd.DataFrame(
        {"size": [0.0, 1.0, 2.0, 3.0] * 10, "kind": pd.Categorical(list("aabb") * 10)}
    )
    y = (frame["kind"] == "b").to_numpy() * 10.0
    model = HistogramBoostingRegressor(n_estimators=1, learning_rate=1.0, min_child_samples=1)
    ax = plot_tree(model.fit(frame, y), show_info=["leaf_count", "data_percentage"])
    leaves = [text for text in texts(ax) if text.startswith("leaf")]
    assert len(leaves) == 2
    assert all(text.endswith("count: 20\n50.00% of data") for text in leaves)
    assert {"yes", "no"} < set(texts(ax))
    split = next(text for text in texts(ax) if text.endswith("100.00% of data"))
    assert split.startswith(("kind in {", "kind not in {", "size ≤ 1.5"))


def test_path_of_a_row_is_marked():
    model = small("DecisionTreeRegressor", max_depth=3).fit(X, Y)
    ax = plot_tree(model, example_case=X[:1], orientation="vertical", precision=None)
    marked = [
        text.get_text() for text in ax.texts
        if text.get_bbox_patch() and text.get_bbox_patch().get_edgecolor()[2] == 1.0
    ]  # fmt: skip
    assert len(marked) == model.decision_path(X[:1]).sum()
    assert any(text.startswith("leaf") and f"{model.predict(X[:1])[0]}" in text for text in marked)
    with pytest.raises(ValueError, match="single row"):
        plot_tree(model, example_case=X[:2])
    with pytest.raises(ValueError, match="2-D"):
        plot_tree(model, example_case=X[0])


def test_unknown_options_give_the_reason():
    model = small("DecisionTreeRegressor").fit(X, Y)
    with pytest.raises(IndexError, match="tree_index is out of range"):
        plot_tree(model, tree_index=1)
    with pytest.raises(ValueError, match="show_info has"):
        plot_tree(model, show_info=["gains"])
    with pytest.raises(ValueError, match="orientation"):
        plot_tree(model, orientation="up")
    with pytest.raises(ValueError, match="4 elements"):
        plot_tree(model, feature_names=["a"])
    with pytest.raises(ValueError, match="importance_type"):
        plot_importance(model, importance_type="cover")
    with pytest.raises(TypeError, match="has no trees"):
        plot_importance(object())
    with pytest.raises(TypeError, match="evaluation sets"):
        plot_metric(model)
    flat = small("DecisionTreeRegressor").fit(X, np.ones(100))
    with pytest.raises(ValueError, match="No non-zero"):
        plot_importance(flat)
    assert len(plot_importance(flat, ignore_zero=False).patches) == 4


def test_metrics_of_estimators_and_dicts():
    valid = (X[:40], Y[:40])
    for model, name in (
        (HistogramBoostingRegressor(n_estimators=4), "valid_0"),
        (NewtonBoostingRegressor(n_estimators=4), "validation_0"),
    ):
        model.fit(X, Y, eval_set=[valid])
        ax = plot_metric(model)
        assert [line.get_label() for line in ax.lines] == [name]
        assert len(ax.lines[0].get_ydata()) == 4
    model = SymmetricBoostingRegressor(iterations=4, random_seed=0).fit(X, Y, eval_set=valid)
    assert len(plot_metric(model).lines[0].get_ydata()) == 4
    history = {"train": {"l2": [3.0, 1.0]}, "valid": {"l2": [4.0, 2.0], "l1": [1.0, 1.0]}}
    ax = plot_metric(history, "l2")
    assert [line.get_ydata().tolist() for line in ax.lines] == [[3.0, 1.0], [4.0, 2.0]]
    assert ax.get_ylabel() == "l2"
    assert len(plot_metric(history, "l1", ["valid"], ylim=(0, 1)).lines) == 1
    with pytest.raises(KeyError, match="No given metric"):
        plot_metric(history, "auc")
    for bad in ({}, history):
        with pytest.raises(ValueError, match="cannot be empty"):
            plot_metric(bad, "l2", dataset_names=[])


def same_parameters(ours, theirs):
    """Check that a function of ours has the parameters and defaults of a library's function."""
    found = inspect.signature(ours).parameters
    for name, parameter in inspect.signature(theirs).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            assert found[name].default == parameter.default, name


@pytest.mark.parametrize(
    "name", ["plot_importance", "plot_metric", "plot_split_value_histogram", "plot_tree"]
)
def test_signatures_are_those_of_lightgbm(name):
    same_parameters(getattr(lgb, name), getattr(lightgbm, name))


@pytest.mark.parametrize("name", ["plot_importance", "plot_tree"])
def test_signatures_are_those_of_xgboost(name):
    same_parameters(getattr(xgb, name), getattr(xgboost, name))


def test_plots_of_lightgbm_boosters():
    history = {}
    data = lgb.Dataset(X, Y, feature_name=NAMES)
    booster = lgb.train(
        {"verbose": -1, "num_leaves": 4, "metric": ["l2", "l1"]},
        data,
        3,
        valid_sets=[data.create_valid(X[:30], Y[:30])],
        callbacks=[lgb.record_evaluation(history)],
    )
    for kind in ("split", "gain"):
        ax = lgb.plot_importance(booster, importance_type=kind, ignore_zero=False, color="r")
        assert lengths(ax) == pytest.approx(sorted(booster.feature_importance(kind)))
        assert {label.get_text() for label in ax.get_yticklabels()} == set(NAMES)
    with pytest.warns(UserWarning, match="More than one metric"):
        assert lgb.plot_metric(history).get_ylabel() == "l1"
    with pytest.raises(TypeError, match="record_evaluation"):
        lgb.plot_metric(booster)
    ax = lgb.plot_tree(booster, tree_index=1, show_info=["split_gain"], example_case=X[:1])
    dumped = booster.dump_model()["tree_info"][1]["tree_structure"]
    root = next(text for text in texts(ax) if "gain" in text)
    assert f"{NAMES[dumped['split_feature']]} ≤ {dumped['threshold']:.3f}" in root
    feature = int(np.argmax(booster.feature_importance()))
    assert lgb.plot_split_value_histogram(booster, NAMES[feature]).get_ylabel() == "Count"
    for draw in (lgb.plot_importance, lgb.plot_tree):
        with pytest.raises(TypeError, match="booster must be Booster or LGBMModel"):
            draw(small("DecisionTreeRegressor").fit(X, Y))


def test_plots_of_xgboost_boosters():
    booster = xgb.train({"max_depth": 2}, xgb.DMatrix(X, Y, feature_names=NAMES), 3)
    score = booster.get_score(importance_type="gain")
    ax = xgb.plot_importance(booster, importance_type="gain", values_format="{v:.1f}")
    assert lengths(ax) == sorted(score.values())
    assert texts(ax) == [f"{value:.1f}" for value in sorted(score.values())]
    assert len(xgb.plot_importance(score, max_num_features=1, show_values=False).patches) == 1
    ax = xgb.plot_tree(booster, tree_idx=2, with_stats=True, rankdir="LR")
    frame = booster.trees_to_dataframe().query("Tree == 2")
    root = next(text for text in texts(ax) if f"gain: {frame['Gain'].iloc[0]:.3f}" in text)
    assert root.startswith(f"{frame['Feature'].iloc[0]} < {frame['Split'].iloc[0]:.3f}")
    assert len(texts(ax)) == 2 * len(frame) - 1
    model = xgb.XGBRegressor(n_estimators=2, max_depth=2).fit(X, Y)
    assert xgb.plot_tree(model).axison is False
    with pytest.raises(ValueError, match="must be Booster"):
        xgb.plot_importance(X)
    with pytest.raises(ValueError, match="xlim must be a tuple"):
        xgb.plot_importance(model, xlim=1)


def test_without_matplotlib_an_error_names_the_package(monkeypatch):
    model = small("DecisionTreeRegressor").fit(X, Y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (plot_importance, plot_tree):
        with pytest.raises(ImportError, match="pip install matplotlib"):
            draw(model)
