"""Growth of many trees by one kernel call, for tables of few rows."""

from dataclasses import replace

import numpy as np

from algorithms.trees.cart import make_rules
from algorithms.trees.grower import (
    NO_FLOATS,
    NO_INTEGERS,
    extend_growth,
    max_nodes,
    new_growth,
    new_scratch,
)
from algorithms.trees.kernels.batch import Batch
from algorithms.trees.kernels.grow import grow
from algorithms.trees.kernels.tree_arrays import INTERRUPTED, Rows
from algorithms.trees.target_scale import needs_scale
from algorithms.trees.tree import Tree

MAX_ROWS = 1 << 15  # of tables whose trees are grown in batches
MAX_NODES = 1 << 17  # of the trees of one call, 48 bytes each
MAX_VALUES = 1 << 22  # of the nodes of the trees of one call, one per class


def is_small(n_rows, n_classes):
    """Return whether trees are grown in batches, if they draw at most ``n_rows`` rows."""
    return n_rows <= MAX_ROWS and 2 * n_rows * n_classes <= MAX_VALUES


class BatchGrower:
    """Grows trees that draw rows of one table; several threads may use it.

    Parameters
    ----------
    tree : the estimator, with its parameters; without class weights
    target : grower.Target without weights
    n_features : number of features of a tree
    n_drawn : number of rows that a tree draws
    """

    def __init__(self, tree, table, target, n_features, n_drawn):
        self._table, self._n_features = table, n_features
        self._n_rows = table.values.shape[1]
        weight = np.zeros(self._n_rows)
        weight[0] = n_drawn  # the sum of each tree's weights
        weighted = replace(target, weight=weight)
        self.rules = make_rules(tree, weighted, self._n_rows, n_features)
        self._codes = NO_INTEGERS if target.codes is None else target.codes.astype(np.int64)
        self._y = NO_FLOATS if target.y is None else target.y
        self._most_rows = min(self._n_rows, n_drawn)
        self._most_nodes = max_nodes(self._most_rows, self.rules) + 1
        values = self._most_nodes * max(target.n_classes, 1)
        self.trees_at_once = max(1, min(MAX_NODES // self._most_nodes, MAX_VALUES // values))

    def grow(self, columns, drawn, seeds):
        """Return the trees; None for a tree that needs a scale and must be grown alone.

        Parameters
        ----------
        columns : int64 (n_trees, n_features), the table's column of each feature
        drawn : int32 (n_trees, n_drawn), rows of the table
        seeds : int64 (n_trees,), states of the random streams
        """
        trees = [None] * len(seeds)
        usual = range(len(seeds))
        if len(self._y):
            y = self._y[drawn]
            usual = np.flatnonzero(~needs_scale(y.min(axis=1), y.max(axis=1)))
            columns, drawn, seeds = columns[usual], drawn[usual], seeds[usual]
        if len(usual):
            for i, tree in zip(usual, self._grow_usual(columns, drawn, seeds), strict=True):
                trees[i] = tree
        return trees

    def _grow_usual(self, columns, drawn, seeds):
        """Return the trees, None for a tree whose rows have equal weights other than 1."""
        m, n_features, rules = self._most_rows, self._n_features, self.rules
        ranked = len(self._table.ranks) > 0
        batch = Batch(
            seeds=seeds,
            columns=columns,
            drawn=drawn,
            codes=self._codes,
            y=self._y,
            counts=np.empty(self._n_rows, np.int64),
            place=np.empty(self._n_rows, np.uint32),
            sizes=np.zeros((len(seeds), 2), np.int64),
        )
        rows = Rows(
            lists=np.empty((rules.max_features if ranked else n_features, m), np.uint32),
            columns=columns[0],
            source=np.empty(m, np.uint32),
            mark=np.empty(m if len(self._codes) else 0, np.int64),
            target=np.empty(m if len(self._y) else 0),
            weight=np.empty(m if len(self._y) else 0),
        )
        growth = new_growth(m, rules, n_features, 0, self._most_nodes * len(seeds))
        scratch = new_scratch(m, rules, n_features, ranked=ranked)
        if grow(self._table, rows, rules, growth, scratch, batch) == INTERRUPTED:
            raise KeyboardInterrupt
        ends = np.cumsum(batch.sizes[:, 0]).tolist()
        extend_growth(growth, ends[-1])  # the trees' arrays are parts of it
        return [
            Tree(
                growth.nodes[end - count : end],
                growth.values[end - count : end],
                n_features=n_features,
                is_classifier=rules.n_classes > 0,
                max_depth=depth,
            )
            if count
            else None
            for end, (count, depth) in zip(ends, batch.sizes.tolist(), strict=True)
        ]
