"""Tests that short files that would fill the memory are refused before parsing."""

import gzip
import resource
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from harness.core.errors import DataError
from harness.data import dataset_from_file
from harness.data.reading import Reading
from harness.data.text_size import check_table, checked_size

MEMORY = """
import resource, sys
from harness.data import dataset_from_file
from harness.core.errors import DataError
try:
    dataset_from_file(sys.argv[1], "y")
except DataError as error:
    print(error)
if sys.platform == "linux":  # ru_maxrss would include the process that started this one
    status = open("/proc/self/status").read()
    print(int(status.partition("VmHWM:")[2].split()[0]))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
MIB = 2**10 if sys.platform == "linux" else 2**20  # of the printed number


def refused(path):
    """Return the error message for a file, and the peak memory in MiB, from a separate process."""
    command = [sys.executable, "-c", MEMORY, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    message, peak = done.stdout.splitlines()
    return message, int(peak) / MIB


def commas(path):
    path.write_bytes(b"," * 10_000_000)
    return path


def packed_fields(path):
    """Write 200 MB of one-digit fields, which would take 5 GB."""
    path = path.with_suffix(".csv.gz")
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b,y\n")
        for _ in range(100):
            file.write(b"1,0,1\n0,1,0\n" * 166_666)
    return path


def packed_line(path):
    path = path.with_suffix(".csv.gz")
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,y\n")
        for _ in range(200):
            file.write(b"0," * 500_000)
    return path


def short_rows(path):
    path.write_bytes(b",".join(b"%d" % j for j in range(50_000)) + b",y\n" + b"0\n" * 500_000)
    return path


def constant_columns(path):
    path = path.with_suffix(".parquet")
    column = pa.array(np.zeros(20_000_000, np.int8))
    parquet.write_table(pa.table({"a": column, "b": column, "y": column}), path)
    assert path.stat().st_size < 2**20
    return path


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (commas, "more than 1,000,000 columns"),
        (packed_fields, "of memory while it is read"),
        (packed_line, "more than 1,000,000 columns in line 2"),
        (short_rows, "as a table of 500,00"),
        (constant_columns, "bytes once read, above the limit"),
    ],
)
def test_file_is_refused_with_little_memory(tmp_path, write, words):
    message, peak = refused(write(tmp_path / "mine.csv"))
    assert words in message
    assert peak < 700


def test_sizes_are_counted_exactly_across_blocks_and_line_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.data.text_size.BLOCK", 7)
    path = tmp_path / "mine.csv"
    for end in (b"\n", b"\r", b"\r\n"):
        path.write_bytes(end.join([b"a,b,y", b"1,2,0", b"3,4,1"]))
        size = checked_size(path, Reading())
        assert size.bytes == path.stat().st_size
        assert size.lines >= 3
        assert size.fields >= 9
    path.write_bytes(b"1 1:2 3:4\n0 2:1\n")
    assert checked_size(path, Reading(format="svmlight")).fields >= 5


@pytest.mark.parametrize("format_", ["csv", "arff", "svmlight"])
def test_line_with_too_many_fields_or_too_long_is_refused(tmp_path, monkeypatch, format_):
    monkeypatch.setattr("harness.data.text_size.MAX_COLUMNS", 40)
    monkeypatch.setattr("harness.data.text_size.LONGEST_LINE", 200)
    monkeypatch.setattr("harness.data.text_size.BLOCK", 16)
    path = tmp_path / "mine"
    separator = b" " if format_ == "svmlight" else b","
    path.write_bytes(b"a\n" + separator.join([b"1"] * 42) + b"\n")
    with pytest.raises(DataError, match="more than 40 columns in line 2"):
        checked_size(path, Reading(format=format_))
    path.write_bytes(b"a\n" + b"x" * 300)
    with pytest.raises(DataError, match="line 2 is longer than 200 bytes"):
        checked_size(path, Reading(format=format_))


def test_usual_table_sizes_are_allowed(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,y\n1,0\n")
    check_table(path, 11_000_000, 29)
    with pytest.raises(DataError, match="HARNESS_MAX_BYTES"):
        check_table(path, 11_000_000, 2_900)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0
    assert dataset_from_file(_enough(path), "y").rows == 4


def _enough(path):
    path.write_text("a,y\n1,0\n2,1\n3,0\n4,1\n")
    return path
