"""Strength of the members and correlation of the errors in an ensemble: the gain by averaging.

Breiman: Random forests. Machine Learning 45, 2001. Sections 2.2 and 11, on test rows:

    mr(x, y)     = P_Θ(h = y) − max_{j≠y} P_Θ(h = j)         margin of the vote
    s            = E mr                                      strength
    rmg(Θ, x, y) = 1{h = y} − 1{h = ĵ},   ĵ the best other class        raw margin of a tree
    ρ̄            = mean_{Θ≠Θ'} cov(rmg, rmg') / (mean_Θ sd(rmg))²
    PE           ≤ ρ̄ (1 − s²) / s²                           classification
    PE(forest)   ≤ ρ̄ PE(tree)                                regression, ρ̄ of the residuals

The covariance is averaged over pairs of different trees; pairing a tree with itself, which is not
in the definition, would add σ²/M.

The variance of a mean of m members, measured over the same rows and averaged over all disjoint
groups of m consecutive members, is compared with

    ρσ² + (1 − ρ) σ² / m                with ρ the mean correlation of two members.

The two are equal if all members have the same variance; their difference shows how unequal the
members are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.analysis.diagnostics import InapplicableError
from harness.analysis.diagnostics.members import against, tallies


@dataclass(frozen=True)
class Law:
    """The variance of a mean of ``m`` members, measured and by the formula."""

    m: tuple[int, ...]
    measured: tuple[float, ...]
    formula: tuple[float, ...]
    variance: float  # σ², mean over the members
    correlation: float  # ρ, mean over pairs of different members

    @property
    def deviation(self) -> float:
        """Return the largest |measured / formula − 1|."""
        pairs = zip(self.measured, self.formula, strict=True)
        return max(abs(a / b - 1) if b > 0 else float(a > 0) for a, b in pairs)


@dataclass(frozen=True)
class Strength:
    """Strength and correlation of an ensemble of equally weighted members on some rows."""

    rows: int
    members: int
    strength: float | None  # s; None for a regression
    correlation: float  # ρ̄
    error: float  # of the vote or mean: share of rows, or mean square
    member_error: float  # of one member, on average
    bound: float | None  # on the error of very many members; None if s ≤ 0: no bound exists
    law: Law

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        text = f"strength {self.strength:.3f}, " if self.strength is not None else ""
        text += f"correlation {self.correlation:.3f}: "
        text += f"error {self.error:.4g} where a member has {self.member_error:.4g}"
        if self.bound is not None:
            text += f" (bound for many members {self.bound:.4g})"
        law = f"the variance of means is within {self.law.deviation:.1%} of ρσ² + (1 − ρ)σ²/M"
        return f"{text}; {law}"


def of_votes(votes: np.ndarray, y: np.ndarray, n_classes: int) -> Strength:
    """Return strength and correlation of voters with equal weights.

    Parameters
    ----------
    votes : (n_trees, n) int
        Class codes that the members predict.
    y : (n,) int
        True class codes.
    """
    check_members(votes)
    margin, rival = against(tallies(votes, np.ones(len(votes)), n_classes), y)
    raw = (votes == y).astype(np.float64) - (votes == rival)  # rmg, (n_trees, n)
    s = float(margin.mean())
    correlation = weighted_correlation(raw)  # ρ̄
    return Strength(
        rows=len(y),
        members=len(votes),
        strength=s,
        correlation=correlation,
        error=float(np.mean(margin < -1e-12)),
        member_error=float(np.mean(votes != y)),
        bound=correlation * (1 - s**2) / s**2 if s > 0 else None,
        law=variance_law(raw),
    )


def of_values(values: np.ndarray, y: np.ndarray) -> Strength:
    """Return the correlation of the residuals of regressors with equal weights.

    Parameters
    ----------
    values : (n_trees, n) float64
        Predictions of the members.
    y : (n,) float64
    """
    check_members(values)
    residual = y - values
    correlation = weighted_correlation(residual)
    member_error = float(np.mean(residual**2))
    return Strength(
        rows=len(y),
        members=len(values),
        strength=None,
        correlation=correlation,
        error=float(np.mean(residual.mean(axis=0) ** 2)),
        member_error=member_error,
        bound=correlation * member_error,
        law=variance_law(residual),
    )


def check_members(members: np.ndarray) -> None:
    """Raise InapplicableError if there are fewer than two members or rows."""
    if min(members.shape) < 2:
        raise InapplicableError("at least two members and two rows are needed")


def weighted_correlation(values: np.ndarray) -> float:
    """Return ρ̄ of members, (n_members, n): mean covariance of pairs over (mean sd)².

    It is 0 if no member varies.
    """
    m = len(values)
    variance = values.var(axis=1)
    pairs = (m**2 * values.mean(axis=0).var() - variance.sum()) / (m * (m - 1))
    spread = float(np.sqrt(variance).mean())
    return float(pairs / spread**2) if spread > 0 else 0.0


def variance_law(values: np.ndarray) -> Law:
    """Compare the variance over rows of means of members with ρσ² + (1 − ρ)σ²/m."""
    members = len(values)
    variance = float(values.var(axis=1).mean())  # σ²
    correlation = mean_correlation(values)  # ρ
    sizes = sorted({min(2**k, members) for k in range(members.bit_length() + 1)})
    return Law(
        m=tuple(sizes),
        measured=tuple(_variance_of_means(values, m) for m in sizes),
        formula=tuple(correlation * variance + (1 - correlation) * variance / m for m in sizes),
        variance=variance,
        correlation=correlation,
    )


def mean_correlation(values: np.ndarray) -> float:
    """Return the mean Pearson correlation of two different members that both vary."""
    centered = values - values.mean(axis=1, keepdims=True)
    norm = np.sqrt((centered**2).sum(axis=1))
    unit = centered[norm > 0] / norm[norm > 0, None]
    m = len(unit)
    if m < 2:
        return 0.0
    total = unit.sum(axis=0)
    return float((total @ total - m) / (m * (m - 1)))  # Σ_{i≠j} r_ij over the number of pairs


def _variance_of_means(values: np.ndarray, m: int) -> float:
    groups = len(values) // m
    means = values[: groups * m].reshape(groups, m, -1).mean(axis=1)
    return float(means.var(axis=1).mean())
