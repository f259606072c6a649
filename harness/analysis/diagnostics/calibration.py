"""Calibration of predicted probabilities: reliability bins, their error, a decomposition.

For two classes the event is the second class, with its probability; for more it is that the most
likely class is right, with the largest probability (top-label calibration, Guo et al. 2017).

    ECE = Σ_b w_b | observed_b − predicted_b |          over bins of equally many rows

ECE is never 0, even for a perfect forecast, because of chance. It is therefore shown with the ECE
of a perfectly calibrated forecast of the same probabilities, whose outcomes are drawn (consistency
resampling, Bröcker & Smith 2007). The interval of the true error is from 500 resamples of the rows.
Its lower end is 2·ECE − q₉₇.₅, the basic bootstrap's bound, which removes the upward bias, or 0 if
chance alone explains the ECE. Its upper end is ECE + (mean − q₂.₅), which keeps the bias. So it
contains the ECE itself and is conservative above (covers 90 % and more in our simulations).

A proper score S is the sum of three parts, whatever the bins, by isotonic recalibration ĉ of the
forecast and the constant forecast r, the rate of the event (CORP: Dimitriadis, Gneiting & Jordan
2021, PNAS 118):

    S(p) = MCB − DSC + UNC,    MCB = S(p) − S(ĉ),   DSC = S(r) − S(ĉ),   UNC = S(r)

miscalibration MCB ≥ 0, discrimination DSC ≥ 0, uncertainty UNC.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.analysis.diagnostics import InapplicableError
from harness.analysis.run_view import Interval

BINS = 10
RESAMPLES = 500
TINY = 1e-15  # probabilities are clipped this far from 0 and 1, as in the metric


@dataclass(frozen=True)
class Bin:
    """Rows of similar probability."""

    low: float
    high: float
    rows: int
    share: float  # of the weight of all rows
    predicted: float  # mean probability
    observed: float  # rate of the event
    bounds: tuple[float, float]  # of the rate: Wilson's 95 % interval


@dataclass(frozen=True)
class Parts:
    """A proper score as the sum of three parts."""

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True)
class Calibration:
    """Result of the calibration diagnostic."""

    event: str  # "second class" or "top label"
    rows: int
    bins: tuple[Bin, ...]
    ece: Interval
    chance: tuple[float, float]  # ECE of a perfect forecast: mean and 95 % quantile
    scores: Mapping[str, Parts]  # brier, log_loss

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        result, (_, most) = self.ece, self.chance
        shown = "miscalibrated" if result.value > most else "not shown to be miscalibrated"
        return (
            f"ECE {result.value:.4f} over {self.rows} rows (true error {result.low:.4f} to "
            f"{result.high:.4f}; chance alone gives up to {most:.4f}): {shown}"
        )


def event_of(output: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the probability of the event, whether it occurred (float64), and its name.

    Parameters
    ----------
    output : (n, n_classes) probabilities
    y : (n,) int class codes
    """
    if output.ndim != 2:
        raise InapplicableError("a regression predicts no probabilities")
    if output.shape[1] == 2:
        return output[:, 1], (y == 1).astype(np.float64), "second class"
    return output.max(axis=1), (output.argmax(axis=1) == y).astype(np.float64), "top label"


def calibrate(
    output: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    n_bins: int = BINS,
    resamples: int = RESAMPLES,
) -> Calibration:
    """Measure the calibration of a classifier's probabilities.

    Parameters
    ----------
    output : (n, n_classes) probabilities
    y : (n,) int class codes
    weight : (n,), optional
        Weights of the rows; a row of weight 0 does not count.

    Raises
    ------
    InapplicableError
        For a regression, or without rows of positive weight.
    """
    p, hit, event = event_of(output, y)
    w = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64)
    kept = w > 0
    if not kept.any():
        raise InapplicableError("there are no test rows of positive weight")
    p, hit, w = np.clip(p[kept], TINY, 1 - TINY), hit[kept], w[kept]
    place = bin_of(p, quantile_edges(p, n_bins))
    rng = np.random.default_rng(0)
    ece, chance = error_interval(p, hit, w, place, resamples, rng)
    scores = {name: decompose(p, hit, w, name) for name in ("brier", "log_loss")}
    return Calibration(event, len(p), bins(p, hit, w, place), ece, chance, scores)


