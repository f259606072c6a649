"""Difference of the predictions of two models, from one representable number up.

Distances are counted in steps between representable numbers (ulps). They are float32 steps if every
prediction of both sides is exact in float32, because such a library computes in float32 and one of
its steps is 2²⁹ of float64; otherwise they are float64 steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.diagnostics import InapplicableError

EDGES = (0, 1, 2, 4, 16, 256, 65536)  # first distance of each bar of the histogram
QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Agreement:
    """Two sets of predictions of the same rows."""

    rows: int
    same: float  # share of predicted numbers that are equal to the bit
    largest: float  # absolute difference, in the unit of the predictions
    quantiles: Mapping[str, float]  # of the absolute differences, at QUANTILES
    correlation: float | None  # Pearson's; None if one side predicts the same for every row
    ulps: Mapping[str, int]  # histogram: "0", "1", "2-3", … → predicted numbers
    most_ulps: int
    dtype: str  # dtype of the counted steps
    labels: float | None  # share of rows with the same most likely class; None for a regression

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        if self.same == 1:
            return f"the predictions of {self.rows} rows are the same to the bit"
        parts = [
            f"{self.same:.1%} of the predicted numbers are the same to the bit",
            f"the largest difference is {self.largest:.3g} ({self.most_ulps} {self.dtype} steps)",
        ]
        if self.labels is not None:
            parts.append(f"{self.labels:.2%} of the rows get the same label")
        return "; ".join(parts)


def compare(a: ArrayLike, b: ArrayLike) -> Agreement:
    """Compare the predictions of two models on the same rows.

    Parameters
    ----------
    a, b
        (n,) values, or (n, n_classes) probabilities, float64.

    Raises
    ------
    InapplicableError
        If the shapes differ, or there are no rows.
    """
    one, other = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if one.shape != other.shape or not one.size:
        raise InapplicableError(f"predictions of shapes {one.shape} and {other.shape}")
    x, y = numbers(one), numbers(other)
    distance = np.abs(x - y)
    steps, dtype = ulp_steps(x, y)
    return Agreement(
        rows=len(one),
        same=float(np.mean(steps == 0)),
        largest=float(distance.max()),
        quantiles={f"{q:g}": float(np.quantile(distance, q)) for q in QUANTILES},
        correlation=pearson(x, y),
        ulps=histogram(steps),
        most_ulps=int(steps.max()),
        dtype=dtype,
        labels=float(np.mean(one.argmax(1) == other.argmax(1))) if one.ndim > 1 else None,
    )


def numbers(output: np.ndarray) -> np.ndarray:
    """Return the independent numbers of predictions, flattened.

    For two classes this is the probability of the second; the first is its complement, often with
    its own rounding.
    """
    two = output.ndim > 1 and output.shape[1] == 2
    result: np.ndarray = output[:, 1] if two else output.ravel()
    return result


def ulp_steps(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the distance of each pair in representable numbers, uint64 (n,), and the dtype.

    Zero and minus zero are one number.
    """
    with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite, thus not exact
        exact = all(np.array_equal(v.astype(np.float32), v) for v in (x, y))
    if exact:
        places = [_places(v.astype(np.float32), np.int32).astype(np.int64) for v in (x, y)]
    else:
        places = [_places(np.ascontiguousarray(v, np.float64), np.int64) for v in (x, y)]
    first, second = np.minimum(*places), np.maximum(*places)
    # two int64 may differ by more than int64 holds; the wrapped difference is correct as uint64
    return second.view(np.uint64) - first.view(np.uint64), "float32" if exact else "float64"


def _places(values: np.ndarray, bits: type[np.signedinteger]) -> np.ndarray:
    """Return the positions of numbers among all of their dtype, zero at 0."""
    result = values.view(bits)
    placed: np.ndarray = np.where(result >= 0, result, np.iinfo(bits).min - result)
    return placed


def histogram(steps: np.ndarray) -> dict[str, int]:
    """Return the number of distances in each bin of ``EDGES``."""
    place = np.searchsorted(np.array(EDGES, np.uint64), steps, side="right") - 1
    counts = np.bincount(place, minlength=len(EDGES)).tolist()
    names = []
    for low, following in zip(EDGES, (*EDGES[1:], None), strict=True):
        last = None if following is None else following - 1
        names.append(f"{low}+" if last is None else f"{low}-{last}" if last > low else f"{low}")
    return dict(zip(names, counts, strict=True))


def pearson(x: np.ndarray, y: np.ndarray) -> float | None:
    """Return Pearson's correlation; None if one side does not vary."""
    dx, dy = x - x.mean(), y - y.mean()
    scale = float(np.sqrt(dx @ dx)) * float(np.sqrt(dy @ dy))
    if not scale > 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.clip(dx @ dy / scale, -1.0, 1.0))
