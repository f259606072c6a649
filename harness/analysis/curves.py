"""ROC and precision-recall curves of an event's forecast, and the Pareto front of two values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def event_curve(
    score: np.ndarray, hit: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return false and true positive rates and precision at each threshold, the highest first.

    All three begin with a threshold above every score, where precision is 1 by convention; rows
    with the same score are one step.

    Parameters
    ----------
    score : (n,) float64
    hit : (n,) bool
        Whether the event occurred.
    weight : (n,) float64
        Weights of the rows.
    """
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)
    true = np.cumsum((weight * hit)[order])[ends]
    false = np.cumsum((weight * ~hit)[order])[ends]
    precision = true / np.maximum(true + false, np.finfo(float).tiny)
    rates = (count / max(float(count[-1]), np.finfo(float).tiny) for count in (false, true))
    fpr, tpr = (np.concatenate([[0.0], rate]) for rate in rates)
    return fpr, tpr, np.concatenate([[1.0], precision])


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the positions of the Pareto front (both values minimized), by the first value."""
    order = sorted(range(len(points)), key=lambda i: points[i])
    best, positions = math.inf, []
    for i in order:
        if math.isfinite(points[i][0]) and points[i][1] < best:
            best = points[i][1]
            positions.append(i)
    return positions
