"""Tests of the comparison with other libraries on real tables."""

import os
import sys
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

ROOT = Path(__file__).resolve().parents[2]
with mock.patch.dict(os.environ), mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
    real_tables = import_module("costs.real_tables")
RIVALS, OURS, OLD = real_tables.RIVALS, real_tables.OURS, real_tables.OLD
FAMILY = "HistogramBoosting"
MODES = list(RIVALS[FAMILY])
SECONDS = {OURS: 1.0, "row-wise": 4.0, "column-wise": 3.0, "quantized": 5.0}
KINDS = [(family, kind) for family, rivals in RIVALS.items() for kind in (OURS, *rivals)]


def make_options(**changes):
    given = {"leaves": 31, "rounds": 10, "rows": 100, "repetitions": 3, "limit": 60.0}
    return Namespace(**(given | {"tables": ["any"]} | changes))


class FakeFitter:
    """Fitter whose models take a fixed number of seconds, and twice as much CPU time."""

    def __init__(self, slowness=1.0, error=None):
        self.slowness, self.asked, self.error = slowness, [], error

    def ask(self, seconds, **request):
        assert seconds > 0.0
        if "table" in request:
            return 7, 2
        self.asked.append((request["call"], request["kind"]))
        if self.error and len(self.asked) > self.error[0]:
            raise self.error[1]
        wall = self.slowness * SECONDS[request["kind"]]
        return wall, 2.0 * wall


def test_ratios_are_those_of_the_fastest_rival_and_of_the_other_side():
    fitters = [FakeFitter(), FakeFitter(slowness=2.5)]
    record = real_tables.measure(fitters, "any", FAMILY, make_options(), 1)
    assert record["shape"] == (7, 2)
    for column in range(2):
        assert real_tables.ratios_of(record["fit"], column) == [3.0] * 3
        assert real_tables.ratios_of(record["predict"], column) == [4.0] * 3
        assert real_tables.ratios_of(record["fit"], column, OLD) == [2.5] * 3
    fits = [kind for call, kind in fitters[0].asked if call == "fit"]
    assert fits == [*MODES[::-1], OURS, OURS, *MODES, *MODES[::-1], OURS]
    predictions = [kind for call, kind in fitters[0].asked if call == "predict"]
    assert predictions == ["row-wise", OURS, OURS, "row-wise", "row-wise", OURS]
    assert fitters[1].asked == [("fit", OURS)] * 3 + [("predict", OURS)] * 3
    assert real_tables.show([2.0, 1.0, 4.0]) == "2.00 [1.00, 4.00]"


def test_a_table_without_a_complete_repetition_is_a_failure():
    options = make_options()
    for calls, name in ((2, "failure"), (6, "fit")):
        fitter = FakeFitter(error=(calls, real_tables.OutOfTimeError()))
        assert name in real_tables.measure([fitter], "any", FAMILY, options, 1)
    fitter = FakeFitter(error=(20, RuntimeError("no such rows")))
    record = real_tables.measure([fitter], "any", FAMILY, make_options(repetitions=9), 1)
    assert record["failure"] == "no such rows"


def test_repetitions_end_when_the_time_is_used_up():
    fitter, clock = FakeFitter(), mock.Mock(left=mock.Mock(side_effect=range(100, 0, -20)))
    done = list(real_tables.repetitions([fitter], [OURS], "fit", 9, clock))
    assert done == [{OURS: (1.0, 2.0)}]


def test_tables_of_the_output_are_not_measured_again(tmp_path, capsys):
    path = tmp_path / "times.jsonl"
    for is_new in (True, False):
        fitter = FakeFitter()
        records = real_tables.Records(path)
        real_tables.compare([fitter], FAMILY, 2, make_options(), records)
        assert bool(fitter.asked) is is_new
        lines = capsys.readouterr().out.splitlines()
        cells = ["any", "7 × 2", "1000", *["3.00 [3.00, 3.00]"] * 2, *["4.00 [4.00, 4.00]"] * 2]
        assert lines[-2] == f"| {' | '.join(cells)} |"
        assert lines[-1] == "| geometric mean | | | 3.00 | 3.00 | 4.00 | 4.00 |"
    real_tables.compare([fitter], FAMILY, 2, make_options(rounds=11), real_tables.Records(path))
    assert fitter.asked


@pytest.mark.parametrize("is_classification", [True, False])
@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_every_kind_of_model_is_fitted_and_predicts(family, kind, is_classification):
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = (X[:, 0] > 0.0).astype(int) if is_classification else X[:, 0]
    settings = real_tables.make_settings(family, make_options(rounds=2), 1)
    problem = real_tables.Problem(X, y, is_classification, family, settings)
    wall, cpu = problem.fit(kind)
    assert wall > 0.0
    assert cpu >= 0.0
    assert min(problem.predict(kind)) > 0.0


def test_categories_become_codes_or_text():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": pd.Categorical(["x", None])})
    assert np.array_equal(real_tables.as_numbers(frame), [[1.0, 0.0], [0.0, -1.0]])
    texts, names = real_tables.with_texts(frame)
    assert names == ["b"]
    assert texts["b"].tolist() == ["x", "nan"]
    assert texts["b"].dtype == object
    assert real_tables.as_array(texts) is texts
    assert real_tables.as_array(frame) is frame
    assert isinstance(real_tables.as_array(frame[["a"]]), np.ndarray)
    rows = sparse.csr_matrix(np.eye(2))
    assert real_tables.as_numbers(rows) is rows


def test_a_process_answers_and_is_ended_when_it_takes_too_long():
    fitter = real_tables.Fitter(ROOT)
    try:
        settings = {"n_estimators": 2, "n_jobs": 1}
        assert fitter.ask(60.0, table=("iris", 150, "RandomForest", settings)) == [150, 4]
        assert min(fitter.ask(60.0, call="predict", kind="scikit-learn")) > 0.0
        with pytest.raises(RuntimeError, match="KeyError: 'nobody'"):
            fitter.ask(60.0, call="fit", kind="nobody")
        with pytest.raises(real_tables.OutOfTimeError):
            fitter.ask(0.0, call="fit", kind=OURS)
    finally:
        fitter.close()
