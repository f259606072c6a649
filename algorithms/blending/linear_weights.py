"""Least-squares weights α of a linear combination, from out-of-fold votes."""

import numpy as np
from scipy.optimize import nnls


def equations(votes, target, sample_weight):
    """Return the linear equations whose least-squares solution is α.

    Parameters
    ----------
    votes : float64 (n_members, n_rows, …); target : float64 (n_rows, …)

    Returns
    -------
    float64 (n_equations, n_members), float64 (n_equations,)
    """
    if sample_weight is not None:
        root = np.sqrt(sample_weight).reshape(-1, *[1] * (target.ndim - 1))
        votes, target = votes * root, target * root
    return votes.reshape(len(votes), -1).T, target.ravel()


def learn_weights(votes, target, sample_weight):
    """Return α = argmin Σ w ‖y − Σ α f‖²; the solution of smallest norm if there are several."""
    matrix, right = equations(votes, target, sample_weight)
    return np.linalg.lstsq(matrix, right, rcond=None)[0]


def learn_nonnegative_weights(votes, target, sample_weight):
    """Return the same α under α ≥ 0 (Lawson and Hanson 1974)."""
    matrix, right = equations(votes, target, sample_weight)
    return nnls(matrix, right)[0]


def as_shares(scores):
    """Return scores as probabilities.

    Negative values become 0, rows are scaled to sum 1, and rows of zeros become uniform.
    """
    scores = np.maximum(scores, 0.0)
    total = scores.sum(axis=1, keepdims=True)
    even = 1.0 / scores.shape[1]
    return np.divide(scores, total, out=np.full_like(scores, even), where=total > 0.0)
