"""Packed trees for the traversal of numeric splits; see `kernels.numeric_walk`."""

import numpy as np

from algorithms.prediction.kernels.numeric_walk import EIGHT, NODE

BURSTS = (2, 3, 4, 5, 6, 8, 10, 12)  # candidate numbers of steps between two checks for arrival
CHECK_COST = 2.0  # cost of a check whether all rows have arrived, in steps
TINY, HUGE = 1e-300, 1e200


def pack_nodes(steps, roots, cover):
    """Return nodes as NODE, each tree in level order, for the traversal of numeric splits.

    Parameters
    ----------
    steps : (n_nodes,) prediction.walk.STEP
    roots : (n_trees,) int64
    cover : (n_nodes,) float64, weight of the training rows in the node; NaN: unknown

    Returns
    -------
    nodes : NODE (n_nodes,), the roots keep their positions
    order : int64 (n_nodes,), index of the step of each node
    paths : int64 (n_trees, 2), the maximum number of steps to a leaf, and the number of steps
        between two checks whether all rows have arrived
    """
    here = np.arange(len(steps))
    is_leaf = steps["left"] == here
    tree = np.searchsorted(roots, here, side="right") - 1
    levels = levels_of(steps, roots, is_leaf)
    level, depth = np.zeros(len(steps), np.int64), np.zeros(len(roots), np.int64)
    for number, nodes in enumerate(levels):
        level[nodes], depth[tree[nodes]] = number, number
    order = np.concatenate([*levels, np.empty(0, np.int64)])
    order = order[np.argsort(tree[order], kind="stable")]
    place = np.empty(len(steps), np.int64)
    place[order] = here
    nodes = np.zeros(len(steps), NODE)
    nodes["threshold"] = steps["threshold"][order]
    nodes["left"] = place[steps["left"][order]]
    nodes["asks"] = 2 * steps["feature"][order] + (is_leaf | (steps["kind"] & 1 > 0))[order]
    known = ((cover >= 0.0) & (cover < HUGE))[is_leaf].all()
    share = np.where(is_leaf, cover if known else 0.5**level, 0.0)
    return nodes, order, np.column_stack([depth, best_bursts(tree, level, share, depth)])


def best_bursts(tree, level, share, depth):
    """Return `steps_at_once` of all trees, computed in groups of similar depth.

    One table for all trees would have as many columns as the deepest tree has levels: for one chain
    and many stumps it would be far larger than the trees.

    Parameters
    ----------
    tree, level : int64 (n_nodes,), tree and level of each node
    share : float64 (n_nodes,), fraction of the rows that end in the node
    depth : int64 (n_trees,)
    """
    bursts = np.zeros(len(depth), np.int64)
    size = np.frexp(depth.astype(np.float64))[1]  # depth < 2 ** size
    for own_size in np.unique(size):
        is_own = size == own_size
        deep = int(depth[is_own].max()) + 1
        place = np.cumsum(is_own) - 1
        nodes = is_own[tree]
        at = place[tree[nodes]] * deep + level[nodes]
        arrived = np.bincount(at, share[nodes], is_own.sum() * deep).reshape(-1, deep)
        bursts[is_own] = steps_at_once(arrived.cumsum(axis=1), depth[is_own])
    return bursts


def levels_of(steps, roots, is_leaf):
    """Return the nodes of each level of all trees, in the order of their parents, left first.

    Parameters
    ----------
    steps, roots : as in `pack_nodes`
    is_leaf : bool (n_nodes,)
    """
    sides = np.column_stack([steps["left"], steps["right"]])
    levels, nodes = [], roots
    while len(nodes):
        levels.append(nodes)
        nodes = sides[np.sort(nodes[~is_leaf[nodes]])].ravel()
    return levels


def steps_at_once(arrived, depth):
    """Return the best number of steps between two checks for arrival, int64 (n_trees,).

    Steps of rows that are already at a leaf are wasted, and so is the time of a check.

    Parameters
    ----------
    arrived : float64 (n_trees, depth of the deepest tree + 1), rows at leaves after each step
    depth : int64 (n_trees,)
    """
    total = np.maximum(arrived[:, -1:], TINY)
    away = 1.0 - (arrived / total) ** EIGHT  # eight rows are traversed together
    best, least = depth.copy(), depth.astype(np.float64)
    for steps in BURSTS:
        if steps < arrived.shape[1]:
            cost = (steps + CHECK_COST) * (1.0 + away[:, steps::steps].sum(axis=1))
            better = cost < least
            best[better], least[better] = steps, cost[better]
    return best
