"""Elo ratings of algorithms over many datasets, with the interval that their choice leaves open.

The model of Bradley & Terry (1952, *Biometrika* 39): algorithm i has the lower loss than j with
probability 1 / (1 + 10^((R_j - R_i) / 400)). Every two algorithms meet once on each dataset; a tie
is half a win for both. Below 16 datasets the intervals are wider than the table is high, and
ranks and wins say all there is.
"""

from __future__ import annotations

import numpy as np

from harness.analysis.run_view import Interval

FEWEST = 16  # datasets
MEAN = 1000.0  # rating: the mean of the field
SAMPLES = 300  # of the bootstrap
PRIOR = 0.5  # a tie between every two, counted half: who wins all has a rating all the same


def elo(losses: np.ndarray, seed: int = 0, level: float = 0.95) -> list[Interval]:
    """Return the rating of each algorithm with its bootstrap interval over datasets.

    Parameters
    ----------
    losses : (N, k) array, lower is better
    seed
        Of the bootstrap, so that a report reads the same twice.
    """
    won = victories(losses)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(losses), size=(SAMPLES, len(losses)))
    ratings = np.array([ratings_of(won[rows].sum(axis=0)) for rows in drawn])
    centre = ratings_of(won.sum(axis=0))
    tail = 50 * (1 - level)
    low, high = np.percentile(ratings, [tail, 100 - tail], axis=0)
    # The estimate belongs to the interval, also where the bootstrap is skewed.
    return [
        Interval(float(min(a, x)), float(x), float(max(b, x)), level, n=len(losses))
        for a, x, b in zip(low, centre, high, strict=True)
    ]


def victories(losses: np.ndarray) -> np.ndarray:
    """Return (N, k, k): what row i won against column j on each dataset, 1, ½ or 0."""
    mine, other = losses[:, :, None], losses[:, None, :]
    won: np.ndarray = (mine < other) + 0.5 * (mine == other)
    return won * (1 - np.eye(losses.shape[1]))  # nobody meets itself


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
