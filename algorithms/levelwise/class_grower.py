"""Level-wise grower of small gini trees on weighted classes, on columns that are sorted once.

Used by AdaBoost, whose rounds change only the weights of the rows: ::

    with Workers(threads) as workers:
        grower = ClassGrower(X, codes, n_classes, weight, workers, name)
        tree, wrong = grower.grow(limits, max_depth, seed)
        grower.reweigh(1.0, 2.0)           # factors of correctly and wrongly predicted rows

Every distinct threshold of every column is tried. Of equal scores, the column that scikit-learn's
tree of the same seed visits first at its root is taken, and in it the lowest threshold. The order
of summation is fixed, so the tree is the same bit for bit for any number of threads.
docs/decisions/boosted-stumps.md compares the methods that were measured.
"""

import numpy as np

from algorithms.levelwise.binned_columns import sort_coded
from algorithms.levelwise.kernels import class_arrays
from algorithms.levelwise.kernels.class_nodes import (
    choose_splits,
    draw_columns,
    finish_nodes,
    make_nodes,
)
from algorithms.levelwise.kernels.class_search import search_borders, search_inside
from algorithms.levelwise.kernels.class_sums import add_blocks, reweigh, route_rows, sum_cells
from algorithms.levelwise.kernels.nodes import number_nodes
from algorithms.trees.kernels import tree_arrays
from algorithms.trees.tree import Tree

LANES = 256  # maximum number of lanes per level; limits the size of a column's sums
BIG = 1 << 17  # minimum number of values for which several threads are used