def quantile_edges(p: np.ndarray, n_bins: int) -> np.ndarray:
    """Return n_bins + 1 edges with about equally many rows in each bin."""
    result: np.ndarray = np.quantile(p, np.linspace(0, 1, n_bins + 1))
    return result


def bin_of(p: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the bin number of each probability; one on an edge belongs to the lower bin."""
    result: np.ndarray = np.searchsorted(edges[1:-1], p)
    return result


def bins(p: np.ndarray, hit: np.ndarray, w: np.ndarray, place: np.ndarray) -> tuple[Bin, ...]:
    """Return the bins that hold any rows."""
    result = []
    for number in np.unique(place):
        rows = place == number
        weight = w[rows]
        observed = float(np.average(hit[rows], weights=weight))
        effective = float(weight.sum() ** 2 / (weight**2).sum())  # rows of equal weight (Kish)
        result.append(
            Bin(
                low=float(p[rows].min()),
                high=float(p[rows].max()),
                rows=int(rows.sum()),
                share=float(weight.sum() / w.sum()),
                predicted=float(np.average(p[rows], weights=weight)),
                observed=observed,
                bounds=wilson(observed, effective),
            )
        )
    return tuple(result)


def wilson(rate: float, n: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return Wilson's interval of a rate over n rows."""
    center = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return max(0.0, center - half), min(1.0, center + half)


def expected_error(hit_minus_p: np.ndarray, w: np.ndarray, place: np.ndarray) -> float:
    """Return the expected calibration error; the weight of a bin cancels in each of its terms."""
    return float(np.abs(np.bincount(place, w * hit_minus_p)).sum() / w.sum())


def error_interval(
    p: np.ndarray,
    hit: np.ndarray,
    w: np.ndarray,
    place: np.ndarray,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Interval, tuple[float, float]]:
    """Return the ECE with the interval of the true error, and a perfect forecast's ECE.

    The latter is given by its mean and its 95 % quantile.
    """
    value = expected_error(hit - p, w, place)
    n = len(p)
    resampled, perfect = np.empty(resamples), np.empty(resamples)
    for i in range(resamples):
        rows = rng.integers(0, n, n)
        resampled[i] = expected_error((hit - p)[rows], w[rows], place[rows])
        perfect[i] = expected_error((rng.random(n) < p) - p, w, place)
    least, most = (float(q) for q in np.quantile(resampled, [0.025, 0.975]))
    chance = float(np.quantile(perfect, 0.95))
    low = max(0.0, 2 * value - most) if value > chance else 0.0
    interval = Interval(min(low, value), value, value + float(resampled.mean()) - least, n=n)
    return interval, (float(perfect.mean()), chance)


def decompose(p: np.ndarray, hit: np.ndarray, w: np.ndarray, score: str) -> Parts:
    """Decompose the mean ``brier`` score or ``log_loss`` by isotonic recalibration."""
    from scipy.special import xlogy

    def mean_score(q: np.ndarray) -> float:
        each = (q - hit) ** 2 if score == "brier" else -xlogy(hit, q) - xlogy(1 - hit, 1 - q)
        return float(np.average(each, weights=w))

    rate = np.full(len(p), np.average(hit, weights=w))  # r
    original, recalibrated, constant = (mean_score(q) for q in (p, recalibrate(p, hit, w), rate))
    return Parts(original, original - recalibrated, constant - recalibrated, constant)


def recalibrate(p: np.ndarray, hit: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return ĉ, the isotonic regression of the event on its probability, float64 (n,)."""
    from scipy.optimize import isotonic_regression

    _, same = np.unique(p, return_inverse=True)  # equal forecasts stay equal
    weight = np.bincount(same, w)
    rate = np.bincount(same, w * hit) / weight
    steps = np.clip(isotonic_regression(rate, weights=weight).x, 0.0, 1.0)
    result: np.ndarray = steps[same]
    return result
