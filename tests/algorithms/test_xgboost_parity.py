"""Tests of ``parity="xgboost"``: the trees, thresholds, default directions and leaves."""

from types import SimpleNamespace

import numpy as np
import pytest
from parity_xgboost import (
    METHODS,
    OBJECTIVES,
    OTHERS,
    draw_configuration,
    first_difference,
    fit_both,
)
from sklearn import datasets

from algorithms.parity.xgboost_boosting import boost_by_xgboost_rules


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("method", METHODS)
def test_random_boosters_equal_xgboost(method, objective, number):
    drawn = draw_configuration([7, number], method, objective, 2000)
    assert first_difference(*drawn) == "", drawn[-1]


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("objective", OTHERS)
@pytest.mark.parametrize("method", METHODS)
def test_other_objectives_equal_xgboost(method, objective, number):
    drawn = draw_configuration([8, number], method, objective, 1000)
    assert first_difference(*drawn) == "", drawn[-1]


@pytest.mark.parametrize("method", METHODS)
def test_real_tables_equal_xgboost(method):
    for load, objective in ((datasets.load_diabetes, 0), (datasets.load_iris, 2)):
        X, y = load(return_X_y=True)
        params = {"objective": OBJECTIVES[objective], "tree_method": method, "n_estimators": 10}
        assert first_difference(X.astype(np.float32), y, None, params) == ""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", METHODS)
def test_splits_caused_by_rounding_equal_xgboost(method, seed):
    """Targets cancel up to rounding, so the order of every sum decides."""
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 4, (150, 2))
    y = (np.exp(rng.normal(size=150) * 8) * 1e8).astype(np.float32)
    order = rng.permutation(300)
    X = np.concatenate([half, half])[order].astype(np.float32)
    y = np.concatenate([y, -y])[order]
    params = {"objective": "reg:squarederror", "tree_method": method, "n_estimators": 3}
    params["base_score"] = 0.0
    assert first_difference(X, y, None, params) == ""
    (rounds, _), _, _ = fit_both(X, y, None, params)
    assert rounds[0][0].n_leaves > 4


def with_missing(X, share):
    """Return X with a share of its values missing."""
    return np.where(np.random.default_rng(1).random(X.shape) < share, np.nan, X)


