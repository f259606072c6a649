"""Grower of XGBoost's exact method: level by level, then pruned from the leaves up.

The sums of each node are added from its rows, in row order. A split with a gain below γ is removed
if both its children are leaves.
"""

import numpy as np

from algorithms.newton.tree import NODE, NewtonTree
from algorithms.parity.kernels.xgboost_arrays import LARGEST, RT_EPS, SPLIT, STATS, Columns
from algorithms.parity.kernels.xgboost_exact import scan_columns
from algorithms.parity.kernels.xgboost_gain import compute_weights
from algorithms.parity.kernels.xgboost_sort import PENDING, sort_columns

LEAF = -1


class ExactGrower:
    """Grower of trees on one table.

    Parameters
    ----------
    X : (n_rows, n_features) float32, NaN where missing
    settings : Settings
    """

    def __init__(self, X, settings):
        self.X = X
        self.settings = settings
        self.columns = sort_present(X)

    def grow(self, g, h):
        """Return a tree on the gradients and hessians of all rows, and the leaf of each row.

        Parameters
        ----------
        g, h : (n_rows,) float32

        Returns
        -------
        NewtonTree, (n_rows,) int64
        """
        at = np.zeros(len(self.X), np.int64)
        slots = np.zeros(len(self.X), np.int32)
        stats = self.level_stats(slots, 1, g, h, np.full(1, -LARGEST), np.full(1, LARGEST))
        levels, count = [], 1
        for _ in range(self.settings.max_depth):
            splits = self.search(slots, g, h, stats)
            level, splitting = write_level(stats, splits, count)
            levels.append(level)
            slots = self.partition(slots, splits, splitting)
            n_open = 2 * np.count_nonzero(splitting)
            at[slots >= 0] = count + slots[slots >= 0]
            count += n_open
            if n_open == 0:
                break
            stats = self.open_sides(slots, g, h, stats, splits, splitting)
        else:
            levels.append(write_level(stats, np.zeros(len(stats), SPLIT), count)[0])
        nodes = np.concatenate(levels)
        nodes["value"] *= self.settings.learning_rate
        nodes, at = prune(nodes, at, self.settings.gamma)
        return NewtonTree(nodes), at

    def search(self, slots, g, h, stats):
        """Return the best split of each open node."""
        n = len(stats)
        splits = np.zeros(n, SPLIT)
        sums, last = np.empty((n, 2)), np.zeros(n, np.float32)
        scan_columns(self.columns, slots, g, h, self.settings.rules, stats, sums, last, splits)
        return splits

    def partition(self, slots, splits, splitting):
        """Return the slot of each row in the next level; −1 if its node is a leaf."""
        to = np.full(len(slots), -1, np.int32)
        rows = np.flatnonzero(slots >= 0)
        rows = rows[splitting[slots[rows]]]
        split = splits[slots[rows]]
        x = self.X[rows, split["feature"]]
        left = np.where(np.isnan(x), split["missing_left"] == 1, x < split["threshold"])
        first = 2 * (np.cumsum(splitting) - 1)
        to[rows] = first[slots[rows]] + ~left
        return to

    def open_sides(self, slots, g, h, stats, splits, splitting):
        """Return the STATS of the children of all splits of a level."""
        parents = stats[splitting]
        lower, upper = np.repeat(parents["lower"], 2), np.repeat(parents["upper"], 2)
        sides = self.level_stats(slots, 2 * len(parents), g, h, lower, upper)
        bound_sides(self.settings.rules, splits["feature"][splitting], sides)
        return sides

    def level_stats(self, slots, n, g, h, lower, upper):
        """Return STATS (n,) of the rows of each slot, with the bounds of the parents."""
        open_rows = slots >= 0
        stats = np.zeros(n, STATS)
        for name, values in (("g", g), ("h", h)):
            # bincount adds float64 in the order of the rows
            stats[name] = np.bincount(slots[open_rows], values[open_rows], n)
        stats["lower"], stats["upper"] = lower, upper
        compute_weights(self.settings.rules, stats)
        return stats


def sort_present(X):
    """Return the `Columns` of a table."""
    n_rows = len(X)
    present = ~np.isnan(X.T)
    rows = np.nonzero(present)[1]
    counts = present.sum(axis=1)
    start = np.concatenate([[0], np.cumsum(counts)])
    values = np.ascontiguousarray(X.T)[present]
    rows = rows.astype(np.int32)
    sort_columns(start, values, rows, np.empty((PENDING, 3), np.int64))
    filled = np.float32(1.0) - (n_rows - counts).astype(np.float32) / np.float32(n_rows)
    forward = filled < np.float32(1.0)
    for feature in np.flatnonzero(forward & (counts > 0)):  # a single distinct value: backward only
        forward[feature] = values[start[feature]] != values[start[feature + 1] - 1]
    return Columns(start, values, rows, forward)


def bound_sides(rules, features, sides):
    """Bound the weights below a split on a monotone feature by the children's midpoint."""
    if len(rules.monotone) == 0:
        return
    left, right = sides[0::2], sides[1::2]
    middle = (left["weight"] + right["weight"]) / np.float32(2.0)
    order = rules.monotone[features]
    left["upper"] = np.where(order > 0, middle, left["upper"])
    right["lower"] = np.where(order > 0, middle, right["lower"])
    left["lower"] = np.where(order < 0, middle, left["lower"])
    right["upper"] = np.where(order < 0, middle, right["upper"])


def write_level(stats, splits, count):
    """Return the NODEs of a level, with children numbered from ``count``, and which are split."""
    splitting = splits["gain"] > RT_EPS
    level = np.zeros(len(stats), NODE)
    level["value"], level["cover"] = stats["weight"], stats["h"]
    level["feature"] = level["left"] = level["right"] = LEAF
    for name in ("feature", "threshold", "missing_left", "gain"):
        level[name][splitting] = splits[name][splitting]
    level["left"][splitting] = count + 2 * np.arange(np.count_nonzero(splitting))
    level["right"][splitting] = level["left"][splitting] + 1
    return level, splitting


def prune(nodes, at, gamma):
    """Remove splits with a gain below γ from the leaves up; return the nodes and rows' leaves.

    Parameters
    ----------
    nodes : (n_nodes,) NODE, children after their parents; written to
    at : (n_rows,) int64
    gamma : float32
    """
    kept = np.ones(len(nodes), bool)
    leaf_of = np.arange(len(nodes))
    for i in range(len(nodes) - 1, -1, -1):
        sides = [nodes["left"][i], nodes["right"][i]]
        if sides[0] == LEAF or nodes["gain"][i] >= gamma:
            continue
        if (nodes["left"][sides] == LEAF).all():
            for name in ("feature", "left", "right"):
                nodes[name][i] = LEAF
            nodes["threshold"][i] = nodes["missing_left"][i] = nodes["gain"][i] = 0
            kept[sides] = False
            leaf_of[sides] = i
    for i in range(len(nodes)):  # parents first, so that their leaves are final
        leaf_of[i] = leaf_of[leaf_of[i]]
    number = np.cumsum(kept) - 1
    pruned = nodes[kept]
    for name in ("left", "right"):
        pruned[name] = np.where(pruned[name] == LEAF, LEAF, number[pruned[name]])
    return pruned, number[leaf_of[at]]
