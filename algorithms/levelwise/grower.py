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
from algorithms.levelwise.kernels.bin_search import LINE, Space
from algorithms.levelwise.kernels.bin_sums import FOUR
from algorithms.levelwise.kernels.grow_tree import FEW_PLANES, grow_tree
from algorithms.levelwise.kernels.level_arrays import BASE, DEPTH, LINE_OF_CACHE, SLOTS
from algorithms.levelwise.kernels.nodes import STEP
from algorithms.levelwise.kernels.within_bin_search import InsideSpace
from algorithms.runtime.threads import make_team, threads_worth
from algorithms.trees.kernels import tree_arrays
from algorithms.trees.tree import Tree

DEEPEST = 10  # maximum depth; limits the size of the sums of all slots and bins
MIN_BINS_TO_MERGE = 1024  # bins of all planes; up to this number, bins are not merged
VALUES_OF_A_THREAD = 1 << 18  # values of the table; with fewer, threads wait for each other
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
    close : values at most this far apart count as equal; by default as in `find_close`
    """

    def __init__(self, X, workers, name, close=None):
        n, n_columns = X.shape
        self._workers = workers
        self.size = threads_worth(workers.threads, n * n_columns, VALUES_OF_A_THREAD)
        self.table, self._codes = sort_coded(X, workers, name, close)
        self._level = None
        self._spaces = [new_space() for _ in range(self.size)]

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
        level = self.prepare(value, weight, max_depth, used)
        self.run(grow_tree, limits, level)
        depth, n_nodes = level.state[DEPTH], level.state[BASE] + level.state[SLOTS]
        nodes, values = level.nodes[:n_nodes].copy(), level.values[:n_nodes].copy()
        return Grown(nodes, values, level.at.copy(), int(depth), len(self._codes.code))

    def prepare(self, value, weight, max_depth, used=None):
        """Return the `Level` that the kernels grow trees in; parameters are as in `grow`."""
        if self._level is None or self._level.max_depth != max_depth:
            self._level = self._new_level(max_depth)
        return self._level._replace(
            value=value,
            weight=NO_FLOATS if weight is None else weight,
            wanted=NO_FLAGS if used is None else used,
        )

    def run(self, kernel, limits, level, *given):
        """Call a kernel that grows trees in ``level``, by each thread of a team."""
        team = make_team(self.size)

        def task(rank, _):
            where = team, rank, self.table, self._codes, limits, level, self._spaces[rank]
            kernel(*where, *given)

        self._workers.share(task, self.size, team)
        self._workers.check()

    def _new_level(self, max_depth):
        """Return a `Level` for trees of this depth."""
        n_columns, n = self._codes.code.shape
        n_sides, n_blocks = 1 << max_depth, -(-n // level_arrays.BLOCK_ROWS)
        n_slots, n_nodes = n_sides // 2, 2 * n_sides - 1
        sums, many = self._planes(max_depth)
        return level_arrays.Level(
            at=np.empty(n, np.uint16),
            slot=np.empty(n, np.uint16),
            value=NO_FLOATS,
            pair=np.empty((n, 2)),
            weight=NO_FLOATS,
            wanted=NO_FLAGS,
            used=np.empty(n, bool),
            blocks=np.zeros((n_blocks, n_sides, level_arrays.TOTALS)),
            totals=np.empty((n_sides, level_arrays.TOTALS)),
            open=np.empty(n_sides, np.uint8),
            picked=np.empty(n, np.uint32),
            into=np.empty(n, np.uint16),
            count=np.empty(n_blocks, np.int64),
            small=np.empty(n_slots, np.int64),
            plane=np.empty(n_sides, np.int64),
            next_plane=np.empty(n_sides, np.int64),
            shifts=np.array([choose_shift(k, n) for k in range(n_slots + 1)]),
            sums=sums,
            score=np.empty((n_columns, n_slots)),
            entry=np.empty((n_columns, n_slots), np.int64),
            has_missing=np.empty((n_columns, n_slots), np.uint8),
            to_left=np.empty((n_columns, n_slots), np.uint8),
            n_left=np.empty((n_columns, n_slots)),
            best=np.empty(n_slots),
            candidates=np.empty((self.size, candidate_room(n)), level_arrays.CANDIDATE),
            n_candidates=np.empty(self.size, np.int64),
            taken=np.empty((self.size + 1, LINE_OF_CACHE), np.int64),
            many=many,
            plan=np.empty(n_slots, STEP),
            grown=np.empty(n_nodes, tree_arrays.NODE),
            grown_values=np.empty(n_nodes),
            stack=np.empty(n_nodes, np.int64),
            number=np.empty(n_nodes, np.int64),
            nodes=np.empty(n_nodes, tree_arrays.NODE),
            values=np.empty(n_nodes),
            max_depth=max_depth,
            state=np.zeros(level_arrays.STATES, np.int64),
        )

    def _planes(self, max_depth):
        """Return the planes of all levels but the last, and the columns of a thread's rows."""
        n_columns, n = self._codes.code.shape
        planes = 1 << max(max_depth - 2, 0)
        coarse = max(n, MIN_BINS_TO_MERGE, planes * (level_arrays.CODES >> level_arrays.COARSEST))
        room = level_arrays.CELL * min(planes * level_arrays.CODES, coarse)
        room += LINE_OF_CACHE  # columns a power of two apart would evict each other from the cache
        many = FOUR if planes <= FEW_PLANES else 1
        return aligned((n_columns + many * self.size, room)), many


def aligned(shape):
    """Return a float64 array whose first entry starts a cache line."""
    size = math.prod(shape)
    raw = np.empty(size + LINE_OF_CACHE - 1)
    first = -(raw.ctypes.data // raw.itemsize) % LINE_OF_CACHE
    return raw[first : first + size].reshape(shape)


def candidate_room(n_rows):
    """Return how many candidate bins a thread can store; at least the bins of a slot, twice."""
    return max(2 * level_arrays.CODES, min(MAX_CANDIDATES, n_rows // ROWS_PER_CANDIDATE))


def new_space():
    """Return a thread's scratch space."""
    codes = level_arrays.CODES
    rows, sums = np.empty((2, codes), np.int64), np.empty((2, codes))
    return Space(
        line=np.empty((LINE, codes)),
        bins=np.empty(codes, np.int64),
        known=np.empty(1 << DEEPEST),
        inside=InsideSpace(*rows, *sums, np.empty(codes, np.uint8)),
    )


def choose_shift(n_planes, n_rows):
    """Return the shift of the codes for which planes have at most as many bins as rows."""
    shift, most = 0, max(n_rows, MIN_BINS_TO_MERGE)
    while shift < level_arrays.COARSEST and n_planes * (level_arrays.CODES >> shift) > most:
        shift += 1
    return shift
