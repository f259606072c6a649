"""Alarms: the newest value of a series above a boundary that its earlier values give.

A threshold is chosen for each measure, as ``MEASURE=MODEL`` or ``MEASURE=MODEL:LIMIT``; with
``MEASURE@MACHINE`` it holds for the times of that machine only. Values of a series are such that
lower is better, so a boundary is an upper one.

==============  =======  =========================================================================
model           limit    boundary
==============  =======  =========================================================================
percentage      10%      mean of the earlier values, plus the limit as a share of it
t-test          0.99     upper bound of the one-sided prediction interval of Student's t for one
                         more value, at this level
log-normal      0.99     the same of the logarithms; values must be above 0
iqr             1.5      third quartile, plus the limit times the interquartile range (Tukey)
change-point    5%       level before the last step, plus the limit as a share of it; only if the
                         step begins at one of the three newest values (asv's step detection)
==============  =======  =========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from harness.analysis.series import Point, Series, find_steps
from harness.core.errors import ConfigError, unknown
from harness.core.units import parse_share

RECENT = 3  # a step counts as new if it begins at one of so many newest values
# limit of each model, and the number of earlier values that it needs
DEFAULTS = {"percentage": 0.1, "t-test": 0.99, "log-normal": 0.99, "iqr": 1.5, "change-point": 0.05}
MIN_EARLIER = {"percentage": 1, "t-test": 3, "log-normal": 3, "iqr": 4, "change-point": 2}


@dataclass(frozen=True)
class Threshold:
    """Rule for the newest value of the series of a measure."""

    measure: str  # glob: "fit", "loss", "trials.*", "*"
    model: str
    limit: float
    machine: str = "*"  # glob of the machine's id

    def holds_for(self, series: Series) -> bool:
        """Return whether the rule is for this series."""
        of_machine = fnmatchcase(series.machine, self.machine)
        return of_machine and fnmatchcase(series.measure, self.measure)


@dataclass(frozen=True)
class Alarm:
    """A newest value above its boundary."""

    series: Series
    threshold: Threshold
    boundary: float

    def __str__(self) -> str:
        """Return the alarm as a sentence."""
        newest, unit = self.series.points[-1], self.series.unit
        return (
            f"{self.series.name}: {newest.value:.4g} {unit} at {newest.commit} is above "
            f"{self.boundary:.4g} ({self.threshold.model}, limit {self.threshold.limit:g})"
        )


def parse_threshold(text: str) -> Threshold:
    """Return the threshold of a text such as ``fit=iqr`` or ``loss=percentage:2%``.

    Raises
    ------
    ConfigError
        If the text has another form, or the model or its limit is not valid.
    """
    place, equals, rule = text.partition("=")
    measure, at, machine = place.partition("@")
    model, colon, given = rule.partition(":")
    if not (measure and equals and model) or (at and not machine):
        raise ConfigError(
            "an alarm is MEASURE=MODEL, MEASURE=MODEL:LIMIT or MEASURE@MACHINE=MODEL:LIMIT, "
            f"not {text!r}"
        )
    return Threshold(measure, model, _limit(model, given if colon else None), machine or "*")


def _limit(model: str, given: str | None) -> float:
    """Return the limit of a model from its text; None gives the default."""
    if model not in DEFAULTS:
        raise ConfigError(unknown("model of an alarm", model, DEFAULTS, ", ".join(DEFAULTS)))
    if given is None:
        return DEFAULTS[model]
    if model != "iqr":
        return parse_share(given)
    try:
        limit = float(given)
    except ValueError:
        limit = math.nan
    if not 0 < limit < math.inf:
        raise ConfigError(f"the limit of iqr is a number above 0, not {given!r}")
    return limit


def find_alarms(series: Sequence[Series], thresholds: Sequence[Threshold]) -> list[Alarm]:
    """Return the alarms of all series; the last threshold that matches a measure applies to it.

    Raises
    ------
    ConfigError
        If a threshold matches the measure or the machine of no series.
    NoAsvError
        If a threshold has the model "change-point" and asv is not installed.
    """
    for one in thresholds:
        measures = {s.measure for s in series}
        if not any(fnmatchcase(measure, one.measure) for measure in measures):
            raise ConfigError(unknown("measure of an alarm", one.measure, measures))
        if not any(map(one.holds_for, series)):
            machines = {s.machine for s in series if fnmatchcase(s.measure, one.measure)}
            raise ConfigError(unknown("machine of an alarm", one.machine, machines))
    alarms = []
    for s in series:
        fitting = [one for one in thresholds if one.holds_for(s)]
        if fitting:
            boundary = boundary_of(s.points, fitting[-1])
            if s.points[-1].value > boundary:
                alarms.append(Alarm(s, fitting[-1], boundary))
    return alarms


def boundary_of(points: Sequence[Point], threshold: Threshold) -> float:
    """Return the boundary of the newest value; infinity if the earlier values do not give one."""
    earlier = np.array([point.value for point in points[:-1]])
    if len(earlier) < MIN_EARLIER[threshold.model]:
        return math.inf
    if threshold.model == "change-point":
        return _before_new_step(points, threshold.limit)
    return _BOUNDARIES[threshold.model](earlier, threshold.limit)


def _percentage(earlier: np.ndarray, limit: float) -> float:
    mean = float(earlier.mean())
    return mean + limit * abs(mean)


def _t_test(earlier: np.ndarray, level: float) -> float:
    from scipy.stats import t

    n = len(earlier)
    quantile = float(t.ppf(level, n - 1))
    return float(earlier.mean() + quantile * earlier.std(ddof=1) * math.sqrt(1 + 1 / n))


def _log_normal(earlier: np.ndarray, level: float) -> float:
    if not (earlier > 0).all():
        return math.inf
    return math.exp(_t_test(np.log(earlier), level))


def _iqr(earlier: np.ndarray, factor: float) -> float:
    first, third = np.quantile(earlier, [0.25, 0.75])
    return float(third + factor * (third - first))


def _before_new_step(points: Sequence[Point], limit: float) -> float:
    steps = find_steps(points, limit)
    if not steps or steps[-1].index < len(points) - RECENT:
        return math.inf
    return steps[-1].before + limit * abs(steps[-1].before)


_BOUNDARIES: dict[str, Callable[[np.ndarray, float], float]] = {
    "percentage": _percentage,
    "t-test": _t_test,
    "log-normal": _log_normal,
    "iqr": _iqr,
}
