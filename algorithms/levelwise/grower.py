"""Level-wise grower of small trees on weighted values, on columns that are sorted once per fit.

Boosting grows many shallow trees on the same table: ::

    with Workers(threads) as workers:
        grower = LevelGrower(X, workers, name)
        for round in rounds:
            grown = grower.grow(value, weight, limits, max_depth)
            tree = grown.tree()                # algorithms.trees.tree.Tree
            means = grown.values[grown.leaf]   # of every row's leaf, also for weight 0

A tree splits the rows greedily to maximize Σ s² / (w + λ) over its leaves, where w is a leaf's
weight and s its Σ w v. With λ = 0 this minimizes the squared error. Other uses:

- Two classes by gini: let v be the code 0 or 1. The weighted variance p (1 − p) is half of gini
  2 p (1 − p), so the splits are the same; ``grown.tree(gini=True)`` holds shares and gini.
- Second order: with gradients g and hessians h > 0 let w = h and v = −g / h. Then s = −G, the
  score of a side is G² / (H + λ), a leaf's value is −G / (H + λ), and ``min_weight_leaf`` is the
  minimum of H. Improvements are divided by ``total_weight``; with 1 they are unscaled.

Every distinct threshold is tried. Of equal scores the first column is taken, and in it the lowest
threshold. The order of summation is fixed, so the tree is the same bit for bit for any number of
threads. Weights must not be negative. All columns are searched in every node; for sampled columns
or best-first growth use `algorithms.trees.grower.grow_tree`.
"""

import math
from dataclasses import dataclass

import numpy as np

from algorithms.levelwise.binned_columns import sort_coded
from algorithms.levelwise.kernels import level_arrays
from algorithms.levelwise.kernels.bin_search import LINE, Space, search_columns
from algorithms.levelwise.kernels.bin_sums import FOUR, add_blocks, coarsen, route_rows, start_rows
from algorithms.levelwise.kernels.nodes import STEP, choose_splits, make_nodes, number_nodes
from algorithms.levelwise.kernels.within_bin_search import DRAWN, InsideSpace, search_inside
from algorithms.trees.kernels import tree_arrays
from algorithms.trees.tree import Tree

DEEPEST = 10  # maximum depth; limits the size of the sums of all slots and bins
MIN_BINS_TO_MERGE = 1024  # bins of all planes; up to this number, bins are not merged
LINE_OF_CACHE = 8  # float64
FEW_PLANES = 4  # planes of four columns summed at once; their entries fit in the cache
MAX_CANDIDATES = 1 << 16  # candidate bins that a thread stores before searching, 64 bytes each
ROWS_PER_CANDIDATE = 8  # rows of the table per stored candidate bin
NO_FLOATS = np.empty(0)
NO_FLAGS = np.empty(0, bool)


@dataclass(frozen=True)
class Grown:
    """A tree, and the leaf of each row.

    ``nodes`` are NODE, depth first as scikit-learn numbers them. ``values`` float64 (n_nodes,) are
    s / (w + λ). ``leaf`` uint16 (n_rows,) is the leaf of every row, also of rows of weight 0.
    """

    nodes: np.ndarray
    values: np.ndarray
    leaf: np.ndarray
    depth: int
    n_features: int

    def tree(self, *, gini=False):
        """Return the `Tree`: with values, or with the shares of two classes."""
        nodes, values = self.nodes, self.values[:, None]
        if gini:
            nodes = nodes.copy()
            nodes["impurity"] *= 2.0
            values = np.column_stack([1.0 - self.values, self.values])
        return Tree(
            nodes, values, n_features=self.n_features, is_classifier=gini, max_depth=self.depth
        )


