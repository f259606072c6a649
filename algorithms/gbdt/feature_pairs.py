"""Extra columns from pairs of numeric features: their difference and their product.

A tree needs many splits to follow a difference or a product of two features, but one split if there
is a column of it (Zhang et al., "OpenFE", ICML 2023, generate such columns). The pairs are those of
the features with the largest gains.
"""

from itertools import combinations

import numpy as np

MAX_FEATURES = 6  # number of features whose pairs are used
MIN_SHARE = 0.01  # a feature in a pair has more than this share of the sum of gains


class FeaturePairs:
    """Differences and products of pairs of columns.

    Parameters
    ----------
    pairs : list of (int, int), the columns of X
    """

    def __init__(self, pairs):
        self.pairs = list(pairs)

    @classmethod
    def of_largest(cls, gains, is_usable):
        """Return the pairs of the features with the largest gains.

        Parameters
        ----------
        gains : float64 (n_features,)
        is_usable : bool (n_features,), the features that may be in a pair
        """
        usable = np.flatnonzero(is_usable & (gains > MIN_SHARE * gains.sum()))
        largest = usable[np.argsort(-gains[usable], kind="stable")[:MAX_FEATURES]]
        return cls(combinations(largest.tolist(), 2))

    def transform(self, X):
        """Return the extra columns, float64 (n_rows, 2 · n_pairs); NaN where not finite."""
        first, second = np.asarray(self.pairs).T
        a, b = X[:, first].astype(np.float64), X[:, second].astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            extra = np.hstack([a - b, a * b])
        extra[~np.isfinite(extra)] = np.nan
        return extra

    def shares(self, n_features):
        """Return the share of each feature in each extra column, (n_features, 2 · n_pairs)."""
        half = np.zeros((n_features, len(self.pairs)))
        for number, pair in enumerate(self.pairs):
            half[list(pair), number] = 0.5
        return np.hstack([half, half])