class ClassGrower:
    """Grows trees on the same rows with changing weights.

    Parameters
    ----------
    X : (n_rows, n_columns) array of numbers, none missing; it must not change
    kind : (n_rows,) class codes 0 … n_classes − 1
    n_classes : at most 256
    weight : (n_rows,) float64, all positive; raised to at least the machine epsilon
    workers : Workers, alive as long as trees are grown
    name : name of the estimator, for error messages
    """

    def __init__(self, X, kind, n_classes, weight, workers, name):
        n, n_columns = X.shape
        self._workers, self._n_classes, self._n_columns = workers, n_classes, n_columns
        self._table, self._codes = sort_coded(X, workers, name)
        self._is_small = n * n_columns < BIG
        self._rows = class_arrays.ClassRows(
            kind=kind.astype(np.uint8),
            weight=weight.copy(),
            lane=np.empty(n, np.uint16),
            at=np.empty(n, np.uint16),
        )
        self._n_blocks = -(-n // class_arrays.BLOCK_ROWS)
        self._sums = np.empty(0)
        self._rows.at[:] = 0
        self._votes = np.zeros(1, np.uint8)
        self.reweigh(1.0, 1.0)

    @property
    def total(self):
        """Return the weight of all rows."""
        return float(self._root[0, :-1].sum())

    def reweigh(self, right, wrong):
        """Multiply the weights of rows the last tree predicts correctly, and of the others."""
        blocks = np.empty((self._n_blocks, 1, self._n_classes + 1))
        factors = np.array([right, wrong], np.float64)
        self._share(reweigh, self._n_blocks, self._rows, self._votes, factors, blocks)
        self._root = np.empty((1, self._n_classes + 1))
        add_blocks(blocks, self._root)

    def grow(self, limits, max_depth, seed):
        """Return a grown `Tree`, and the weight of the rows that it predicts wrongly.

        Call it once after each `reweigh`.

        Parameters
        ----------
        limits : class_arrays.ClassLimits
        max_depth : maximum depth; `fits` must hold
        seed : state of the random stream, an integer below 2³¹
        """
        columns = self._draw(seed)
        capacity = min(2 ** (max_depth + 1), 2 * len(self._rows.at)) - 1
        nodes, values = np.zeros(capacity, tree_arrays.NODE), np.empty((capacity, self._n_classes))
        totals, base, depth = self._root, 0, 0
        while True:
            is_open = np.empty(len(totals), np.uint8)
            make_nodes(totals, limits, base, depth < max_depth, nodes, values, is_open)
            n_splits = 0
            if is_open.any():
                level = self._search(limits, totals, is_open)
                plan = np.empty(len(totals), class_arrays.STEP)
                n_splits = choose_splits(
                    self._table,
                    self._codes.code,
                    limits,
                    self._rows,
                    level,
                    columns,
                    self.total,
                    base,
                    nodes,
                    plan,
                )
            if n_splits == 0:
                break
            totals = self._route(plan, base, n_splits)
            base += len(plan)
            depth += 1
        nodes, values = nodes[: base + len(totals)], values[: base + len(totals)]
        self._votes = values.argmax(axis=1).astype(np.uint8)
        others = values * nodes["weight"][:, None]
        others[np.arange(len(values)), self._votes] = 0.0
        wrong = others[nodes["left"] < 0].sum()
        return self._finish(nodes, values, depth), wrong

    def _draw(self, seed):
        """Return the columns in the order of scikit-learn's draws; the last is visited first."""
        columns = np.arange(self._n_columns)
        state = np.zeros(tree_arrays.STATES, np.int64)
        state[tree_arrays.RANDOM] = seed
        draw_columns(self._table, state, columns)
        return columns

    def _search(self, limits, totals, is_open):
        """Return the level with the best split of each column and slot."""
        n_columns, n_slots = self._n_columns, len(totals)
        cells = (n_slots * self._n_classes + 1) * class_arrays.CODES
        if len(self._sums) < n_columns * cells:
            self._sums = np.empty(n_columns * cells)
        level = class_arrays.ClassLevel(
            totals=totals,
            open=is_open,
            sums=self._sums[: n_columns * cells].reshape(n_columns, cells),
            score=np.empty((n_columns, n_slots)),
            entry=np.empty((n_columns, n_slots), np.int64),
        )
        rows, codes = self._rows, self._codes

        def scan(first, last):
            sum_cells(codes.code, rows.lane, rows.weight, level.sums, first, last)
            search_borders(codes, limits, level, np.empty(self._n_classes), first, last)

        self._share(scan, n_columns)
        best = level.score.max(axis=0)

        def search_bins(first, last):
            left = np.empty((2, self._n_classes))
            search_inside(self._table, codes, limits, rows, level, best, left, first, last)

        self._share(search_bins, n_columns)
        return level

    def _route(self, plan, base, n_splits):
        """Move the rows to the sides of the splits; return the sides' totals."""
        blocks = np.empty((self._n_blocks, 2 * n_splits, self._n_classes + 1))
        code = self._codes.code
        self._share(route_rows, self._n_blocks, self._table, code, self._rows, plan, blocks, base)
        totals = np.empty(blocks.shape[1:])
        add_blocks(blocks, totals)
        return totals

    def _share(self, kernel, count, *arguments):
        """Call a kernel for parts of ``range(count)``, one per thread; few rows: one thread."""
        if self._is_small:
            kernel(*arguments, 0, count)
        else:
            self._workers.share(lambda first, last: kernel(*arguments, first, last), count)

    def _finish(self, nodes, values, depth):
        """Return the tree with its nodes in depth-first order."""
        number = np.empty(len(nodes), np.int64)
        number_nodes(nodes, np.empty(len(nodes), np.int64), number)
        finished = np.empty(len(nodes), tree_arrays.NODE)
        finish_nodes(nodes, number, len(nodes), finished)
        ordered = np.empty_like(values)
        ordered[number] = values
        return Tree(
            finished, ordered, n_features=self._n_columns, is_classifier=True, max_depth=depth
        )


def fits(tree, n_classes):
    """Return whether this grower supports a `DecisionTreeClassifier`: small, gini, no sampling."""
    return (
        tree.parity is None
        and tree.splitter == "best"
        and tree.criterion == "gini"
        and tree.max_depth is not None
        and n_classes * 2 ** min(tree.max_depth - 1, 16) <= LANES
        and tree.min_samples_leaf == 1
        and tree.max_features is None
        and tree.max_leaf_nodes is None
        and tree.class_weight is None
        and tree.monotonic_cst is None
        and tree.ccp_alpha == 0.0
    )
