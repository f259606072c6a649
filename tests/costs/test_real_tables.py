"""Tests of the comparison with LightGBM on real tables."""

import os
import sys
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
with mock.patch.dict(os.environ), mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
    real_tables = import_module("costs.real_tables")
MODES, OURS = real_tables.MODES, real_tables.OURS
SECONDS = {OURS: 1.0, "row-wise": 4.0, "column-wise": 3.0, "quantised": 5.0}


class FakeFitter:
    """Fitter whose models take a fixed number of seconds, and twice as much CPU time."""

    def __init__(self, slowness=1.0):
        self.slowness, self.asked = slowness, []

    def ask(self, **request):
        if "table" in request:
            return 7, 2
        self.asked.append(request["fit"])
        wall = self.slowness * SECONDS[request["fit"]]
        return wall, 2.0 * wall


def test_ratios_are_those_of_the_fastest_mode_and_of_the_other_side():
    options = Namespace(leaves=31, rounds=10, rows=100, repetitions=3)
    fitters = [FakeFitter(), FakeFitter(slowness=2.5)]
    shape, seconds = real_tables.measure(fitters, "any", options, 1)
    assert shape == (7, 2)
    for clock in range(2):
        assert real_tables.ratios_of(seconds, clock, "LightGBM") == [3.0] * 3
        assert real_tables.ratios_of(seconds, clock, "old") == [2.5] * 3
    assert fitters[0].asked == [*list(MODES)[::-1], OURS, OURS, *MODES, *list(MODES)[::-1], OURS]
    assert fitters[1].asked == [OURS] * 3
    assert real_tables.show([2.0, 1.0, 4.0]) == "2.00 [1.00, 4.00]"


@pytest.mark.parametrize("is_classification", [True, False])
@pytest.mark.parametrize("kind", [OURS, *MODES])
def test_every_kind_of_model_is_fitted(kind, is_classification):
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = (X[:, 0] > 0.0).astype(int) if is_classification else X[:, 0]
    problem = real_tables.Problem(X, y, is_classification, {"n_estimators": 2, "n_jobs": 1})
    wall, cpu = problem.fit(kind)
    assert wall > 0.0
    assert cpu >= 0.0
