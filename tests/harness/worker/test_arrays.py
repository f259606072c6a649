"""Tests of the data a worker exports: the rows that the adapter was given."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from harness.analysis.parity.ensembles import Training
from harness.core.model import Spec, Table, Task
from harness.core.outcome_files import write_arrays
from harness.worker import arrays
from harness.worker.arrays import EXPORTS, write_all

Y = np.array([0, 1, 1])


def exported(X, tmp_path, weight=None, columns=("age", "city")):
    prepared = SimpleNamespace(train=(X, Y, weight), columns=columns, categories={})
    path = tmp_path / "training.npz"
    write_arrays(path, EXPORTS["training"](prepared))
    with np.load(path, allow_pickle=False) as result:
        return Training.from_arrays({name: result[name] for name in result.files})


def test_numbers_are_returned_with_names_and_weights(tmp_path):
    X = np.array([[1.0, np.nan], [2.5, -0.0], [np.inf, 7.0]])
    exported_data = exported(X, tmp_path, np.array([1.0, 2.0, 0.5]))
    np.testing.assert_array_equal(exported_data.X, X)
    np.testing.assert_array_equal(exported_data.y, Y)
    assert exported_data.y.dtype == Y.dtype
    assert exported_data.weights.tolist() == [1.0, 2.0, 0.5]
    assert [exported_data.name(j) for j in range(3)] == ["age", "city", "c2"]


def test_category_becomes_its_code_and_missing_becomes_nan(tmp_path):
    city = pd.Categorical.from_codes([2, -1, 0], categories=["a", "b", "c"])
    exported_data = exported(pd.DataFrame({"c0": [1.0, np.nan, 3.0], "c1": city}), tmp_path)
    np.testing.assert_array_equal(exported_data.X, [[1, 2], [np.nan, np.nan], [3, 0]])
    assert exported_data.weight is None
    assert exported_data.weights.tolist() == [1, 1, 1]


@pytest.mark.parametrize(("absent", "fill"), [("zero", 0.0), ("nan", np.nan)])
def test_sparse_rows_stay_sparse(tmp_path, absent, fill):
    X = csr_matrix(([5.0, 0.0, 7.0], ([0, 1, 2], [1, 1, 0])), shape=(3, 2))
    exported_data = exported(X, tmp_path)
    assert (exported_data.X != X).nnz == 0
    np.testing.assert_array_equal(exported_data.column(1, absent), [5.0, 0.0, fill])
    np.testing.assert_array_equal(exported_data.column(0, absent), [fill, fill, 7.0])


@pytest.mark.parametrize(("width", "fits"), [(2, True), (20, False)])
def test_arrays_too_large_for_the_store_become_a_note(tmp_path, monkeypatch, width, fits):
    monkeypatch.setattr(arrays, "MAX_BYTES", 200)
    prepared = SimpleNamespace(
        trial=SimpleNamespace(id="t"),
        spec=Spec(Task.REGRESSION),
        rows=SimpleNamespace(test=np.arange(3)),
        output=np.zeros(3),
        train=(np.zeros((3, width)), Y, None),
        columns=("age",),
        notes=(),
    )
    table = Table(pd.DataFrame({"age": Y}), Y.astype(np.float64))
    names = write_all(tmp_path, prepared, table, ["training"])
    assert ("training" in names) is fits
    assert {path.name for path in tmp_path.iterdir()} == set(names.values())
    message = [] if fits else ["training not exported"]
    assert [note.split(":")[0] for note in prepared.notes] == message
