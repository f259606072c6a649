"""Conversion of trees to and from `harness.TreeEnsemble`, and importances."""

import numpy as np

from algorithms.gbdt.model import class_codes
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.full_trees import leaf_order, node_weights
from algorithms.symmetric.tree import NonSymmetricTree, SymmetricTree

LIBRARY = "tree-harness"
NODES_AT_ONCE = 1 << 20  # leaves of the trees that `write_trees` writes together


def join_trees(trees, start, link, classes, n_features):
    """Return trees as a `harness.TreeEnsemble`; symmetric ones become full trees.

    The children of node i of a symmetric tree are 2i + 1 and 2i + 2. The initial score is added
    last, as in CatBoost.

    Parameters
    ----------
    trees : list of SymmetricTree or NonSymmetricTree
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
    of_depth = {}  # symmetric trees of one depth are written together
    for tree, first in zip(trees, offsets.tolist(), strict=False):
        if isinstance(tree, SymmetricTree):
            of_depth.setdefault(tree.depth, []).append((tree, first))
        else:
            write_nodes(tree, first, fields)
    for pairs in of_depth.values():
        write_trees(*zip(*pairs, strict=True), fields)
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


def write_trees(trees, firsts, fields):
    """Write the nodes of symmetric trees of one depth.

    Parameters
    ----------
    trees : sequence of SymmetricTree
    firsts : sequence of int, the number of the first node of each tree
    fields : dict of the arrays of all nodes, written
    """
    depth, n_leaves = trees[0].depth, len(trees[0].values)
    most = max(1, NODES_AT_ONCE // n_leaves)
    if len(trees) > most:
        for start in range(0, len(trees), most):
            part = slice(start, start + most)
            write_trees(trees[part], firsts[part], fields)
        return
    nodes = np.array(firsts)[:, None] + np.arange(2 * n_leaves - 1)
    inner, leaves = nodes[:, : n_leaves - 1], nodes[:, n_leaves - 1 :]
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    fields["feature"][inner] = np.array([tree.features for tree in trees])[:, level]
    fields["threshold"][inner] = np.array([tree.borders for tree in trees])[:, level]
    fields["default_left"][inner] = ~np.array([tree.nan_right for tree in trees])[:, level]
    fields["left"][inner] = nodes[:, 1::2]
    fields["right"][inner] = nodes[:, 2::2]
    order = leaf_order(depth)
    fields["value"][leaves] = np.array([tree.values for tree in trees])[:, order]
    weights = np.array([tree.weights for tree in trees])[:, order]
    fields["cover"][nodes] = node_weights(weights)


def write_nodes(tree, first, fields):
    """Write the nodes of a tree that is not symmetric, and then its leaves."""
    n_nodes = len(tree.features)
    inner = slice(first, first + n_nodes)
    leaves = slice(first + n_nodes, first + 2 * n_nodes + 1)
    fields["feature"][inner] = tree.features
    fields["threshold"][inner] = tree.borders
    fields["default_left"][inner] = ~tree.nan_right
    for name in ("left", "right"):
        child = getattr(tree, name)
        fields[name][inner] = first + np.where(child < 0, n_nodes + ~child, child)
    fields["value"][leaves] = tree.values
    fields["cover"][leaves] = tree.weights
    fields["cover"][inner] = node_sums(tree, tree.weights[:, None])[:, 0]


def node_sums(tree, amounts):
    """Return the sum of the leaves' amounts below each node of a tree that is not symmetric.

    Parameters
    ----------
    tree : NonSymmetricTree
    amounts : float64 (n_leaves, n_columns)

    Returns
    -------
    float64 (n_nodes, n_columns)
    """
    sums = np.empty((len(tree.features), amounts.shape[1]))
    for node in range(len(sums) - 1, -1, -1):  # children before their parents
        children = tree.left[node], tree.right[node]
        sums[node] = sum(amounts[~child] if child < 0 else sums[child] for child in children)
    return sums


def trees_from(e):
    """Return the trees of an ensemble that `join_trees` made.

    Raises
    ------
    ModelFileError
        If it has other rules.
    """
    rules = e.comparison, e.combination, e.base_first, e.input_dtype
    is_ours = rules == ("<=", "sum", False, "float32") and (e.weight == 1.0).all()
    if not is_ours or len(e.set_codes) or e.output.any():
        raise ModelFileError(
            "its trees are not those of this estimator: read_model and serve predict with them"
        )
    return [read_tree(e, *span) for span in zip(e.offsets[:-1], e.offsets[1:], strict=True)]


def read_tree(e, first, last):
    """Return one tree of an ensemble."""
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
        return read_nodes(e, first, last)
    order, leaves = leaf_order(depth), slice(first + n_leaves - 1, last)
    values, weights = np.empty((n_leaves, e.value.shape[1])), np.empty(n_leaves)
    values[order], weights[order] = e.value[leaves], np.nan_to_num(e.cover[leaves])
    borders = e.threshold[at].astype(np.float32)
    nan_right = ~e.default_left[at]
    return SymmetricTree(e.feature[at].astype(np.int64), borders, nan_right, values, weights)


def read_nodes(e, first, last):
    """Return the nodes first … last − 1 of an ensemble as a `NonSymmetricTree`."""
    span = slice(first, last)
    is_leaf = e.left[span] < 0
    number = np.where(is_leaf, ~(np.cumsum(is_leaf) - 1), np.cumsum(~is_leaf) - 1)
    inner = np.flatnonzero(~is_leaf) + first
    children = (number[getattr(e, name)[inner] - first] for name in ("left", "right"))
    leaves = np.flatnonzero(is_leaf) + first
    return NonSymmetricTree(
        e.feature[inner].astype(np.int64),
        e.threshold[inner].astype(np.float32),
        ~e.default_left[inner],
        *children,
        e.value[leaves],
        np.nan_to_num(e.cover[leaves]),
    )


def value_changes(trees, n_features):
    """Return how much each feature changes predictions, float64 (n_features,), summing to 100.

    For each split, two sibling leaves with values v, w and weights a, b add (v − m)² a + (w − m)² b
    with the mean m = (v a + w b) / (a + b). This is CatBoost's PredictionValuesChange. In trees
    that are not symmetric, v and w are the means of the leaves below the children of a node.
    """
    total = np.zeros(n_features)
    for tree in trees:
        if isinstance(tree, NonSymmetricTree):
            np.add.at(total, tree.features, node_changes(tree))
            continue
        leaves = np.arange(len(tree.values))
        for level, feature in enumerate(tree.features):
            low = leaves[(leaves >> level) & 1 == 0]
            high = low + (1 << level)
            values, weights = tree.values, tree.weights[:, None]
            total[feature] += squared_change(values[low], values[high], weights[low], weights[high])
    whole = total.sum()
    return 100.0 * total / whole if whole > 0.0 else total


def squared_change(v, w, a, b):
    """Return Σ (v − m)² a + (w − m)² b with m = (v a + w b) / (a + b)."""
    with np.errstate(invalid="ignore"):
        mean = np.where(a + b > 0.0, (v * a + w * b) / (a + b), 0.0)
    return ((v - mean) ** 2 * a + (w - mean) ** 2 * b).sum()


def node_changes(tree):
    """Return the squared change of each node of a `NonSymmetricTree`, float64 (n_nodes,)."""
    weights = tree.weights[:, None]
    leaf_sums = np.hstack([tree.values * weights, weights])
    sums = node_sums(tree, leaf_sums)
    changes = np.empty(len(sums))
    for node in range(len(sums)):
        children = tree.left[node], tree.right[node]
        left, right = (leaf_sums[~c] if c < 0 else sums[c] for c in children)
        a, b = left[-1], right[-1]
        with np.errstate(invalid="ignore"):
            v, w = (np.nan_to_num(own[:-1] / own[-1]) for own in (left, right))
        changes[node] = squared_change(v, w, a, b)
    return changes
