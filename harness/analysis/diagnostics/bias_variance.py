"""Error = noise + bias² + variance, over models of training sets that were drawn independently.

Geman, Bienenstock, Doursat: Neural networks and the bias/variance dilemma. Neural Computation 4,
1992. F_r(x) is the prediction of the model of training set r = 1 … R, F̄ the mean over r, f the
truth and y = f + noise the target of a test row; all means are over test rows:

    variance = mean Σ_r (F_r − F̄)² / (R − 1)                 unbiased
    bias²    = mean (F̄ − f)² − variance / R                  unbiased: F̄ varies itself
    noise    = mean (y − f)²
    cross    = mean 2 (F̄ − f)(f − y)                         0 in expectation
    error    = mean_r mean (F_r − y)² = noise + bias² + variance + cross      exactly

If f is unknown, y replaces it: noise then counts as bias, and there is no cross term.

Domingos: A unified bias-variance decomposition and its applications. ICML 2000. For classes, with
m the main prediction (of most models; the first class if several are equal):

    bias     = share of rows with m ≠ y                      noise counts as bias
    V_u      = mean over rows of 1{m = y} P_r(F_r ≠ m)       unbiased variance, raises the error
    V_b      = mean over rows of 1{m ≠ y} P_r(F_r = y)       biased variance, lowers the error
    error    = mean_r mean 1{F_r ≠ y} = bias + V_u − V_b      exactly

For two classes V_b is the share of models that differ from m; for more classes, models that
differ from m and are also wrong change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.analysis.diagnostics import InapplicableError

RESAMPLES = 500  # of the test rows
LEVEL = 0.95


@dataclass(frozen=True)
class Part:
    """One part of the error, with a percentile interval over resampled test rows."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Decomposition:
    """Decomposition of the error of a family of models; parts by name."""

    kind: str  # "squared" or "0-1"
    sets: int  # R
    rows: int  # test rows
    truth: bool  # whether f is known; otherwise bias includes the noise
    parts: dict[str, Part]  # the error and its summands

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        value = {name: part.value for name, part in self.parts.items()}
        head = f"over {self.sets} training sets error {value['error']:.4g} = "
        if self.kind == "0-1":
            net = f"{value['unbiased_variance']:.4g} − {value['biased_variance']:.4g}"
            return f"{head}bias with noise {value['bias']:.4g} + variance {net}"
        if not self.truth:
            both = f"bias² with noise {value['bias2']:.4g}"
            return f"{head}{both} + variance {value['variance']:.4g}"
        return (
            f"{head}noise {value['noise']:.4g} + bias² {value['bias2']:.4g} + variance "
            f"{value['variance']:.4g} + cross {value['cross']:.2g}"
        )


def of_values(
    predicted: np.ndarray,
    y: np.ndarray,
    truth: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> Decomposition:
    """Decompose the mean squared error.

    Parameters
    ----------
    predicted : (R, n) float64
        Predictions of each model for the same test rows; R ≥ 2.
    y : (n,) float64
    truth : (n,) float64, optional
        f, the target without noise.
    weight : (n,) float64, optional
        Weights of the test rows.
    """
    sets = _checked(predicted)
    f = y if truth is None else truth
    mean = predicted.mean(axis=0)  # F̄
    variance = predicted.var(axis=0, ddof=1)
    rows = {
        "error": ((predicted - y) ** 2).mean(axis=0),
        "bias2": (mean - f) ** 2 - variance / sets,
        "variance": variance,
    }
    if truth is not None:
        rows |= {"noise": (y - f) ** 2, "cross": 2 * (mean - f) * (f - y)}
    parts = _parts(rows, weight)
    return Decomposition("squared", sets, len(y), truth is not None, parts)


def of_classes(
    predicted: np.ndarray, y: np.ndarray, n_classes: int, weight: np.ndarray | None = None
) -> Decomposition:
    """Decompose the share of wrong classes.

    Parameters
    ----------
    predicted : (R, n) int
        Class codes that each model predicts for the same test rows; R ≥ 2.
    y : (n,) int
    n_classes : int
    weight : (n,) float64, optional
        Weights of the test rows.
    """
    sets = _checked(predicted)
    counts = np.stack([(predicted == k).sum(axis=0) for k in range(n_classes)])
    main = counts.argmax(axis=0)  # m
    each = np.arange(len(y))
    right = counts[y, each] / sets  # P_r(F_r = y)
    biased = main != y
    rows = {
        "error": 1 - right,
        "bias": biased.astype(np.float64),
        "unbiased_variance": np.where(biased, 0.0, 1 - counts[main, each] / sets),  # V_u
        "biased_variance": np.where(biased, right, 0.0),  # V_b
    }
    return Decomposition("0-1", sets, len(y), truth=False, parts=_parts(rows, weight))


def _checked(predicted: np.ndarray) -> int:
    """Return R; raise if there are fewer than two sets or rows."""
    if min(predicted.shape) < 2:
        raise InapplicableError("it needs at least two training sets and two test rows")
    return len(predicted)


def _parts(rows: dict[str, np.ndarray], weight: np.ndarray | None) -> dict[str, Part]:
    """Return the weighted mean of each part over the rows, with its interval."""
    n = len(rows["error"])
    w = np.ones(n) if weight is None else weight
    if not w.sum() > 0:
        raise InapplicableError("the weights of the test rows are all zero")
    values = np.stack([*rows.values(), np.ones(n)], axis=1) * w[:, None]
    random = np.random.default_rng(0)  # the same resamples for every model
    drawn = [values[random.integers(0, n, n)].sum(axis=0) for _ in range(RESAMPLES)]
    sums = np.array([s for s in drawn if s[-1] > 0])
    means = sums[:, :-1] / sums[:, -1:]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    center = values[:, :-1].sum(axis=0) / w.sum()
    columns = zip(rows, center, low, high, strict=True)
    return {name: Part(float(c), float(a), float(b)) for name, c, a, b in columns}
