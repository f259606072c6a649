"""Means of finite values, NaN if there are none."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable


def mean(values: Iterable[float]) -> float:
    """Return the mean of the finite values, or NaN."""
    finite = [v for v in values if math.isfinite(v)]
    return statistics.fmean(finite) if finite else math.nan


def median(values: Iterable[float]) -> float:
    """Return the median of the finite values, or NaN."""
    finite = [v for v in values if math.isfinite(v)]
    return statistics.median(finite) if finite else math.nan


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of the finite positive values, or NaN."""
    finite = [v for v in values if math.isfinite(v) and v > 0]
    return statistics.geometric_mean(finite) if finite else math.nan
