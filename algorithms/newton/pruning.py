"""Pruning of grown trees: by minimum gain γ, or to a maximum number of leaves."""

from collections import deque
from heapq import heappop, heappush

import numpy as np

from algorithms.newton.exact_grower import Grown


def splits_with_min_gain(nodes, gamma):
    """Return the splits that are kept when pruning from the leaves upwards, bool (n_nodes,).

    A split that gains less than γ is removed if both its children are leaves.
    """
    left, right = nodes["left"].tolist(), nodes["right"].tolist()
    gain = nodes["gain"]
    kept = nodes["left"] >= 0
    for node in range(len(nodes) - 1, -1, -1):
        if kept[node] and not (kept[left[node]] or kept[right[node]]):
            kept[node] = gain[node] >= gamma
    return kept


def splits_by_depth(nodes, most_leaves):
    """Return the first splits in level order that give ``most_leaves``; bool (n_nodes,)."""
    kept = np.zeros(len(nodes), bool)
    waiting = deque([0])
    leaves = 1
    while waiting and leaves < most_leaves:
        node = waiting.popleft()
        if nodes["left"][node] >= 0:
            kept[node] = True
            leaves += 1
            waiting += [nodes["left"][node], nodes["right"][node]]
    return kept


def splits_by_gain(nodes, most_leaves):
    """Return the splits in order of gain up to ``most_leaves``; ties by lowest node index."""
    kept = np.zeros(len(nodes), bool)
    waiting = [(-nodes["gain"][0], 0)]
    leaves = 1
    while waiting and leaves < most_leaves:
        _, node = heappop(waiting)
        if nodes["left"][node] >= 0:
            kept[node] = True
            leaves += 1
            for child in (nodes["left"][node], nodes["right"][node]):
                heappush(waiting, (-nodes["gain"][child], int(child)))
    return kept


def keep_splits(grown, kept):
    """Return a `Grown` tree with the kept splits only; rows move up to the remaining leaves.

    Parameters
    ----------
    kept : (n_nodes,) bool; a kept split's parent is kept
    """
    nodes = grown.nodes
    inner = nodes["left"] >= 0
    if (kept == inner).all():
        return grown
    left, right = nodes["left"].tolist(), nodes["right"].tolist()
    number = np.full(len(nodes), -1)
    number[0], count = 0, 1
    remaining = [0]
    for node in range(len(nodes)):  # children come after their parents
        if not inner[node]:
            continue
        for child in (left[node], right[node]):
            if kept[node]:
                number[child] = count
                count += 1
                remaining.append(child)
            else:
                number[child] = number[node]
    new = nodes[remaining]
    still_split = kept[remaining]
    for name in ("left", "right"):
        new[name] = np.where(still_split, number[new[name]], -1)
    new["feature"] = np.where(still_split, new["feature"], -1)
    for name in ("threshold", "gain", "missing_left"):
        new[name] = np.where(still_split, new[name], 0)
    sets = {int(number[node]): codes for node, codes in grown.sets.items() if kept[node]}
    where = number if grown.where is None else number[grown.where]
    values = None if grown.values is None else grown.values[remaining]
    return Grown(new, grown.at, sets, where, values)


def prune(grown, params, *, by_gain):
    """Return a tree pruned by ``max_leaves`` and γ.

    Parameters
    ----------
    params : the estimator
    by_gain : whether to prune by γ; otherwise γ has already stopped growth
    """
    if params.max_leaves and grown.nodes["left"][0] >= 0:
        select = splits_by_gain if params.grow_policy == "lossguide" else splits_by_depth
        grown = keep_splits(grown, select(grown.nodes, params.max_leaves))
    if by_gain and params.gamma > 0.0:
        grown = keep_splits(grown, splits_with_min_gain(grown.nodes, params.gamma))
    return grown
