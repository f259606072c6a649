"""Data- and feature-parallel tree growing: each rank has some rows and scans some features.

    1. partition the rank's own rows of the leaf
    2. build the histogram of the child with less Σh from the rank's own rows
    3. sum the histograms over all ranks; each rank gets the sums of its own features, and the
       numbers that all ranks need
    4. subtract to get the sibling's histogram, scan the rank's own features, and exchange the best
       splits

All ranks take the same decision from the same numbers. With ``by_features`` every rank has all
rows, so step 3 is not needed, and only splits are sent.
"""

from typing import NamedTuple

import numpy as np

from algorithms.distributed.binning import owners_of
from algorithms.distributed.collective import width_of
from algorithms.gbdt.bundles import stride_of
from algorithms.gbdt.grower import EVERY, codes_with_bins, make_partition_task, mark_rows
from algorithms.gbdt.kernels import booster_arrays, distributed_growth
from algorithms.gbdt.kernels.distributed_growth import (
    Features,
    FeatureShare,
    GlobalTree,
    SplitScratch,
    export_cells,
    find_best_splits_of_share,
    next_split,
    split_global_leaf,
    take_better,
)
from algorithms.gbdt.kernels.histogram import build_wide
from algorithms.gbdt.kernels.interaction_groups import ALL
from algorithms.gbdt.kernels.partition import begin_with
from algorithms.gbdt.kernels.score_update import add_leaves
from algorithms.gbdt.model import copy_tree

BESTS = 2 * booster_arrays.BEST.itemsize  # bytes
NONE = -1, -1  # leaves
META = 2  # numbers before a rank's block of sums: rows that go left, and Σ|g|


class Marked(NamedTuple):
    """Input of `mark_leaves`."""

    leaves: np.ndarray
    rows: np.ndarray


