"""Pruning of a fitted tree: by cost complexity, or by the error on other rows."""

import numpy as np

from algorithms.trees.kernels.prune import GONE, LEAF, cut_branches
from algorithms.trees.tree import Tree

ROUNDING = 1e-12  # relative difference up to which two sums of squares are equal


def prune(tree, alpha):
    """Return the smallest subtree that minimizes R + alpha × leaves, with new node numbers."""
    status, _, _ = cut(tree, alpha)
    return cut_at_leaves(tree, status == LEAF)


def cut_at_leaves(tree, leaf):
    """Return the tree in which every node marked as a leaf is the end of its branch.

    Parameters
    ----------
    leaf : (node_count,) bool
    """
    kept = []
    depth = 0
    waiting = [(0, 0)]
    while waiting:
        node, level = waiting.pop()
        kept.append(node)
        depth = max(depth, level)
        if not leaf[node]:
            waiting.append((int(tree.children_right[node]), level + 1))
            waiting.append((int(tree.children_left[node]), level + 1))
    number = np.full(tree.node_count, -1, np.int32)
    number[kept] = np.arange(len(kept))
    nodes = tree.nodes[kept]
    leaf = leaf[kept]
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
        n_outputs=tree.n_outputs,
        sets={
            int(number[node]): categories
            for node, categories in tree.sets.items()
            if number[node] >= 0 and nodes["left"][number[node]] >= 0
        },
    )


def prune_by_error(tree, X, y, weight):
    """Return the smallest subtree with the smallest error on rows that it was not grown on.

    From the leaves up, a branch becomes a leaf if that does not raise the error: the weight of
    wrongly predicted rows, or the sum of squares.

    Parameters
    ----------
    X : (n_rows, n_features) float32, C-contiguous
    y : (n_rows,) class codes, or float64 values
    weight : (n_rows,) float64
    """
    at, n = tree.apply(X), tree.node_count
    if tree.is_classifier:
        predicted = tree.values.argmax(axis=1)
        right, left = tree.children_right, tree.children_left
        wrong = np.bincount(at, weights=weight, minlength=n)
        by_class = np.zeros((n, tree.max_n_classes))
        np.add.at(by_class, (at, y), weight)
        sums = np.column_stack([wrong, by_class])
    else:
        right, left = tree.children_right, tree.children_left
        # Subtracted: sums of squares of a target far from 0 would cancel.
        middle = tree.values[0, 0]
        off = y - middle
        parts = (weight, weight * off, weight * off * off)
        sums = np.column_stack([np.bincount(at, weights=w, minlength=n) for w in parts])
    leaf = left < 0
    error = np.zeros(n)
    for node in range(n - 1, -1, -1):  # children come after their parents
        below = 0.0
        if left[node] >= 0:
            sums[node] = sums[left[node]] + sums[right[node]]
            below = error[left[node]] + error[right[node]]
        if tree.is_classifier:
            alone = sums[node, 0] - sums[node, 1 + predicted[node]]
            rounding = 0.0
        else:
            total, s, q = sums[node]
            v = tree.values[node, 0] - middle
            alone = q - 2.0 * v * s + v * v * total
            rounding = ROUNDING * (q + v * v * total)
        leaf[node] |= alone <= below + rounding
        error[node] = alone if leaf[node] else below
    return cut_at_leaves(tree, leaf)


def pruning_path(tree):
    """Return the alphas at which a branch is cut, and R of the tree after each cut."""
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
