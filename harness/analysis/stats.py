"""Estimates and confidence intervals from few paired numbers.

The sign is the caller's choice: all functions are antisymmetric, so swapping the two sides of a
difference mirrors an interval and changes nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from harness.analysis.run_view import Interval

EXACT = 50  # numbers up to which the signed-rank statistic's own distribution is used
Z = NormalDist()


# ------------------------------------------------------------------ signed ranks


def hodges_lehmann(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return the Hodges-Lehmann estimate of a center with its signed-rank interval.

    The estimate is the median of the n(n+1)/2 Walsh averages (xᵢ + xⱼ)/2, i ≤ j; the interval
    runs from the k-th smallest of them to the k-th largest, k as large as the signed-rank
    distribution allows (Hodges & Lehmann 1963; Hollander & Wolfe, *Nonparametric Statistical
    Methods*, section 3.3). Ties and zeros are kept; with them the interval covers at least as
    often as stated.

    Parameters
    ----------
    values
        (n,) finite numbers, n ≥ 1; takes memory in n².
    level
        Requested confidence. The result holds the achieved level, which is never less if n ≤ 50,
        where the distribution is exact.
    """
    x = finite(values)
    i, j = np.triu_indices(len(x))
    walsh = np.sort((x[i] + x[j]) / 2)
    center = float(np.median(walsh))
    trimmed, achieved = signed_rank_trim(len(x), level)
    if trimmed < 0:
        return unbounded(center, len(x), level, smallest_signed_rank(level))
    return Interval(float(walsh[trimmed]), center, float(walsh[-1 - trimmed]), achieved, n=len(x))


def signed_rank_trim(n: int, level: float) -> tuple[int, float]:
    """Return the number of Walsh averages to drop from each end, and the achieved level.

    The number is -1 if even dropping none covers less often than ``level``.
    """
    tail = (1 - level) / 2
    if n <= EXACT:
        cdf = signed_rank_cdf(n)
        trimmed = int(np.searchsorted(cdf, tail * (1 + 1e-12), side="right")) - 1
        return trimmed, 1 - 2 * float(cdf[trimmed]) if trimmed >= 0 else 1.0
    mean = n * (n + 1) / 4
    deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    trimmed = math.floor(mean + Z.inv_cdf(tail) * deviation - 0.5)
    return trimmed, 1 - 2 * Z.cdf((trimmed + 0.5 - mean) / deviation)


@cache
def signed_rank_cdf(n: int) -> np.ndarray:
    """Return P(T ≤ t), t = 0 … n(n+1)/2, of the sum T of a random subset of the ranks 1 … n."""
    return np.cumsum(subset_sums(range(1, n + 1))) / 2.0**n


def subset_sums(ranks: Iterable[int]) -> np.ndarray:
    """Return the number of subsets of positive integers by sum 0 … Σ, exact up to 2⁵³."""
    ways = np.ones(1)
    for rank in ranks:
        grown = np.zeros(len(ways) + rank)
        grown[: len(ways)] = ways
        grown[rank:] += ways
        ways = grown
    return ways


@cache
def smallest_signed_rank(level: float) -> int:
    """Return the least n at which a signed-rank interval of that level exists: 6 at 95 %."""
    return next(n for n in range(1, EXACT + 1) if signed_rank_trim(n, level)[0] >= 0)


# ------------------------------------------------------------------ scores of resampled splits


def resampled_error(differences: ArrayLike, ratio: float) -> float:
    """Return the standard error of the mean of J differences over overlapping training sets.

    √((1/J + n_test/n_train) · s²) with s² the sample variance: splits share training rows, so
    the plain s²/J is far too small (Nadeau & Bengio 2003, *Machine Learning* 52, equation 10;
    for repeated cross-validation Bouckaert & Frank 2004).

    Parameters
    ----------
    differences
        (J,) paired differences of a score, one a split, J ≥ 2.
    ratio
        n_test / n_train.
    """
    x = finite(differences)
    return math.sqrt(1 / len(x) + ratio) * float(np.std(x, ddof=1))


def resampled_interval(differences: ArrayLike, ratio: float, level: float = 0.95) -> Interval:
    """Return the mean of paired differences with the Nadeau-Bengio t interval, J - 1 degrees.

    One difference alone gives an unbounded interval. J differences without any spread give one
    of width zero; the caller decides whether that means anything.
    """
    x = finite(differences)
    mean = float(np.mean(x))
    if len(x) < 2:
        return unbounded(mean, len(x), level, 2)
    half = t_quantile((1 + level) / 2, len(x) - 1) * resampled_error(x, ratio)
    return Interval(mean - half, mean, mean + half, level, n=len(x))


