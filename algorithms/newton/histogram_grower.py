"""Grower of second-order trees on bins, with the kernels of the histogram booster.

The split of a node does not depend on the order of splits, so depth-wise growth is leaf-wise
growth until no split is left; if the number of leaves is limited, `newton.pruning` selects them.
"""

import numpy as np

from algorithms.gbdt.binning import bin_table, find_bins
from algorithms.gbdt.bundles import Layout, stride_of
from algorithms.gbdt.gradient_quantization import ROWS_TO_PACK, pack_rows
from algorithms.gbdt.grower import Grower
from algorithms.gbdt.kernels.booster_arrays import Rules
from algorithms.gbdt.params import whole
from algorithms.gbdt.sampling import seed_of
from algorithms.gbdt.split_table import split_columns
from algorithms.newton.binned_exact_grower import BinnedGrower, floats_above
from algorithms.newton.categories import Categories
from algorithms.newton.exact_grower import Grown
from algorithms.newton.tree import NODE, rounded_gain
from algorithms.newton.weighted_bins import weigh_edges
from algorithms.runtime.threads import ALONE

SAMPLE = 200_000  # rows from which bins are computed
NO_H = np.empty(0, np.float32)
ROUNDING = 7  # salt of the seed
MAX_BYTES = 1 << 32  # of the leaves' histograms; not all of it need be touched


class HistGrower:
    """Grower of trees on bins that are computed once.

    Parameters
    ----------
    X : (n_rows, n_features) float32, or float64 with the same order, C-contiguous, NaN where
        missing; or CSR, whose absent entries are missing
    categorical : (n_features,) bool
    limits : newton.params.Limits
    params : the estimator
    workers : Workers
    weight : (n_rows,) float64, above 0, or None if all weights are equal
    """

    def __init__(self, X, categorical, limits, params, workers, weight=None):
        table = split_columns(X, workers, absent=np.nan, rounds=X.dtype == np.float64)
        binner = find_bins(table, categorical, params.max_bin, SAMPLE, 1, workers)
        if weight is not None:
            name = type(params).__name__
            binner = weigh_edges(binner, X, weight, params.max_bin, workers, name)
        self.categories = Categories(X, categorical)
        self.start(X, table, self.categories.put_into(binner), limits, params, workers)

    def start(self, X, table, binner, limits, params, workers):
        """Allocate the arrays of the grower; ``table`` holds the `SplitTable` of X."""
        n_rows = X.shape[0]
        self.limits, self.params, self.workers = limits, params, workers
        self.records = np.empty(n_rows, np.int64)
        self.others, self.wanted_leaves = None, 0
        if min(params.colsample_bylevel, params.colsample_bynode) == 1.0:
            rules = make_rules(limits, params, n_rows)
            bins = bin_table(table, binner, limits.monotone, limits.groups, workers, Layout())
            by_levels = params.max_leaves and params.grow_policy == "depthwise"
            if by_levels and 2 * params.max_leaves < rules.num_leaves:
                self.wanted_leaves = params.max_leaves
                rules = rules._replace(num_leaves=2 * params.max_leaves)
            if histograms_fit(rules, bins):
                self.grower = Grower(bins, binner, rules, workers)
                return
        if any(codes is not None for codes in binner.codes):
            raise ValueError(
                "categorical columns are not supported with colsample_bylevel or colsample_bynode "
                "below 1, nor with trees this deep: set max_depth or a small max_leaves"
            )
        self.others = BinnedGrower(X, binner, limits, workers, type(params).__name__)

    def grow(self, g, h, used, draws):
        """Return the `Grown` tree for derivatives g and h; see `ExactGrower.grow`."""
        if self.others is not None:
            return self.others.grow(g, h, used, draws)
        grower = self.grower
        if h[0] == 1.0 and (h == 1.0).all():  # then Σh is the number of rows
            h = NO_H
        seed = np.uint32(seed_of(draws.seed, ROUNDING))
        workers = self.workers if len(self.records) >= ROWS_TO_PACK else ALONE
        scale = pack_rows(g, h, seed, self.records, workers)
        self.categories.regroup(
            draws.of_tree, self.records, scale, self.limits, grower.bins, workers
        )
        rows = None if used is None else np.flatnonzero(used).astype(np.uint32)
        features = draws.of_tree if len(draws.of_tree) < draws.n_features else None
        tree = self.grow_deep_enough(scale, rows, features)
        nodes = as_nodes(tree.nodes, grower.binner)
        where = grower.leaves["node"][: grower.n_leaves].copy()
        return Grown(nodes, grower.leaf_of, self.right_sets(tree), where)

    def grow_deep_enough(self, scale, rows, features):
        """Return a tree with at least ``wanted_leaves`` leaves if possible, grown level by level.

        One more level at most doubles the number of leaves, so the grower has room for all. The
        leaves that are cut off later are on the last level.
        """
        grower, most = self.grower, self.limits.max_depth or len(self.records)
        if not self.wanted_leaves:
            return grower.grow(self.records, scale, 0, rows, features)
        depth, before = min(self.wanted_leaves.bit_length(), most), 0
        while True:
            grower.rules = grower.rules._replace(max_depth=depth)
            tree = grower.grow(self.records, scale, 0, rows, features)
            if grower.n_leaves >= self.wanted_leaves or grower.n_leaves == before or depth == most:
                return tree
            before, depth = grower.n_leaves, depth + 1

    def right_sets(self, tree):
        """Return the category codes that each categorical split sends right, node → int32."""
        goes_left, found = self.grower.growth.goes_left, {}
        codes, bins = self.categories.codes, self.categories.bins
        for at in np.flatnonzero(tree.nodes["is_categorical"]).tolist():
            f = tree.nodes["feature"][at]
            found[at] = codes[f][goes_left[at, bins[f]] == 0]
        return found