class RankGrower:
    """Tree grower of a rank, with the interface of `gbdt.grower.Grower`.

    Parameters
    ----------
    ranks : Ranks
    bins : booster_arrays.Bins, of the rank's own rows
    binner : Binner
    rules : booster_arrays.Rules
    workers : Workers
    total : number of rows of the whole table
    by_features : whether each rank has all rows
    """

    def __init__(self, ranks, bins, binner, rules, workers, total, *, by_features=False):
        n_rows, n_features = bins.rows.shape
        deepest = min(rules.max_depth, 30) if rules.max_depth > 0 else 30
        n_leaves = max(2, min(rules.num_leaves, total, 1 << deepest))
        self.rules = rules._replace(num_leaves=n_leaves)
        self.ranks, self.bins, self.binner, self.workers = ranks, bins, binner, workers
        self.codes = codes_with_bins(binner)
        self.by_features, self.size = by_features, workers.threads
        self.leaf_of = np.zeros(n_rows, np.uint16 if n_leaves < 1 << 16 else np.uint32)
        self.leaves = np.zeros(n_leaves, booster_arrays.LEAF)
        n_nodes = 2 * n_leaves - 1
        self.tree = GlobalTree(
            leaves=self.leaves,
            groups=np.zeros((n_leaves, bins.groups.shape[1]), np.uint64),
            best=np.zeros(n_leaves, booster_arrays.BEST),
            left_bins=np.zeros((n_leaves, booster_arrays.MAX_BINS), np.uint8),
            nodes=np.zeros(n_nodes, booster_arrays.NODE),
            goes_left=np.zeros((n_nodes, booster_arrays.MAX_BINS), np.uint8),
            state=np.zeros(distributed_growth.STATES, np.int64),
        )
        self.own_best = np.zeros(
            BESTS + 2 * booster_arrays.MAX_BINS, np.uint8
        )  # send buffer of the rank's best splits
        self.scratch = SplitScratch(
            small=np.zeros((1, 8, booster_arrays.MAX_BINS), np.int64),
            scores=np.zeros((1, booster_arrays.MAX_BINS)),
            order=np.zeros((1, booster_arrays.MAX_BINS), np.int64),
            best=self.own_best[:BESTS].view(booster_arrays.BEST).reshape(1, 2),
            left_bins=self.own_best[BESTS:].reshape(1, 2, booster_arrays.MAX_BINS),
        )
        self.received = np.zeros_like(self.own_best)
        self.received_best = self.received[:BESTS].view(booster_arrays.BEST).reshape(1, 2)
        self.received_members = self.received[BESTS:].reshape(1, 2, booster_arrays.MAX_BINS)
        self.buffer_length = len(self.own_best) if bins.is_categorical.any() else BESTS
        facts = (
            bins.count,
            bins.missing,
            bins.is_categorical,
            bins.sizes,
            bins.monotone,
            bins.groups,
        )
        self.facts = Features(*facts)
        self.stride = stride_of(bins.layout)
        self.cells = np.zeros(self.stride * n_features, np.int64)
        self.wide = np.zeros((2, len(self.cells)), np.int64)
        self.sums = np.zeros((self.size, booster_arrays.N_SUMS), np.int64)
        self.order, self.spare = np.empty(n_rows, np.uint32), np.empty(n_rows, np.uint32)
        self.spans = np.zeros((n_leaves, 2), np.int64)  # a leaf's own rows are order[start : end]
        self.features = None

    def use(self, features):
        """Distribute features among ranks by number of bins, and allocate their histograms."""
        if self.features is not None and np.array_equal(features, self.features):
            return
        self.features = features
        counts = self.bins.count[features]
        owner = owners_of(counts, self.ranks.size)
        ends = np.searchsorted(owner, np.arange(self.ranks.size + 1))
        self.owned = [slice(ends[r], ends[r + 1]) for r in range(self.ranks.size)]
        before = np.cumsum(counts) - counts
        owned = self.owned[self.ranks.rank]
        self.built = features[owned] if self.by_features else features
        self.places = before + META * (owner + 1)
        if self.by_features:
            self.places = before[owned] - before[owned][:1] + META
        width = int(self.bins.count[self.built].sum())
        blocks = 1 if self.by_features else self.ranks.size
        self.out = np.zeros((2, width + META * blocks), np.int64)
        sizes = [int(counts[s].sum()) + META for s in self.owned]
        stops = np.cumsum([0, *sizes])
        self.blocks = [self.out[:, stops[r] : stops[r + 1]] for r in range(self.ranks.size)]
        first = META + np.cumsum(counts[owned]) - counts[owned]
        planes = np.empty((len(self.leaves), 2, sizes[self.ranks.rank]), np.int64)
        self.share = FeatureShare(np.ascontiguousarray(features[owned]), first, planes)

    def grow(self, records, scale, seed, rows=None, features=None):
        """Grow a tree together with all ranks; parameters and result are those of `Grower.grow`."""
        self.use(np.arange(self.bins.rows.shape[1]) if features is None else features)
        self.rows = self.order if rows is None else self.order[: len(rows)]
        begin_with(EVERY if rows is None else rows, self.rows, 0, len(self.rows))
        self.records, self.scale = records, scale._replace(seed=int(seed))
        self.begin()
        while self.split():
            pass
        self.n_leaves = int(self.tree.state[booster_arrays.LEAVES])
        self.mark()
        return self.copy_tree()

    def begin(self):
        """Write the root, and find its best split."""
        self.spans[0] = 0, len(self.rows)
        self.build(0, len(self.rows))
        s = self.sums[0]
        part = [
            len(self.rows),
            s[booster_arrays.SPREAD],
            s[booster_arrays.TOTAL_G],
            s[booster_arrays.TOTAL_H],
        ]
        n_rows, spread, g, h = (
            part if self.by_features else self.ranks.total(part, "splits").tolist()
        )
        root, node = self.leaves[0], self.tree.nodes[0]
        root["start"], root["end"], root["depth"], root["node"] = 0, n_rows, 0, 0
        root["g"], root["h"], root["spread"], root["wide"] = g, h, spread, 1
        root["slot"], root["value"], root["lower"], root["upper"] = 0, 0.0, -np.inf, np.inf
        self.tree.groups[0] = ALL
        node["left"] = node["right"] = -1
        node["feature"], node["is_categorical"], node["gain"] = booster_arrays.NO_FEATURE, 0, np.nan
        node["value"], node["count"], node["h"] = 0.0, n_rows, h * self.scale.h
        self.tree.state[booster_arrays.LEAVES] = 1
        self.scan_root(max(spread, n_rows), h)

    def split(self):
        """Split the leaf of largest gain, and find its children's splits; return False if none."""
        tree = self.tree
        next_split(
            self.scratch,
            tree,
            self.facts,
            self.bins.columns,
            self.rows,
            self.spare,
            self.spans,
            *self.new,
            self.rules,
        )
        _, at, n_left, start, end, _, is_last = tree.state.tolist()[:7]
        if at < 0:
            return False
        if is_last:
            total = n_left if self.by_features else int(self.ranks.total([n_left], "splits")[0])
            self.write_children(total, 0)
            self.new = NONE
            return True
        self.build(start, end)
        self.scan_children(n_left)
        return True

    def scan_root(self, largest, h):
        """Find the best split of the root, after its histogram is built; see `reduce`."""
        self.find_best_splits(self.reduce(0, largest, h), 0, -1)

    def scan_children(self, n_left):
        """Write the children of the split leaf, and find their best splits."""
        largest, h_small = self.tree.state[
            distributed_growth.LARGEST : distributed_growth.H_SMALL + 1
        ].tolist()
        sums = self.reduce(n_left, largest, h_small)
        self.find_best_splits(sums, *self.write_children(*sums[0, :META].tolist()))

    def write_children(self, n_left, spread):
        """Write the children of the split leaf; return the small and the large one."""
        rules, scale = self.rules, self.scale
        return split_global_leaf(n_left, spread, self.facts, self.tree, rules, scale)

    def build(self, start, end):
        """Build the histograms of the rank's own rows, each thread for some of the features."""
        self.sums[:] = 0
        if self.size == 1:
            self.add_rows(start, end, 0, len(self.built), 0)
            return
        task = iter(range(self.size))
        self.workers.share(
            lambda first, last: self.add_rows(start, end, first, last, next(task)), len(self.built)
        )

    def add_rows(self, start, end, first, last, number):
        """Add rows to the histograms of some of the features."""
        build_wide(
            self.bins.rows,
            self.records,
            self.rows,
            start,
            end,
            self.built,
            first,
            last,
            self.stride,
            self.cells,
            self.wide,
            self.sums[number],
        )

    def reduce(self, n_left, largest, h):
        """Return the histograms of the rank's own features, summed over all ranks.

        The first META entries are the sums of ``n_left`` and of Σ|g|.

        Parameters
        ----------
        n_left : number of the rank's own rows that go left
        largest : bound on |Σg|, and on rows
        h : Σh of the leaf
        """
        self.export()
        blocks = [self.out] if self.by_features else self.blocks
        for block in blocks:
            block[0, 0], block[0, 1] = n_left, self.sums[0, booster_arrays.SPREAD]
        if self.by_features:
            return self.out
        return self.ranks.add_up(blocks, (width_of(largest), width_of(h)), "histograms")

    def export(self):
        """Copy the rank's own histograms to the send buffer, and clear them."""
        flushed = int(self.sums[:, booster_arrays.FLUSHED].any())
        cells = self.cells, self.wide, flushed, self.built, self.bins.count, self.stride
        export_cells(*cells, self.places, self.out)

    def find_best_splits(self, sums, small, large):
        """Scan the rank's own features, then exchange the best splits with all ranks."""
        arguments = (
            self.share,
            np.ascontiguousarray(sums),
            self.scratch,
            self.rules,
            self.scale,
        )
        find_best_splits_of_share(self.facts, self.tree, *arguments, small, large)
        self.exchange_splits(small, large)

    def exchange_splits(self, small, large):
        """Exchange the best splits of two leaves with all ranks."""
        self.ranks.best(self.own_best[: self.buffer_length], self.take, "splits")
        self.new = small, large

    def take(self, _, other):
        """Keep the better ones of two ranks' best splits; return the buffer to send."""
        self.received[: len(other)] = other
        take_better(self.scratch, self.received_best, self.received_members)
        return self.own_best[: self.buffer_length]

    def mark(self):
        """Write the leaf of every row of the rank."""
        leaves, n = self.leaves.copy(), self.n_leaves
        leaves["start"][:n], leaves["end"][:n] = self.spans[:n].T
        grown, share = Marked(leaves, self.rows), self.workers.share
        mark_rows(share, grown, n, self.leaf_of, self.spare, self.of_others)

    def of_others(self):
        """Return a task that writes the leaves of rows that the last tree was not grown on."""
        n, tree, columns = self.n_leaves, self.tree, self.bins.columns
        nodes, of_leaves = tree.nodes[: 2 * n - 1], self.leaves["node"][:n]
        place = np.arange(len(columns))
        return make_partition_task(nodes, of_leaves, tree.goes_left, columns, place, self.leaf_of)

    def add_to(self, score, tree):
        """Add the last tree's values to the score of each of the rank's rows."""
        values = tree.nodes["value"][self.leaves["node"][: self.n_leaves]]
        self.workers.share(
            lambda first, last: add_leaves(score, self.leaf_of, values, first, last), len(score)
        )

    def copy_tree(self):
        """Return a copy of the grown tree."""
        tree = self.tree
        return copy_tree(tree.nodes, tree.goes_left, self.codes, self.n_leaves)
