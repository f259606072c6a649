"""LightGBM's initial scores and renewed leaf values, with its order of operations.

Targets and weights are float32; sums are float64, in the order of the rows. A leaf of the L1 or
quantile loss gets the quantile of its residuals: interpolated linearly without weights, and by
LightGBM's own rule with weights.
"""

import math

import numpy as np

from algorithms.gbdt.kernels import gradients as kinds
from algorithms.parity.kernels.lightgbm_arrays import EPSILON

FOLLOWED = (
    "regression",
    "regression_l1",
    "huber",
    "quantile",
    "binary",
    "multiclass",
    "multiclassova",
    "lambdarank",
)


def first_scores(objective, y, weight):
    """Return the initial scores of ``boost_from_average``, float64 (n_scores,).

    Parameters
    ----------
    objective : gbdt.objectives.Objective
    y : float32 (n_scores, n_rows), or (1, n_rows) of class codes for softmax
    weight : float32 (n_rows,) or None
    """
    if objective.is_ranking:
        return np.zeros(1)
    if objective.kind is None:
        shares = class_shares(objective, y, weight)
        return np.array([math.log(max(EPSILON, share)) for share in shares])
    return np.array([first_score(objective, target, weight) for target in y])


def class_shares(objective, y, weight):
    """Return each class's share of the total weight."""
    totals = np.bincount(y[0].astype(np.int64), weight, objective.n_scores)
    whole = float(y.shape[1]) if weight is None else sum_in_order(weight)
    return totals / whole


def sum_in_order(values):
    """Return the float64 sum, added from the first value to the last."""
    return float(np.cumsum(values, dtype=np.float64)[-1])


def first_score(objective, y, weight):
    """Return the initial score of one target."""
    if objective.renewed is not None:
        return float(quantile_of(y, weight, share_of(objective)))
    whole = float(len(y)) if weight is None else sum_in_order(weight)
    terms = y.astype(np.float64) if weight is None else y.astype(np.float64) * weight
    mean = sum_in_order(terms) / whole
    if objective.kind != kinds.LOGISTIC:
        return mean
    share = max(min(mean, 1.0 - EPSILON), EPSILON)
    return math.log(share / (1.0 - share))


def is_trained(objective, y, weight):
    """Return whether trees are grown for each score, bool (n_scores,); not if y is constant."""
    if objective.kind is None and not objective.is_ranking:
        shares = class_shares(objective, y, weight)
        return (shares > EPSILON) & (shares < 1.0 - EPSILON)
    if objective.kind == kinds.LOGISTIC:
        return (y > 0).any(axis=1) & (y <= 0).any(axis=1)
    return np.ones(len(y), bool)


def share_of(objective):
    """Return the quantile of renewed leaves, 0 … 1; LightGBM stores it as float32."""
    return 0.5 if objective.kind == kinds.L1 else float(np.float32(objective.constant))


def quantile_of(values, weight, share):
    """Return a quantile of values, in their dtype.

    Parameters
    ----------
    values : (n,) float32 or float64
    weight : (n,) float32, or None
    """
    if len(values) == 1:
        return values[0]
    if weight is not None:
        return weighted_quantile(values, weight, share)
    falling = np.sort(values)[::-1]
    place = float(len(values) - 1) * (1.0 - share)
    after = int(place) + 1
    if after >= len(values):
        return falling[-1]
    high, low = falling[after - 1], falling[after]
    return values.dtype.type(float(high) - float(high - low) * (place - (after - 1)))


def weighted_quantile(values, weight, share):
    """Return the value at which the weight reaches a share of the total; see `quantile_of`."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order], dtype=np.float64)
    wanted = reached[-1] * share
    at = min(int(np.searchsorted(reached, wanted, side="right")), len(values) - 1)
    if at in (0, len(values) - 1):
        return values[order[at]]
    low, high = values[order[at - 1]], values[order[at]]
    step = reached[at] - reached[at - 1]
    if step < 1.0:
        return low
    part = (wanted - reached[at - 1]) / step
    return values.dtype.type(part * float(high - low) + float(low))
