"""Weights of the rows of a tree: `bootstrap_type` MVS, Bayesian, Bernoulli or No."""

import numpy as np

from algorithms.gbdt.sampling import hash_numbers
from algorithms.symmetric.kernels.row_sampling import BLOCK, draw_by_gradients

FEW_ROWS = 100  # fewer rows are all kept by default
SHARES = {"MVS": 0.8, "Bernoulli": 0.66}  # default subsample
ALL_ROWS = np.empty(0, np.float32)
HASHES = 2.0**32


def default_share(kind, n_rows):
    """Return the default of ``subsample``."""
    return 1.0 if n_rows < FEW_ROWS else SHARES.get(kind, 1.0)


def draw_weights(params, g, last_leaves, seed, workers):
    """Return the weight of each row, float32 (n_rows,), 0 if it is left out; or (0,) if all are 1.

    Parameters
    ----------
    params : the estimator, with resolved ``bootstrap_type`` and ``subsample``
    g : float64 (n_outputs, n_rows), derivatives times sample weights
    last_leaves : (n_leaves, n_outputs) values of the last tree, or None
    seed : int below 2³²
    workers : Workers
    """
    kind, share, n_rows = params.bootstrap_type, params.subsample, g.shape[1]
    if kind == "Bayesian":
        if params.bagging_temperature == 0.0:
            return ALL_ROWS
        u = (hash_numbers(seed, n_rows) + 0.5) / HASHES
        return ((-np.log(u)) ** params.bagging_temperature).astype(np.float32)
    if kind == "No" or share >= 1.0:
        return ALL_ROWS
    if kind == "Bernoulli":
        return (hash_numbers(seed, n_rows) < share * HASHES).astype(np.float32)
    out = np.empty(n_rows, np.float32)
    l2 = gradient_l2(params.mvs_reg, g, last_leaves)

    def draw(first, last):
        draw_by_gradients(g, share, l2, np.uint32(seed), np.empty((2, BLOCK)), out, first, last)

    workers.share(draw, -(-n_rows // BLOCK))
    return out


def gradient_l2(given, g, last_leaves):
    """Return λ of minimal variance sampling."""
    if given is not None:
        return float(given)
    if last_leaves is None:
        mean = np.sqrt((g**2).sum(axis=0)).mean()
    else:
        mean = np.sqrt((last_leaves**2).sum(axis=1)).mean()
    return float(mean) * float(mean)
