"""Permutation importance: the increase of the loss without each column (Breiman 2001, Fisher 2019).

A column's importance is the mean, over several shuffles of its values among the test rows, of the
loss with them minus the loss without. The interval is Student's t over the shuffles: it covers the
choice of shuffles, not the choice of the split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.analysis.stats import resampled_interval


@dataclass(frozen=True)
class Permutation:
    """The importance of every column, the largest first."""

    metric: str
    loss: float  # without shuffling
    columns: tuple[str, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        needed = [name for name, low in zip(self.columns, self.low, strict=True) if low > 0]
        if not needed:
            return "no column is clearly needed: shuffling any of them changes the loss little"
        first = ", ".join(needed[:3])
        return f"{len(needed)} of {len(self.columns)} columns are needed; most of all {first}"


def importances(columns: np.ndarray, increase: np.ndarray, loss: float, metric: str) -> Permutation:
    """Return the importances of (k,) columns from (k, shuffles) increases of the loss."""
    intervals = [resampled_interval(row, ratio=0.0) for row in increase]
    order = sorted(range(len(columns)), key=lambda j: -intervals[j].value)
    return Permutation(
        metric=metric,
        loss=float(loss),
        columns=tuple(str(columns[j]) for j in order),
        mean=tuple(intervals[j].value for j in order),
        low=tuple(intervals[j].low for j in order),
        high=tuple(intervals[j].high for j in order),
    )
