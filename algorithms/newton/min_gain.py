"""Minimum gain of a split: 10⁻⁶ as in XGBoost, or less if the total possible gain is small.

The gains of all splits of a tree sum to at most Σ g² / h over the rows, because the sum over leaves
Σ_j G_j² / (H_j + λ) is at most that (Cauchy and Schwarz). This bound scales with the square of the
targets' unit and with the weights. With targets of 10⁻⁵ no split can gain 10⁻⁶, and XGBoost finds
none. Here the minimum gain is 10⁻⁶ Σ g² / h, at the scores before the first round, if Σ g² / h is
less than 1.
"""

import numpy as np

from algorithms.newton.objectives import Custom
from algorithms.newton.params import MIN_GAIN
from algorithms.runtime.threads import ALONE

ROWS = 1 << 13  # per step; for usual data the first step reaches Σ g² / h = 1


def least_gain(objective, y, weight, base, margin):
    """Return the minimum gain of a split, float.

    Parameters
    ----------
    objective : newton.objectives.Objective, or one of the user or of ranking: they have 10⁻⁶
    y, weight : as in ``objective.differentiate``, scaled so that the largest weight is 1
    base : (n_scores,) float32, scores before the first round
    margin : (n_rows, n_scores) float64 that replaces them, or None
    """
    if isinstance(objective, Custom) or objective.by_query:
        return MIN_GAIN
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
        if not total < 1.0:  # also if it is NaN: the first round raises the error
            return MIN_GAIN
    return MIN_GAIN * total
