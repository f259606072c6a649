"""Comparison of our engine with XGBoost on one table, naming the first node that differs.

Test modules that import it are skipped if the installed XGBoost is not one of the versions that
``parity="xgboost"`` follows.
"""

import json
from types import SimpleNamespace

import columns
import numpy as np
import pytest
import xgboost

from algorithms.estimator.library_versions import FOLLOWED
from algorithms.parity.xgboost_boosting import boost_by_xgboost_rules
from algorithms.parity.xgboost_cuts import find_cuts

if xgboost.__version__ not in FOLLOWED["xgboost"]:
    pytest.skip(
        f"parity='xgboost' follows XGBoost {' or '.join(FOLLOWED['xgboost'])}; "
        f"{xgboost.__version__} is installed, which may build other trees",
        allow_module_level=True,
    )

ROUNDS = 4
METHODS = ["exact", "hist", "approx"]
OBJECTIVES = ["reg:squarederror", "binary:logistic", "multi:softprob"]
OTHERS = [
    "count:poisson",
    "reg:gamma",
    "reg:tweedie",
    "reg:pseudohubererror",
    "reg:absoluteerror",
    "reg:logistic",
    "reg:quantileerror",
]
SCALED = ("reg:squarederror", "binary:logistic", "reg:logistic", "reg:gamma")
LIMITS = {
    "max_depth": [1, 3, 6, 6, 10],
    "learning_rate": [0.3, 0.1, 1.0],
    "gamma": [0.0, 0.0, 0.1, 2.0],
    "reg_lambda": [1.0, 0.0, 0.3, 10.0],
    "reg_alpha": [0.0, 0.0, 0.1, 2.0],
    "min_child_weight": [1.0, 0.0, 0.1, 8.0],
    "max_delta_step": [None, None, None, 0.3],
}
HIST_LIMITS = {
    "max_depth": [1, 3, 6, 10, 0],
    "max_leaves": [0, 0, 7, 40],
    "grow_policy": ["depthwise", "depthwise", "lossguide"],
}


def draw(rng, choices):
    """Return one of the choices for every name, without those that are None."""
    results = {name: given[rng.integers(len(given))] for name, given in choices.items()}
    return {name: value for name, value in results.items() if value is not None}


def draw_table(rng, n):
    """Return X float32 (n, 1 … 8): columns of every kind, some rounded, missing or doubled."""
    X = columns.table(rng, n, int(rng.integers(1, 9)), missing=0.3 if rng.random() < 0.6 else 0.0)
    X[:, 0] = rng.normal(size=n)
    if rng.random() < 0.3:
        X[:, 0] = np.round(X[:, 0], int(rng.integers(0, 3)))
    return X.astype(np.float32)


def draw_target(rng, X, objective):
    """Return a target for the objective, float64 (n,)."""
    n = len(X)
    last = np.nan_to_num(X[:, -1])
    score = np.nan_to_num(X[:, 0]) + last / (np.abs(last).max() or 1.0) + rng.normal(size=n)
    k = int(rng.integers(3, 6))
    made = {
        "binary:logistic": lambda: score > rng.normal(),
        "multi:softprob": lambda: np.digitize(score, np.quantile(score, np.arange(1, k) / k)),
        "count:poisson": lambda: rng.poisson(np.exp(np.clip(score, -3, 3))),
        "reg:logistic": lambda: 1.0 / (1.0 + np.exp(-score)),
        "reg:gamma": lambda: np.exp(score) + 0.01,
        "reg:tweedie": lambda: np.maximum(score, 0.0),
    }.get(objective, lambda: score if rng.random() < 0.7 else np.round(score))
    return made().astype(float)


def draw_weight(rng, n):
    """Return weights or None; sometimes a few are zero."""
    kind = rng.integers(4)
    if kind < 2:
        return None
    weight = rng.uniform(0.1, 2.0, n)
    if kind == 3:
        weight[rng.random(n) < 0.1] = 0.0
    return weight


def draw_configuration(seed, method, objective, most_rows):
    """Return (X, y, weight, params) of a random training."""
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(np.log(200), np.log(most_rows))))
    X = draw_table(rng, n)
    y = draw_target(rng, X, objective)
    weight = draw_weight(rng, n)
    params = {"objective": objective, "tree_method": method, "n_estimators": ROUNDS}
    params |= draw(rng, LIMITS | (HIST_LIMITS if method != "exact" else {}))
    if method != "exact":
        params["max_bin"] = int(rng.choice([8, 64, 256]))
        if params["max_depth"] == 0:
            params["max_leaves"] = 30
    if objective == "reg:quantileerror":
        params["quantile_alpha"] = [[0.5], [0.1, 0.9], [0.001], [0.75]][rng.integers(4)]
    if rng.random() < (0.3 if objective.endswith("logistic") else 0.1):
        params["scale_pos_weight"] = 2.5
    if rng.random() < 0.2:
        params["base_score"] = 0.4
    if rng.random() < 0.15:
        params["monotone_constraints"] = rng.integers(-1, 2, X.shape[1]).tolist()
    return X, y, weight, params


