"""Tests of the threshold models of histories."""

import math

import numpy as np
import pytest

from harness.analysis.alarms import Threshold, boundary_of, find_alarms, parse_threshold
from harness.analysis.series import Point, Series
from harness.core.errors import ConfigError


def points_of(values) -> tuple[Point, ...]:
    return tuple(Point(f"c{i}", f"2026-01-{i + 1:02d}", float(v)) for i, v in enumerate(values))


def series_of(values, measure: str = "fit", source: str = "harness quick") -> Series:
    return Series("forest", "wine", measure, "seconds", source, points_of(values))


def boundary(model: str, limit: float, *earlier: float) -> float:
    return boundary_of(points_of([*earlier, 0.0]), Threshold("*", model, limit))


def test_boundaries_are_those_of_the_formulas() -> None:
    assert boundary("percentage", 0.1, 1.0, 3.0) == pytest.approx(2.2)
    assert boundary("percentage", 0.1, -2.0) == pytest.approx(-1.8)
    # mean 2, deviation 1, three values; t(0.95, 2 degrees of freedom) = 2.919986
    assert boundary("t-test", 0.95, 1.0, 2.0, 3.0) == pytest.approx(2 + 2.919986 * math.sqrt(4 / 3))
    logs = boundary("t-test", 0.95, 1.0, 2.0, 3.0)
    assert boundary("log-normal", 0.95, *np.exp([1.0, 2.0, 3.0])) == pytest.approx(math.exp(logs))
    assert boundary("iqr", 1.5, 1.0, 2.0, 3.0, 4.0, 5.0) == pytest.approx(4 + 1.5 * 2)
    assert boundary("t-test", 0.95, 1.0, 2.0) == math.inf
    assert boundary("log-normal", 0.95, 0.0, 2.0, 3.0) == math.inf


def test_prediction_interval_has_its_level() -> None:
    random = np.random.default_rng(0)
    above = [
        values[-1] > boundary_of(points_of(values), Threshold("*", "t-test", 0.9))
        for values in random.normal(size=(2000, 6))
    ]
    assert np.mean(above) == pytest.approx(0.1, abs=0.02)


def test_each_measure_has_its_own_threshold() -> None:
    slow, steady = [1.0, 1.01, 0.99, 1.0, 1.02, 1.3], [1.0, 1.01, 0.99, 1.0, 1.02, 1.01]
    series = [series_of(slow), series_of(slow, "loss"), series_of(steady)]
    texts = ("*=iqr", "loss=percentage:50%")
    (alarm,) = find_alarms(series, [parse_threshold(text) for text in texts])
    assert alarm.series is series[0]
    assert str(alarm).startswith("forest · wine · fit: 1.3 seconds at c5 is above 1.0")
    with pytest.raises(ConfigError, match="unknown measure of an alarm 'fitt'"):
        find_alarms(series, [parse_threshold("fitt=iqr")])


def test_each_machine_has_its_own_threshold() -> None:
    slow = [1.0, 1.01, 0.99, 1.0, 1.02, 1.3]
    near = series_of(slow, source="harness quick on laptop")
    far = series_of(slow, source="asv on server")
    texts = ("fit=iqr", "fit@lap*=percentage:50%")
    alarms = find_alarms([near, far], [parse_threshold(text) for text in texts])
    assert [alarm.series.machine for alarm in alarms] == ["server"]
    with pytest.raises(ConfigError, match=r"unknown machine of an alarm 'labtop'.*'laptop'"):
        find_alarms([near, far], [parse_threshold("fit@labtop=iqr")])


def test_change_point_raises_an_alarm_while_it_is_new() -> None:
    pytest.importorskip("asv", reason="asv is not installed")
    values = [*[1.0, 1.01] * 6, *[1.5, 1.51, 1.5]]
    threshold = parse_threshold("fit=change-point")
    assert len(find_alarms([series_of(values)], [threshold])) == 1
    assert find_alarms([series_of([*values, 1.51, 1.5, 1.51])], [threshold]) == []
    assert find_alarms([series_of([*[1.5, 1.51] * 6, *[1.0, 1.01, 1.0]])], [threshold]) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fit", "MEASURE=MODEL"),
        ("=iqr", "MEASURE=MODEL"),
        ("fit@=iqr", "MEASURE@MACHINE=MODEL"),
        ("fit=t-tst", "did you mean 't-test'"),
        ("fit=t-test:2", "between 0 and 1"),
        ("fit=iqr:-1", "a number above 0"),
        ("fit=iqr:x", "a number above 0"),
    ],
)
def test_wrong_alarms_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_threshold(text)
