"""Growth of trees whose nodes have splits of their own: ``grow_policy`` Depthwise and Lossguide.

The gain of a split is its score minus the score of the leaf without a split. Depthwise splits every
leaf of a level; Lossguide splits the leaf with the largest gain until there are ``max_leaves``. A
leaf is split if its depth is below ``depth``, it has ``min_data_in_leaf`` sampled rows, and the
gain is at least 1e-9.
"""

import math
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from algorithms.gbdt.sampling import hash_numbers, seed_of
from algorithms.symmetric.grower import (
    FEATURES,
    FEW_CELLS,
    NORMAL,
    SCORES,
    SPLITS,
    SymmetricGrower,
    quantiles_of,
)
from algorithms.symmetric.kernels.split_scores import (
    COSINE,
    MIN_DENOMINATOR,
    NOISE_BITS,
    build_level,
    scan_features,
)
from algorithms.symmetric.tree import NonSymmetricTree

MIN_GAIN = 1e-9
MAX_KEPT = 1 << 25  # numbers in the histograms of leaves that wait for their split
ONE_SCAN = 256  # rows whose sums take as long as the scan of a column


@dataclass(frozen=True)
class GrownNodes:
    """Splits of the nodes of a tree, parents first, and the leaf of each row."""

    # int64 (n_nodes, 4): used feature, bin, left and right child; ~leaf means a leaf
    nodes: np.ndarray
    leaf_of: np.ndarray  # uint16 (n_rows,)

    @property
    def n_leaves(self):
        """Number of leaves."""
        return len(self.nodes) + 1

    def tree(self, table, values, weights):
        """Return the `NonSymmetricTree`; parameters are those of `GrownTree.tree`."""
        left, right = self.nodes[:, 2:].T
        return NonSymmetricTree(*self.describe(table), left, right, values, weights)

    def describe(self, table):
        """Return the column of X, the border and the side of missing values of each node.

        The result is as in `GrownTree.describe`.
        """
        used, bins = self.nodes[:, :2].T
        features = table.features[used]
        pairs = zip(used.tolist(), bins.tolist(), strict=True)
        borders = np.array([table.borders[f][b] for f, b in pairs], np.float32)
        return features, borders, table.nan_right[features]


class OpenLeaf:
    """A leaf that may be split.

    Parameters
    ----------
    number : int
    rows : uint32, its sampled rows, ascending
    depth : int
    parent : (node, column of the child in its row), or None for the root
    """

    def __init__(self, number, rows, depth, parent):
        self.number, self.rows, self.depth, self.parent = number, rows, depth, parent
        self.gain, self.split, self.planes = -math.inf, None, None


