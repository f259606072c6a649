"""Losses of algorithms on a common scale, and their ratios, over many datasets."""

from __future__ import annotations

import numpy as np


def mean_normalized_loss(losses: np.ndarray) -> np.ndarray:
    """Return the mean over datasets of (loss - best) / (median - best), at most 1.

    0 is the best algorithm of a dataset, 1 is the median algorithm or worse. Datasets on which the
    best loss equals the median are left out; if all are, the result is 0.

    Parameters
    ----------
    losses
        (N, k) array, lower is better.
    """
    best = losses.min(axis=1, keepdims=True)
    spread = np.median(losses, axis=1, keepdims=True) - best
    known = spread[:, 0] > 0
    if not known.any():
        return np.zeros(losses.shape[1])
    shares = np.minimum((losses - best)[known] / spread[known], 1.0)
    mean: np.ndarray = shares.mean(axis=0)
    return mean


def geometric_mean_ratio(losses: np.ndarray) -> np.ndarray:
    """Return the geometric mean over datasets of each loss over the best one.

    Datasets whose best loss is 0 are left out; if all are, the result is 1.

    Parameters
    ----------
    losses
        (N, k) array of losses ≥ 0.
    """
    best = losses.min(axis=1, keepdims=True)
    known = best[:, 0] > 0
    if not known.any():
        return np.ones(losses.shape[1])
    ratio: np.ndarray = np.exp(np.log(losses[known] / best[known]).mean(axis=0))
    return ratio
