"""Tests of the worker's side of serving times: save, load and timed calls, in this process."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from harness import estimator_adapter
from harness.core.errors import HarnessError
from harness.core.model import ALL_TASKS, Algorithm, Split, Table, Task, Trial
from harness.worker.prepared_trial import prepare_trial, split_table
from harness.worker.serving import MODEL, ServedModel, save_served
from harness.worker.state import WorkerState


@pytest.fixture
def prepared():
    X = pd.DataFrame({"x": np.arange(60.0), "c": pd.Categorical(list("abc") * 20)})
    table = Table(X, np.arange(60.0))
    trial = Trial("tree", {}, "ordinal", "d", Split(), 0, 1, "c", "t", Task.REGRESSION)
    made = prepare_trial(trial, table, split_table(trial, table))
    made.algorithm = Algorithm(
        "tree", estimator_adapter(lambda _: DecisionTreeRegressor(max_depth=2)), ALL_TASKS
    )
    made.drop()
    made.need_model()
    return made


def test_a_saved_model_predicts_the_same_rows(prepared, tmp_path):
    facts = save_served(prepared, tmp_path / "served")
    assert facts["model_bytes"] == (tmp_path / "served" / MODEL).stat().st_size
    assert (facts["train_rows"], facts["test_rows"]) == (48, 12)
    served = ServedModel(tmp_path / "served")
    served.load()
    expected = prepared.adapter.predict(prepared.X_test)
    assert np.array_equal(served.adapter.predict(served.batch(12)), expected)
    repeated = served.adapter.predict(served.batch(30))
    assert np.array_equal(repeated, np.resize(expected, 30)), "the rows are repeated in order"


def test_calls_end_with_their_number_or_their_seconds(prepared, tmp_path):
    save_served(prepared, tmp_path)
    served = ServedModel(tmp_path)
    served.load()
    assert len(served.time_rows(30, 100.0)) == 30
    assert len(served.time_rows(30, 0.0)) == 1
    assert len(served.time_batch(5, 0.0)) == 1
    taken = served.time_batch(5, 0.001)
    assert min(taken) > 0
    assert sum(taken) >= 1e6 or len(taken) == 200
    assert sum(taken[:-1]) < 1e6


def test_each_single_row_is_a_table_of_one_row(prepared, tmp_path):
    save_served(prepared, tmp_path)
    served = ServedModel(tmp_path)
    served.load()
    seen = []
    served.adapter.predict_one = lambda x: seen.append(np.asarray(x).copy())
    served.time_rows(25, 100.0)
    assert [x.shape[0] for x in seen] == [1] * 25
    assert np.array_equal(seen[0], seen[12]), "12 test rows in turn"
    assert not np.array_equal(seen[0], seen[1])


def test_a_model_that_cannot_be_pickled_is_refused(prepared, tmp_path):
    prepared.adapter.model = lambda: None
    with pytest.raises(HarnessError, match="the model cannot be pickled"):
        save_served(prepared, tmp_path)


@pytest.mark.parametrize(
    ("do", "fields", "first"),
    [
        ("save_served", {"folder": "x"}, "prepare"),
        ("load_served", {"folder": "x"}, "hello"),
        ("serve_rows", {"calls": 1, "seconds": 1.0}, "load_served"),
        ("serve_batch", {"rows": 1, "seconds": 1.0}, "load_served"),
    ],
)
def test_request_out_of_order_names_the_required_step(do, fields, first):
    with pytest.raises(HarnessError, match=f"`{first}`"):
        getattr(WorkerState(), do)(**fields)
