"""Grower of LightGBM's trees; its arrays are reused for each tree."""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import NO_FORCED
from algorithms.gbdt.linear_leaves import GrownLeaves
from algorithms.parity.grown_tree import make_tree
from algorithms.parity.kernels import lightgbm_arrays as layout
from algorithms.parity.kernels.leafwise import LEAF, NODE
from algorithms.parity.kernels.lightgbm_grow import grow_by_lightgbm_rules
from algorithms.runtime.interrupt_flag import check_interrupt, interrupt_flag

DEEPEST = 30


class Grower:
    """Grower with its working arrays.

    Parameters
    ----------
    bins : list of FeatureBins, one per feature
    X : (n_rows, n_features) float64
    rules : lightgbm_arrays.Rules
    forced : int64 (n_forced, 4), from `forced_splits.find_forced_bins`
    weight : float64 (n_features,), factors of the features' gains; None: all are 1
    """

    def __init__(self, bins, X, rules, forced=NO_FORCED, weight=None):
        n_rows, n_features = X.shape
        depth = min(rules.max_depth, DEEPEST) if rules.max_depth > 0 else DEEPEST
        leaves = max(2, min(rules.num_leaves, n_rows, 1 << depth))  # no tree can have more
        self.bins, self.rules = bins, rules._replace(num_leaves=leaves)
        columns = np.empty((n_features, n_rows), np.int32)
        for f, feature in enumerate(bins):
            columns[f] = feature.number(X[:, f])
        counts = np.array([feature.count for feature in bins], np.int64)
        self.table = layout.Table(
            columns=columns,
            first=np.concatenate([[0], np.cumsum(counts)]),
            most_freq_bin=np.array([feature.most_freq_bin for feature in bins], np.int64),
            has_missing=np.array([feature.has_missing for feature in bins], np.int64),
            is_categorical=np.array([feature.codes is not None for feature in bins], np.int64),
            weight=np.ones(n_features) if weight is None else weight,
        )
        most = counts.max(initial=1)
        self.work = layout.Work(
            rows=np.empty(n_rows, np.uint32),
            spare=np.empty(n_rows, np.uint32),
            leaves=np.zeros(leaves, LEAF),
            splits=np.zeros(leaves + 1, layout.SPLIT),
            members=np.zeros((leaves + 1, most), np.uint8),
            usable=np.zeros((leaves, n_features), np.uint8),
            histogram=np.empty((leaves, counts.sum(), 2)),
            nodes=np.zeros(2 * leaves - 1, NODE),
            goes_left=np.zeros((2 * leaves - 1, most), np.uint8),
            scores=np.empty(most),
            order=np.empty(2 * most, np.int64),
            flag=interrupt_flag(),
            forced=forced,
            queue=np.zeros_like(forced),
            forced_state=np.zeros(3, np.int64),
            last_value=np.zeros(1),
        )

    def grow(self, g, h):
        """Grow a tree; return copies of its nodes and of the bins that go left at each node.

        Parameters
        ----------
        g, h : (n_rows,) float32

        Raises
        ------
        ValueError
            If a child has no rows; LightGBM raises an error, too.
        """
        self.n_leaves = grow_by_lightgbm_rules(self.table, g, h, self.rules, self.work)
        check_interrupt(self.work.flag)
        if self.n_leaves < 0:
            raise ValueError(
                "a child of a split has no rows; LightGBM raises an error in this case, too: "
                "increase min_child_samples or min_child_weight"
            )
        n_nodes = 2 * self.n_leaves - 1
        return self.work.nodes[:n_nodes].copy(), self.work.goes_left[:n_nodes].copy()

    def grown_leaves(self):
        """Return the `GrownLeaves` of the last tree."""
        return GrownLeaves.of(self.work.leaves[: self.n_leaves], self.work.rows)

    def to_tree(self, nodes, goes_left):
        """Return a grown tree as a `harness.Tree`.

        If training had no missing values of a feature, they go where zero goes.
        """
        inner = nodes["left"] >= 0
        threshold, to_left, sets = np.zeros(len(nodes)), np.zeros(len(nodes), bool), {}
        for i in np.flatnonzero(inner).tolist():
            node, bins = nodes[i], self.bins[nodes["feature"][i]]
            if node["is_categorical"]:
                codes = bins.codes[goes_left[i, 1 : bins.count] == 1]
                sets[i] = (np.sort(codes).tolist(), True)
                continue
            beyond = node["bin"] >= len(bins.edges)
            threshold[i] = np.inf if beyond else bins.edges[node["bin"]]
            to_left[i] = node["missing_left"] if bins.has_missing else threshold[i] >= 0.0
        return make_tree(nodes, nodes["feature"], threshold, to_left, sets)
