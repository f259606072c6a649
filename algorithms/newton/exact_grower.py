"""Grower of exact trees on sorted columns, level by level; also on weighted quantiles per node.

Each column is scanned once per level to search all its nodes; threads share the columns. Then rows
are assigned to the child nodes. Nodes are numbered level by level, as in XGBoost.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from algorithms.gbdt.kernels.interaction_groups import ALL
from algorithms.newton.kernels import exact_arrays
from algorithms.newton.kernels.rows import route_lists, route_rows, start_rows, sum_rows
from algorithms.newton.kernels.search import search_columns
from algorithms.newton.sorted_columns import sort_lists
from algorithms.newton.tree import NODE, rounded_gain

SMALL = 1 << 15  # entries below which several threads are slower than one
ROWS_A_SHARE = 4096
MIN_H = 1e-16
NO_FLAGS = np.empty(0, bool)
NO_MASK = np.empty((0, 0), bool)


@dataclass(frozen=True)
class Grown:
    """A tree before shrinkage, and the node of every row, including rows not in the sample."""

    nodes: np.ndarray  # newton.tree.NODE
    at: np.ndarray  # uint16 or uint32 (n_rows,): node of each row, or its index into ``where``
    sets: dict = field(default_factory=dict)
    where: np.ndarray | None = None  # int: nodes
    values: np.ndarray | None = None  # float32 (n_nodes, n_outputs), if leaves are vectors


class ExactGrower:
    """Grower of exact trees on one table.

    Parameters
    ----------
    X : (n_rows, n_columns) float32, or float64 with the same order, C-contiguous, NaN where
        missing; or CSR
    limits : newton.params.Limits
    workers : Workers
    name : name of the estimator, for error messages
    step : float, ε; 0 means that all thresholds are tried
    """

    def __init__(self, X, limits, workers, name, step=0.0):
        self.X = X if sparse.issparse(X) else X.astype(np.float32, copy=False)
        self.limits, self.workers = limits, workers
        self.lists = sort_lists(self.X, workers, name)
        self.rows = np.zeros(X.shape[0], exact_arrays.ROW)
        self.side = np.empty(X.shape[0] if sparse.issparse(X) else 0, np.int32)
        least = max(limits.min_child_weight, MIN_H)
        self.rules = exact_arrays.Rules(
            least,
            limits.reg_lambda,
            limits.reg_alpha,
            limits.max_delta_step,
            step,
            int(limits.is_plain),
        )
        self.threads = 1 if len(self.lists.order) < SMALL else workers.threads

    def grow(self, g, h, used, draws):
        """Return the `Grown` tree for derivatives g and h.

        Parameters
        ----------
        g, h : (n_rows,) float32
        used : (n_rows,) bool, the sampled rows; None means all rows
        draws : newton.sampling.Columns, the columns that each level and node may use
        """
        start_rows(self.rows, g, h, NO_FLAGS if used is None else used)
        one = np.zeros(1)
        bounds = one - np.inf, one + np.inf
        groups = np.full((1, self.limits.groups.shape[1]), ALL)
        levels, base, depth = [], 0, 0
        while True:
            k = len(groups)
            totals = np.empty((k, 3))
            sum_rows(self.rows, totals)
            nodes = self.make_nodes(totals, bounds)
            levels.append(nodes)
            level = self.open_level(totals, bounds, groups, draws, depth)
            if not level.open.any():
                break
            feature, best, gain = self.find_best_splits(level, draws.of_level(depth))
            if not (feature >= 0).any():
                break
            bounds, groups = self.write_splits(nodes, level, feature, best, gain, base, groups)
            self.route(nodes, base)
            base += k
            depth += 1
        return Grown(np.concatenate(levels), self.rows["at"].astype(np.uint32))

    def make_nodes(self, totals, bounds):
        """Return the nodes of a level, as leaves."""
        nodes = np.zeros(len(totals), NODE)
        nodes["feature"] = nodes["left"] = nodes["right"] = -1
        g, h = totals[:, exact_arrays.G], totals[:, exact_arrays.H]
        nodes["cover"] = h
        nodes["value"] = self.limits.weigh(g, h, *bounds)
        return nodes

    def open_level(self, totals, bounds, groups, draws, depth):
        """Return the `Level`: for each slot the minimum score and whether it may be split."""
        limits = self.limits
        g, h, n = totals.T
        shallow = not limits.max_depth or depth < limits.max_depth
        is_open = (n > 1) & (h >= 2.0 * self.rules.least_h) & shallow
        own = limits.gain_of(g, h, limits.weigh(g, h, *bounds))
        allowed = NO_MASK
        if is_open.any():
            allowed = draws.mask(depth, len(totals))
            if groups.shape[1]:
                may = allowed_features(groups, limits.groups)
                allowed = may & allowed if len(allowed) else may
        least = own + limits.least_gain
        return exact_arrays.Level(totals, least, *bounds, is_open, allowed)

    def find_best_splits(self, level, columns):
        """Return for each slot the split feature or −1, its FOUND record, and the gain."""
        k = len(level.open)
        found = np.empty((len(columns), k), exact_arrays.FOUND)

        def search(first, last):
            states = np.zeros(k + 1, exact_arrays.STATE)
            arguments = self.lists, self.rows, level, self.rules, self.limits.monotone, columns
            search_columns(*arguments, states, found, first, last)

        self.share(search, len(columns))
        column = found["score"].argmax(axis=0)  # the first column in a tie
        best = found[column, np.arange(k)]
        feature = np.where(best["score"] > -np.inf, columns[column], -1)
        gain = best["score"] - (level.least - self.limits.least_gain)
        return feature, best, gain

    def write_splits(self, nodes, level, feature, best, gain, base, groups):
        """Write the splits of a level; return bounds and groups of the next level."""
        inner = np.flatnonzero(feature >= 0)
        first = base + len(nodes) + 2 * np.arange(len(inner))
        nodes["feature"][inner] = feature[inner]
        nodes["left"][inner], nodes["right"][inner] = first, first + 1
        nodes["gain"][inner] = rounded_gain(gain[inner])
        for name in ("threshold", "missing_left"):
            nodes[name][inner] = best[name][inner]
        children = np.repeat(inner, 2)
        groups = groups[children] & self.limits.groups[feature[children]]
        lower, upper = level.lower[children], level.upper[children]
        signs = self.limits.monotone[feature[inner]]
        if signs.any():
            middle = self.mean_of_sides(level, best, inner)
            for side, sign in ((0, 1), (1, -1)):  # for an increasing feature the left side is lower
                upper[side::2] = np.where(signs == sign, middle, upper[side::2])
                lower[side::2] = np.where(signs == -sign, middle, lower[side::2])
        return (lower, upper), groups

    def mean_of_sides(self, level, best, inner):
        """Return the mean of both sides' values for each split: a bound on both children."""
        bounds = level.lower[inner], level.upper[inner]
        g, h = best["g"][inner], best["h"][inner]
        rest, above = (
            level.totals[inner, exact_arrays.G] - g,
            level.totals[inner, exact_arrays.H] - h,
        )
        weigh = self.limits.weigh
        return (weigh(g, h, *bounds) + weigh(rest, above, *bounds)) / 2.0

    def route(self, nodes, base):
        """Assign rows to the nodes of the next level."""
        plan = np.zeros(len(nodes), exact_arrays.PLAN)
        for name in ("feature", "threshold", "missing_left"):
            plan[name] = nodes[name]
        plan["first_side"] = nodes["left"] - base - len(nodes)
        if sparse.issparse(self.X):
            columns = np.unique(plan["feature"][plan["feature"] >= 0]).astype(np.int64)
            route_lists(self.lists, self.rows, plan, base, columns, self.side)
            return
        n = len(self.rows)

        def send(first, last):
            first, last = first * ROWS_A_SHARE, min(last * ROWS_A_SHARE, n)
            route_rows(self.X, self.rows, plan, base, first, last)

        self.share(send, -(-n // ROWS_A_SHARE))

    def share(self, task, count):
        """Run a task on several threads, unless the table is small."""
        if self.threads == 1:
            task(0, count)
        else:
            self.workers.share(task, count)


def allowed_features(left, own):
    """Return whether each node may use each feature, bool (K, n_features).

    Parameters
    ----------
    left : uint64 (K, n_words), bits of the interaction groups that a node may still use
    own : uint64 (n_features, n_words), bits of the groups that contain each feature
    """
    found = np.zeros((len(left), len(own)), bool)
    for a, b in zip(left.T, own.T, strict=True):
        found |= (a[:, None] & b) != 0
    return found
