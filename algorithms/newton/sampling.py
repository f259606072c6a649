"""Row and column sampling for trees, levels and nodes, by hashes of row and column numbers.

Columns are sampled as in XGBoost: those of a tree from all, those of a level from the tree's, and
those of a node from the level's; each time a fraction of them, and at least one.

With `feature_weights` the chances of columns are in proportion to their weights w: the columns with
the largest log(u) / w are drawn, with u uniform in (0, 1) (Efraimidis, Spirakis: Weighted random
sampling with a reservoir, 2006).
"""

import numpy as np

from algorithms.gbdt.sampling import ALL, draw_share, hash_numbers, seed_of

TREE, LEVEL, NODE, ROWS = range(4)  # salts of the seeds
NO_MASK = np.empty((0, 0), bool)
MIN_WEIGHT = 1e-6  # of a column


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
        self.weights = read_feature_weights(params.feature_weights, n_features)
        columns = np.arange(n_features)
        self.of_tree = draw(columns, params.colsample_bytree, seed_of(seed, TREE), self.weights)

    def of_level(self, depth):
        """Return the columns that a level may use, ascending, int64."""
        seed = seed_of(self.seed, LEVEL, depth)
        return draw(self.of_tree, self.params.colsample_bylevel, seed, self.weights)

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
            seed = seed_of(self.seed, NODE, depth, node)
            mask[node, draw(columns, share, seed, self.weights)] = True
        return mask


def draw(columns, share, seed, weights=None):
    """Return a random fraction of columns, ascending, at least one.

    Parameters
    ----------
    weights : (n_features,) float64, or None if all columns have equal chances
    """
    if share == 1.0:
        return columns
    n_drawn = max(1, int(share * len(columns)))
    keys = hash_numbers(seed, len(columns))
    if weights is not None:
        keys = -np.log((keys + 0.5) / ALL) / weights[columns]
    order = np.argsort(keys, kind="stable")
    return np.sort(columns[order[:n_drawn]])


def read_feature_weights(given, n_features):
    """Return the weights of the columns, float64 (n_features,), or None if they are equal.

    A weight below `MIN_WEIGHT` counts as `MIN_WEIGHT`, as in XGBoost.

    Raises
    ------
    ValueError
        If their number is wrong, or one is negative or not finite.
    """
    if given is None:
        return None
    weights = np.asarray(given, np.float64)
    if weights.shape != (n_features,):
        raise ValueError(f"feature_weights has shape {weights.shape} for {n_features} columns")
    if not ((weights >= 0.0) & np.isfinite(weights)).all():
        raise ValueError("feature_weights must be finite and not negative")
    return np.maximum(weights, MIN_WEIGHT)


def draw_rows(params, n_rows, seed):
    """Return the sampled rows of a round, bool (n_rows,), or None for all; at least one row."""
    if params.subsample == 1.0:
        return None
    used = np.zeros(n_rows, bool)
    used[draw_share(seed_of(seed, ROWS), n_rows, params.subsample)] = True
    return used
