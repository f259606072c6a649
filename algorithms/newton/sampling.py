"""Row and column sampling for trees, levels and nodes, by hashes of row and column numbers.

Columns are sampled as in XGBoost: those of a tree from all, those of a level from the tree's, and
those of a node from the level's; each time a fraction of them, and at least one.
"""

import numpy as np

from algorithms.gbdt.sampling import draw_share, hash_numbers, seed_of

TREE, LEVEL, NODE, ROWS = range(4)  # salts of the seeds
NO_MASK = np.empty((0, 0), bool)


class Columns:
    """Sampled columns of one tree.

    Parameters
    ----------
    params : the estimator
    n_features : int
    seed : int, seed of the tree
    """

    def __init__(self, params, n_features, seed):
        self.params, self.n_features, self.seed = params, n_features, seed
        columns = np.arange(n_features)
        self.of_tree = draw(columns, params.colsample_bytree, seed_of(seed, TREE))

    def of_level(self, depth):
        """Return the columns that a level may use, ascending, int64."""
        return draw(self.of_tree, self.params.colsample_bylevel, seed_of(self.seed, LEVEL, depth))

    def mask(self, depth, n_nodes):
        """Return the columns that each node of a level may use; an empty mask allows all.

        Returns
        -------
        bool (n_nodes, n_features), or (0, 0)
        """
        share = self.params.colsample_bynode
        if share == 1.0:
            return NO_MASK
        columns = self.of_level(depth)
        mask = np.zeros((n_nodes, self.n_features), bool)
        for node in range(n_nodes):
            mask[node, draw(columns, share, seed_of(self.seed, NODE, depth, node))] = True
        return mask


def draw(columns, share, seed):
    """Return a random fraction of columns, ascending, at least one."""
    if share == 1.0:
        return columns
    n_drawn = max(1, int(share * len(columns)))
    order = np.argsort(hash_numbers(seed, len(columns)), kind="stable")
    return np.sort(columns[order[:n_drawn]])


def draw_rows(params, n_rows, seed):
    """Return the sampled rows of a round, bool (n_rows,), or None for all; at least one row."""
    if params.subsample == 1.0:
        return None
    used = np.zeros(n_rows, bool)
    used[draw_share(seed_of(seed, ROWS), n_rows, params.subsample)] = True
    return used