def posterior(differences: ArrayLike, ratio: float, margin: float) -> tuple[float, float, float]:
    """Return P(below -margin), P(within ±margin), P(above margin) of the mean difference.

    The Bayesian correlated t-test (Corani & Benavoli 2015, *Machine Learning* 100; Benavoli et
    al. 2017, JMLR 18(77)): with flat priors the posterior is Student's t with J - 1 degrees of
    freedom around the mean difference, its scale the :func:`resampled_error`. The margin is the
    region of practical equivalence (ROPE).
    """
    x = finite(differences)
    mean, scale, degrees = float(np.mean(x)), resampled_error(x, ratio), len(x) - 1
    if scale == 0:
        below, above = float(mean < -margin), float(mean > margin)
    else:
        below = float(stdtr(degrees, (-margin - mean) / scale))
        above = float(stdtr(degrees, (mean - margin) / scale))
    return below, max(0.0, 1 - below - above), above


# ------------------------------------------------------------------ pooling


def random_effects(effects: ArrayLike, errors: ArrayLike, level: float = 0.95) -> Interval:
    """Return the mean effect over sets that differ, with its interval.

    Weights 1/(eᵢ² + τ²), the variance τ² between sets by Paule & Mandel (1982), the interval by
    Hartung-Knapp-Sidik-Jonkman: Student's t with k - 1 degrees of freedom on the weighted
    residual variance, which is not allowed to fall below what the errors alone explain (Röver,
    Knapp & Friede 2015, *BMC Med. Res. Methodol.* 15:99), because few sets agree by chance.

    Parameters
    ----------
    effects
        (k,) estimates, one a set.
    errors
        (k,) their standard errors, all positive.
    """
    y, e = finite(effects), finite(errors)
    if len(y) < 2:
        return unbounded(float(np.mean(y)), len(y), level, 2)
    weight = 1 / (e**2 + between_variance(y, e))
    mean = float(weight @ y / weight.sum())
    scale = max(1.0, float(weight @ (y - mean) ** 2) / (len(y) - 1))
    half = t_quantile((1 + level) / 2, len(y) - 1) * math.sqrt(scale / float(weight.sum()))
    return Interval(mean - half, mean, mean + half, level, n=len(y))


def between_variance(effects: np.ndarray, errors: np.ndarray) -> float:
    """Return the τ² ≥ 0 at which the weighted squares sum to k - 1 (Paule & Mandel 1982)."""

    def excess(variance: float) -> float:
        weight = 1 / (errors**2 + variance)
        mean = weight @ effects / weight.sum()
        return float(weight @ (effects - mean) ** 2) - (len(effects) - 1)

    if excess(0.0) <= 0:
        return 0.0
    from scipy.optimize import brentq

    # At τ² = Σ(y - ȳ)²/(k - 1) equal weights would balance; errors only lower the root.
    top = float(np.var(effects, ddof=1))
    return float(brentq(excess, 0.0, top, xtol=1e-14 * top, rtol=1e-12))


def geometric_mean(ratios: ArrayLike, level: float = 0.95) -> Interval:
    """Return the geometric mean of positive ratios with the t interval of their logarithms.

    It is the only mean for which A/B and B/A give the same result (Fleming & Wallace 1986).
    """
    logs = np.log(finite(ratios))
    return transformed(resampled_interval(logs, ratio=0.0, level=level), math.exp)


# ------------------------------------------------------------------ helpers


def transformed(interval: Interval, f: Callable[[float], float]) -> Interval:
    """Return an interval transformed by an increasing function."""
    low, value, high = (f(x) for x in (interval.low, interval.value, interval.high))
    return Interval(low, value, high, interval.level, interval.n, interval.note)


def unbounded(value: float, n: int, level: float, needed: int) -> Interval:
    """Return an estimate without bounds, with a note on the number of units needed."""
    note = f"n = {n}: an interval at {level:.0%} needs at least {needed}"
    return Interval(-math.inf, value, math.inf, level=1.0, n=n, note=note)


def t_quantile(probability: float, degrees: Any) -> Any:
    """Return Student's t quantile; ``degrees`` may be an array."""
    quantile = stdtrit(degrees, probability)
    return quantile if np.ndim(quantile) else float(quantile)


def finite(values: ArrayLike) -> np.ndarray:
    """Return a non-empty (n,) float64 array; raise ValueError for NaN and infinity."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise ValueError(f"statistics need one or more finite numbers in one row, got {values!r}")
    return x
