"""Tests of the measurement of peak memory: workloads, and peaks that a larger table increases."""

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import sparse

ROOT = Path(__file__).resolve().parents[2]
with mock.patch.dict(os.environ), mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
    peak_memory = import_module("costs.peak_memory")


def test_workloads_have_their_shapes_and_dtypes(monkeypatch):
    monkeypatch.setattr(peak_memory, "ROWS", 500)
    X, y = peak_memory.make_workload("2e3x5", np.float32)
    assert X.shape == (2000, 5)
    assert X.dtype == np.float32
    assert set(y) == {0, 1}
    X, _ = peak_memory.make_workload("onehot", np.float64)
    assert sparse.issparse(X)
    assert X.shape == (500, 3330)
    X, _ = peak_memory.make_workload("categorical", np.float64)
    assert peak_memory.categorical_columns(X) == [f"c{j}" for j in range(6)]


def test_peak_includes_arrays_of_the_fit_but_not_the_table(monkeypatch, capsys):
    """A stand-in for training allocates as many bytes as the table has."""

    def fit(_library, X, _y, _threads, _rounds):
        return np.ones_like(X).sum()

    monkeypatch.setattr(peak_memory, "fit", fit)
    given = ["--workloads", "1e6x2", "--libraries", "LightGBM", "--in-process"]
    peak_memory.main(given)
    peak_memory.main([*given, "--float32"])
    peaks = [float(one) for one in re.findall(r"([\d.]+) MiB", capsys.readouterr().out)]
    assert len(peaks) == 2
    for peak, expected in zip(peaks, (15.3, 7.6), strict=True):
        assert expected - 1.0 < peak < expected + 4.0
