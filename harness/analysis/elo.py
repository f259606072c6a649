"""Elo ratings of algorithms over many datasets, with bootstrap intervals over the datasets.

The model of Bradley & Terry (1952, *Biometrika* 39): algorithm i has the lower loss than j with
probability 1 / (1 + 10^((R_j - R_i) / 400)). Every two algorithms are compared once on each
dataset; a tie is half a win for both. Below 16 datasets the intervals are wider than the spread of
the ratings; use ranks and wins instead.
"""

from __future__ import annotations

import numpy as np

from harness.analysis.run_view import Interval

MIN_DATASETS = 16  # datasets
MEAN = 1000.0  # mean rating
SAMPLES = 300  # of the bootstrap
PRIOR = 0.5  # half a tie between every two, so that an algorithm with wins only has a rating


def elo(losses: np.ndarray, seed: int = 0) -> list[Interval]:
    """Return the rating of each algorithm with its bootstrap interval over datasets.

    Parameters
    ----------
    losses : (N, k) array, lower is better
    seed
        Seed of the bootstrap, so that a report is reproducible.
    """
    won = victories(losses)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(losses), size=(SAMPLES, len(losses)))
    ratings = np.array([ratings_of(won[rows].sum(axis=0)) for rows in drawn])
    center = ratings_of(won.sum(axis=0))
    low, high = np.percentile(ratings, [2.5, 97.5], axis=0)
    # The interval always holds the estimate, also if the bootstrap is skewed.
    return [
        Interval(float(min(a, x)), float(x), float(max(b, x)), n=len(losses))
        for a, x, b in zip(low, center, high, strict=True)
    ]


def victories(losses: np.ndarray) -> np.ndarray:
    """Return wins (N, k, k) of row i against column j on each dataset: 1, ½ or 0."""
    own, other = losses[:, :, None], losses[:, None, :]
    won: np.ndarray = (own < other) + 0.5 * (own == other)
    return won * (1 - np.eye(losses.shape[1]))  # no game of an algorithm with itself


def ratings_of(won: np.ndarray, prior: float = PRIOR) -> np.ndarray:
    """Return the most likely ratings, mean 1000, for a (k, k) matrix of wins.

    Zermelo's iteration as Hunter (2004, *Annals of Statistics* 32) proves it:
    pᵢ ← Wᵢ / Σⱼ nᵢⱼ / (pᵢ + pⱼ).
    """
    k = len(won)
    wins = won + prior * (1 - np.eye(k))
    games, total = wins + wins.T, wins.sum(axis=1)
    p = np.ones(k)
    for _ in range(10_000):
        before = p
        p = total / (games / (before[:, None] + before[None, :])).sum(axis=1)
        p /= np.exp(np.log(p).mean())
        if np.abs(np.log(p / before)).max() < 1e-10:
            break
    rating: np.ndarray = MEAN + 400 * np.log10(p)
    return rating
