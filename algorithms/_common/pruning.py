"""Cost-complexity pruning of a fitted tree."""

import numpy as np

from algorithms._common.tree import Tree
from algorithms._kernels.prune import GONE, LEAF, cut_branches


def prune(tree, alpha):
    """Return the smallest subtree with the least R + alpha × leaves; nodes are numbered anew."""
    status, _, _ = cut(tree, alpha)
    kept = []
    depth = 0
    waiting = [(0, 0)]
    while waiting:
        node, level = waiting.pop()
        kept.append(node)
        depth = max(depth, level)
        if status[node] != LEAF:
            waiting.append((int(tree.children_right[node]), level + 1))
            waiting.append((int(tree.children_left[node]), level + 1))
    number = np.full(tree.node_count, -1, np.int32)
    number[kept] = np.arange(len(kept))
    nodes = tree.nodes[kept]
    leaf = status[kept] == LEAF
    for side in ("left", "right"):
        nodes[side] = np.where(leaf, -1, number[nodes[side]])
    nodes["feature"][leaf] = -2
    nodes["threshold"][leaf] = -2.0
    return Tree(
        nodes,
        tree.values[kept],
        n_features=tree.n_features,
        is_classifier=tree.is_classifier,
        max_depth=depth,
    )


def pruning_path(tree):
    """Return the alphas at which a leaf-ward step becomes worth it, and R of the tree there."""
    _, alphas, risks = cut(tree, np.inf)
    return alphas, risks


def cut(tree, limit):
    """Return the status of each node, and alphas and risks, of the cuts up to a limit."""
    n = tree.node_count
    status = np.full(n, GONE, np.int64)
    risk, branch, strength, alphas, risks = np.empty((5, n + 1))
    count = cut_branches(
        tree.nodes, tree.parent, float(limit), status, risk, branch, np.empty(n, np.int64),
        strength, alphas, risks,
    )  # fmt: skip
    return status, alphas[:count].copy(), risks[:count].copy()
