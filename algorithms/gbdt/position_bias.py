"""Bias of the positions at which documents were shown, for lambdarank.

Clicks on a document depend on its position in the list, too. As in LightGBM, each position has a
bias b that is added to the scores of its documents when gradients are computed, but not in
predictions. After each round a Newton step changes it, with Σg and Σh over the position's n rows:

    b += η (−Σg − λ n b) / (|−Σh − λ n| + 0.001)
"""

import numpy as np

FLOOR = 0.001


class PositionBias:
    """Biases of all positions.

    Parameters
    ----------
    positions : int (n_rows,), number of each row's position
    penalty : λ, the parameter ``lambdarank_position_bias_regularization``
    rate : η, the learning rate
    """

    def __init__(self, positions, penalty, rate):
        self.positions, self.penalty, self.rate = positions, float(penalty), float(rate)
        self.counts = np.bincount(positions)
        self.bias = np.zeros(len(self.counts))

    def adjust(self, score):
        """Return scores plus the biases of their positions, float64 (n_rows,)."""
        return score + self.bias[self.positions]

    def update(self, g, h):
        """Change the biases by the gradients of a round, float32 (n_rows,)."""
        n = len(self.bias)
        first = -np.bincount(self.positions, g, n) - self.bias * self.penalty * self.counts
        second = -np.bincount(self.positions, h, n) - self.penalty * self.counts
        self.bias += self.rate * first / (np.abs(second) + FLOOR)
