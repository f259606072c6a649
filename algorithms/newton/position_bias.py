"""Bias of the positions at which documents were shown, for XGBoost's ranking objectives.

A document at the position i (its place in the table of its query) is clicked more often if i is
small. t⁺ and t⁻ of a position are the relative chances that a clicked document is relevant, and
that one without a click is not. After each round, with the costs C⁺ and C⁻ of the documents at each
position, which `newton/kernels/ranking.py` sums:

    t⁺_i = (C⁺_i / C⁺_0)^(1 / (1 + lambdarank_bias_norm)),  t⁻ likewise from C⁻

Hu et al.: Unbiased LambdaMART: an unbiased pairwise learning-to-rank algorithm, WWW 2019.
"""

import numpy as np

from algorithms.gbdt.query_groups import local_order

MAX_POSITIONS = 32  # number of positions with a bias if pairs are random, as in XGBoost
MIN_COST = 1e-16


class PositionBias:
    """The biases of all positions, and the costs of the current round.

    Parameters
    ----------
    bounds : (n_queries + 1,) int64, first rows of the queries
    n_positions : int, number of positions that have a bias
    bias_norm : float, the parameter ``lambdarank_bias_norm``
    """

    def __init__(self, bounds, n_positions, bias_norm):
        position = local_order(bounds)
        self.rows = np.flatnonzero(position < n_positions)
        self.position = position[self.rows]
        self.power = 1.0 / (1.0 + bias_norm)
        self.plus, self.minus = np.ones((2, n_positions))
        self.costs = np.zeros((2, len(position)))

    def update(self):
        """Compute the biases from the costs of the round, and set the costs to 0."""
        for bias, costs in zip((self.plus, self.minus), self.costs, strict=True):
            sums = np.bincount(self.position, costs[self.rows], len(bias))
            if sums[0] >= MIN_COST:
                bias[:] = (sums / sums[0]) ** self.power
        self.costs[:] = 0.0


class NoPositionBias:
    """Replacement of `PositionBias` without ``lambdarank_unbiased``."""

    plus = minus = np.empty(0)
    costs = np.empty((2, 0))

    def update(self):
        """Do nothing."""
