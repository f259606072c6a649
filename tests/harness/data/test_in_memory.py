"""Tests of tables in memory: stored once, completely, identified by their bytes."""

import os

import numpy as np
import pandas as pd
import pytest
from own_files import loaded

from harness.core.errors import DataError
from harness.data.in_memory import dataset_from_given

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": [0, 1, 0, 1]})


def test_table_is_stored_once_and_flushed_to_disk(tmp_path, monkeypatch):
    flushed = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (flushed.append(handle), sync(handle)))
    dataset = dataset_from_given(FRAME, tmp_path, target="y")
    assert flushed, "a table that was written must survive a power cut as the store does"
    (path,) = (tmp_path / "tables").iterdir()
    assert dataset.file["path"] == str(path)
    stamp = path.stat().st_mtime_ns
    assert dataset_from_given(FRAME, tmp_path, target="y") == dataset
    assert path.stat().st_mtime_ns == stamp


def test_file_without_column_names_needs_no_target(tmp_path):
    path = tmp_path / "mine.svm"
    path.write_text("1 1:0.5 3:2\n-1 2:1\n1 1:3\n")
    assert dataset_from_given(path, tmp_path).sparse
    path = tmp_path / "mine.csv"
    path.write_text("a,y\n1,0\n2,1\n")
    with pytest.raises(DataError, match=r"needs a target \(--target COLUMN\)"):
        dataset_from_given(path, tmp_path)


def test_partial_files_of_a_killed_process_are_removed(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    old, young = folder / ".0123.parquet.4567", folder / ".89ab.parquet.cdef"
    for half in (old, young):
        half.write_bytes(b"PAR1")
    os.utime(old, (0, 0))
    dataset_from_given(FRAME, tmp_path, target="y")
    assert not old.exists()
    assert young.exists(), "somebody may be writing it"


def test_numeric_categories_stay_categories(tmp_path):
    frame = FRAME.assign(town=pd.Categorical([30, 10, 30, None]), y=pd.Categorical([0, 1, 0, 1]))
    dataset = dataset_from_given(frame, tmp_path, target="y")
    assert (dataset.columns, dataset.categorical) == (2, 1)
    town = loaded(dataset).X["town"]
    assert town.cat.categories.tolist() == [10, 30]
    assert town.cat.codes.tolist() == [1, 0, 1, -1]


@pytest.mark.parametrize(
    "column",
    [np.array([1j, 2, 3, 4]), pd.arrays.SparseArray([0.0, 0.0, 1.0, 0.0])],
    ids=["complex", "sparse"],
)
def test_columns_unsupported_by_parquet_are_refused(tmp_path, column):
    with pytest.raises(DataError, match="cannot be written as Parquet"):
        dataset_from_given(FRAME.assign(b=column), tmp_path, target="y")
    assert not (tmp_path / "tables").exists()
