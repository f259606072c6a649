"""Fast path of bagging: our own trees, grown on columns that are sorted once for all trees."""

import numpy as np
from numpy.random import RandomState
from scipy.sparse import issparse

from algorithms.estimator.bootstrap import draw_tree_seed, reseed
from algorithms.estimator.outputs import count_outputs
from algorithms.prediction.columns import check_columns
from algorithms.prediction.kernels.predict import FEATURE, STEP, add_values, find_leaves
from algorithms.runtime.threads import Workers, threads_worth
from algorithms.trees.presorted_table import make_table, row_blocks
from algorithms.trees.tree import may_have_missing

ROWS_AT_ONCE = 16384  # rows that are predicted by a tree while its nodes are in the cache
CALLS_OF_A_THREAD = 8  # fewer divide the work less evenly
WALKS_OF_A_THREAD = 4096  # walks down full trees; fewer do not pay for starting a thread


def grow_bag(models, draw, size, X, y, threads, name):
    """Grow trees in parallel on columns that are sorted once.

    Parameters
    ----------
    models : list of our trees, unfitted, with their seeds set; fitted in place
    draw : callable, (index of a tree, RandomState to seed) → (columns, rows) that it is trained on;
        a row drawn k times occurs k times. Called just before the tree is grown: the rows of all
        trees at once would not fit in memory.
    size : (number of columns, number of rows) that each tree draws
    X : (n_rows, n_columns) array of numbers, NaN where missing, or sparse
    y : (n_rows,) class codes, or float64 values (n_rows,) or (n_rows, n_outputs)
    """
    with Workers(threads) as workers:
        table = make_table(models[0], X, size[0], workers, name, count_outputs(y))
        grow_drawn(models, draw, size, table, y, workers)


def grow_drawn(models, draw, size, table, y, workers):
    """Grow trees in parallel on a table; parameters are those of `grow_bag`."""
    grower = models[0].batch_grower(table, y, *size)
    at_once = 1
    if grower is not None:
        at_once = min(
            grower.trees_at_once, -(-len(models) // (CALLS_OF_A_THREAD * workers.threads))
        )

    def grow_some(first):
        some = range(first, min(first + at_once, len(models)))
        random = RandomState(0)  # seeded again for each tree; a new one takes longer
        drawn = [draw(i, random) for i in some]
        trees = [None] * len(some)
        if grower is not None:
            seeds = [draw_tree_seed(reseed(random, models[i].random_state)) for i in some]
            columns, rows = zip(*drawn, strict=True)
            batch = np.array(columns, np.int64), np.array(rows, np.int32)
            trees = grower.grow(*batch, np.array(seeds, np.int64))
        for i, (columns, rows), tree in zip(some, drawn, trees, strict=True):
            if tree is not None:
                models[i].set_tree(tree, grower.rules.max_features)
                continue
            weight = np.bincount(rows, minlength=table.values.shape[1]).astype(np.float64)
            with Workers(1) as alone:
                models[i].grow_on(table, columns, y, weight, alone, keep=True)

    workers.each(grow_some, list(range(0, len(models), at_once)))


class Walker:
    """Sums the values of each row's leaves over all trees, in the order of the trees."""

    def __init__(self, trees, columns, n_columns):
        self.trees = trees
        self.n_columns = n_columns
        self._columns = [
            None if np.array_equal(features, range(n_columns)) else features for features in columns
        ]
        self._steps = []

    def __getstate__(self):
        return {**self.__dict__, "_steps": []}

    @property
    def steps(self):
        """Return each tree's steps, with features as columns of X, and their nodes; cached."""
        if not self._steps:
            self._steps = [
                tree.steps if features is None else map_features(*tree.steps, features)
                for tree, features in zip(self.trees, self._columns, strict=True)
            ]
        return self._steps

    def sum(self, X, threads):
        """Return the sum of the leaf values, float64 (n_rows, n_values).

        Parameters
        ----------
        X : (n_rows, n_columns) float32, C-contiguous, or sparse

        Raises
        ------
        ValueError
            If X has a different number of columns.
        """
        check_columns(X, self.n_columns)
        if issparse(X):
            return np.concatenate([self.sum(block, threads) for block in row_blocks(X)])
        out = np.zeros((len(X), self.trees[0].values.shape[1]))
        all_steps = self.steps
        leaves = np.empty(len(X), np.int64)
        depth = sum(tree.max_depth for tree in self.trees)

        def walk(first, last):
            for start in range(first, last, ROWS_AT_ONCE):
                end = min(start + ROWS_AT_ONCE, last)
                missing = may_have_missing(X, start, end, depth)
                for tree, steps in zip(self.trees, all_steps, strict=True):
                    workers.check()
                    find_leaves(*steps, X, missing, leaves, start, end)
                    add_values(tree.values, leaves, out, start, end)

        walks = len(X) * len(self.trees)
        with Workers(threads_worth(threads, walks, WALKS_OF_A_THREAD)) as workers:
            workers.share(walk, len(X))
        return out

    def values(self, i, X):
        """Return the leaf values of one tree, float64 (n_rows, n_values)."""
        check_columns(X, self.n_columns)
        if issparse(X):
            parts = [self.values(i, block) for block in row_blocks(X)]
            return np.concatenate(parts) if parts else self.trees[i].values[:0]
        leaves = np.empty(len(X), np.int64)
        missing = may_have_missing(X, 0, len(X), self.trees[i].max_depth)
        find_leaves(*self.steps[i], X, missing, leaves, 0, len(X))
        return self.trees[i].values[leaves]


def map_features(steps, order, columns):
    """Return a tree's steps with its features replaced by columns of X, and their nodes."""
    found = np.empty(len(steps), STEP)
    found[:] = steps
    feature = columns.astype(np.uint32)[steps["feature"] & FEATURE]
    found["feature"] = feature | (steps["feature"] & ~FEATURE)
    return found, order
