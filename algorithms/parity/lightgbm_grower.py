"""Grower of LightGBM's trees; its arrays are reused for each tree."""

import numpy as np

from algorithms.parity.kernels import lightgbm_arrays as layout
from algorithms.parity.kernels.lightgbm_grow import grow_by_lightgbm_rules
from algorithms.runtime.interrupt_flag import check_interrupt, interrupt_flag

DEEPEST = 30


class Grower:
    """Grower with its working arrays.

    Parameters
    ----------
    bins : list of FeatureBins, one a feature
    X : (n_rows, n_features) float64
    rules : lightgbm_layout.Rules
    """

    def __init__(self, bins, X, rules):
        n_rows, n_features = X.shape
        depth = min(rules.max_depth, DEEPEST) if rules.max_depth > 0 else DEEPEST
        leaves = max(2, min(rules.num_leaves, n_rows, 1 << depth))  # room for more is never used
        self.bins, self.rules = bins, rules._replace(num_leaves=leaves)
        columns = np.empty((n_features, n_rows), np.int32)
        for f, own in enumerate(bins):
            columns[f] = own.number(X[:, f])
        counts = np.array([own.count for own in bins], np.int64)
        self.table = layout.Table(
            columns=columns,
            first=np.concatenate([[0], np.cumsum(counts)]),
            filler=np.array([own.filler for own in bins], np.int64),
            has_missing=np.array([own.has_missing for own in bins], np.int64),
            is_set=np.array([own.codes is not None for own in bins], np.int64),
        )
        most = counts.max(initial=1)
        self.work = layout.Work(
            rows=np.empty(n_rows, np.uint32),
            spare=np.empty(n_rows, np.uint32),
            leaves=np.zeros(leaves, layout.LEAF),
            splits=np.zeros(leaves + 1, layout.SPLIT),
            members=np.zeros((leaves + 1, most), np.uint8),
            usable=np.zeros((leaves, n_features), np.uint8),
            cells=np.empty((leaves, counts.sum(), 2)),
            nodes=np.zeros(2 * leaves - 1, layout.NODE),
            goes_left=np.zeros((2 * leaves - 1, most), np.uint8),
            scores=np.empty(most),
            order=np.empty(2 * most, np.int64),
            flag=interrupt_flag(),
        )

    def grow(self, g, h):
        """Grow a tree; return copies of its nodes and of their sets of bins, values as grown.

        Parameters
        ----------
        g, h : (n_rows,) float32

        Raises
        ------
        ValueError
            Where a side of a split has no row, by which the library itself ends.
        """
        self.n_leaves = grow_by_lightgbm_rules(self.table, g, h, self.rules, self.work)
        check_interrupt(self.work.flag)
        if self.n_leaves < 0:
            raise ValueError(
                "a split has a side without rows, where LightGBM itself stops with an error: "
                "raise min_child_samples or min_child_weight"
            )
        n_nodes = 2 * self.n_leaves - 1
        return self.work.nodes[:n_nodes].copy(), self.work.goes_left[:n_nodes].copy()

    def rows_of_leaves(self):
        """Return (node, rows) of each leaf of the last tree, rows in the order of the table."""
        leaves = self.work.leaves[: self.n_leaves]
        return [(one["node"], self.work.rows[one["start"] : one["end"]]) for one in leaves]

    def tell(self, nodes, goes_left):
        """Return a grown tree in the harness's form.

        Where training had no missing values they are read as zero: they go where zero does.
        """
        from harness import Missing, Tree

        inner = nodes["left"] >= 0
        threshold, to_left, sets = np.zeros(len(nodes)), np.zeros(len(nodes), bool), {}
        for i in np.flatnonzero(inner).tolist():
            node, own = nodes[i], self.bins[nodes["feature"][i]]
            if node["is_set"]:
                codes = own.codes[goes_left[i, 1 : own.count] == 1]
                sets[i] = (np.sort(codes).tolist(), True)
                continue
            beyond = node["bin"] >= len(own.edges)
            threshold[i] = np.inf if beyond else own.edges[node["bin"]]
            to_left[i] = node["missing_left"] if own.has_missing else threshold[i] >= 0.0
        return Tree(
            feature=np.where(inner, nodes["feature"], -1).astype(np.int32),
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
