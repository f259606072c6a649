"""Export of a Perpetual booster as a TreeEnsemble, read from its JSON format.

A value below the threshold goes left, in float64. Leaves are float32 and sums are float64, from the
base score on. Models with a third branch for missing values cannot be exported.
"""

from __future__ import annotations

import json
from importlib.metadata import version

import numpy as np

from algorithms.reference._codes import codes_of_labels
from algorithms.reference._errors import not_exportable
from algorithms.reference._nodes import breadth_first
from harness import Missing, Tree, TreeEnsemble

IDENTITY = {"SquaredLoss", "QuantileLoss", "HuberLoss", "AdaptiveHuberLoss", "AbsoluteLoss"}
EXP = {"PoissonLoss", "GammaLoss", "TweedieLoss"}


def export(model):
    """Return the trees of a fitted PerpetualBooster, PerpetualClassifier or PerpetualRegressor."""
    saved = json.loads(model.json_dump())
    config = saved["cfg"]
    if config["create_missing_branch"]:
        raise not_exportable("missing values have a third branch")
    boosters = saved.get("boosters", [saved])
    categories = _category_codes(model)
    missing = config["missing"]
    return TreeEnsemble.join(
        [_tree(tree["nodes"], categories) for one in boosters for tree in one["trees"]],
        n_features=int(model.n_features_),
        output=np.repeat(np.arange(len(boosters)), [len(one["trees"]) for one in boosters]),
        base=np.array([one["base_score"] for one in boosters], np.float64),
        link=_link(config["objective"], len(boosters)),
        classes=codes_of_labels(model.classes_) if len(model.classes_) > 1 else (),
        comparison="<",
        missing_value=np.nan if missing is None else float(missing),
        library="perpetual",
        version=version("perpetual"),
        cover_kind="hessian",
    )


def _link(objective, n_outputs):
    if objective == "LogLoss":
        return "softmax" if n_outputs > 1 else "sigmoid"
    if objective in IDENTITY:
        return "identity"
    if objective in EXP:
        return "exp"
    raise not_exportable(f"the loss {objective} cannot be written as a TreeEnsemble")


def _category_codes(model):
    """Return column → code of each of its categories; categories must be whole numbers."""
    codes = {}
    names = list(getattr(model, "feature_names_in_", ()))
    for name, categories in getattr(model, "cat_mapping", {}).items():
        texts = [str(category).removesuffix(".0") for category in categories]
        if not all(text.isdecimal() for text in texts if text != "nan"):
            raise not_exportable(f"the categories of {name!r} must be whole numbers 0, 1, ...")
        codes[names.index(name)] = [-1 if text == "nan" else int(text) for text in texts]
    return codes


def _tree(saved, categories):
    """Return a tree from its nodes by number."""

    def children(node):
        if node["is_leaf"]:
            return None
        return saved[str(node["left_child"])], saved[str(node["right_child"])]

    nodes, left, right = breadth_first(saved["0"], children)
    inner = left >= 0

    def column(key, leaf):
        return np.where(inner, [node[key] for node in nodes], leaf)

    sets = {}
    for i in np.flatnonzero(inner).tolist():
        if nodes[i]["left_cats"]:
            bits = np.unpackbits(
                np.frombuffer(bytes.fromhex(nodes[i]["left_cats"]), np.uint8), bitorder="little"
            )
            codes = categories[nodes[i]["split_feature"]]
            sets[i] = ([codes[bit] for bit in np.flatnonzero(bits)], True)
    return Tree(
        feature=column("split_feature", -1).astype(np.int32),
        threshold=column("split_value", 0.0),
        left=left,
        right=right,
        value=np.array([np.float32(node["weight_value"]) for node in nodes], np.float64)[:, None],
        default_left=inner & (column("missing_node", 0) == column("left_child", -1)),
        missing=np.full(len(nodes), Missing.NAN, np.uint8),
        gain=column("split_gain", np.nan),
        cover=np.array([node["hessian_sum"] for node in nodes]),
        sets=sets,
    )
