"""Losses of single rows under XGBoost's names that no kernel has: g and h in numpy.

    reg:squaredlogerror    L = ½ (log(1 + F) − log(1 + y))²       h is at least 10⁻⁶
    binary:hinge           L = max(0, 1 − s F) with s = 2 y − 1   h is 1 where L > 0

F counts as at least −1 + 10⁻⁶ in the first one.
"""

import numpy as np

MIN_H = 1e-6
TINY = np.finfo(np.float32).tiny


def differentiate_squared_log(score, y, _constant):
    """Return g and h of the squared error of logarithms, float64 (n_rows,)."""
    own = np.maximum(score, MIN_H - 1.0) + 1.0
    distance = np.log(own) - np.log1p(y)
    return distance / own, np.maximum((1.0 - distance) / own**2, MIN_H)


def differentiate_hinge(score, y, _constant):
    """Return g and h of the hinge loss, float64 (n_rows,)."""
    side = 2.0 * y - 1.0
    is_within = score * side < 1.0
    return np.where(is_within, -side, 0.0), np.where(is_within, 1.0, TINY)
