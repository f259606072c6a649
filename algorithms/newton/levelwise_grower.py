"""Grower of exact trees with the level-wise kernels of gradient boosting, if these are applicable.

These kernels maximize Σ s² / (w + λ), with w the weight of a side and s its Σ w v. With w = h and
v = −g/h this is Σ G² / (H + λ). All thresholds are considered, but bounds over bins of neighbors
exclude most of them: faster than a pass over sorted columns (`newton.exact_grower`).
"""

import numpy as np
from scipy import sparse

from algorithms.levelwise.grower import DEEPEST, LevelGrower
from algorithms.levelwise.kernels.level_arrays import Limits
from algorithms.newton.exact_grower import MIN_H, NO_FLAGS, ROWS_A_SHARE, ExactGrower, Grown
from algorithms.newton.kernels.rows import place_unused, scan_node_columns
from algorithms.newton.kernels.search import NEAR_END
from algorithms.newton.kernels.thresholds import narrow_thresholds
from algorithms.newton.params import MIN_GAIN
from algorithms.newton.tree import NODE, rounded_gain


def fits(X, limits, params):
    """Return whether these kernels support the parameters and the table.

    They do not if splits may gain less than `MIN_GAIN`: the kernels treat gains near 2⁻⁵² as
    zero.
    """
    draws = params.colsample_bytree, params.colsample_bylevel, params.colsample_bynode
    return (
        not sparse.issparse(X)
        and 0 < limits.max_depth <= DEEPEST
        and limits.is_plain
        and limits.least_gain >= MIN_GAIN
        and limits.groups.shape[1] == 0
        and min(draws) == 1.0
    )


class LevelwiseGrower:
    """Grower of exact trees on one table with the level-wise kernels.

    Parameters
    ----------
    X : (n_rows, n_columns) float32, or float64 with the same order, C-contiguous, NaN where missing
    limits : newton.params.Limits
    workers : Workers
    name : name of the estimator, for error messages
    """

    def __init__(self, X, limits, workers, name):
        self.others = (X, limits, workers, name)
        self.X, self.limits, self.workers = X, limits, workers
        self.grower = LevelGrower(X, workers, name, close=0.0)
        self.gaps = self.grower.table.missing > 0
        weight = max(limits.min_child_weight, MIN_H)
        self.rules = Limits(2, 1, weight, limits.least_gain, 1.0, limits.reg_lambda)
        self.lists = None

    def grow(self, g, h, used, draws):
        """Return the `Grown` tree for derivatives g and h; see `ExactGrower.grow`."""
        if not (h > 0.0).all():  # −g/h is undefined for such rows
            if self.lists is None:
                self.lists = ExactGrower(*self.others)
            return self.lists.grow(g, h, used, draws)
        value, weight = weigh_values(g, h)
        grown = self.grower.grow(value, weight, self.rules, self.limits.max_depth, used)
        nodes = self.as_nodes(grown)
        if self.gaps.any():
            self.set_missing_directions(nodes, np.isinf(grown.nodes["threshold"]), used)
        if used is not None:  # the grower placed these rows by its own thresholds
            table, leaf = self.grower.table, grown.leaf
            self.share_chunks(lambda _, *rows: place_unused(table, nodes, used, leaf, *rows))
        return Grown(nodes, grown.leaf)

    def as_nodes(self, grown):
        """Return a tree's nodes as `newton.tree.NODE`."""
        own = grown.nodes
        nodes = np.zeros(len(own), NODE)
        inner = own["left"] >= 0
        feature = np.where(inner, own["feature"], 0)
        for name in ("left", "right"):
            nodes[name] = own[name]
        nodes["feature"] = np.where(inner, feature, -1)
        finite = inner & np.isfinite(own["threshold"])
        middle = np.where(finite, own["threshold"], 0.0)
        near = middle.astype(np.float32)
        columns = np.where(finite, feature, -1).astype(np.int64)
        narrow_thresholds(self.grower.table, columns, middle, near)
        nodes["threshold"] = np.where(finite, near, np.where(inner, np.inf, 0.0))
        to_left = np.where(self.gaps[feature], own["missing_left"], 1)
        nodes["missing_left"] = np.where(inner, to_left, 0)
        nodes["value"], nodes["cover"] = grown.values, own["weight"]
        score = grown.values**2 * (own["weight"] + self.limits.reg_lambda)  # G² / (H + λ)
        gain = score[own["left"]] + score[own["right"]] - score
        nodes["gain"] = rounded_gain(np.where(inner, gain, 0.0))
        return nodes

    def set_missing_directions(self, nodes, separates_missing, used):
        """Set the direction of missing values as XGBoost does, at nodes without missing values.

        They go right if only other nodes have missing values in the column. A node that separates
        missing values from all others has a threshold above the values of its rows.

        Parameters
        ----------
        nodes : NODE, written to
        separates_missing : (n_nodes,) bool, nodes that separate missing values from all others
        used : (n_rows,) bool, or None
        """
        flags = NO_FLAGS if used is None else used
        n_chunks = self.count_chunks()
        missing = np.zeros((n_chunks, len(nodes)), np.uint8)
        largest = np.full((n_chunks, len(nodes)), -np.inf, np.float32)

        def walk(chunk, *rows):
            scan_node_columns(
                self.grower.table, nodes, flags, missing[chunk], largest[chunk], *rows
            )

        self.share_chunks(walk)
        in_gaps = (nodes["left"] >= 0) & self.gaps[nodes["feature"]]
        nodes["missing_left"][in_gaps & ~missing.any(axis=0)] = 0
        last = largest.max(axis=0)[separates_missing]
        with np.errstate(over="ignore"):  # beyond the largest float32 it is infinite
            nodes["threshold"][separates_missing] = last + (np.abs(last) + NEAR_END)

    def count_chunks(self):
        """Return the number of chunks of rows."""
        return -(-len(self.X) // ROWS_A_SHARE)

    def share_chunks(self, task):
        """Call ``task(chunk, first, last)`` for each chunk of rows, on several threads."""

        def part(first, last):
            task(first, first * ROWS_A_SHARE, min(last * ROWS_A_SHARE, len(self.X)))

        self.workers.share(part, self.count_chunks())


def weigh_values(g, h):
    """Return v = −g / h and its weight w = h > 0, float64 (n_rows,): then Σ w v = −G, Σ w = H.

    So (Σ w v)² / (Σ w + λ), the score of a side, is G² / (H + λ), and its value Σ w v / (Σ w + λ)
    is w*. The weight is None if every h is 1.
    """
    weight = None if (h == 1.0).all() else h.astype(np.float64)
    value = -g.astype(np.float64)
    if weight is not None:
        value /= weight
    return value, weight
