"""Leaf values of CatBoost with backtracking: a step is halved until CatBoost's own metric falls.

The metric of log loss and cross-entropy is a float32 sum in four lanes over blocks of 4096 rows, of
logarithms with an error of some 1e-5. So a step that lowers the loss by less than that may be
halved, and a replica has to round in the same places. The blocks are those of one thread: on more
than 10 000 rows CatBoost's own model depends on its number of threads.
"""

import numpy as np

from algorithms.parity.catboost_ordered import fast_log
from algorithms.symmetric.boosting import Booster
from algorithms.symmetric.kernels import leaf_sums as kinds
from algorithms.symmetric.kernels.exponential import exponentiate
from algorithms.symmetric.leaf_values import LeafEstimator

BLOCK, LANES = 4096, 4
LARGEST = np.finfo(np.float64).max
TINY = 1e-38  # added to Σw below the root of RMSE


class CatBoostLeafEstimator(LeafEstimator):
    """Estimator of leaf values whose backtracking computes CatBoost's metric."""

    has_single_kernel = has_float64_loss = False
    n_steps = 0

    def _sums(self, score, grown):
        """Return the sums of a step, as `LeafEstimator` does, and count the step."""
        self.n_steps += 1
        return super()._sums(score, grown)

    def count_random_steps(self):
        """Return how many steps since the last call CatBoost gives a random number.

        These are the Newton and gradient steps of losses with one score.
        """
        steps, self.n_steps = self.n_steps, 0
        return 0 if self.objective.kind == kinds.SOFTMAX else steps

    def loss(self, score):
        """Return the metric at the given scores."""
        return self._loss_after(score, np.zeros(1), np.zeros(score.shape[1], np.intp))

    def _try_step(self, score, step, grown):
        """Return the metric after a step, and the new scores."""
        loss = self._loss_after(score, step[:, 0], grown.leaf_of)
        after = score.copy()
        self.add(after, step, grown)
        return loss, after

    def _loss_after(self, score, step, leaf_of):
        """Return the metric after a step.

        Parameters
        ----------
        score : float64 (1, n_rows), as stored by the objective
        step : float64 (n_leaves,)
        leaf_of : the leaf of each row, integers (n_rows,)
        """
        change = step.copy()
        if self.objective.is_exp:
            exponentiate(change)
        weight = self.weight if len(self.weight) else np.ones(len(self.y), np.float32)
        total = np.zeros(2)
        metric = METRICS[self.objective.kind]
        for first in range(0, len(self.y), BLOCK):
            rows = slice(first, first + BLOCK)
            total += metric(score[0, rows], change[leaf_of[rows]], self.y[rows], weight[rows])
        if self.objective.kind == kinds.RMSE:
            return float(np.sqrt(total[0] / (total[1] + TINY)))
        loss = total[0] / total[1]
        return np.inf if np.isnan(loss) else float(loss)


class CatBoostBooster(Booster):
    """Plain boosting that builds CatBoost's trees."""

    leaf_estimator = CatBoostLeafEstimator


def log_loss_sums(score, change, y, weight):
    """Return Σ of the log losses of some rows and Σ of their weights, summed in four lanes.

    Parameters
    ----------
    score, change : float64 (n_rows,), eᶠ and the factor of a step
    y, weight : float32 (n_rows,)
    """
    after = score * change
    whole = len(y) // LANES * LANES
    logs, log_changes, log_ones = (
        fast_log(to_float32(one)) for one in (score, change, 1.0 + after)
    )
    head, tail = slice(0, whole), slice(whole, None)
    log = logs[head] + log_changes[head]
    is_finite = after <= LARGEST
    loss = np.where(is_finite[head], log_ones[head] - y[head] * log, (1 - y[head]) * log)
    sums = np.array([add_lanes(weight[head] * loss), add_lanes(weight[head])], np.float64)
    log = logs[tail].astype(np.float64) + log_changes[tail]
    loss = np.where(is_finite[tail], log_ones[tail] - y[tail] * log, (1 - y[tail]) * log)
    for row_loss, row_weight in zip(loss, weight[tail], strict=True):
        sums += row_weight * row_loss, row_weight
    return sums


def add_lanes(values):
    """Return the float32 sum of values in four lanes, each in order, added in pairs at the end."""
    if not len(values):
        return np.float32(0.0)
    a, b, c, d = np.cumsum(values.reshape(-1, LANES), axis=0, dtype=np.float32)[-1]
    return (a + b) + (c + d)


def to_float32(values):
    """Return float64 values as float32; larger ones than its range become infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def poisson_sums(score, change, y, weight):
    """Return Σ of the Poisson losses of some rows in float64, and Σ of their weights."""
    after = score * change
    loss = (after - y * fast_log(to_float32(after)).astype(np.float64)) * weight
    return np.array([np.cumsum(loss)[-1], np.cumsum(weight, dtype=np.float64)[-1]])


def squared_error_sums(score, change, y, weight):
    """Return Σ of the squared errors of some rows in float64, and Σ of their weights."""
    loss = ((score - y) + change) ** 2 * weight
    return np.array([np.cumsum(loss)[-1], np.cumsum(weight, dtype=np.float64)[-1]])


METRICS = {
    kinds.LOGISTIC: log_loss_sums,
    kinds.POISSON: poisson_sums,
    kinds.RMSE: squared_error_sums,
}
