"""Growth of training time with rows, columns, bins, depth or threads: a slope on log-log axes.

    log t = a + b · log x + e,     b ± t_{n−2} · s_b

by ordinary least squares over every timed call, s_b the usual standard error of a slope. Time that
does not depend on x (starting threads, a first allocation) bends the line, so b is too small for
small sizes; the measured range is therefore shown with it.

Linear or n log n: over the timed sizes x, exact n log n growth has the log-log slope

    b* = Σ (log x − m)(log(x ln x)) / Σ (log x − m)²,     m the mean of log x,

a little above 1. Growth is called *linear* if the interval of b contains 1 and not b*, *n log n* if
it contains b* and not 1, *undecided* if it contains both, else *slower* or *faster than linear*, or
*faster than n log n*; an interval that contains 0 shows no growth at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.diagnostics import InapplicableError
from harness.analysis.run_view import Interval
from harness.analysis.stats import finite, t_quantile, unbounded


@dataclass(frozen=True)
class Scaling:
    """Seconds along one axis, and the fitted line."""

    axis: str  # rows, columns, bins, depth, threads
    x: tuple[float, ...]  # one entry per timed call
    seconds: tuple[float, ...]
    slope: Interval
    intercept: float  # of ln seconds at ln x = 0
    linearithmic: float | None  # b*, for rows only
    growth: str
    residual: float  # standard deviation of the residuals of ln seconds

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        span = f"from {min(self.x):g} to {max(self.x):g} {self.axis}"
        bounds = f" [{self.slope.low:.2f}, {self.slope.high:.2f}]"
        interval = bounds if math.isfinite(self.slope.low) else " (too few calls for an interval)"
        return f"time ∝ {self.axis}^{self.slope.value:.2f}{interval}, {span}: {self.growth}"


def fit(axis: str, x: Sequence[float], seconds: Sequence[float], level: float = 0.95) -> Scaling:
    """Fit a line to the logarithms of sizes and seconds.

    Parameters
    ----------
    axis
        Name of the quantity in ``x``.
    x, seconds
        (n,) positive; repeated calls at one size are separate entries.

    Raises
    ------
    InapplicableError
        With fewer than two different sizes, or a number that is not positive.
    """
    if len(set(x)) < 2:
        raise InapplicableError(
            f"a slope needs at least two sizes; {axis} were timed at {len(set(x))}"
        )
    sizes, times = finite(x), finite(seconds)
    if min(sizes.min(), times.min()) <= 0:
        raise InapplicableError(f"sizes and seconds must be positive to be fitted along {axis}")
    u, v = np.log(sizes), np.log(times)
    du = u - u.mean()
    b = float(du @ v / (du @ du))
    a = float(v.mean() - b * u.mean())
    n = len(u)
    slope, deviation = unbounded(b, n, level, 3), 0.0
    if n > 2:
        rest = v - a - b * u
        deviation = math.sqrt(float(rest @ rest) / (n - 2))
        half = t_quantile((1 + level) / 2, n - 2) * deviation / math.sqrt(float(du @ du))
        slope = Interval(b - half, b, b + half, level, n=n)
    star = linearithmic_slope(sizes) if axis == "rows" else None
    return Scaling(
        axis, tuple(sizes), tuple(times), slope, a, star, growth(axis, slope, star), deviation
    )


def linearithmic_slope(x: np.ndarray) -> float | None:
    """Return b*, the log-log slope of x ln x over these sizes; None if a size is below 3."""
    if x.min() < 3:
        return None
    u = np.log(x)
    du = u - u.mean()
    return float(du @ (u + np.log(u)) / (du @ du))


def growth(axis: str, slope: Interval, star: float | None) -> str:
    """Return the slope in words; see the rule in the module's docstring."""
    if not math.isfinite(slope.low):
        return "undecided"
    if axis == "threads":
        return _speedup(slope)
    one = 0 < slope.low <= 1 <= slope.high
    other = star is not None and 0 < slope.low <= star <= slope.high
    if one or other:
        named = {(True, True): "linear or n log n, undecided", (True, False): "linear"}
        return named.get((one, other), "n log n")
    if slope.low <= 0:
        return "falls" if slope.high < 0 else "no growth shown"
    if slope.high < 1:
        return "less than linear"
    return "faster than linear" if star is None or slope.low < star else "faster than n log n"


def _speedup(slope: Interval) -> str:
    """Return the effect of threads in words; with perfect use of threads the slope is -1."""
    if slope.high < 0:
        return "perfect use of threads" if slope.low <= -1 <= slope.high else "threads help"
    return "threads do harm" if slope.low > 0 else "threads are not shown to help"