FEW = np.where(np.arange(200) < 5, 1.0, 0.0)
LOOSE = {"min_child_weight": 0.0, "reg_lambda": 0.0}
EDGES = {
    "one row": (lambda X, y: (X[:1], y[:1]), None, {}),
    "two rows": (lambda X, y: (X[:2], y[:2]), None, LOOSE),
    "all missing": (lambda X, y: (np.full_like(X, np.nan), y), None, LOOSE),
    "hardly any missing": (lambda X, y: (with_missing(X, 0.01), y), None, LOOSE),
    "hardly any present": (lambda X, y: (with_missing(X, 0.95), y), None, LOOSE),
    "constant y": (lambda X, _: (X, np.ones(len(X))), None, {}),
    "constant X": (lambda X, y: (np.ones_like(X), y), None, {}),
    "neighbors": (lambda X, y: (2**31 + np.round(X * 300), y), None, {}),
    "largest": (lambda X, y: (np.sign(X) * 3.3e38, y), None, {}),
    "smallest": (lambda X, y: (X * 1e-42, y), None, {}),
    "two zeros": (lambda X, y: (np.where(X > 0, 0.0, -0.0), y), None, LOOSE),
    "large y": (lambda X, y: (X, y * 1e30), None, {}),
    "small y": (lambda X, y: (X, y * 1e-20), None, LOOSE),
    "few weights": (lambda X, y: (X, y), FEW, LOOSE),
    "all weights": (lambda X, y: (X, y), 10.0 ** (np.arange(200) % 24 - 12), LOOSE),
    "no steps": (lambda X, y: (X, y), None, {"max_delta_step": 1e-3}),
    "no learning": (lambda X, y: (X, y), None, {"learning_rate": 0.0}),
    "no splits": (lambda X, y: (X, y), None, {"gamma": 1e9}),
    "no values": (lambda X, y: (X, y), None, {"reg_alpha": 1e9}),
    "no orders": (lambda X, y: (X, y), None, {"monotone_constraints": "()"}),
    "too heavy": (lambda X, y: (X, y), None, {"min_child_weight": 1e9}),
    "one class": (lambda X, _: (X, np.zeros(len(X))), None, {"objective": "binary:logistic"}),
    "class unseen": (lambda X, y: (X, 2.0 * (y > 0)), None, {"objective": "multi:softprob"}),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("method", METHODS)
def test_bin_edges_equal_xgboost(method, name):
    make, weight, params = EDGES[name]
    rng = np.random.default_rng(0)
    X, y = make(rng.normal(size=(200, 3)), rng.normal(size=200))
    given = {"objective": "reg:squarederror", "tree_method": method, "n_estimators": 3, **params}
    assert first_difference(X.astype(np.float32), y, weight, given) == ""


@pytest.mark.parametrize("policy", ["depthwise", "lossguide"])
def test_levels_of_more_than_256_nodes_are_processed_in_parts(policy):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(6000, 3)).astype(np.float32), rng.normal(size=6000)
    params = {
        "objective": "reg:squarederror",
        "tree_method": "hist",
        "n_estimators": 1,
        "max_depth": 12,
        "max_leaves": 900,
        "grow_policy": policy,
    }
    (rounds, _), _, _ = fit_both(X, y, None, params)
    assert rounds[0][0].n_leaves > 600
    assert first_difference(X, y, None, params) == ""


def test_training_ends_at_the_given_limits():
    rounds, base = train({"n_estimators": 9}, stop=lambda trees: trees[0].nodes["value"][0] > -9)
    assert len(rounds) == 1
    assert base.dtype == np.float32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subsample": 0.5}, "subsample=0.5"),
        ({"colsample_bynode": 0.3}, "colsample_bynode=0.3"),
        ({"interaction_constraints": [[0, 1]]}, "interaction_constraints"),
        ({"tree_method": "gpu_hist"}, "tree_method='gpu_hist'"),
        ({"grow_policy": "widest"}, "grow_policy='widest'"),
        ({"max_depth": 0}, "max_depth=0"),
        ({"objective": "reg:quantileerror"}, "requires quantile_alpha"),
        ({"objective": "rank:ndcg"}, "objective='rank:ndcg'"),
        ({"objective": len}, "objective="),
        ({"objective": "reg:gamma"}, "does not allow"),
        ({"objective": "binary:logistic", "base_score": 1.5}, "between 0 and 1"),
        ({"base_score": [0.1, 0.2]}, "base_score has 2 values"),
        ({"monotone_constraints": {"a": 1}}, "monotone_constraints"),
        ({"monotone_constraints": [1, 0, 1]}, "X has 2 columns"),
        ({"categories_": {"a": ["x", "y"]}}, "categorical splits"),
        ({"prune": "post"}, "prune='post'"),
    ],
)
def test_unsupported_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        train(changes)


def test_bin_edges_of_another_table_are_refused():
    with pytest.raises(ValueError, match="not those of 2 features"):
        train({"tree_method": "hist"}, cuts=([0, 3], [0.0, 1.0, 2.0]))
    with pytest.raises(ValueError, match="cuts are for tree_method='hist'"):
        train({}, cuts=([0, 2, 4], [0.0, 1.0, 0.0, 1.0]))


def train(changes, **options):
    """Boost on a small table of two features."""
    params = {"tree_method": "exact", "n_estimators": 2, **changes}
    X = np.arange(20.0).reshape(10, 2)
    y = np.arange(10) % 2
    return boost_by_xgboost_rules(SimpleNamespace(**params), X, y, **options)
