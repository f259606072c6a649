"""Tests of the options for columns and rows of a user's file."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest

from harness.core.errors import DataError
from harness.core.model import DatasetRef, Split
from harness.data import dataset_from_file, dataset_from_mapping, default_splits, load_table
from harness.data.in_memory import dataset_from_given
from harness.data.splits import split_rows
from harness.plugins.registry import load_registry


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 120
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "kind": rng.choice(["x", "y"], n),
            "who": np.arange(n) // 10,
            "day": [f"2020-{1 + (i * 7) % 12:02d}-{1 + i % 28:02d}" for i in range(n)],
            "y": rng.integers(0, 2, n),
        }
    )


def table_of(dataset):
    ref = DatasetRef(dataset.name, dataset.digest, dataset.options, dataset.file)
    return load_table(ref, load_registry(modules=[]))


def test_time_splits_train_on_earlier_rows_than_they_test(tmp_path, frame):
    path = tmp_path / "mine.csv"
    frame.to_csv(path, index=False)
    dataset = dataset_from_file(path, "y", time="day")
    assert dataset.ordered
    assert "day" not in table_of(dataset).X.columns, "time is no feature"
    splits = default_splits(dataset, 5, 3, 0)
    assert [split.scheme for split in splits] == ["ordered"] * 5
    table = table_of(dataset)
    tested = []
    for split in splits:
        train, test = split_rows(split, table, dataset.task)
        assert frame["day"][train].max() < frame["day"][test].min()
        tested += test.tolist()
    assert len(set(tested)) == len(tested), "no row is tested twice"
    assert any(line.startswith("time: 'day'") for line in dataset.file["messages"])


def test_time_and_group_on_one_table(tmp_path, frame):
    path = tmp_path / "mine.csv"
    frame["who"] = frame["day"].rank(method="first").astype(int) // 7  # rows of some days
    frame.to_csv(path, index=False)
    dataset = dataset_from_file(path, "y", time="day", group="who")
    assert dataset.ordered
    assert dataset.grouped
    sentence = "time: 'day'; every split trains on earlier rows of groups that it does not test"
    assert sentence in dataset.file["messages"]
    table = table_of(dataset)
    for split in default_splits(dataset, 4, 1, 0):
        train, test = split_rows(split, table, dataset.task)
        assert frame["day"][train].max() < frame["day"][test].min()
        assert not set(frame["who"][train]) & set(frame["who"][test])


def test_invalid_time_column_is_refused(tmp_path, frame):
    path = tmp_path / "mine.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(DataError, match="neither a number nor a date"):
        dataset_from_file(path, "y", time="kind")
    with pytest.raises(DataError, match="unknown column of time 'dya'"):
        dataset_from_file(path, "y", time="dya")


def test_file_of_test_rows_is_the_only_split(tmp_path, frame):
    for name, part in (("train", frame[:90]), ("test", frame[90:])):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    dataset = dataset_from_file(tmp_path / "train.csv", "y", test=tmp_path / "test.csv")
    assert (dataset.rows, dataset.given_test) == (120, True)
    train, test = split_rows(Split("given"), table_of(dataset), dataset.task)
    assert (len(train), test.tolist()) == (90, list(range(90, 120)))
    again = dataset_from_mapping(dataset.file)
    assert again.digest == dataset.digest
    assert table_of(again).X.equals(table_of(dataset).X)


def test_several_files_are_concatenated(tmp_path, frame):
    paths = []
    for i in range(3):
        paths.append(tmp_path / f"part{i}.csv")
        frame[i * 40 : (i + 1) * 40].to_csv(paths[-1], index=False)
    dataset = dataset_from_given(paths, tmp_path, target="y", columns={"drop": ["day"]})
    assert (dataset.rows, dataset.columns) == (120, 3)
    assert np.allclose(table_of(dataset).X["a"], frame["a"])
    frame.rename(columns={"a": "b"}).to_csv(paths[1], index=False)
    with pytest.raises(DataError, match="other columns"):
        dataset_from_given(paths, tmp_path, target="y")


def test_json_lines_are_read_like_csv(tmp_path, frame):
    frame.to_csv(tmp_path / "mine.csv", index=False)
    frame.to_json(tmp_path / "mine.jsonl", orient="records", lines=True)
    one, other = (
        table_of(dataset_from_file(tmp_path / name, "y", drop=["day"]))
        for name in ("mine.csv", "mine.jsonl")
    )
    assert np.allclose(one.X["a"], other.X["a"])
    assert one.X["kind"].astype(str).tolist() == other.X["kind"].astype(str).tolist()
    assert one.y.tolist() == other.y.tolist()


def test_nested_json_is_refused(tmp_path):
    rows = [{"a": [1, 2], "y": 0}, {"a": [3], "y": 1}]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError, match="nested values are not read: 'a'"):
        dataset_from_file(tmp_path / "mine.jsonl", "y")


def test_workbook_without_openpyxl_gives_advice(tmp_path, monkeypatch):
    import zipfile

    with zipfile.ZipFile(tmp_path / "mine.xlsx", "w") as file:
        file.writestr("xl/workbook.xml", "")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match="pip install openpyxl, or save the sheet as CSV"):
        dataset_from_file(tmp_path / "mine.xlsx", "y")


def test_limit_of_training_rows_does_not_affect_test_rows(tmp_path, frame):
    path = tmp_path / "mine.csv"
    frame.to_csv(path, index=False)
    dataset = dataset_from_file(path, "y")
    table = table_of(dataset)
    whole, part = (default_splits(dataset, 4, 1, 0, most)[0] for most in (None, 30))
    assert (whole.label, part.label) == ("kfold4-s0-r0-f0", "kfold4-s0-r0-f0-n30")
    train, test = split_rows(whole, table, dataset.task)
    fewer, same = split_rows(part, table, dataset.task)
    assert test.tolist() == same.tolist()
    assert len(fewer) == 30
    assert set(fewer) < set(train)
