"""Symmetric tree: all nodes of a level have the same split."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SymmetricTree:
    """Splits, first the lowest bit of the leaf index, and the leaves.

    A row answers split j by ``x > border``; its leaf is Σ answer_j 2ʲ.
    """

    features: np.ndarray  # int64 (depth,)
    borders: np.ndarray  # float32 (depth,)
    nan_right: np.ndarray  # bool (depth,): whether missing values answer yes
    values: np.ndarray  # float64 (n_leaves, n_scores)
    weights: np.ndarray  # float64 (n_leaves,), Σ of the sample weights

    @property
    def depth(self):
        """Number of splits."""
        return len(self.features)
