"""Pack trees for the walk that asks numbers alone: see `plain_walk`."""

import numpy as np

from algorithms._kernels.plain_walk import EIGHT, NODE

BURSTS = (2, 3, 4, 5, 6, 8, 10, 12)  # numbers of steps that may be taken before a look
LOOK = 2.0  # steps that a look whether all rows have arrived takes
TINY, HUGE = 1e-300, 1e200


def pack_nodes(steps, roots, cover):
    """Return nodes as NODE, trees level by level, for the walk that asks numbers alone.

    Parameters
    ----------
    steps : (n_nodes,) hist_predict.STEP
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
    level = np.zeros(len(steps), np.int64)
    parent = np.full(len(steps), -1)
    nodes, deep = roots, 0
    while len(nodes):
        level[nodes] = deep
        inner = nodes[~is_leaf[nodes]]
        for side in ("left", "right"):
            parent[steps[side][inner]] = inner
        nodes, deep = np.concatenate([steps["left"][inner], steps["right"][inner]]), deep + 1
    is_right = np.zeros(len(steps), bool)
    is_right[steps["right"][~is_leaf]] = True
    order = np.lexsort((is_right, parent, level, tree))
    place = np.empty(len(steps), np.int64)
    place[order] = here
    nodes = np.zeros(len(steps), NODE)
    nodes["threshold"] = steps["threshold"][order]
    nodes["left"] = place[steps["left"][order]]
    nodes["asks"] = 2 * steps["feature"][order] + (is_leaf | (steps["kind"] & 1 > 0))[order]
    depth = np.zeros(len(roots), np.int64)
    np.maximum.at(depth, tree, level)
    known = ((cover >= 0.0) & (cover < HUGE))[is_leaf].all()
    share = np.where(is_leaf, cover if known else 0.5**level, 0.0)
    arrived = np.zeros((len(roots), deep))
    np.add.at(arrived, (tree, level), share)
    return nodes, order, np.column_stack([depth, steps_at_once(arrived.cumsum(axis=1), depth)])


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
