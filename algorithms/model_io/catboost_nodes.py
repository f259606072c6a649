"""Trees that are not symmetric in CatBoost's JSON model format: nested nodes.

A node has a split, "left" for the rows with x <= border, and "right" for those with x > border. A
leaf has a value, or a list of values, and a weight.
"""

import numpy as np

from algorithms.model_io.errors import ModelFileError
from harness import Missing, Tree


def read_tree(saved, features, n_scores, scale):
    """Return a tree of the file, parents before children.

    Parameters
    ----------
    saved : dict, the root
    features : NumericFeatures
    n_scores : int
    scale : float, factor of the leaf values
    """
    nodes = list_nodes(saved)
    is_leaf = np.array(["value" in node for node, _, _ in nodes])
    splits = [
        {} if leaf else node["split"] for (node, _, _), leaf in zip(nodes, is_leaf, strict=True)
    ]
    numbers = features.read_numbers([split for split in splits if split])
    feature, threshold = np.full(len(nodes), -1), np.zeros(len(nodes))
    default_left = np.zeros(len(nodes), bool)
    feature[~is_leaf] = features.columns[features.feature_of[numbers]]
    threshold[~is_leaf] = features.borders[numbers]
    default_left[~is_leaf] = ~features.nan_right[features.feature_of[numbers]]
    left, right = (np.array(own) for own in zip(*(pair for _, *pair in nodes), strict=True))
    return Tree(
        feature=feature.astype(np.int32),
        threshold=threshold,
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        value=read_values(nodes, is_leaf, n_scores) * scale,
        default_left=default_left,
        missing=np.full(len(nodes), Missing.NAN, np.uint8),
        cover=read_covers(nodes, left, right),
    )


def list_nodes(root):
    """Return all nodes, parents before children: list of [dict, left child, right child].

    A leaf has the children −1.
    """
    nodes = [[root, -1, -1]]
    for place, (node, _, _) in enumerate(nodes):  # the list grows in the loop
        if "value" in node:
            continue
        for side, name in enumerate(("left", "right"), 1):
            nodes[place][side] = len(nodes)
            nodes.append([node[name], -1, -1])
    return nodes


def read_values(nodes, is_leaf, n_scores):
    """Return the values of the leaves, float64 (n_nodes, n_scores), NaN in other nodes."""
    value = np.full((len(nodes), n_scores), np.nan)
    for place in np.flatnonzero(is_leaf):
        own = np.array(nodes[place][0]["value"], np.float64, ndmin=1)
        if own.shape != (n_scores,):
            raise ModelFileError(f"a leaf has {own.size} values; the model has {n_scores} scores")
        value[place] = own
    return value


def read_covers(nodes, left, right):
    """Return the weight of each node, or None if a leaf has none."""
    cover = np.array([node.get("weight", np.nan) for node, _, _ in nodes], np.float64)
    for place in np.flatnonzero(left >= 0)[::-1]:
        cover[place] = cover[left[place]] + cover[right[place]]
    return cover if np.isfinite(cover).all() else None
