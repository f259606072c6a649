"""Grower of scikit-learn's HistGradientBoosting trees; its arrays are reused for each tree."""

import numpy as np

from algorithms.parity.kernels import hgb_arrays as layout
from algorithms.parity.kernels.hgb_grow import grow_by_hgb_rules
from algorithms.runtime.interrupt_flag import check_interrupt, interrupt_flag

DEEPEST = 30
# a root's sums are taken over one feature's cells, in numpy's order for entries so far apart
CELL = np.dtype([("g", np.float64), ("h", np.float64), ("rows", np.uint32)])


class Grower:
    """Grower with its working arrays.

    Parameters
    ----------
    bins : list of FeatureBins, one a feature
    X : (n_rows, n_features) float64, NaN where missing
    max_bin : most bins, that of missing values left out; its number is that one's
    rules : hgb_layout.Rules
    """

    def __init__(self, bins, X, max_bin, rules):
        n_rows, n_features = X.shape
        depth = min(rules.max_depth, DEEPEST) if rules.max_depth > 0 else DEEPEST
        leaves = max(2, min(rules.num_leaves, n_rows, 1 << depth))  # room for more is never used
        self.bins, self.rules, self.missing = bins, rules, max_bin
        # categories stand before numbers, as the library has them
        self.columns = np.argsort([own.codes is None for own in bins], kind="stable")
        self.ordered = [bins[f] for f in self.columns]
        columns = np.empty((n_features, n_rows), np.uint8)
        for own, f, column in zip(self.ordered, self.columns, columns, strict=True):
            column[:] = own.number(X[:, f], max_bin)
        self.table = layout.Table(
            columns=columns,
            counts=np.array([own.count for own in self.ordered], np.int64),
            has_missing=(columns == max_bin).any(axis=1).astype(np.int64),
            is_set=np.array([own.codes is not None for own in self.ordered], np.int64),
        )
        self.work = layout.Work(
            rows=np.empty(n_rows, np.uint32),
            spare=np.empty(n_rows, np.uint32),
            leaves=np.zeros(leaves, layout.LEAF),
            splits=np.zeros(leaves + 1, layout.SPLIT),
            members=np.zeros((leaves + 1, max_bin + 1), np.uint8),
            cells=np.empty((leaves, n_features, max_bin + 1, 3)),
            nodes=np.zeros(2 * leaves - 1, layout.NODE),
            goes_left=np.zeros((2 * leaves - 1, max_bin + 1), np.uint8),
            heap=np.zeros(leaves, np.int64),
            scores=np.empty(max_bin + 1),
            order=np.empty(max_bin + 1, np.int64),
            flag=interrupt_flag(),
        )

    def grow(self, g, h, constant_h):
        """Grow a tree; return copies of its nodes and of their sets of bins, values as grown.

        Parameters
        ----------
        g, h : (n_rows,) float32
        constant_h : whether h is 1 for every row
        """
        cells = np.zeros(self.missing + 1, CELL)
        for name, values in (("g", g), ("h", h)):
            cells[name] = np.bincount(self.table.columns[0], values, self.missing + 1)
        total_h = float(np.float32(len(h))) if constant_h else cells["h"].sum()
        total_g = cells["g"].sum()
        self.n_leaves = grow_by_hgb_rules(self.table, g, h, total_g, total_h, self.rules, self.work)
        check_interrupt(self.work.flag)
        n_nodes = 2 * self.n_leaves - 1
        return self.work.nodes[:n_nodes].copy(), self.work.goes_left[:n_nodes].copy()

    def rows_of_leaves(self):
        """Return (node, rows) of each leaf of the last tree."""
        leaves = self.work.leaves[: self.n_leaves]
        return [(one["node"], self.work.rows[one["start"] : one["end"]]) for one in leaves]

    def tell(self, nodes, goes_left):
        """Return a grown tree in the harness's form.

        Where training had no missing values they go with the larger side; so do categories that
        it had not.
        """
        from harness import Missing, Tree

        inner = nodes["left"] >= 0
        sides = (np.where(inner, nodes[side], 0) for side in ("left", "right"))
        left_rows, right_rows = (nodes["count"][side] for side in sides)
        seen = self.table.has_missing[nodes["feature"]] == 1
        to_left = inner & np.where(seen, nodes["missing_left"] == 1, left_rows > right_rows)
        threshold, sets = np.zeros(len(nodes)), {}
        for i in np.flatnonzero(inner).tolist():
            own, at = self.ordered[nodes["feature"][i]], nodes["bin"][i]
            if own.codes is not None:
                member = goes_left[i, : own.count] == 1
                if own.count == 1:  # what the library does then
                    member[0] = self.first_set_has_first_bin(nodes, goes_left)
                listed = own.codes[~member if to_left[i] else member]
                sets[i] = (listed.tolist(), not to_left[i])
            else:
                threshold[i] = own.edges[at] if at < len(own.edges) else np.inf
        return Tree(
            feature=np.where(inner, self.columns[nodes["feature"] * inner], -1).astype(np.int32),
            threshold=threshold,
            left=np.where(inner, nodes["left"], -1).astype(np.int32),
            right=np.where(inner, nodes["right"], -1).astype(np.int32),
            value=nodes["value"][:, None].copy(),
            default_left=to_left,
            missing=np.full(len(nodes), Missing.NAN, np.uint8),
            gain=np.where(inner, nodes["gain"], np.nan),
            cover=nodes["count"].astype(np.float64),
            sets=sets,
        )

    def first_set_has_first_bin(self, nodes, goes_left):
        """Return whether the first set of several categories, root first, has the first one's bin.

        Where a column has one category alone, the library's predictions (not its training) ask
        that set instead of the node's own.
        """
        todo = [0]
        while todo:
            node = nodes[i := todo.pop()]
            if node["left"] < 0:
                continue
            if node["is_set"] and self.ordered[node["feature"]].count > 1:
                return goes_left[i, 0] == 1
            todo += [node["right"], node["left"]]
        return False
