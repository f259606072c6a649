"""Grower of XGBoost's histogram method, on given cuts.

The histogram of the child with the smaller Σh is built from its rows, that of the other child by
subtraction. The sums of a node are those of its parent's split. Splits with a gain below γ are not
made. Nodes are split in the order of their numbers, up to 256 nodes of a level at once, or best
first.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from algorithms.newton.tree import NODE, NewtonTree
from algorithms.parity.kernels.xgboost_arrays import LARGEST, RT_EPS, SPLIT, STATS
from algorithms.parity.kernels.xgboost_gain import compute_weights
from algorithms.parity.kernels.xgboost_hist import add_rows, scan_bins
from algorithms.parity.xgboost_cuts import find_cuts, find_weighted_cuts, read_cuts
from algorithms.parity.xgboost_exact_grower import LEAF, bound_sides, sort_present

MAX_AT_ONCE = 256  # maximum number of nodes of a level that are split at once
LEFT, RIGHT = 0, 1


@dataclass
class OpenLeaf:
    """A leaf that may be split.

    Attributes
    ----------
    number, depth : int
    stats : STATS (1,)
    rows : (n,) int64
    histogram : (n_bins, 2) float64, or None if not needed
    split : SPLIT (1,), the best split
    """

    number: int
    depth: int
    stats: np.ndarray
    rows: np.ndarray
    histogram: np.ndarray | None = None
    split: np.ndarray | None = None


class HistGrower:
    """Grower of trees on one table.

    Parameters
    ----------
    X : (n_rows, n_features) float32, NaN where missing
    settings : Settings
    cuts : (indptr, values)
        As returned by ``QuantileDMatrix.get_quantile_cut()``: for each feature a number below its
        minimum, then the ends of its bins.
    """

    def __init__(self, X, settings, cuts):
        self.settings = settings
        self.cuts = read_cuts(cuts, X.shape[1])
        self.bins = bin_values(X, self.cuts)
        # whether the root's sums are added from bins; otherwise from rows
        self.sums_bins = bool((self.bins >= 0).all())

    def grow(self, g, h):
        """Return a tree on the gradients and hessians of all rows, and the leaf of each row.

        Parameters
        ----------
        g, h : (n_rows,) float32

        Returns
        -------
        NewtonTree, (n_rows,) int64
        """
        growth = Growth(self, g, h)
        growth.grow()
        return NewtonTree(growth.finish()), growth.at


class ApproxGrower(HistGrower):
    """Grower that computes new cuts for each tree, with rows weighted by their hessians.

    Parameters
    ----------
    X : (n_rows, n_features) float32, NaN where missing
    settings : Settings
    weight : (n_rows,) float32
        Multiplied with the hessians, which already include it, as in XGBoost.
    h_is_constant : bool
        If True, all trees use the cuts of the first one, which come from the sketch of ``hist``.
    """

    def __init__(self, X, settings, weight, h_is_constant):
        self.X, self.settings = X, settings
        self.weight = weight
        self.columns = None if h_is_constant else sort_present(X)
        self.cuts = None
        self.sums_bins = False

    def grow(self, g, h):
        """Return a tree, and the leaf of each row, as in `HistGrower.grow`."""
        max_bin, release = self.settings.max_bin, self.settings.release
        if self.columns is not None:
            self.bin(find_weighted_cuts(self.columns, h * self.weight, max_bin, release))
        elif self.cuts is None:
            self.bin(find_cuts(self.X, h * self.weight, max_bin, release))
        return super().grow(g, h)

    def bin(self, cuts):
        """Set the cuts, and bin the table by them."""
        self.cuts = read_cuts(cuts, self.X.shape[1])
        self.bins = bin_values(self.X, self.cuts)


class Growth:
    """State of the growth of one tree."""

    def __init__(self, grower, g, h):
        self.grower, self.settings = grower, grower.settings
        self.g, self.h = g, h
        self.at = np.zeros(len(g), np.int64)
        self.nodes = [np.zeros(1, NODE)]
        self.n_leaves = 1
        self.queue = []

    def grow(self):
        """Split nodes until no further split is allowed."""
        self.queue.append((0, 0, self.open_root()))
        while taken := self.take():
            # after `take` has counted all new leaves
            may_go_on = [self.may_have_sides(leaf) for leaf in taken]
            sides = [self.split(leaf) for leaf in taken]
            for leaf, pair, goes_on in zip(taken, sides, may_go_on, strict=True):
                if goes_on:
                    self.make_histograms(leaf, pair)
                    for side in pair:
                        self.push(side)
                leaf.histogram = None

    def open_root(self):
        """Return the root with its best split."""
        rows = np.arange(len(self.g))
        root = OpenLeaf(0, 0, np.zeros(1, STATS), rows, self.histogram_of(rows))
        if self.grower.sums_bins:  # the bins of the first feature have all rows
            first = root.histogram[: self.grower.cuts.start[1]]
            sums = [np.add.accumulate(first[:, k])[-1] for k in (0, 1)]
        else:
            sums = [np.add.accumulate(v, dtype=np.float64)[-1] for v in (self.g, self.h)]
        root.stats["g"], root.stats["h"] = sums
        root.stats["lower"], root.stats["upper"] = -LARGEST, LARGEST
        compute_weights(self.settings.rules, root.stats)
        self.write_leaf(root)
        self.search(root)
        return root

    def take(self):
        """Return the leaves to split next; an empty list ends the growth."""
        taken = []
        if self.settings.lossguide:
            if self.queue:
                leaf = heapq.heappop(self.queue)[-1]
                taken = [leaf] if self.count(leaf) else []
            return taken
        level = self.queue[0][-1].depth if self.queue else 0
        while self.queue and self.queue[0][-1].depth == level and len(taken) < MAX_AT_ONCE:
            leaf = heapq.heappop(self.queue)[-1]
            if self.count(leaf):
                taken.append(leaf)
        return taken

    def count(self, leaf):
        """Return whether a leaf is split; if so, count the new leaf."""
        settings, split = self.settings, leaf.split[0]
        splits = (
            split["gain"] > RT_EPS
            and split["left_h"] != 0.0
            and split["right_h"] != 0.0
            and split["gain"] >= settings.gamma
            and not (settings.max_depth > 0 and leaf.depth == settings.max_depth)
            and not (settings.max_leaves > 0 and self.n_leaves == settings.max_leaves)
        )
        self.n_leaves += splits
        return splits

    def may_have_sides(self, leaf):
        """Return whether the children of a leaf may be split."""
        settings = self.settings
        deep = settings.max_depth > 0 and leaf.depth + 1 >= settings.max_depth
        return not deep and not (settings.max_leaves > 0 and self.n_leaves >= settings.max_leaves)

    def push(self, leaf):
        """Find a leaf's best split, and add the leaf to the queue if the split has a gain."""
        self.search(leaf)
        if leaf.split["gain"][0] > RT_EPS:
            first = -leaf.split["gain"][0] if self.settings.lossguide else 0
            heapq.heappush(self.queue, (first, leaf.number, leaf))

    def search(self, leaf):
        """Find a leaf's best split."""
        leaf.split = np.zeros(1, SPLIT)
        rules, cuts = self.settings.rules, self.grower.cuts
        scan_bins(leaf.histogram, cuts, rules, leaf.stats, leaf.split)

    def split(self, leaf):
        """Turn a leaf into an inner node; return its children."""
        split, parent = leaf.split[0], leaf.stats[0]
        stats = np.zeros(3, STATS)  # left child, right child, both
        for name in ("g", "h"):
            left, right = split[f"left_{name}"], split[f"right_{name}"]
            stats[name] = left, right, left + right
        stats["lower"], stats["upper"] = parent["lower"], parent["upper"]
        compute_weights(self.settings.rules, stats)
        bound_sides(self.settings.rules, split["feature"], stats[:2])
        number = len(self.nodes)
        node = self.nodes[leaf.number]
        for name in ("feature", "threshold", "missing_left", "gain"):
            node[name] = split[name]
        node["left"], node["right"] = number, number + 1
        node["value"], node["cover"] = stats["weight"][2], stats["h"][2]
        is_left = self.goes_left(leaf.rows, split)
        sides = []
        for k, chosen in ((LEFT, is_left), (RIGHT, ~is_left)):
            rows = leaf.rows[chosen]
            side = OpenLeaf(number + k, leaf.depth + 1, stats[k : k + 1], rows)
            self.at[rows] = side.number
            self.nodes.append(np.zeros(1, NODE))
            self.write_leaf(side)
            sides.append(side)
        return sides

    def goes_left(self, rows, split):
        """Return whether each row goes left, by its bin."""
        cuts, feature = self.grower.cuts, split["feature"]
        start, end = cuts.start[feature : feature + 2]
        same = np.flatnonzero(cuts.values[start:end] == split["threshold"])
        last = start + same[-1] if len(same) else -1  # below all bins: only missing values go left
        bins = self.grower.bins[rows, feature]
        return np.where(bins < 0, split["missing_left"] == 1, bins <= last)

    def write_leaf(self, leaf):
        """Write a leaf's node."""
        node = self.nodes[leaf.number]
        node["feature"] = node["left"] = node["right"] = LEAF
        node["value"], node["cover"] = leaf.stats["weight"], leaf.stats["h"]

    def make_histograms(self, leaf, sides):
        """Set the histograms of both children of a split."""
        left, right = sides
        small, large = (right, left) if right.stats["h"] < left.stats["h"] else (left, right)
        small.histogram = self.histogram_of(small.rows)
        large.histogram = leaf.histogram - small.histogram

    def histogram_of(self, rows):
        """Return the histogram of some rows."""
        histogram = np.zeros((len(self.grower.cuts.values), 2))
        add_rows(self.grower.bins, rows, self.g, self.h, histogram)
        return histogram

    def finish(self):
        """Return the NODEs, with weights multiplied by the learning rate."""
        nodes = np.concatenate(self.nodes)
        nodes["value"] *= self.settings.learning_rate
        return nodes


def bin_values(X, cuts):
    """Return the bin of each value, numbered over all features, int32 (n_rows, n_features)."""
    bins = np.empty(X.shape, np.int32)
    for feature in range(X.shape[1]):
        start, end = cuts.start[feature : feature + 2]
        x = X[:, feature]
        local = np.searchsorted(cuts.values[start:end], x, side="right")
        bins[:, feature] = np.where(np.isnan(x), -1, start + np.minimum(local, end - start - 1))
    return bins
