"""Conversion of symmetric trees to and from `harness.TreeEnsemble`, and importances."""

import numpy as np

from algorithms.gbdt.model import class_codes
from algorithms.model_io.errors import ModelFileError
from algorithms.symmetric.tree import SymmetricTree

LIBRARY = "tree-harness"


def leaf_order(depth):
    """Return the leaf index, with the first split lowest, of each leaf from left to right."""
    order = np.zeros(1 << depth, np.int64)
    for level in range(depth):
        order |= ((np.arange(1 << depth) >> (depth - 1 - level)) & 1) << level
    return order


def join_trees(trees, start, link, classes, n_features):
    """Return symmetric trees as a `harness.TreeEnsemble` of full trees.

    The children of node i of a tree are 2i + 1 and 2i + 2. The initial score is added last, as in
    CatBoost.

    Parameters
    ----------
    trees : list of SymmetricTree
    start : float64 (n_scores,), the initial scores
    link : link function of the ensemble
    classes : (n_classes,) labels, or None for regression
    n_features : int
    """
    from harness import Missing, TreeEnsemble

    sizes = [2 * len(tree.values) - 1 for tree in trees]
    offsets = np.cumsum([0, *sizes])
    n_nodes = int(offsets[-1])
    fields = {
        "feature": np.full(n_nodes, -1),
        "threshold": np.zeros(n_nodes),
        "left": np.full(n_nodes, -1),
        "right": np.full(n_nodes, -1),
        "default_left": np.zeros(n_nodes, bool),
        "value": np.full((n_nodes, len(start)), np.nan),
        "cover": np.zeros(n_nodes),
    }
    for tree, first in zip(trees, offsets, strict=False):
        write_tree(tree, int(first), fields)
    return TreeEnsemble(
        **fields,
        missing=np.full(n_nodes, int(Missing.NAN)),
        categories=np.full(n_nodes, -1),
        gain=np.full(n_nodes, np.nan),
        set_indptr=np.zeros(1, np.int64),
        set_codes=np.empty(0, np.int32),
        members_left=np.empty(0, bool),
        offsets=offsets,
        weight=np.ones(len(trees)),
        output=np.zeros(len(trees), np.int64),
        base=start,
        base_first=False,
        n_features=n_features,
        link=link,
        input_dtype="float32",
        classes=class_codes(classes),
        library=LIBRARY,
        cover_kind="weight",
    )


def write_tree(tree, first, fields):
    """Write the nodes of a tree from number ``first`` on."""
    depth, n_leaves = tree.depth, len(tree.values)
    inner = slice(first, first + n_leaves - 1)
    leaves = slice(first + n_leaves - 1, first + 2 * n_leaves - 1)
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    fields["feature"][inner] = tree.features[level]
    fields["threshold"][inner] = tree.borders[level]
    fields["default_left"][inner] = ~tree.nan_right[level]
    fields["left"][inner] = first + 2 * np.arange(n_leaves - 1) + 1
    fields["right"][inner] = first + 2 * np.arange(n_leaves - 1) + 2
    order = leaf_order(depth)
    fields["value"][leaves] = tree.values[order]
    cover = tree.weights[order]
    fields["cover"][leaves] = cover
    for row in range(depth - 1, -1, -1):
        cover = cover[0::2] + cover[1::2]
        start = first + (1 << row) - 1
        fields["cover"][start : start + (1 << row)] = cover


def trees_from(e):
    """Return the symmetric trees of an ensemble that `join_trees` made.

    Raises
    ------
    ModelFileError
        If its trees have another shape or other rules.
    """
    rules = e.comparison, e.combination, e.base_first, e.input_dtype
    is_ours = rules == ("<=", "sum", False, "float32") and (e.weight == 1.0).all()
    if not is_ours or len(e.set_codes) or e.output.any():
        raise not_symmetric()
    return [read_tree(e, *span) for span in zip(e.offsets[:-1], e.offsets[1:], strict=True)]


def read_tree(e, first, last):
    """Return one symmetric tree of an ensemble."""
    n_nodes = int(last - first)
    depth = (n_nodes + 1).bit_length() - 2
    n_leaves = 1 << max(depth, 0)
    inner = slice(first, first + n_leaves - 1)
    numbers = first + 2 * np.arange(n_leaves - 1)
    at = first + (1 << np.arange(depth)) - 1
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    if (
        n_nodes != 2 * n_leaves - 1
        or not np.array_equal(e.left[inner], numbers + 1)
        or not np.array_equal(e.right[inner], numbers + 2)
        or any(
            not np.array_equal(values[inner], values[at][level])
            for values in (e.feature, e.threshold, e.default_left)
        )
    ):
        raise not_symmetric()
    order, leaves = leaf_order(depth), slice(first + n_leaves - 1, last)
    values, weights = np.empty((n_leaves, e.value.shape[1])), np.empty(n_leaves)
    values[order], weights[order] = e.value[leaves], np.nan_to_num(e.cover[leaves])
    borders = e.threshold[at].astype(np.float32)
    nan_right = ~e.default_left[at]
    return SymmetricTree(e.feature[at].astype(np.int64), borders, nan_right, values, weights)


def not_symmetric():
    """Return the error for trees that are not symmetric."""
    return ModelFileError(
        "its trees are not symmetric trees of this project: read_model and serve predict with them"
    )


def value_changes(trees, n_features):
    """Return how much each feature changes predictions, float64 (n_features,), summing to 100.

    For each split, two sibling leaves with values v, w and weights a, b add (v − m)² a + (w − m)² b
    with the mean m = (v a + w b) / (a + b). This is CatBoost's PredictionValuesChange.
    """
    total = np.zeros(n_features)
    for tree in trees:
        leaves = np.arange(len(tree.values))
        for level, feature in enumerate(tree.features):
            low = leaves[(leaves >> level) & 1 == 0]
            high = low + (1 << level)
            a, b = tree.weights[low, None], tree.weights[high, None]
            v, w = tree.values[low], tree.values[high]
            with np.errstate(invalid="ignore"):
                mean = np.where(a + b > 0.0, (v * a + w * b) / (a + b), 0.0)
            total[feature] += ((v - mean) ** 2 * a + (w - mean) ** 2 * b).sum()
    whole = total.sum()
    return 100.0 * total / whole if whole > 0.0 else total
