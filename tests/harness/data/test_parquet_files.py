"""Tests of a user's Parquet file: types, refusals, and damage that would crash Arrow."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from own_files import loaded
from pyarrow import parquet

from harness.core.errors import DataError
from harness.data import dataset_from_file

# Every byte of a footer set to other values, one at a time; each is read or refused.
DAMAGE = """
import sys
from pathlib import Path
from harness.data.binary import read_parquet
path = Path(sys.argv[1])
whole = path.read_bytes()
start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
for place in range(start, len(whole) - 8):
    for value in (0, 1, 128):
        path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
        try:
            read_parquet(path)
        except Exception:
            pass
"""


def test_types_are_kept_and_dates_become_days(tmp_path):
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], dtype="Int64"),
            "f": np.float32([0.1, 0.2, 0.3]),
            "t": ["u", None, "v"],
            "c": pd.Categorical(["k", "l", "k"]),
            "d": pd.to_datetime(["1970-01-02T00:00", "1970-01-03T12:00", None]),
            "z": pd.to_datetime(["1970-01-02", "1970-01-03", None], utc=True),
            "b": pd.array([True, None, False], dtype="boolean"),
            "y": [0.5, 1.5, 2.5],
        },
        index=[5, 6, 7],
    )
    frame.to_parquet(tmp_path / "mine.parquet")
    table = loaded(dataset_from_file(tmp_path / "mine.parquet", "y"))
    np.testing.assert_array_equal(table.X["n"], [1, np.nan, 3])
    np.testing.assert_array_equal(table.X["f"], frame["f"].astype(float))
    np.testing.assert_array_equal(table.X["d"], [1, 2.5, np.nan])
    np.testing.assert_array_equal(table.X["z"], [1, 2, np.nan])
    np.testing.assert_array_equal(table.X["b"], [1, np.nan, 0])
    assert table.X["t"].tolist() == ["u", np.nan, "v"]
    assert table.X["c"].tolist() == ["k", "l", "k"]


def test_excessive_declared_size_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "long.parquet"
    pd.DataFrame({"a": np.zeros(100_000), "y": np.arange(100_000) % 2}).to_parquet(path)
    monkeypatch.setenv("HARNESS_MAX_BYTES", "1MB")
    with pytest.raises(DataError, match="above the limit of 1,000,000"):
        dataset_from_file(path, "y")


@pytest.mark.parametrize("kind", ["dictionary", "declared dictionary", "shared prefixes"])
def test_excessive_decompressed_size_is_stopped(tmp_path, monkeypatch, kind):
    """20,000 texts of 5,000 letters, 100 MB in all, from a few kilobytes."""
    values = pa.array(["x" * 5000])
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), values)
    options = {}
    if kind != "declared dictionary":
        texts = texts.cast(pa.string())
    if kind == "shared prefixes":
        encodings = {"a": "DELTA_BYTE_ARRAY", "y": "PLAIN"}
        options = {"use_dictionary": False, "column_encoding": encodings}
    path = tmp_path / "bomb.parquet"
    table = pa.table({"a": texts, "y": np.arange(20_000) % 2})
    parquet.write_table(table, path, **options)
    assert path.stat().st_size < 100_000
    monkeypatch.setenv("HARNESS_MAX_BYTES", "80MB")
    read = parquet.ParquetFile.read

    def refuse(*_, **__):
        pytest.fail("unpacked before it was counted")

    monkeypatch.setattr(parquet.ParquetFile, "read", refuse)
    with pytest.raises(DataError, match="above the limit of 80,000,000"):
        dataset_from_file(path, "y")
    monkeypatch.setattr(parquet.ParquetFile, "read", read)
    monkeypatch.setenv("HARNESS_MAX_BYTES", "1GB")
    assert dataset_from_file(path, "y").rows == 20_000


def test_truncated_file_is_refused(tmp_path):
    whole = tmp_path / "whole.parquet"
    pd.DataFrame({"a": [1, 2, 3], "y": [0, 1, 0]}).to_parquet(whole)
    content = whole.read_bytes()
    for size in (12, len(content) // 2, len(content) - 1):
        path = tmp_path / "cut.parquet"
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match="cannot be read as parquet"):
            dataset_from_file(path, "y")


@pytest.mark.slow
def test_damaged_footer_never_ends_the_process(tmp_path):
    """Arrow crashes when reading the encodings of a column with inconsistent sizes."""
    path = tmp_path / "mine.parquet"
    frame = pd.DataFrame({"a": [1.0, np.nan], "t": ["u", None], "y": [0, 1]})
    frame.to_parquet(path, index=False)
    ended = subprocess.run([sys.executable, "-c", DAMAGE, path], capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "bytes.parquet"
    texts = pa.array([b"\x80", b"u"]).view(pa.string())
    parquet.write_table(pa.table({"a": texts, "y": [0, 1]}), path)
    with pytest.raises(DataError, match=r"cannot be read as parquet.*UTF"):
        dataset_from_file(path, "y")


def test_nested_columns_are_named(tmp_path):
    path = tmp_path / "nested.parquet"
    pd.DataFrame({"a": [[1], [2, 3]], "y": [0, 1]}).to_parquet(path)
    with pytest.raises(DataError, match="nested columns are not read: 'a'"):
        dataset_from_file(path, "y")


def test_times_of_day_become_numbers(tmp_path):
    path = tmp_path / "times.parquet"
    kinds = {"t": pa.time32("ms"), "u": pa.time64("us")}
    columns = {name: pa.array([1500, None, 250], kind) for name, kind in kinds.items()}
    parquet.write_table(pa.table({**columns, "y": [0.5, 1.5, 2.5]}), path)
    table = loaded(dataset_from_file(path, "y"))
    for name in kinds:
        np.testing.assert_array_equal(table.X[name], [1500, np.nan, 250])
