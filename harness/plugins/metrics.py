"""Built-in metrics: one function per formula, weighted, NaN where a value is undefined.

Sums run over the test rows i with weights wᵢ (1 where the dataset has none), W = Σ wᵢ, and pᵢₖ is
the predicted probability of class k. The functions use numpy only, because a report scores
thousands of outcomes and scikit-learn's input checks take milliseconds per call; the tests compare
with scikit-learn's metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.core.model import CLASSIFICATION, Metric, Predicted, Task
from harness.plugins.hookspecs import hookimpl

CLIP = 1e-15  # lower bound of probabilities in the log loss: -log(1e-15) = 34.5
REGRESSION = frozenset({Task.REGRESSION})
RANKING = frozenset({Task.RANKING})
RANKS = 10  # ranks of `ndcg_at_10`


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
    center = _mean(predicted.y, predicted.weight)
    total = _mean((predicted.y - center) ** 2, predicted.weight)
    if not total > 0 or np.ptp(predicted.y) == 0:  # the mean of equal values may be off by rounding
        return math.nan
    return 1 - _mean((predicted.y - predicted.output) ** 2, predicted.weight) / total


def ndcg_at_10(predicted: Predicted) -> float:
    """Return the mean NDCG of the first 10 ranks of the queries, from 0 to 1.

    DCG = Σ (2^y − 1) / log₂(1 + rank). Rows with equal predictions share the mean of their gains,
    so their order does not matter. Queries without a positive grade are left out.
    """
    return _mean_of_queries(predicted, _ndcg_of_ranked)


def mean_average_precision(predicted: Predicted) -> float:
    """Return the mean average precision of the queries, from 0 to 1.

    Rows with a positive grade are relevant. For rows with equal predictions it is the expected
    value over their orders (McSherry and Najork 2008). Queries without a relevant row are left out.
    """
    return _mean_of_queries(predicted, _precision_of_ranked)


def _mean_of_queries(predicted: Predicted, score: Callable[[Ranked], np.ndarray]) -> float:
    """Return the mean of a score of queries, weighted by the mean weight of their rows."""
    y, output = predicted.y, predicted.output
    if not len(y) or not np.isfinite(output).all():
        return math.nan
    group = np.zeros(len(y), np.int64) if predicted.group is None else predicted.group
    weight = np.ones(len(y)) if predicted.weight is None else predicted.weight
    order = np.lexsort((-output, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=group[order[0]] - 1))
    sizes = np.diff(np.append(starts, len(order)))
    row = np.arange(len(order)) - np.repeat(starts, sizes)
    is_new = (row == 0) | (np.diff(output[order], prepend=np.nan) != 0.0)
    ranked = Ranked(y[order], row, starts, sizes, np.flatnonzero(is_new))
    is_judged = np.maximum.reduceat(ranked.y, starts) > 0.0
    weights = np.add.reduceat(weight[order], starts) / sizes
    return _mean(score(ranked)[is_judged], weights[is_judged])


@dataclass(frozen=True)
class Ranked:
    """Rows of queries, sorted by query and then by falling prediction."""

    y: np.ndarray
    row: np.ndarray  # number of a row in its query, from 0
    starts: np.ndarray  # first row of each query
    sizes: np.ndarray  # number of rows of each query
    ties: np.ndarray  # first row of each run of equal predictions in a query

    @property
    def tie_sizes(self) -> np.ndarray:
        """Return the number of rows of each run of equal predictions."""
        return np.diff(np.append(self.ties, len(self.y)))

    def mean_of_ties(self, values: np.ndarray) -> np.ndarray:
        """Return for each row the mean of the values of the rows with an equal prediction."""
        return np.repeat(np.add.reduceat(values, self.ties) / self.tie_sizes, self.tie_sizes)


def _ndcg_of_ranked(ranked: Ranked) -> np.ndarray:
    """Return the NDCG of the first 10 ranks of each query; 0 without a positive grade."""
    discount = np.where(ranked.row < RANKS, 1.0 / np.log2(2.0 + ranked.row), 0.0)
    gain = np.exp2(ranked.y) - 1.0
    query = np.repeat(np.arange(len(ranked.sizes)), ranked.sizes)
    best = gain[np.lexsort((-gain, query))]
    found = np.add.reduceat(ranked.mean_of_ties(gain) * discount, ranked.starts)
    possible = np.add.reduceat(best * discount, ranked.starts)
    return np.divide(found, possible, out=np.zeros(len(found)), where=possible > 0.0)


def _precision_of_ranked(ranked: Ranked) -> np.ndarray:
    """Return the expected average precision of each query; 0 without a relevant row."""
    relevant = 1.0 * (ranked.y > 0.0)
    ends = np.cumsum(relevant)
    before_query = np.repeat(ends[ranked.starts] - relevant[ranked.starts], ranked.sizes)
    sizes = np.repeat(ranked.tie_sizes, ranked.tie_sizes)
    before = np.repeat((ends - relevant)[ranked.ties], ranked.tie_sizes) - before_query
    share = ranked.mean_of_ties(relevant)  # probability that a rank of the tie is relevant
    place = ranked.row - np.repeat(ranked.row[ranked.ties], ranked.tie_sizes)  # in the tie
    others = np.divide(share * sizes - 1.0, sizes - 1.0, out=np.zeros(len(share)), where=sizes > 1)
    precision = (before + place * others + 1.0) / (ranked.row + 1.0)
    found = np.add.reduceat(share * precision, ranked.starts)
    total = np.add.reduceat(relevant, ranked.starts)
    return np.divide(found, total, out=np.zeros(len(found)), where=total > 0.0)


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
    """Register the metrics of classification, regression and ranking."""

    def add(
        score: Callable[[Predicted], float],
        tasks: frozenset[Task],
        bounds: tuple[float, float],
        summary: str,
        *,
        lower: bool = True,
        primary: bool = False,
    ) -> None:
        register(Metric(score.__name__, tasks, score, lower, primary, summary, bounds))

    share, loss, upto_1 = (0.0, 1.0), (0.0, math.inf), (-math.inf, 1.0)
    add(log_loss, CLASSIFICATION, loss, "mean log loss, clipped at 1e-15", primary=True)
    add(error, CLASSIFICATION, share, "share of rows misclassified")
    add(brier, CLASSIFICATION, (0.0, 2.0), "squared error of the probabilities, over all classes")
    add(auc, CLASSIFICATION, share, "area under the ROC curve, one class against the rest",
        lower=False)  # fmt: skip
    add(rmse_sd, REGRESSION, loss, "root mean squared error over sd(y)", primary=True)
    add(rmse, REGRESSION, loss, "root mean squared error, in units of y")
    add(mae, REGRESSION, loss, "mean absolute error, in units of y")
    add(r2, REGRESSION, upto_1, "share of the test variance explained", lower=False)
    add(ndcg_at_10, RANKING, share, "mean NDCG of the first 10 ranks", lower=False, primary=True)
    add(mean_average_precision, RANKING, share, "mean average precision, grades above 0",
        lower=False)  # fmt: skip
