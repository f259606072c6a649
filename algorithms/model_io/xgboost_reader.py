"""Reader of XGBoost's JSON model format.

All numbers are float32: a row goes left if ``float32(x) < threshold``; leaves are added to the base
margin in the order of the trees. Categories listed in a node go right, all others left.
"""

import ctypes
import json

import numpy as np

from algorithms.model_io import xgboost_categories
from algorithms.model_io.ascending_scores import scores_of
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.limits import MAX_CODES, check_features, check_outputs, integers
from algorithms.model_io.objectives import MANY, TWO, XGBOOST, link_of
from harness import Missing, Tree, TreeEnsemble

PER_NODE = {  # our name → XGBoost's name and dtype
    "condition": ("split_conditions", np.float32),  # at leaves the leaf value, if it is one
    "gain": ("loss_changes", np.float64),
    "cover": ("sum_hessian", np.float64),
}
WHOLE_PER_NODE = {
    "left": "left_children",
    "right": "right_children",
    "feature": "split_indices",
    "default_left": "default_left",
}
DELETED = (1 << 31) - 1  # split feature of pruned nodes
CLOSE = np.float32(1e-6)


def read(document):
    """Return the `harness.TreeEnsemble` of a model, and its column names or None.

    Parameters
    ----------
    document : dict, JSON written by XGBoost 1.6 to 3

    Raises
    ------
    ModelFileError
        If the model is not supported: linear, an unknown objective. Malformed data raises
        KeyError, TypeError, ValueError or IndexError.
    """
    learner = document["learner"]
    objective, booster = objective_of(document), learner["gradient_booster"]
    link = link_of(objective, XGBOOST)
    model, weights = trees_of(booster)
    about = learner["learner_model_param"]
    scores = np.array(json.loads(about["base_score"]), np.float32, ndmin=1)
    counts = int(about["num_class"]), int(about.get("num_target", 1))
    if min(counts) < 0:
        raise ModelFileError(f"it has {min(counts)} classes or targets")
    outputs = max(1, *counts)
    check_outputs(outputs, len(model["trees"]))
    if objective == "reg:expectileerror" and outputs > 1:
        link, base = "ascending", scores_of(scores).astype(np.float32)
    else:
        base = np.array([margin(score, link) for score in scores.tolist()])
    is_binary = objective in TWO and outputs == 1  # otherwise it predicts several labels
    n_classes = 2 if is_binary else outputs if objective in MANY else 0
    names = learner.get("feature_names") or []
    n_features = check_features(int(about["num_feature"]), names)
    ensemble = TreeEnsemble.join(
        [one_tree(t) for t in model["trees"]],
        n_features=n_features,
        weight=np.ones(len(model["trees"])) if weights is None else np.array(weights, np.float64),
        output=integers(model["tree_info"], 0, outputs - 1, "tree_info"),
        base=np.broadcast_to(base, outputs),
        comparison="<",
        link=link,
        input_dtype="float32",
        sum_dtype="float32",
        absent="nan",
        classes=tuple(range(n_classes)),
        library="xgboost",
        version=".".join(str(part) for part in document["version"]),
        cover_kind="hessian",
    )
    return ensemble, names or None


def categories_of(document, n_features):
    """Return the categories of a model; see `xgboost_categories.read`."""
    model = trees_of(document["learner"]["gradient_booster"])[0]
    return xgboost_categories.read(model, n_features, document["version"])


def objective_of(document):
    """Return the name of a model's objective."""
    return document["learner"]["objective"]["name"]


def attribute_of(document, name):
    """Return an attribute of the model, or None."""
    return document["learner"].get("attributes", {}).get(name)


def stopping_of(document):
    """Return the early stopping results of a model as facts of our estimators, or {}.

    XGBoost's file has all trained rounds; its estimators predict with those up to the best one. A
    round with several trees per score (``num_parallel_tree``) counts as several rounds here.
    """
    best, score = (attribute_of(document, name) for name in ("best_iteration", "best_score"))
    if best is None:
        return {}
    about = trees_of(document["learner"]["gradient_booster"])[0]["gbtree_model_param"]
    last = (int(best) + 1) * max(int(about["num_parallel_tree"]), 1) - 1
    if last < 0:
        raise ModelFileError(f"best_iteration is {best}")
    score = None if score is None else float(score)
    return {"best_iteration": last, "best_score": score, "_stopped": True}


def trees_of(booster):
    """Return the model of a booster, and the weights of its trees with dart."""
    kind = booster["name"]
    if kind == "dart":
        return booster["gbtree"]["model"], booster["weight_drop"]
    if kind != "gbtree":
        raise ModelFileError(f"the booster {kind!r} has no trees")
    return booster["model"], None