def make_rules(limits, params, n_rows):
    """Return the `Rules` of the kernels."""
    deepest = 1 << min(limits.max_depth, 40) if limits.max_depth else n_rows
    leaves = min(deepest, n_rows)
    if params.max_leaves and params.grow_policy == "lossguide":
        leaves = min(leaves, params.max_leaves)
    return Rules(
        num_leaves=max(int(leaves), 2),
        max_depth=whole(limits.max_depth or -1),
        min_child_samples=0,
        min_child_weight=limits.min_child_weight,
        reg_alpha=limits.reg_alpha,
        reg_lambda=limits.reg_lambda,
        min_split_gain=limits.least_gain,
        max_delta_step=limits.max_delta_step,
        path_smooth=0.0,
        cat_smooth=0.0,
        cat_l2=0.0,
        max_cat_threshold=whole(params.max_cat_threshold),
        max_cat_to_onehot=whole(params.max_cat_to_onehot),
        min_data_per_group=0,
        extra_trees=0,
        plain=int(limits.is_plain),
        sets_by_value=1,
        root_value=1,
    )


def histograms_fit(rules, bins):
    """Return whether the histograms of all leaves fit in `MAX_BYTES`."""
    needed = rules.num_leaves * 16 * stride_of(bins.layout) * len(bins.layout.length)
    return needed <= MAX_BYTES


def as_nodes(own, binner):
    """Return the nodes of trees as `newton.tree.NODE`.

    Parameters
    ----------
    own : booster_arrays.NODE (n_nodes,)
    binner : Binner
    """
    nodes = np.zeros(len(own), NODE)
    inner = own["left"] >= 0
    for name in ("left", "right"):
        nodes[name] = own[name]
    nodes["feature"] = np.where(inner, own["feature"], -1)
    nodes["value"], nodes["cover"] = own["value"], own["h"]
    numeric = np.flatnonzero(inner & (own["is_categorical"] == 0))
    chosen = own["feature"][numeric], own["bin"][numeric]
    nodes["threshold"][numeric] = floats_above(binner.edges, *chosen)
    nodes["missing_left"] = np.where(inner, own["missing_left"], 0)
    nodes["gain"] = rounded_gain(np.where(inner, own["gain"], 0.0))
    return nodes
