"""XGBoost's model as a TreeEnsemble, read from its JSON form.

Everything is float32: a row goes left where ``float32(x) < threshold``, leaves are added to the
base margin in the order of the trees. A category that a node lists goes right, any other left.
"""

from __future__ import annotations

import json
import math

import numpy as np
import xgboost

from harness import HarnessError, Missing, Tree, TreeEnsemble

LINKS = {
    "reg:squarederror": "identity",
    "reg:absoluteerror": "identity",
    "reg:pseudohubererror": "identity",
    "reg:squaredlogerror": "identity",
    "reg:quantileerror": "identity",
    "reg:logistic": "sigmoid",
    "binary:logistic": "sigmoid",
    "multi:softprob": "softmax",
    "count:poisson": "exp",
    "reg:gamma": "exp",
    "reg:tweedie": "exp",
}


def export(booster, n_classes):
    """Return a booster's trees.

    Parameters
    ----------
    booster : xgboost.Booster
    n_classes : int
        0 for regression.

    Raises
    ------
    HarnessError
        Where the model has no such form: vector leaves, DART, linear, an unknown objective.
    """
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective, kind = learner["objective"]["name"], learner["gradient_booster"]["name"]
    if kind != "gbtree" or objective not in LINKS:
        what = f"the booster {kind!r} with the objective {objective!r} has no common form"
        raise HarnessError(f"trees are not exportable: {what}")
    model = learner["gradient_booster"]["model"]
    about = learner["learner_model_param"]
    scores = np.array(json.loads(about["base_score"]), np.float32, ndmin=1)
    outputs = max(1, int(about["num_class"]), int(about["num_target"]))
    base = [margin(score, LINKS[objective]) for score in scores.tolist()]
    return TreeEnsemble.join(
        [one_tree(t) for t in model["trees"]],
        n_features=int(about["num_feature"]),
        output=np.array(model["tree_info"], np.int32),
        base=np.broadcast_to(np.array(base), outputs),
        comparison="<",
        link=LINKS[objective],
        input_dtype="float32",
        sum_dtype="float32",
        absent="nan",
        classes=tuple(range(n_classes)),
        library="xgboost",
        version=xgboost.__version__,
        cover_kind="hessian",
    )


def margin(score, link):
    """Return the float32 margin of a base score, which is stored after the link."""
    score = np.float32(score)
    if link == "sigmoid":
        return np.float32(-math.log(np.float32(1) / score - np.float32(1)))
    return np.float32(math.log(score)) if link == "exp" else score


def one_tree(t):
    """Return one tree of the JSON model, without the nodes that pruning cut off."""
    if int(t["tree_param"]["size_leaf_vector"]) > 1:
        raise HarnessError("trees are not exportable: leaves are vectors (multi_output_tree)")
    left, right = np.array(t["left_children"]), np.array(t["right_children"])
    kept = reachable(left, right)
    number = np.full(len(left) + 1, -1)  # its last entry answers for the child -1
    number[kept] = np.arange(len(kept))
    leaf = left[kept] < 0
    condition = np.array(t["split_conditions"], np.float32)[kept].astype(np.float64)
    weights = np.array(t["base_weights"], np.float64)[kept]
    sets = {}
    segments = zip(
        t["categories_nodes"], t["categories_segments"], t["categories_sizes"], strict=True
    )
    for node, start, size in segments:
        if number[node] >= 0:
            sets[int(number[node])] = (t["categories"][start : start + size], False)
    return Tree(
        feature=np.where(leaf, -1, np.array(t["split_indices"])[kept]).astype(np.int32),
        threshold=np.where(leaf, 0.0, condition),
        left=number[left[kept]].astype(np.int32),
        right=number[right[kept]].astype(np.int32),
        value=np.where(leaf, condition, weights)[:, None],
        default_left=np.array(t["default_left"], bool)[kept],
        missing=np.full(len(kept), Missing.NAN, np.uint8),
        gain=np.array(t["loss_changes"], np.float64)[kept],
        cover=np.array(t["sum_hessian"], np.float64)[kept],
        sets=sets,
    )


def reachable(left, right):
    """Return the nodes under the root, level by level: parents before children."""
    level, levels = np.zeros(1, np.int64), []
    while len(level):
        levels.append(level)
        inner = level[left[level] >= 0]
        level = np.column_stack([left[inner], right[inner]]).ravel()
    return np.concatenate(levels)
