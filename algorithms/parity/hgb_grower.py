"""Grower of scikit-learn's HistGradientBoosting trees; its arrays are reused for each tree."""

import numpy as np

from algorithms.parity.grown_tree import make_tree
from algorithms.parity.kernels import hgb_arrays as layout
from algorithms.parity.kernels.hgb_grow import grow_by_hgb_rules
from algorithms.parity.kernels.leafwise import LEAF, NODE
from algorithms.runtime.interrupt_flag import check_interrupt, interrupt_flag

DEEPEST = 30
# layout of scikit-learn's histograms; numpy's order of summation depends on the stride
CELL = np.dtype([("g", np.float64), ("h", np.float64), ("rows", np.uint32)])


class Grower:
    """Grower with its working arrays.

    Parameters
    ----------
    bins : list of FeatureBins, one per feature
    X : (n_rows, n_features) float64, NaN where missing
    max_bin : maximum number of bins without that of missing values, and the number of the latter
    rules : hgb_arrays.Rules
    """

    def __init__(self, bins, X, max_bin, rules):
        n_rows, n_features = X.shape
        depth = min(rules.max_depth, DEEPEST) if rules.max_depth > 0 else DEEPEST
        leaves = max(2, min(rules.num_leaves, n_rows, 1 << depth))  # no tree can have more
        self.bins, self.rules, self.missing = bins, rules, max_bin
        # categorical features come first, as in scikit-learn
        self.columns = np.argsort([feature.codes is None for feature in bins], kind="stable")
        self.ordered = [bins[f] for f in self.columns]
        columns = np.empty((n_features, n_rows), np.uint8)
        for feature, f, column in zip(self.ordered, self.columns, columns, strict=True):
            column[:] = feature.number(X[:, f], max_bin)
        self.table = layout.Table(
            columns=columns,
            counts=np.array([feature.count for feature in self.ordered], np.int64),
            has_missing=(columns == max_bin).any(axis=1).astype(np.int64),
            is_categorical=np.array(
                [feature.codes is not None for feature in self.ordered], np.int64
            ),
        )
        self.work = layout.Work(
            rows=np.empty(n_rows, np.uint32),
            spare=np.empty(n_rows, np.uint32),
            leaves=np.zeros(leaves, LEAF),
            splits=np.zeros(leaves + 1, layout.SPLIT),
            members=np.zeros((leaves + 1, max_bin + 1), np.uint8),
            histogram=np.empty((leaves, n_features, max_bin + 1, 3)),
            nodes=np.zeros(2 * leaves - 1, NODE),
            goes_left=np.zeros((2 * leaves - 1, max_bin + 1), np.uint8),
            heap=np.zeros(leaves, np.int64),
            scores=np.empty(max_bin + 1),
            order=np.empty(max_bin + 1, np.int64),
            flag=interrupt_flag(),
        )

    def grow(self, g, h, constant_h):
        """Grow a tree; return copies of its nodes and of the bins that go left at each node.

        Parameters
        ----------
        g, h : (n_rows,) float32
        constant_h : whether all h are 1
        """
        histogram = np.zeros(self.missing + 1, CELL)
        for name, values in (("g", g), ("h", h)):
            histogram[name] = np.bincount(self.table.columns[0], values, self.missing + 1)
        total_h = float(np.float32(len(h))) if constant_h else histogram["h"].sum()
        total_g = histogram["g"].sum()
        self.n_leaves = grow_by_hgb_rules(self.table, g, h, total_g, total_h, self.rules, self.work)
        check_interrupt(self.work.flag)
        n_nodes = 2 * self.n_leaves - 1
        return self.work.nodes[:n_nodes].copy(), self.work.goes_left[:n_nodes].copy()

    def to_tree(self, nodes, goes_left):
        """Return a grown tree as a `harness.Tree`.

        If training had no missing values of a feature, they go to the child with more rows. So do
        unknown categories.
        """
        inner = nodes["left"] >= 0
        sides = (np.where(inner, nodes[side], 0) for side in ("left", "right"))
        left_rows, right_rows = (nodes["count"][side] for side in sides)
        seen = self.table.has_missing[nodes["feature"]] == 1
        to_left = inner & np.where(seen, nodes["missing_left"] == 1, left_rows > right_rows)
        threshold, sets = np.zeros(len(nodes)), {}
        for i in np.flatnonzero(inner).tolist():
            bins, last = self.ordered[nodes["feature"][i]], nodes["bin"][i]
            if bins.codes is not None:
                is_left = goes_left[i, : bins.count] == 1
                if bins.count == 1:
                    is_left[0] = self.first_set_has_first_bin(nodes, goes_left)
                codes = bins.codes[~is_left if to_left[i] else is_left]
                sets[i] = (codes.tolist(), not to_left[i])
            else:
                threshold[i] = bins.edges[last] if last < len(bins.edges) else np.inf
        feature = self.columns[nodes["feature"] * inner]
        return make_tree(nodes, feature, threshold, to_left, sets)

    def first_set_has_first_bin(self, nodes, goes_left):
        """Return whether the first categorical split sends bin 0 left, searched in preorder.

        Splits on columns with a single category are skipped. For such a split scikit-learn's
        predictions (not its training) use this set instead of the node's own set.
        """
        todo = [0]
        while todo:
            node = nodes[i := todo.pop()]
            if node["left"] < 0:
                continue
            if node["is_categorical"] and self.ordered[node["feature"]].count > 1:
                return goes_left[i, 0] == 1
            todo += [node["right"], node["left"]]
        return False