class LeafwiseGrower(SymmetricGrower):
    """Grower with exact integer histograms; parameters are those of `SymmetricGrower`."""

    dtype = np.int64  # of histograms

    def _make_histograms(self):
        """Allocate the scratch space of the histograms."""
        n_rows, n_used = self.table.rows.shape
        self.work = np.zeros(n_used * self.stride, np.int64)
        self.records = np.empty((self.n_outputs, n_rows), np.int64)
        self.plane_shape = 1, self.n_outputs, 2, n_used * self.stride

    @property
    def keeps_histograms(self):
        """Whether the histograms of leaves that wait for their split are kept for subtraction."""
        return self.most_leaves * np.prod(self.plane_shape, dtype=float) <= MAX_KEPT

    @property
    def most_leaves(self):
        """Maximum number of leaves of a tree."""
        params = self.params
        return params.max_leaves if params.grow_policy == "Lossguide" else 1 << self.depth

    def _find_splits(self, rows, usable, noise, seed):
        """Return the nodes of a tree, list of [feature, bin, left child, right child]."""
        self.usable, self.noise, self.seed = usable, noise, seed
        self.searches = 0
        root = OpenLeaf(0, rows, 0, None)
        self.nodes, self.leaves = [], [root]
        if self._may_split(root):
            self._build_histogram(root)
            self._find_best_split(root)
        if self.params.grow_policy == "Lossguide":
            self._grow_best_first(root)
        else:
            self._grow_by_level(root)
        return self.nodes

    def _grow_by_level(self, root):
        """Split all leaves, level by level; the children of a leaf are split after their search."""
        level = self._split_leaves([root])
        while level:
            self.workers.check()
            parents, level = level, []
            for parent, *children in parents:
                for searched in self._evaluate(parent, *children):
                    level += self._split_leaves(searched)

    def _split_leaves(self, leaves):
        """Split leaves whose gain suffices; return (leaf, left child, right child) of each."""
        return [(one, *self._split(one)) for one in leaves if one.gain >= MIN_GAIN]

    def _grow_best_first(self, root):
        """Split the leaf with the largest gain until there are enough leaves."""
        queue = []
        self._push(queue, root)
        while queue and len(self.leaves) < self.most_leaves:
            self.workers.check()
            leaf = heappop(queue)[-1]
            children = self._split(leaf)
            for _ in self._evaluate(leaf, *children):
                pass
            for child in children:
                self._push(queue, child)

    def _push(self, queue, leaf):
        """Put a leaf whose gain suffices into the queue; of equal gains the older one is first."""
        if leaf.gain >= MIN_GAIN:
            heappush(queue, (-leaf.gain, self.searches, leaf.number, leaf))

    def _split(self, leaf):
        """Split a leaf; return the left child, which keeps its number, and the right one."""
        f, split_bin = leaf.split
        if self.penalties is not None:
            self.penalties.mark_used(self._columns_of_split(f))
        node, new = len(self.nodes), len(self.leaves)
        self.nodes.append([f, split_bin, ~leaf.number, ~new])
        if leaf.parent is not None:
            above, side = leaf.parent
            self.nodes[above][side] = node
        goes_right = self._column(f)[leaf.rows] > split_bin
        rows, depth = (leaf.rows[~goes_right], leaf.rows[goes_right]), leaf.depth + 1
        left = OpenLeaf(leaf.number, rows[0], depth, (node, 2))
        right = OpenLeaf(new, rows[1], depth, (node, 3))
        self.leaves[leaf.number] = left
        self.leaves.append(right)
        return left, right

    def _columns_of_split(self, f):
        """Return the columns of X of a split."""
        return self.table.features[f]

    def _may_split(self, leaf):
        """Return whether a leaf is shallow and large enough for a split."""
        return leaf.depth < self.depth and len(leaf.rows) >= self.params.min_data_in_leaf

    def _evaluate(self, parent, left, right):
        """Find the best splits of the children of a node; yield those searched together."""
        planes, parent.planes = parent.planes, None
        open_leaves = [one for one in (left, right) if self._may_split(one)]
        if len(open_leaves) == 2 and planes is not None:
            small, large = (left, right) if len(left.rows) <= len(right.rows) else (right, left)
            self._build_histogram(small)
            planes -= small.planes
            large.planes = planes
            self._find_best_split(left)
            self._find_best_split(right)
            yield left, right
        else:
            for one in open_leaves:
                self._build_histogram(one)
                self._find_best_split(one)
                yield (one,)

    def _build_histogram(self, leaf):
        """Build the histogram of a leaf from its rows."""
        leaf.planes = np.empty(self.plane_shape, self.dtype)
        ends = np.array([len(leaf.rows)])
        cells = len(leaf.rows) * len(self.features)
        self._share(cells, lambda *span: self._build_features(leaf, ends, *span))

    def _build_features(self, leaf, ends, first, last):
        """Build the histogram of a leaf for the features first … last − 1."""
        build_level(
            self.table.rows, self.records, leaf.rows, np.zeros(1, np.int64), ends, 0,
            self.features, self.n_bins, first, last, self.stride, leaf.planes, self.work,
            np.zeros(4, np.int64),
        )  # fmt: skip

    def _share(self, cells, function):
        """Call ``function(first, last)`` for ranges of features, in threads if work is large."""
        if cells < FEW_CELLS:
            function(0, len(self.features))
        else:
            self.workers.share(function, len(self.features))

    def _find_best_split(self, leaf):
        """Find the best split of a leaf and its gain."""
        self.searches += 1
        seed = np.uint32(seed_of(self.seed, SPLITS, self.searches))
        self._share(
            ONE_SCAN * len(self.features), lambda *span: self._scan(leaf.planes, seed, *span)
        )
        scores = self.best_score[self.usable]
        if self.noise > 0.0:
            drawn = hash_numbers(seed_of(self.seed, FEATURES, self.searches), len(self.features))
            drawn = drawn[self.usable] >> np.uint32(32 - NOISE_BITS)
            scores = scores + self.noise * NORMAL[drawn]
        leaf.split, leaf.gain = self._choose(scores, self._score_unsplit(leaf))
        if not self.keeps_histograms:
            leaf.planes = None

    def _choose(self, scores, unsplit):
        """Return the best split of a leaf and its gain.

        Parameters
        ----------
        scores : float64 (n_usable,)
        unsplit : float, score of the leaf without a split
        """
        gains = self._penalized(self.usable, scores) - unsplit
        at = int(self._weighted(self.usable, gains).argmax())
        return self._split_of(int(self.usable[at])), float(gains[at])

    def _split_of(self, f):
        """Return a feature and the bin of its best split."""
        return f, int(self.best_bin[f])

    def _scan(self, planes, seed, first, last):
        """Find the best split of the features first … last − 1 of a leaf."""
        scan_features(
            planes, 1, self.n_bins, first, last, self.stride, self.l2, self.steps[0],
            SCORES[self.params.score_function], quantiles_of(self.noise), seed,
            np.empty((4, self.stride)), self.best_score, self.best_bin,
        )  # fmt: skip

    def _score_unsplit(self, leaf):
        """Return the score of a leaf without a split."""
        sums = leaf.planes[0, :, :, : self.n_bins[0]].sum(axis=-1) * self.steps[0]
        return leaf_score(sums, self.l2, SCORES[self.params.score_function])

    def _finish(self, nodes):
        """Return the `GrownNodes` of some nodes."""
        nodes = np.array(nodes, np.int64).reshape(-1, 4)
        leaf_of = np.zeros(self.table.rows.shape[0], np.uint16)
        if len(nodes):
            is_left_out = np.ones(len(leaf_of), bool)
            for leaf in self.leaves:
                leaf_of[leaf.rows], is_left_out[leaf.rows] = leaf.number, False
            follow_nodes(nodes.tolist(), self._column, np.flatnonzero(is_left_out), leaf_of)
        return GrownNodes(nodes, leaf_of)


def follow_nodes(nodes, column_of, rows, leaf_of):
    """Write the leaves of some rows.

    Parameters
    ----------
    nodes : list of [feature, bin, left child, right child]
    column_of : function of a feature → its bins, uint8 (n_rows,)
    rows : int (n,), rows to follow
    leaf_of : uint16 (n_rows,), written
    """
    waiting = [(0, rows)] if len(rows) else []
    while waiting:
        node, rows = waiting.pop()
        f, split_bin, left, right = nodes[node]
        goes_right = column_of(f)[rows] > split_bin
        for child, part in ((left, rows[~goes_right]), (right, rows[goes_right])):
            if child < 0:
                leaf_of[part] = ~child
            elif len(part):
                waiting.append((child, part))


def leaf_score(sums, l2, kind):
    """Return the score of a leaf from the sums of each output, (n_outputs, 2): ΣG and ΣW."""
    g, w = sums.T
    average = np.where(w > 0.0, g * (1.0 / (w + l2)), 0.0)
    total = float((average * g).sum())
    if kind == COSINE:
        return total / math.sqrt(MIN_DENOMINATOR + float((average * average * w).sum()))
    return total
