"""Pack trees for the walk that asks numbers alone: see `plain_walk`."""

import numpy as np

from algorithms.prediction.kernels.numeric_walk import EIGHT, NODE

BURSTS = (2, 3, 4, 5, 6, 8, 10, 12)  # numbers of steps that may be taken before a look
LOOK = 2.0  # steps that a look whether all rows have arrived takes
TINY, HUGE = 1e-300, 1e200


def pack_nodes(steps, roots, cover):
    """Return nodes as NODE, trees level by level, for the walk that asks numbers alone.

    Parameters
    ----------
    steps : (n_nodes,) prediction.walk.STEP
    roots : (n_trees,) int64
    cover : (n_nodes,) float64, how much of the training rows came by; NaN: not known

    Returns
    -------
    nodes : NODE (n_nodes,), the root of each tree where it was
    order : int64 (n_nodes,), which step each node is
    paths : int64 (n_trees, 2), the most steps to a leaf, and after how many it is seen whether
        all rows have arrived
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
    """Return `steps_at_once` of all trees, those of similar depth together.

    One table for all would have as many columns as the deepest tree has levels: of one chain
    beside many stumps it would be far larger than the trees.

    Parameters
    ----------
    tree, level : int64 (n_nodes,), of each node
    share : float64 (n_nodes,), how much of the rows ends there
    depth : int64 (n_trees,)
    """
    found = np.zeros(len(depth), np.int64)
    size = np.frexp(depth.astype(np.float64))[1]  # depth < 2 ** size
    for own_size in np.unique(size):
        is_own = size == own_size
        deep = int(depth[is_own].max()) + 1
        place = np.cumsum(is_own) - 1
        nodes = is_own[tree]
        at = place[tree[nodes]] * deep + level[nodes]
        arrived = np.bincount(at, share[nodes], is_own.sum() * deep).reshape(-1, deep)
        found[is_own] = steps_at_once(arrived.cumsum(axis=1), depth[is_own])
    return found


def levels_of(steps, roots, is_leaf):
    """Return the nodes of each level of all trees, by their parents, left ones before right ones.

    Parameters
    ----------
    steps, roots : as of `pack_nodes`
    is_leaf : bool (n_nodes,)
    """
    sides = np.column_stack([steps["left"], steps["right"]])
    levels, nodes = [], roots
    while len(nodes):
        levels.append(nodes)
        nodes = sides[np.sort(nodes[~is_leaf[nodes]])].ravel()
    return levels


def steps_at_once(arrived, depth):
    """Return after how many steps it is best seen whether all rows have arrived: int64 (n_trees,).

    Steps of rows that stand at leaves are lost, and so is the time of a look.

    Parameters
    ----------
    arrived : float64 (n_trees, depth of the deepest tree + 1), how much is at leaves by then
    depth : int64 (n_trees,)
    """
    total = np.maximum(arrived[:, -1:], TINY)
    away = 1.0 - (arrived / total) ** EIGHT  # eight rows walk together
    found, least = depth.copy(), depth.astype(np.float64)
    for steps in BURSTS:
        if steps < arrived.shape[1]:
            cost = (steps + LOOK) * (1.0 + away[:, steps::steps].sum(axis=1))
            better = cost < least
            found[better], least[better] = steps, cost[better]
    return found
