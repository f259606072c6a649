"""Which rows and columns a tree, a level and a node may use: decided by hashes of their numbers.

Columns are drawn as XGBoost does: a tree's from all, a level's from the tree's, and a node's from
the level's, each time a share of them and at least one.
"""

import numpy as np

from algorithms.gbdt.sampling import draw_share, hash_numbers, seed_of

TREE, LEVEL, NODE, ROWS = range(4)  # what a seed is for
NO_MASK = np.empty((0, 0), bool)


class Columns:
    """The columns of one tree.

    Parameters
    ----------
    params : the estimator
    n_features : int
    seed : int, of the tree
    """

    def __init__(self, params, n_features, seed):
        self.params, self.n_features, self.seed = params, n_features, seed
        every = np.arange(n_features)
        self.of_tree = draw(every, params.colsample_bytree, seed_of(seed, TREE))

    def of_level(self, depth):
        """Return the columns that a level may ask, ascending, int64."""
        return draw(self.of_tree, self.params.colsample_bylevel, seed_of(self.seed, LEVEL, depth))

    def mask(self, depth, n_nodes):
        """Return which columns each node of a level may ask, or an empty mask: all of its level.

        Returns
        -------
        bool (n_nodes, n_features), or (0, 0)
        """
        share = self.params.colsample_bynode
        if share == 1.0:
            return NO_MASK
        mine = self.of_level(depth)
        mask = np.zeros((n_nodes, self.n_features), bool)
        for node in range(n_nodes):
            mask[node, draw(mine, share, seed_of(self.seed, NODE, depth, node))] = True
        return mask


def draw(columns, share, seed):
    """Return a share of columns, ascending, at least one."""
    if share == 1.0:
        return columns
    wanted = max(1, int(share * len(columns)))
    order = np.argsort(hash_numbers(seed, len(columns)), kind="stable")
    return np.sort(columns[order[:wanted]])


def draw_rows(params, n_rows, seed):
    """Return the rows of a round, bool (n_rows,), or None for all; at least one is drawn."""
    if params.subsample == 1.0:
        return None
    used = np.zeros(n_rows, bool)
    used[draw_share(seed_of(seed, ROWS), n_rows, params.subsample)] = True
    return used
