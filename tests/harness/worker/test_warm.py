import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from harness.model import ALL_TASKS, CLASSIFICATION, Accepts, Algorithm, Task
from harness.worker.warm import counted_functions, exercise, forms


class Recorder:
    """An adapter that notes what it was given."""

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


def test_each_task_and_each_form_that_is_accepted_is_run(monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    every = algorithm(missing=True, categorical=True, sparse=True)
    assert exercise(every, [{}], 1) == []
    assert {s[1] for s in Recorder.seen} == {"ndarray"}
    assert exercise(every, [{}], 1, ["categorical", "sparse"]) == []
    assert {s[0] for s in Recorder.seen} == ALL_TASKS
    assert {s[1] for s in Recorder.seen} == {"ndarray", "DataFrame", "sparse"}
    assert {s[2] for s in Recorder.seen} == {True, False}
    assert {s[3] for s in Recorder.seen if s[0] in CLASSIFICATION} == {2, 3}


def test_only_what_is_accepted_is_tried():
    kinds = [X for X, _, _ in forms(algorithm(weights=False), ["categorical", "sparse"])]
    assert len(kinds) == 1
    assert not np.isnan(kinds[0]).any()
    tables = [X for X, _, _ in forms(algorithm(categorical=True), ["categorical"])]
    frames = [X for X in tables if isinstance(X, pd.DataFrame)]
    assert isinstance(frames[0]["c0"].dtype, pd.CategoricalDtype)


def test_what_fails_is_a_note_for_each_set_of_params():
    plain = SimpleNamespace(
        params={}, tasks={Task.BINARY}, accepts=Accepts(missing=True), adapter=Recorder
    )
    notes = exercise(plain, [{}, {"fail": 1}], 1)
    assert notes == ["binary with {'fail': 1}: ValueError: no such kernel"]


def test_functions_that_are_compiled_are_counted_and_those_of_the_cache_are_not(monkeypatch):
    import numba

    def twice(x):
        return 2 * x

    compiled = numba.njit(twice)
    with counted_functions() as count:
        assert count() == 0
        assert [compiled(1), compiled(2), compiled(0.5)] == [2, 4, 1.0]
        assert count() == 2  # for integers and for floats
    monkeypatch.delitem(sys.modules, "numba")
    with counted_functions() as count:
        assert numba.njit(twice)(1) == 2
        assert count() == 0
