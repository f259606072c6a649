import sys
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, issparse

from harness.config.search_space import TUNE
from harness.core.model import ALL_TASKS, CLASSIFICATION, Accepts, Algorithm, Spec, Task
from harness.worker.prepared_trial import PreparedTrial, Rows
from harness.worker.state import WorkerState
from harness.worker.warm_up import (
    Compiling,
    are_packaged,
    call_once,
    compile_all,
    exercise,
    forms,
    watched_compiling,
)


class Recorder:
    """An adapter that records its inputs."""

    seen: ClassVar = []

    def __init__(self, spec):
        self.spec = spec

    def prepare(self, X, y, weight):
        kind = "sparse" if issparse(X) else type(X).__name__
        self.seen.append((self.spec.task, kind, weight is not None, len(np.unique(y))))
        return X

    def fit(self, native):
        if self.spec.params.get("fail"):
            raise ValueError("no such kernel")

    def predict(self, X):
        return np.zeros(len(X)) if not issparse(X) else np.zeros(X.shape[0])

    predict_one = predict


def algorithm(**accepts):
    return Algorithm("recorder", Recorder, ALL_TASKS, accepts=Accepts(**accepts))


def test_each_task_and_accepted_form_is_run(monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    every = algorithm(missing=True, categorical=True, sparse=True)
    assert exercise(every, [{}], 1)[0] == []
    assert {s[1] for s in Recorder.seen} == {"ndarray"}
    assert exercise(every, [{}], 1, ["categorical", "sparse"])[0] == []
    assert {s[0] for s in Recorder.seen} == ALL_TASKS
    assert {s[1] for s in Recorder.seen} == {"ndarray", "DataFrame", "sparse"}
    assert {s[2] for s in Recorder.seen} == {True, False}
    assert {s[3] for s in Recorder.seen if s[0] in CLASSIFICATION} == {2, 3}


def test_only_accepted_forms_are_tried():
    kinds = [X for X, _, _ in forms(algorithm(weights=False), ["categorical", "sparse"])]
    plain, with_indicators = kinds
    assert not np.isnan(plain).any()
    indicators = with_indicators[:, plain.shape[1] :]
    assert (with_indicators[:, : plain.shape[1]] == plain).all()
    assert (np.sort(indicators, axis=1) == [0, 0, 0, 0, 0, 1]).all()
    tables = [X for X, _, _ in forms(algorithm(categorical=True), ["categorical"])]
    frames = [X for X in tables if isinstance(X, pd.DataFrame)]
    assert all(isinstance(frame["c0"].dtype, pd.CategoricalDtype) for frame in frames)
    assert [frame["c0"].nunique() for frame in frames] == [300, 3]  # more than bins, and few


class OneBinPerCategory(Recorder):
    """An adapter that needs a bin for each category."""

    def prepare(self, X, y, weight):
        if isinstance(X, pd.DataFrame) and X["c0"].nunique() > 255:
            raise ValueError("too many categories")
        return super().prepare(X, y, weight)


def test_refusal_of_many_categories_runs_few_and_adds_no_note(monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    crowded = replace(algorithm(categorical=True), adapter=OneBinPerCategory)
    assert exercise(crowded, [{}], 1, ["categorical"])[0] == []
    assert [seen[1] for seen in Recorder.seen].count("DataFrame") == len(ALL_TASKS)


def test_failure_is_a_note_for_each_set_of_params():
    plain = SimpleNamespace(
        params={},
        tasks={Task.BINARY},
        accepts=Accepts(missing=True),
        adapter=Recorder,
        capacity={},
    )
    notes, _ = exercise(plain, [{}, {"fail": 1}], 1)
    assert notes == ["binary with {'fail': 1}: ValueError: no such kernel"]


def test_compiled_functions_are_counted_and_cached_ones_are_not(monkeypatch):
    import numba

    inner = numba.njit(lambda x: 2 * x)
    compiled = numba.njit(lambda x: inner(x) + 0)
    with watched_compiling() as result:
        assert (result.functions, result.cpu) == (0, 0.0)
        assert [compiled(1), compiled(2), compiled(0.5)] == [2, 4, 1.0]
        assert result.functions == 4  # both for integers and for floats
        assert result.cpu > 0.0
    monkeypatch.delitem(sys.modules, "numba")
    with watched_compiling() as result:
        assert numba.njit(lambda x: 3 * x)(1) == 3
        assert (result.functions, result.cpu) == (0, 0.0)


def test_compile_time_of_a_nested_function_counts_once(monkeypatch):
    clock = iter([10.0, 11.0, 15.0, 20.0, 21.0])
    monkeypatch.setattr("harness.worker.warm_up.time.process_time", lambda: next(clock))
    result = Compiling()
    result.start()
    result.start()
    result.end()
    result.end()
    assert (result.functions, result.cpu) == (2, 5.0)  # from 10 to 15


class Compiler(Recorder):
    """An adapter whose first fit compiles slowly."""

    def fit(self, native):
        import numba

        if len(self.seen) == 1:
            time.sleep(0.02)
            assert numba.njit(lambda x: x + 1)(1) == 2


def test_everything_runs_and_the_first_call_is_timed_and_its_compilations_counted(monkeypatch):
    import numba  # noqa: F401 - what is not there before is not watched

    monkeypatch.setattr(Recorder, "seen", [])
    slow = replace(algorithm(), adapter=Compiler)
    result = compile_all(slow, [{}, {"depth": 2}], 1, [])
    assert result["functions"] == 1
    assert 0.0 < result["compiling"] < result["first"]
    assert result["first"] >= 0.02
    assert result["notes"] == []
    alone = len(list(forms(algorithm(), []))) * len(algorithm().tasks)
    assert len(Recorder.seen) == 2 * alone


class RefusesOtherColumns(Recorder):
    """An adapter that refuses categories in columns that it was not given."""

    def prepare(self, X, y, weight):
        if any(place >= X.shape[1] for place in self.spec.categorical):
            raise IndexError("no such column")
        return super().prepare(X, y, weight)


@pytest.mark.parametrize(
    ("categorical", "sparse", "kinds"),
    [((), False, ["ndarray"]), ((4, 7), False, ["DataFrame"] * 2), ((), True, ["sparse"])],
)
def test_first_call_uses_a_table_like_that_of_the_trial(monkeypatch, categorical, sparse, kinds):
    monkeypatch.setattr(Recorder, "seen", [])
    careful = replace(algorithm(categorical=True, sparse=True), adapter=RefusesOtherColumns)
    call_once(careful, Spec(Task.BINARY, n_classes=2, categorical=categorical), sparse=sparse)
    assert [seen[1] for seen in Recorder.seen] == kinds


def test_first_calls_of_sparse_rows_are_sparse(monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    compiled = replace(algorithm(sparse=True), libraries=("numba",))
    X, rows = csr_matrix(np.eye(3)), Rows(np.arange(3), np.arange(3), (), 0)
    train = X, np.zeros(3), None
    prepared_trial = PreparedTrial(
        None, Spec(Task.REGRESSION), train, X, rows, (), algorithm=compiled
    )
    prepared_trial.rehearse()
    state = WorkerState()
    state._algorithm = compiled
    state._first_call(prepared_trial)
    assert [seen[1] for seen in Recorder.seen] == ["sparse", "sparse"]


def searched(*configurations):
    """Return the params of a tuned trial."""
    return {TUNE: {"configurations": list(configurations), "inner_folds": 2}}


@pytest.mark.parametrize(
    ("plugin", "folder", "is_written", "params", "expected"),
    [
        ("algorithms.one", "there", False, [{}, {"trees": 20, "rate": 0.5}], True),
        ("algorithms.one", "there", False, [{"method": "fast"}, {"method": "exact"}], True),
        ("algorithms.one", "there", False, [{}, {"method": "unknown"}], False),
        ("algorithms.one", "there", False, [{"flag": True}], False),
        ("algorithms.one", "there", False, [searched({"trees": 20}, {"method": "exact"})], True),
        ("algorithms.one", "there", False, [searched({}, {"method": "unknown"})], False),
        ("algorithms.one", "there", True, [{}], False),
        ("algorithms.one", None, False, [{}], False),
        ("another.one", "there", False, [{}], False),
    ],
)
def test_kernels_of_the_package_are_those_of_own_params_and_variants(
    monkeypatch, plugin, folder, is_written, params, expected
):
    packaged = SimpleNamespace(folder=folder, is_written=is_written)
    monkeypatch.setitem(sys.modules, "algorithms.runtime.jit", SimpleNamespace(PACKAGED=packaged))
    one = replace(algorithm(), params={"method": "fast"}, variants=({"method": "exact"},))
    assert are_packaged(one, plugin, params) is expected
