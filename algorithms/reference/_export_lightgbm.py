"""LightGBM's model as a TreeEnsemble, read from its text form.

Everything is float64 and ``x <= threshold`` goes left. ``decision_type`` of a node is a bit set:
1 categorical, 2 missing values go left, and from bit 2 on what is missing: 0 nothing (NaN is
read as zero), 1 zero, 2 NaN. A category that a node lists goes left, any other and NaN right.
"""

from __future__ import annotations

import lightgbm
import numpy as np

from harness import HarnessError, Missing, Tree, TreeEnsemble

LINKS = {
    "regression": "identity",
    "regression_l1": "identity",
    "huber": "identity",
    "fair": "identity",
    "quantile": "identity",
    "mape": "identity",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
    "binary": "sigmoid",
    "multiclass": "softmax",
}
CATEGORICAL, DEFAULT_LEFT = 1, 2
ZERO_THRESHOLD = float(np.float32(1e-35))  # smaller values are dropped before a row is walked
KINDS = np.array([Missing.NAN_AS_ZERO, Missing.ZERO, Missing.NAN], np.uint8)


def export(booster, n_classes):
    """Return a booster's trees.

    Parameters
    ----------
    booster : lightgbm.Booster
    n_classes : int
        0 for regression.

    Raises
    ------
    HarnessError
        Where the model has no such form: averaged (rf), linear leaves, an unknown objective.
    """
    head, *blocks = booster.model_to_string(num_iteration=-1).split("\nTree=")
    about = fields(head)
    objective, *options = about["objective"].split()
    if objective not in LINKS or "sqrt" in options or "average_output" in head.split("\n"):
        raise HarnessError(f"trees are not exportable: no common form for {about['objective']!r}")
    sigmoid = dict(o.split(":") for o in options if ":" in o).get("sigmoid", "1")
    width = int(about["num_tree_per_iteration"])
    return TreeEnsemble.join(
        [one_tree(fields(block)) for block in blocks],
        n_features=int(about["max_feature_idx"]) + 1,
        output=np.arange(len(blocks)) % width,
        base=np.zeros(width),
        link=LINKS[objective],
        temperature=1.0 / float(sigmoid),
        zero_within=ZERO_THRESHOLD,
        classes=tuple(range(n_classes)),
        library="lightgbm",
        version=lightgbm.__version__,
        cover_kind="rows",
    )


def fields(block):
    """Return the ``name=value`` lines of a block, up to its first empty line."""
    lines = block.split("\n\n", 1)[0].split("\n")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def one_tree(t):
    """Return one tree: inner nodes first, as the library numbers them, then the leaves."""
    if t.get("is_linear", "0") != "0":
        raise HarnessError("trees are not exportable: leaves are linear models")
    n_leaves = int(t["num_leaves"])
    n_inner = n_leaves - 1

    def column(inner, leaf, fill=0.0):
        """Return a column of inner values and of leaf values, each by its name in the text."""
        found = np.full(n_inner + n_leaves, fill)
        if inner and n_inner:
            found[:n_inner] = numbers(t[inner])
        if leaf and t.get(leaf):  # a tree of one leaf has no leaf_count
            found[n_inner:] = numbers(t[leaf])
        return found

    decision = column("decision_type", None).astype(int)
    children = {}
    for side in ("left_child", "right_child"):
        child = column(side, None).astype(int)
        child = np.where(child < 0, n_inner + ~child, child)  # a leaf is stored as ~number
        children[side] = np.where(np.arange(len(child)) < n_inner, child, -1).astype(np.int32)
    inner = np.arange(len(decision)) < n_inner
    return Tree(
        feature=column("split_feature", None, -1).astype(np.int32),
        threshold=column("threshold", None),
        left=children["left_child"],
        right=children["right_child"],
        value=column("internal_value", "leaf_value")[:, None],
        default_left=inner & (decision & DEFAULT_LEFT > 0) & (decision & CATEGORICAL == 0),
        missing=np.where(decision & CATEGORICAL, Missing.NAN, KINDS[decision >> 2]),
        gain=column("split_gain", None),
        cover=column("internal_count", "leaf_count"),
        sets=category_sets(t, decision),
    )


def category_sets(t, decision):
    """Return the categories that go left at each node that asks for one."""
    sets = {}
    for node in np.flatnonzero(decision & CATEGORICAL).tolist():
        number = int(float(t["threshold"].split()[node]))
        start, end = map(int, t["cat_boundaries"].split()[number : number + 2])
        words = np.array(t["cat_threshold"].split()[start:end], np.uint64).astype("<u4")
        sets[node] = (np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")), True)
    return sets


def numbers(text):
    """Return a line of numbers as float64."""
    return np.array(text.split(), np.float64)
