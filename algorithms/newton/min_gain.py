"""What a split must gain: XGBoost's 10⁻⁶, or less where there is less to explain.

A tree's splits gain no more than Σ g² / h over the rows, all together: Σ_j G_j² / (H_j + λ) is at
most that (Cauchy and Schwarz). It goes with the square of the targets' unit, and with the weights.
Targets of 10⁻⁵ have nothing that could gain 10⁻⁶, and the library finds no split; here a split must
gain that share of Σ g² / h, at the scores before the first round, where this is less than 1.
"""

import numpy as np

from algorithms.newton.objectives import Custom
from algorithms.newton.params import LEAST_GAIN
from algorithms.runtime.threads import ALONE

ROWS = 1 << 13  # at once; usual data have enough to explain in the first of them


def least_gain(objective, y, weight, base, margin):
    """Return what a split must gain, float.

    Parameters
    ----------
    objective : newton.objectives.Objective, or Custom, whose unit is its own affair
    y, weight : as in ``objective.differentiate``, the largest weight being 1: so multiples of the
        weights are the same weights
    base : (n_scores,) float32, scores before the first round
    margin : (n_rows, n_scores) float64 in their place, or None
    """
    if isinstance(objective, Custom):
        return LEAST_GAIN
    total = 0.0
    for first in range(0, len(y), ROWS):
        rows = slice(first, first + ROWS)
        own = y[rows]
        score = np.empty((len(base), len(own)))
        score.T[:] = base if margin is None else margin[rows]
        g, h = np.empty((2, *score.shape), np.float32)
        own_weight = None if weight is None else weight[rows]
        objective.differentiate(score, own, own_weight, g, h, ALONE)
        total += (g.astype(np.float64) ** 2 / np.maximum(h, np.finfo(np.float32).tiny)).sum()
        if not total < 1.0:  # nor where it is no number: that is for the first round to say
            return LEAST_GAIN
    return LEAST_GAIN * total
