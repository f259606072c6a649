"""Greedy ensemble selection (Caruana et al., 2004) from predictions of rows that were held out.

Each round adds the model with which the mean of all added predictions has the least loss; a model
can be added again. The weights are the shares of the rounds up to the best one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


def select_ensemble(
    outputs: Sequence[np.ndarray], loss: Callable[[np.ndarray], float], rounds: int
) -> np.ndarray:
    """Return the weight of each model, at least 0; they sum to 1. Ties go to the first model.

    Parameters
    ----------
    outputs
        Predictions of each model for the same rows, arrays of one shape.
    loss
        Function from predictions to their loss; NaN counts as infinite.
    rounds
        Number of rounds, at least 1.
    """
    counts = np.zeros(len(outputs), np.int64)
    total = np.zeros_like(outputs[0])
    best, least = counts, np.inf
    for done in range(rounds):
        losses = np.array([loss((total + output) / (done + 1)) for output in outputs])
        losses[np.isnan(losses)] = np.inf
        added = int(np.argmin(losses))
        counts[added] += 1
        total += outputs[added]
        if losses[added] < least:
            best, least = counts.copy(), losses[added]
    if not best.any():
        best = np.eye(len(outputs), dtype=np.int64)[0]
    weights: np.ndarray = best / best.sum()
    return weights