def margin(score, link):
    """Return the float32 margin of a base score, which is stored after the link.

    XGBoost clips a probability to [`CLOSE`, 1 − `CLOSE`] before it computes the margin.
    """
    score = np.float32(score)
    if link == "sigmoid":
        if not 0 <= score <= 1:
            raise ModelFileError(f"its base_score {score} is not a probability")
        score = min(max(score, CLOSE), np.float32(1) - CLOSE)
        return -logf(np.float32(1) / score - np.float32(1))
    return logf(score) if link == "exp" else score


def logf(x):
    """Return the C library's logf, which differs from the rounded float64 logarithm.

    XGBoost uses logf; one in 200 values between 0.1 and 5 has another last bit.
    """
    function = ctypes.CDLL(None).logf
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    return np.float32(function(float(x)))


def one_tree(t):
    """Return one tree of the JSON model, without pruned nodes."""
    n_values = max(1, int(t["tree_param"]["size_leaf_vector"]))
    nodes = {name: np.array(t[key], dtype) for name, (key, dtype) in PER_NODE.items()}
    most = {"left": len(t["left_children"]) - 1, "feature": DELETED, "default_left": 1}
    most["right"] = most["left"]
    for name, key in WHOLE_PER_NODE.items():
        low = -1 if name in ("left", "right") else 0
        nodes[name] = integers(t[key], low, most[name], f"{key} of a tree")
    nodes["value"] = read_values(t, n_values, nodes)
    if n_values > 1:  # the right child of a leaf is the number of its vector
        nodes["right"] = np.where(nodes["left"] < 0, -1, nodes["right"])
    if len({len(values) for values in nodes.values()}) > 1:
        raise ModelFileError("the lists of a tree have different lengths")
    kept = level_order(nodes["left"], nodes["right"])
    number = np.full(len(nodes["left"]) + 1, -1)  # the last entry is for the child −1
    number[kept] = np.arange(len(kept))
    nodes = {name: values[kept] for name, values in nodes.items()}
    leaf = nodes["left"] < 0
    if (leaf != (nodes["right"] < 0)).any():
        raise ModelFileError("a node of a tree has one child")
    condition = nodes["condition"].astype(np.float64)
    return Tree(
        feature=np.where(leaf, -1, nodes["feature"]),
        threshold=np.where(leaf, 0.0, condition),
        left=number[nodes["left"]].astype(np.int32),
        right=number[nodes["right"]].astype(np.int32),
        value=nodes["value"],
        default_left=nodes["default_left"].astype(bool),
        missing=np.full(len(kept), Missing.NAN, np.uint8),
        gain=nodes["gain"],
        cover=nodes["cover"],
        sets=category_sets(t, number),
    )


def read_values(t, n_values, nodes):
    """Return the values of all nodes of a tree, float64 (n_nodes, n_values).

    Parameters
    ----------
    t : dict, a tree of the JSON model
    n_values : number of values of a leaf
    nodes : dict of the arrays of the nodes
    """
    values = np.array(t["base_weights"], np.float64)
    if n_values == 1:
        return np.where(nodes["left"] < 0, nodes["condition"].astype(np.float64), values)[:, None]
    values = values.reshape(len(nodes["left"]), n_values)
    leaves = np.flatnonzero(nodes["left"] < 0)
    if "leaf_weights" in t:  # since XGBoost 3.2
        vectors = np.array(t["leaf_weights"], np.float64).reshape(-1, n_values)
        if (nodes["right"][leaves] < 0).any():
            raise ModelFileError("a leaf of a tree has no vector in leaf_weights")
        values[leaves] = vectors[nodes["right"][leaves]]
    return values


def category_sets(t, number):
    """Return the categories that go right at each categorical split.

    Parameters
    ----------
    t : dict, a tree of the JSON model
    number : int64 (n_nodes + 1,), new index of each node, −1 for pruned nodes
    """
    codes = integers(t["categories"], 0, MAX_CODES - 1, "categories of a tree")
    lists = []
    for name, most in (("nodes", len(number) - 2), ("segments", len(codes)), ("sizes", len(codes))):
        key = f"categories_{name}"
        lists.append(integers(t[key], 0, most, key).tolist())
    if sum(lists[2]) > len(codes):
        raise ModelFileError("sets of categories of a tree overlap")
    sets = {}
    for node, start, size in zip(*lists, strict=True):
        if start + size > len(codes):
            raise ModelFileError("a set of categories exceeds the list of categories")
        if number[node] >= 0:
            sets[int(number[node])] = (codes[start : start + size], False)
    return sets


def level_order(left, right):
    """Return the nodes below the root in level order; siblings are adjacent."""
    level, levels, count = np.zeros(1, np.int64), [], 0
    while len(level):
        count += len(level)
        if count > len(left):
            raise ModelFileError("the nodes of a tree form a cycle")
        levels.append(level)
        inner = level[left[level] >= 0]
        level = np.column_stack([left[inner], right[inner]]).ravel()
    return np.concatenate(levels)
