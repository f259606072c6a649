"""The expectile loss of XGBoost 3.3: derivatives and initial scores.

The expectile of level α minimizes Σ |α − 1(F ≥ y)| (F − y)² / 2. With raw scores F_0 … F_K of a
row, levels α_0 ≤ … ≤ α_K and the predictions P_k of `model_io/ascending_scores.py`:

    w_k = 1 − α_k if P_k ≥ y, else α_k
    g_j = s_j Σ_{k ≥ j} w_k (P_k − y),  h_j = s_j² Σ_{k ≥ j} w_k
    s_0 = 1,  s_j = 1 / (1 + e^(−F_j))

h is the diagonal of the Gauss-Newton matrix; with one level it is the second derivative.

Newey, Powell: Asymmetric least squares estimation and testing. Econometrica 55, 1987.
"""

import numpy as np
from scipy.special import expit

from algorithms.model_io.ascending_scores import MIN_GAP, scores_of


def read_levels(given):
    """Return the levels as a tuple of floats.

    Raises
    ------
    ValueError
        If no level is given, a level is not from 0 to 1, or the levels do not ascend.
    """
    if given is None:
        raise ValueError("expectile_alpha is missing: 'reg:expectileerror' and 'expectile' need it")
    levels = np.atleast_1d(np.asarray(given, np.float64))
    if levels.ndim != 1 or not levels.size or not ((levels >= 0.0) & (levels <= 1.0)).all():
        raise ValueError(f"each expectile_alpha must lie from 0 to 1; it is {given!r}")
    if (np.diff(levels) < 0.0).any():
        raise ValueError(f"expectile_alpha must be sorted in ascending order; it is {given!r}")
    return tuple(levels.tolist())


def differentiate_expectiles(score, y, levels):
    """Return g and h, float64 (n_levels, n_rows).

    Parameters
    ----------
    score : (n_levels, n_rows) float64
    y : (n_rows,) float64
    levels : tuple of float
    """
    gaps = np.logaddexp(0.0, score[1:]) + MIN_GAP
    prediction = np.cumsum(np.concatenate([score[:1], gaps]), axis=0)
    level = np.array(levels)[:, None]
    share = np.where(prediction >= y, 1.0 - level, level)
    scale = expit(score)
    scale[0] = 1.0
    g, h = (sum_from(one) for one in (share * (prediction - y), share))
    return scale * g, scale**2 * h


def sum_from(values):
    """Return the sums of each row of a table and all rows below it."""
    return np.cumsum(values[::-1], axis=0)[::-1]


def first_scores(y, weight, levels):
    """Return the initial scores, float32 (n_levels,): one Newton step from the mean of y.

    Parameters
    ----------
    y, weight : (n_rows,) float64; the weight may be None
    levels : tuple of float
    """
    weight = np.ones(len(y)) if weight is None else weight
    mean = np.average(y, weights=weight)
    share = np.where(mean >= y, 1.0 - np.array(levels)[:, None], np.array(levels)[:, None])
    total = share @ weight
    step = (share * (y - mean)) @ weight / np.where(total > 0.0, total, 1.0)
    return scores_of(np.maximum.accumulate(mean + step)).astype(np.float32)


def expectile_loss(levels, y, prediction):
    """Return the mean loss of the levels of each row, (n_rows,), without the factor ½."""
    prediction = prediction.reshape(len(y), -1)
    distance = prediction - y[:, None]
    share = np.where(distance >= 0.0, 1.0 - np.array(levels), np.array(levels))
    return (share * distance**2).mean(axis=1)