def fit_both(X, y, weight, params):
    """Return our rounds and base, XGBoost's booster, and its training matrix."""
    data = {"label": y, "weight": weight, "nthread": 1}
    native = {name: value for name, value in params.items() if name != "n_estimators"}
    native["nthread"] = 1
    if params["objective"] not in SCALED:  # the library warns of unused parameters
        native.pop("scale_pos_weight", None)
    if params["objective"].startswith("multi"):
        native["num_class"] = int(y.max()) + 1
    if not isinstance(params.get("monotone_constraints", ""), str):
        native["monotone_constraints"] = tuple(params["monotone_constraints"])
    if params["tree_method"] == "hist":
        matrix = xgboost.QuantileDMatrix(X, max_bin=params.get("max_bin", 256), **data)
        cuts = find_cuts(X, weight, params.get("max_bin", 256))
        for own, other in zip(cuts, matrix.get_quantile_cut(), strict=True):
            np.testing.assert_array_equal(own, other)
    else:
        matrix = xgboost.DMatrix(X, **data)
    booster = xgboost.train(native, matrix, params["n_estimators"])
    ours = boost_by_xgboost_rules(SimpleNamespace(**params), X, y, weight)
    return ours, booster, matrix


def read_trees(booster):
    """Return XGBoost's trees as dictionaries of arrays, by its own node numbers."""
    model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]
    types = {
        "left_children": np.int64,
        "right_children": np.int64,
        "split_indices": np.int64,
        "default_left": np.int64,
        "split_conditions": np.float32,
        "loss_changes": np.float32,
        "sum_hessian": np.float32,
    }
    return [{k: np.array(tree[k], kind) for k, kind in types.items()} for tree in model["trees"]]


def difference(tree, theirs):
    """Return the difference at the first differing node, or an empty text.

    Parameters
    ----------
    tree : NewtonTree
    theirs : one of `read_trees`
    """
    nodes, pairs = tree.nodes, [(0, 0)]
    for ours, other in pairs:
        node, left = nodes[ours], theirs["left_children"][other]
        if (node["left"] < 0) != (left < 0):
            return f"node {ours}: only one is a leaf; ours is {node}"
        options = {"cover": (node["cover"], theirs["sum_hessian"][other])}
        if left < 0:
            options["value"] = node["value"], theirs["split_conditions"][other]
        else:
            options["feature"] = node["feature"], theirs["split_indices"][other]
            options["threshold"] = node["threshold"], theirs["split_conditions"][other]
            options["missing_left"] = node["missing_left"], theirs["default_left"][other]
            options["gain"] = node["gain"], theirs["loss_changes"][other]
            pairs.append((node["left"], left))
            pairs.append((node["right"], theirs["right_children"][other]))
        parted = {name: pair for name, pair in options.items() if pair[0] != pair[1]}
        if parted:
            return f"node {ours} of {len(nodes)}: {parted}"
    return ""


def first_difference(X, y, weight, params):
    """Train both; return the first difference, or an empty text."""
    (rounds, base), booster, matrix = fit_both(X, y, weight, params)
    theirs = read_trees(booster)
    n_scores = len(base)
    score = np.repeat(base[None, :], len(X), axis=0)
    for number, trees in enumerate(rounds):
        for k, tree in enumerate(trees):
            reported = difference(tree, theirs[number * n_scores + k])
            if reported:
                return f"round {number}, tree {k}, {reported}"
            score[:, k] += walk(tree, X)
    if len(theirs) != len(rounds) * n_scores:
        return f"{len(rounds)} rounds of {n_scores} trees, but {len(theirs)} trees"
    margins = booster.predict(matrix, output_margin=True).reshape(score.shape)
    return "" if np.array_equal(margins, score) else f"margins, from the base scores {base}"


def walk(tree, X):
    """Return the value of each row's leaf."""
    nodes, at = tree.nodes, np.zeros(len(X), np.int64)
    while (inner := nodes["left"][at] >= 0).any():
        rows = np.flatnonzero(inner)
        node = nodes[at[rows]]
        x = X[rows, node["feature"]]
        left = np.where(np.isnan(x), node["missing_left"] == 1, x < node["threshold"])
        at[rows] = np.where(left, node["left"], node["right"])
    return nodes["value"][at]
