"""Nodes of a tree in the order of a TreeEnsemble: a child comes after its parent."""

from __future__ import annotations

import numpy as np


def breadth_first(root, children):
    """Return the nodes of a tree and the numbers of their children.

    Parameters
    ----------
    root
        Any object.
    children : callable
        Function of a node that returns its two children, or None for a leaf.

    Returns
    -------
    nodes : list
        The root first.
    left, right : (n,) int32
        Numbers of the children; -1 at leaves.
    """
    nodes, pairs = [root], []
    for node in nodes:
        pair = children(node)
        pairs.append((-1, -1) if pair is None else (len(nodes), len(nodes) + 1))
        nodes.extend(pair or ())
    left, right = np.array(pairs, np.int32).T
    return nodes, left, right


def symmetric_nodes(depth):
    """Return the level of each inner node of a full tree, and the children of all nodes.

    The children of node i are 2i + 1 and 2i + 2; the leaves come last, from left to right.

    Returns
    -------
    level : (2**depth - 1,) int64
    left, right : (2**(depth + 1) - 1,) int32
        -1 at leaves.
    """
    inner = np.arange(2**depth - 1)
    leaves = np.full(2**depth, -1)
    left = np.concatenate([2 * inner + 1, leaves]).astype(np.int32)
    right = np.concatenate([2 * inner + 2, leaves]).astype(np.int32)
    return np.repeat(np.arange(depth), 2 ** np.arange(depth)), left, right