class LevelGrower:
    """Grows trees on the same X, with the same scratch space and threads.

    Parameters
    ----------
    X : (n_rows, n_columns) array of numbers, NaN where missing; it must not change
    workers : Workers, alive as long as trees are grown
    name : name of the estimator, for error messages
    close : values at most this far apart count as equal, as in scikit-learn
    """

    def __init__(self, X, workers, name, close=tree_arrays.CLOSE):
        n, self._n_columns = X.shape
        self._workers = workers
        self.table, self._codes = sort_coded(X, workers, name, close)
        self._at = np.empty(n, np.uint16)
        self._slot = np.empty(n, np.uint16)
        self._pair = np.empty((n, 2))
        self._picked, self._into = np.empty(n, np.uint32), np.empty(n, np.uint16)
        self._used = np.empty(n, bool)
        self._sums, self._many = np.empty((0, 0)), 1
        self._spaces = [new_space(n) for _ in range(workers.threads)]
        self._n_blocks = -(-n // level_arrays.BLOCK_ROWS)

    def grow(self, value, weight, limits, max_depth, used=None):
        """Return the `Grown` tree.

        Parameters
        ----------
        value : (n_rows,) float64
        weight : (n_rows,) float64, none negative and one positive; None: every row weighs 1.
            The tree is not trained on rows of weight 0, but their leaves are returned.
        limits : level_arrays.Limits
        max_depth : maximum depth, at most `DEEPEST`
        used : (n_rows,) bool, optional
            The training rows, at least one; faster than weights of 0 and 1.
        """
        self._allocate_planes(max_depth)
        level = self._begin(value, NO_FLOATS if weight is None else weight, used)
        capacity = min(2 ** (max_depth + 1) - 1, 2 * len(value) - 1)
        nodes, values = np.empty(capacity, tree_arrays.NODE), np.empty(capacity)
        base, depth = 0, 0
        while True:
            k = len(level.totals)
            may_split = depth < max_depth
            make_nodes(level.totals, limits, base, may_split, nodes, values, level.open)
            if not level.open.any():
                break
            level = self._search(level, limits, depth + 1 == max_depth)
            plan = np.empty(k, STEP)
            n_splits = choose_splits(self.table, self._codes, limits, level, base, nodes, plan)
            if n_splits == 0:
                break
            level = self._route(level, plan, base, n_splits, depth + 1 < max_depth)
            base += k
            depth += 1
        return self._finish(nodes[: base + k], values[: base + k], depth)

    def _allocate_planes(self, max_depth):
        """Allocate the planes of all levels but the last."""
        planes = 1 << max(max_depth - 2, 0)
        coarse = max(
            len(self._at), MIN_BINS_TO_MERGE, planes * (level_arrays.CODES >> level_arrays.COARSEST)
        )
        room = level_arrays.CELL * min(planes * level_arrays.CODES, coarse)
        room += LINE_OF_CACHE  # columns a power of two apart would evict each other from the cache
        if self._sums.shape[1] < room:
            self._many = FOUR if planes <= FEW_PLANES else 1
            self._sums = aligned((self._n_columns + self._many * self._workers.threads, room))

    def _begin(self, value, weight, used):
        """Return the level that holds the root."""
        level = level_arrays.Level(
            at=self._at,
            slot=self._slot,
            value=value,
            pair=self._pair,
            weight=weight,
            used=self._used,
            totals=np.empty((1, level_arrays.TOTALS)),
            open=np.empty(1, np.uint8),
            picked=self._picked,
            into=self._into,
            count=np.empty(self._n_blocks, np.int64),
            small=np.zeros(1, np.int64),
            plane=np.zeros(1, np.int64),
            n_planes=1,
            n_kept=1,
            sums=self._sums,
            score=np.empty((0, 0)),
            entry=np.empty((0, 0), np.int64),
            has_missing=np.empty((0, 0), np.uint8),
            to_left=np.empty((0, 0), np.uint8),
            n_left=np.empty((0, 0)),
            shift=0,
        )
        blocks = np.empty((self._n_blocks, 1, level_arrays.TOTALS))
        wanted = NO_FLAGS if used is None else used
        self._share(start_rows, self._n_blocks, level, wanted, blocks)
        add_blocks(blocks, level.totals)
        return level

    def _search(self, level, limits, is_last):
        """Return the level with the best split of each column and slot."""
        before = level.shift
        old = level.n_planes - len(level.small)
        n_columns, k = self._n_columns, len(level.open)
        level = level._replace(
            score=np.empty((n_columns, k)),
            entry=np.zeros((n_columns, k), np.int64),
            has_missing=np.zeros((n_columns, k), np.uint8),
            to_left=np.zeros((n_columns, k), np.uint8),
            n_left=np.empty((n_columns, k)),
            shift=max(before, choose_shift(level.n_planes, len(self._at))),
            n_kept=old if is_last else level.n_planes,
        )
        by = level.shift - before
        if by:
            width = level_arrays.CODES >> before
            self._share(coarsen, n_columns, level.sums, old, width, by)
        where = self.table, self._codes, limits, level
        many = self._many if is_last else FOUR
        many = many if len(level.small) <= FEW_PLANES else 1
        threads = self._workers.threads
        # The others one by one, to balance the load.
        together = n_columns - n_columns % (many * threads)
        n_tickets = together // many + n_columns - together
        # No candidate bins for threads that do not run.
        candidate_lists = [self._spaces[0].candidates[:0]] * threads
        tickets, bins = np.zeros((2, LINE_OF_CACHE), np.int64)  # number of items taken so far
        drawn = many, together, tickets

        def scan(rank, _):
            space, thread_row = self._spaces[rank], n_columns + self._many * rank
            space.known[:k] = -np.inf
            candidate_lists[rank] = space.candidates[
                : search_columns(*where, space, thread_row, *drawn)
            ]

        self._workers.share(scan, min(threads, n_tickets))
        best = level.score.max(axis=0)
        candidates = np.concatenate(
            [thread_row.view(np.uint64) for thread_row in candidate_lists]
        ).view(level_arrays.CANDIDATE)

        def look_inside(rank, _):
            search_inside(*where, candidates, best, self._spaces[rank].inside, bins)

        self._workers.share(look_inside, min(threads, -(-len(candidates) // DRAWN)))
        return level

    def _route(self, level, plan, base, n_splits, goes_on):
        """Return the next level, with each row in its side and the totals of the sides."""
        blocks = np.empty((self._n_blocks, 2 * n_splits, level_arrays.TOTALS))
        inner = np.flatnonzero(plan["feature"] >= 0)
        small = plan["first_side"][inner].astype(np.int64) + plan["small"][inner]
        plane = np.empty(2 * n_splits, np.int64)
        plane[small] = level.n_planes + np.arange(n_splits)
        plane[small ^ 1] = level.plane[inner]
        where = self.table, self._codes.code, level, plan, plane
        self._share(route_rows, self._n_blocks, *where, blocks, base, goes_on)
        totals = np.empty((2 * n_splits, level_arrays.TOTALS))
        add_blocks(blocks, totals)
        totals[:, level_arrays.LARGEST] = level.totals[0, level_arrays.LARGEST]
        return level._replace(
            totals=totals,
            open=np.empty(2 * n_splits, np.uint8),
            small=small,
            plane=plane,
            n_planes=level.n_planes + n_splits,
        )

    def _share(self, kernel, count, *arguments):
        """Call a kernel for parts of ``range(count)``, one per thread."""

        def part(first, last):
            kernel(*arguments, first, last)

        self._workers.share(part, count)

    def _finish(self, nodes, values, depth):
        """Return the tree with its nodes in depth-first order."""
        number = np.empty(len(nodes), np.int64)
        number_nodes(nodes, np.empty(len(nodes), np.int64), number)
        order = np.argsort(number)
        nodes = nodes[order]
        inner = nodes["left"] >= 0
        for side in ("left", "right"):
            nodes[side][inner] = number[nodes[side][inner]]
        leaf = number.astype(np.uint16)[self._at]
        return Grown(nodes, values[order], leaf, depth, self._n_columns)


def aligned(shape):
    """Return a float64 array whose first entry starts a cache line."""
    size = math.prod(shape)
    raw = np.empty(size + LINE_OF_CACHE - 1)
    first = -(raw.ctypes.data // raw.itemsize) % LINE_OF_CACHE
    return raw[first : first + size].reshape(shape)


def new_space(n_rows):
    """Return a thread's scratch space for a table with ``n_rows`` rows."""
    codes = level_arrays.CODES
    n_candidates = max(2 * codes, min(MAX_CANDIDATES, n_rows // ROWS_PER_CANDIDATE))
    rows, sums = np.empty((2, codes), np.int64), np.empty((2, codes))
    return Space(
        line=np.empty((LINE, codes)),
        bins=np.empty(codes, np.int64),
        known=np.empty(1 << DEEPEST),
        candidates=np.empty(n_candidates, level_arrays.CANDIDATE),
        inside=InsideSpace(*rows, *sums, np.empty(codes, np.uint8)),
    )


def choose_shift(n_planes, n_rows):
    """Return the shift of the codes for which planes have at most as many bins as rows."""
    shift, most = 0, max(n_rows, MIN_BINS_TO_MERGE)
    while shift < level_arrays.COARSEST and n_planes * (level_arrays.CODES >> shift) > most:
        shift += 1
    return shift
