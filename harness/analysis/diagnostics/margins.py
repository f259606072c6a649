"""Distribution of the normalized margins of a weighted vote, a measure of its confidence.

Schapire, Freund, Bartlett, Lee: Boosting the margin. Annals of Statistics 26, 1998.

    margin(x, y) = [ Σ_t α_t 1{h_t(x) = y} − max_{j≠y} Σ_t α_t 1{h_t(x) = j} ] / Σ_t |α_t|

It lies between −1 and 1 and is positive if the vote is right. Their bound on the test error uses
the margins of training rows: boosting continues to raise them after all training rows are
classified correctly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.analysis.diagnostics.members import against, tallies

GRID = np.linspace(-1.0, 1.0, 41)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Margins:
    """The distribution of the margins of some rows."""

    rows: int
    least: float
    mean: float
    quantiles: Mapping[str, float]
    wrong: float  # share of rows with a margin of 0 or less: wrong, or a tie
    at: tuple[float, ...]  # margins from -1 to 1
    below: tuple[float, ...]  # share of the rows with at most that margin

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        return (
            f"margins from {self.least:.2f}, median {self.quantiles['0.5']:.2f}; "
            f"{self.wrong:.1%} of {self.rows} rows at 0 or below"
        )


def margins(votes: np.ndarray, weight: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the normalized margin of each row, float64 (n,).

    Parameters
    ----------
    votes : (n_trees, n) int
        Class codes that the members predict.
    weight : (n_trees,)
        Weights α of the members.
    y : (n,) int
        True class codes.
    """
    return against(tallies(votes, weight, n_classes), y)[0]


def distribution(margin: np.ndarray) -> Margins:
    """Summarize margins for a report."""
    ordered = np.sort(margin)
    # sums of weights that should be 0 may differ from it by rounding
    below = np.searchsorted(ordered, GRID + 1e-12, side="right") / len(ordered)
    return Margins(
        rows=len(margin),
        least=float(ordered[0]),
        mean=float(margin.mean()),
        quantiles={f"{q:g}": float(np.quantile(ordered, q)) for q in QUANTILES},
        wrong=float(np.mean(margin <= 1e-12)),
        at=tuple(GRID.tolist()),
        below=tuple(below.tolist()),
    )
