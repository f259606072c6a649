"""Built-in metrics: one function per formula, weighted, NaN where a value is undefined.

Sums run over the test rows i with weights wᵢ (1 where the dataset has none), W = Σ wᵢ, and pᵢₖ is
the predicted probability of class k. The functions use numpy only, because a report scores
thousands of outcomes and scikit-learn's input checks take milliseconds per call; the tests compare
with scikit-learn's metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from harness.core.model import CLASSIFICATION, Metric, Predicted, Task
from harness.plugins.hookspecs import hookimpl

CLIP = 1e-15  # lower bound of probabilities in the log loss: -log(1e-15) = 34.5
REGRESSION = frozenset({Task.REGRESSION})


def log_loss(predicted: Predicted) -> float:
    """Return -Σ wᵢ log pᵢ / W, with pᵢ the probability of the row's true class, at least 1e-15.

    Rows are scaled to sum to 1 first. For an algorithm that predicts probabilities of 0 and 1
    (labels, or pure leaves) each error costs 34.5; `brier` and `error` are more useful then.
    """
    p = predicted.output[np.arange(len(predicted.y)), predicted.y]
    total = predicted.output.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # a row of zeros is undefined: NaN
        return _mean(-np.log(np.maximum(p / total, CLIP)), predicted.weight)


def error(predicted: Predicted) -> float:
    """Return Σ wᵢ [argmaxₖ pᵢₖ ≠ yᵢ] / W; ties go to the first class."""
    if not np.isfinite(predicted.output).all():
        return math.nan
    wrong = predicted.output.argmax(axis=1) != predicted.y
    return _mean(wrong.astype(np.float64), predicted.weight)


def brier(predicted: Predicted) -> float:
    """Return Σ wᵢ Σₖ (pᵢₖ - [yᵢ = k])² / W, from 0 to 2 (Brier 1950): all classes are summed."""
    off = predicted.output.astype(np.float64)  # a copy
    off[np.arange(len(off)), predicted.y] -= 1
    return _mean(np.einsum("ik,ik->i", off, off), predicted.weight)


def auc(predicted: Predicted) -> float:
    """Return the area under the ROC curve: P(s⁺ > s⁻) + ½ P(s⁺ = s⁻) over weighted pairs.

    Binary: of the second class. Otherwise the plain mean of one class against the rest, over
    the classes that the test rows have. NaN where the test rows are all of one class.
    """
    if not np.isfinite(predicted.output).all():
        return math.nan
    classes = range(predicted.output.shape[1]) if predicted.output.shape[1] > 2 else [1]
    areas = [_area(predicted.output[:, k], predicted.y == k, predicted.weight) for k in classes]
    defined = [area for area in areas if not math.isnan(area)]
    return sum(defined) / len(defined) if defined else math.nan


def rmse_sd(predicted: Predicted) -> float:
    """Return √(Σ wᵢ (yᵢ - fᵢ)² / W) / sd(y), sd over the whole dataset: about 1 for the mean."""
    if not predicted.scale > 0:
        return math.nan
    return math.sqrt(_mean((predicted.y - predicted.output) ** 2, predicted.weight)) / (
        predicted.scale
    )


def rmse(predicted: Predicted) -> float:
    """Return √(Σ wᵢ (yᵢ - ŷᵢ)² / W), in units of the target."""
    return math.sqrt(_mean((predicted.y - predicted.output) ** 2, predicted.weight))


def mae(predicted: Predicted) -> float:
    """Return Σ wᵢ |yᵢ - fᵢ| / W, in the units of y."""
    return _mean(np.abs(predicted.y - predicted.output), predicted.weight)


def r2(predicted: Predicted) -> float:
    """Return 1 - Σ wᵢ (yᵢ - fᵢ)² / Σ wᵢ (yᵢ - ȳ)², ȳ the test rows' mean; NaN for constant y."""
    centre = _mean(predicted.y, predicted.weight)
    total = _mean((predicted.y - centre) ** 2, predicted.weight)
    if not total > 0 or np.ptp(predicted.y) == 0:  # the mean of equal values may be off by rounding
        return math.nan
    return 1 - _mean((predicted.y - predicted.output) ** 2, predicted.weight) / total


def _mean(values: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the weighted mean; NaN without rows or with zero total weight."""
    if weight is None:
        return float(values.mean()) if len(values) else math.nan
    total = float(weight.sum())
    return float(weight @ values) / total if total > 0 else math.nan


def _area(score: np.ndarray, positive: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the weighted share of correctly ordered (positive, negative) pairs; ties count ½."""
    w = np.ones(len(score)) if weight is None else weight
    _, place = np.unique(score, return_inverse=True)
    up = np.bincount(place, weights=w * positive)
    down = np.bincount(place, weights=w * ~positive)
    pairs = float(up.sum()) * float(down.sum())
    below = np.cumsum(down) - down / 2
    return float(up @ below) / pairs if pairs > 0 else math.nan


@hookimpl
def register_metrics(register: Callable[[Metric], None]) -> None:
    """Register the metrics of classification and of regression."""

    def add(
        score: Callable[[Predicted], float],
        tasks: frozenset[Task],
        summary: str,
        *,
        lower: bool = True,
        primary: bool = False,
    ) -> None:
        register(Metric(score.__name__, tasks, score, lower, primary, summary))

    add(log_loss, CLASSIFICATION, "mean log loss, clipped at 1e-15", primary=True)
    add(error, CLASSIFICATION, "share of rows misclassified")
    add(brier, CLASSIFICATION, "squared error of the probabilities, summed over classes")
    add(auc, CLASSIFICATION, "area under the ROC curve, one class against the rest", lower=False)
    add(rmse_sd, REGRESSION, "root mean squared error over sd(y)", primary=True)
    add(rmse, REGRESSION, "root mean squared error, in units of y")
    add(mae, REGRESSION, "mean absolute error, in units of y")
    add(r2, REGRESSION, "share of the test variance explained", lower=False)
