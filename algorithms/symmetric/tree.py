"""Fitted trees: symmetric ones, and those whose nodes have splits of their own."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SymmetricTree:
    """Splits, first the lowest bit of the leaf index, and the leaves.

    A row answers split j by ``x > border``; its leaf is Σ answer_j 2ʲ.
    """

    features: np.ndarray  # int64 (depth,)
    borders: np.ndarray  # float32 (depth,)
    nan_right: np.ndarray  # bool (depth,): whether missing values go right
    values: np.ndarray  # float64 (n_leaves, n_scores)
    weights: np.ndarray  # float64 (n_leaves,), Σ of the sample weights

    @property
    def depth(self):
        """Number of splits."""
        return len(self.features)


@dataclass(frozen=True)
class NonSymmetricTree:
    """Splits of the nodes, parents first, and the leaves.

    A row goes right at a node by ``x > border``. A child c below 0 is the leaf ~c. A tree without
    nodes has one leaf.
    """

    features: np.ndarray  # int64 (n_nodes,)
    borders: np.ndarray  # float32 (n_nodes,)
    nan_right: np.ndarray  # bool (n_nodes,): whether missing values go right
    left: np.ndarray  # int64 (n_nodes,)
    right: np.ndarray  # int64 (n_nodes,)
    values: np.ndarray  # float64 (n_nodes + 1, n_scores)
    weights: np.ndarray  # float64 (n_nodes + 1,), Σ of the sample weights
