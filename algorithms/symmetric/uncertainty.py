"""RMSEWithUncertainty: the mean and the standard deviation of a normal distribution.

A row has the scores a (the mean) and b (the logarithm of the standard deviation). With the weight
w, the residual r = y − a and q = r² e^(−2b),

    loss = w (log(2π) / 2 + b + q / 2)
    g = (w r, w (q − 1))        h = (−w, −2 w q)        of −loss, as in CatBoost

The derivatives of a are those of the natural gradient: they lack the factor e^(−2b) (Duan et al.:
NGBoost: natural gradient boosting for probabilistic prediction. ICML 2020).
"""

import math

import numpy as np

from algorithms.symmetric.boosting import Booster
from algorithms.symmetric.kernels.exponential import exponentiate
from algorithms.symmetric.leaf_values import LeafEstimator, sum_columns

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def scaled_squares(y, score):
    """Return the residuals r and q = r² e^(−2b), float64 (n_rows,) each."""
    residual = y - score[0]
    q = -2.0 * score[1]
    exponentiate(q)
    return residual, residual * residual * q


def negative_log_likelihood(y, score):
    """Return the loss of each row.

    Parameters
    ----------
    y : (n_rows,)
    score : (n_rows, 2) float64, the scores a and b
    """
    score = np.asarray(score, np.float64).T
    return HALF_LOG_2PI + score[1] + 0.5 * scaled_squares(y, score)[1]


def predict_normal(raw):
    """Return the mean and the variance of each row from its scores, float64 (n_rows, 2)."""
    return np.column_stack([raw[:, 0], np.exp(2.0 * raw[:, 1])])


class NormalLeafEstimator(LeafEstimator):
    """Estimator of the leaf values of both scores; the parameters are those of `LeafEstimator`."""

    has_single_kernel = False

    def loss(self, score):
        """Return the weighted mean loss; NaN counts as infinite."""
        weights = self.weight if len(self.weight) else None
        mean = float(np.average(negative_log_likelihood(self.y, score.T), weights=weights))
        return np.inf if math.isnan(mean) else mean

    def _sums(self, score, grown):
        """Return ΣG (two columns), ΣH (two) and Σw of each leaf, (n_leaves, 5)."""
        residual, q = scaled_squares(self.y, score)
        weight = self.weight if len(self.weight) else np.ones(len(self.y))
        columns = residual * weight, (q - 1.0) * weight, -weight, -2.0 * q * weight, weight
        return sum_columns(columns, grown)

    def _leaf_curvature(self, sums):
        """Return −ΣH of both scores from sums of leaves, float64 (n_leaves, 2)."""
        return -sums[:, 2:4]

    def _step(self, sums):
        """Return the step of each leaf, (n_leaves, 2); 0 without rows."""
        is_newton = self.params.leaf_estimation_method == "Newton"
        curvature = -sums[:, 2:4] if is_newton else sums[:, 4:]
        return np.where(sums[:, 4:] > 0.0, sums[:, :2] / (curvature + self.l2), 0.0)


class NormalBooster(Booster):
    """Boosting of both scores; the parameters are those of `Booster`."""

    leaf_estimator = NormalLeafEstimator

    def _differentiate(self, score, y, weight, g):
        """Write the derivatives of −loss, as `Booster._differentiate` does."""
        g[0], q = scaled_squares(y, score)
        g[1] = q - 1.0
        if len(weight):
            g *= weight
