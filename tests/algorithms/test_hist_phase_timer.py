"""Tests of the timer of the phases of a fit."""

import os
import subprocess
import sys

import numpy as np
import pytest

from algorithms.gbdt import phase_timer
from algorithms.gbdt.phase_timer import GROWTH, PHASES, SWITCH, PhaseTimer, timed_fit, timed_phase

SCRIPT = """
import numpy as np
from algorithms import HistogramBoostingRegressor
X = np.random.default_rng(0).normal(size=(200, 3))
HistogramBoostingRegressor(n_estimators=7, colsample_bytree=0.7).fit(X, X[:, 0])
"""


def fit_in_a_process(value):
    env = {**os.environ, SWITCH: value}
    command = [sys.executable, "-c", SCRIPT]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stderr


def test_a_fit_writes_its_phases():
    lines = fit_in_a_process("1").splitlines()
    calls = {line[:38].strip(): line[38:].split() for line in lines[1:]}
    assert list(calls) == [*PHASES, "fit"]
    assert calls[GROWTH][0] == "7"
    wall = [float(calls[name][1]) for name in PHASES]
    assert sum(wall) == pytest.approx(float(calls["fit"][1]), abs=0.1)


def test_nothing_is_written_when_it_is_off():
    assert fit_in_a_process("0") == ""
    assert timed_phase(GROWTH, is_on=False)(np.sum) is np.sum
    assert timed_fit(np.sum, is_on=False) is np.sum


def test_a_phase_does_not_include_phases_inside_it(monkeypatch):
    now = iter(range(100))
    monkeypatch.setattr(phase_timer.time, "perf_counter", lambda: float(next(now)))
    timer = PhaseTimer()  # 0
    timer.enter("binning")  # 1
    timer.enter("bundling")  # 2
    timer.leave()  # 3
    timer.leave()  # 4
    timer.report()  # 5
    walls = {name: seconds[0] for name, seconds in timer.seconds.items() if seconds[0]}
    assert walls == {"Python between kernels": 2.0, "binning": 2.0, "bundling": 1.0}
