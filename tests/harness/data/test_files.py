"""Tests of a user's file: detection, refusals and messages."""

import bz2
import gzip
import json
import lzma
import pickle
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_files import loaded

from harness.core.errors import DataError
from harness.core.model import Task, to_json
from harness.data import dataset_from_file, dataset_from_mapping, describe

SMALL = "a,b,y\n1,u,0\n2.5,v,1\n,u,0\n4,,1\n"


def write(folder, content, name="mine.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_column_types_and_task_are_detected(tmp_path):
    dataset = dataset_from_file(write(tmp_path, SMALL), "y")
    assert (dataset.task, dataset.rows, dataset.columns) == (Task.BINARY, 4, 2)
    assert (dataset.categorical, dataset.missing, dataset.n_classes) == (1, True, 2)
    table = loaded(dataset)
    np.testing.assert_array_equal(table.X["a"], [1.0, 2.5, np.nan, 4.0])
    assert table.X["b"].tolist() == ["u", "v", "u", np.nan]
    assert table.X["b"].cat.categories.tolist() == ["u", "v"]
    assert (table.y.tolist(), table.y.dtype, table.classes) == ([0, 1, 0, 1], np.int64, ("0", "1"))


def test_detection_is_reported(tmp_path):
    lines = describe(dataset_from_file(write(tmp_path, SMALL), "y"))
    text = "\n".join(lines)
    assert "4 rows, 2 columns" in lines[0]
    assert "binary with 2 classes (guessed: 2 different whole numbers)" in text
    assert "numeric: 1 column ('a')" in text
    assert "categorical: 1 column ('b')" in text
    assert "missing values: 25 % of all values, in 2 columns ('a', 'b')" in text


def test_worker_declares_the_same_dataset_from_json(tmp_path):
    dataset = dataset_from_file(write(tmp_path, SMALL), "y")
    again = dataset_from_mapping(json.loads(json.dumps(to_json(dataset.file))))
    assert again == dataset


def test_file_is_inspected_once(tmp_path, monkeypatch):
    first = dataset_from_file(write(tmp_path, SMALL), "y")
    (tmp_path / "moved").mkdir()
    moved = write(tmp_path / "moved", SMALL)
    monkeypatch.setattr("harness.data.parsers.parse", lambda *_: pytest.fail("parsed again"))
    again = dataset_from_file(moved, "y")
    assert (again.digest, again.name, describe(again)) == (
        first.digest,
        first.name,
        describe(first),
    )
    assert again.file["path"] == str(moved)
    assert loaded(again).X.shape == (4, 2)
    for path in (tmp_path / "cache/seen").iterdir():
        path.write_text("{}")
    with pytest.raises(pytest.fail.Exception):
        dataset_from_file(moved, "y")


def test_name_is_safe_and_depends_on_the_bytes(tmp_path):
    path = write(tmp_path, SMALL, "Été & hiver (1).csv")
    first = dataset_from_file(path, "y")
    assert first.name.startswith("t-hiver-1-")
    assert first.name.isascii()
    path.write_text(SMALL.replace("2.5", "2.6"))
    second = dataset_from_file(path, "y")
    assert first.digest != second.digest
    assert first.name != second.name


def test_digest_depends_on_the_reading_options(tmp_path):
    path = write(tmp_path, SMALL)
    digests = {
        dataset_from_file(path, "y", **options).digest
        for options in ({}, {"drop": ("a",)}, {"missing": ("u",)}, {"categorical": ("a",)})
    }
    assert len(digests) == 4


def test_file_changed_after_declaration_is_refused(tmp_path):
    path = write(tmp_path, SMALL)
    dataset = dataset_from_file(path, "y")
    path.write_text(SMALL + "5,u,1\n")
    with pytest.raises(DataError, match=r"SHA-256 .*, not .* changed or is damaged"):
        loaded(dataset)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["yes", "no", "yes", "no"], Task.BINARY),
        (["True", "False", "True", "True"], Task.BINARY),
        (["a", "b", "c", "a"], Task.MULTICLASS),
        (["3", "1", "2", "1"], Task.MULTICLASS),
        (["0.5", "1.25", "2.0", "0.5"], Task.REGRESSION),
        (["1.0", "2.0", "1.0", "2.0"], Task.BINARY),
    ],
)
def test_task_is_detected(tmp_path, values, task):
    path = write(tmp_path, "a,y\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values)))
    assert dataset_from_file(path, "y").task is task


def test_many_integers_are_a_regression_unless_declared(tmp_path):
    path = write(tmp_path, "a,y\n" + "".join(f"{i},{i % 30}\n" for i in range(90)))
    assert dataset_from_file(path, "y").task is Task.REGRESSION
    requested = dataset_from_file(path, "y", task="multiclass")
    assert (requested.task, requested.n_classes) == (Task.MULTICLASS, 30)
    assert "as requested" in describe(requested)[1]


def test_numeric_labels_are_sorted_as_numbers(tmp_path):
    path = write(tmp_path, "a,y\n1,10\n2,9\n3,-1\n4,10\n")
    table = loaded(dataset_from_file(path, "y"))
    assert table.classes == ("-1", "9", "10")
    assert table.y.tolist() == [2, 1, 0, 2]


def test_weight_group_drop_and_test_rows(tmp_path):
    rows = "".join(f"{i},{i % 3 + 1},g{i % 4},x,{i % 2}\n" for i in range(20))
    path = write(tmp_path, "a,w,g,d,y\n" + rows)
    dataset = dataset_from_file(path, "y", weight="w", group="g", drop=("d",), test_rows=5)
    table = loaded(dataset)
    assert list(table.X.columns) == ["a"]
    assert table.weight[:3].tolist() == [1.0, 2.0, 3.0]
    assert table.group.tolist() == [i % 4 for i in range(20)]
    assert np.flatnonzero(table.test_rows).tolist() == [15, 16, 17, 18, 19]
    assert dataset.weighted
    assert dataset.grouped
    assert dataset.given_test


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separator_is_found_in_the_header(tmp_path, separator):
    text = 'a,"b, c",y\n1,2,0\n2,3,1\n'.replace(",", separator).replace(f"b{separator} c", "b, c")
    table = loaded(dataset_from_file(write(tmp_path, text), "y"))
    assert list(table.X.columns) == ["a", "b, c"]


@pytest.mark.parametrize(
    ("pack", "ending"), [(gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz")]
)
def test_compressed_files_are_decompressed(tmp_path, pack, ending):
    path = write(tmp_path, pack(SMALL.encode()), f"mine.csv{ending}")
    assert loaded(dataset_from_file(path, "y")).X.shape == (4, 2)


def test_invalid_arff_row_is_reported_with_its_line(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute y {no,yes}\n@data\n1,no\n2,maybe\n3,no\n"
    with pytest.raises(DataError, match=r"is not ARFF: .*maybe.*line 6\.$"):
        dataset_from_file(write(tmp_path, text, "mine.arff"), "y")


def test_arff_with_quotes_missing_values_and_sparse_rows(tmp_path):
    head = "@relation r\n@attribute a numeric\n@attribute 'b c' {x,'y z'}\n@attribute y {no,yes}\n"
    dense = write(tmp_path, head + "@data\n1,x,no\n?,'y z',yes\n3,?,no\n", "mine.arff")
    table = loaded(dataset_from_file(dense, "y"))
    np.testing.assert_array_equal(table.X["a"], [1, np.nan, 3])
    assert table.X["b c"].tolist() == ["x", "y z", np.nan]
    assert table.classes == ("no", "yes")
    sparse = write(tmp_path, head + "@data\n{0 5, 2 yes}\n{1 'y z'}\n", "other.arff")
    table = loaded(dataset_from_file(sparse, "y"))
    assert table.X["a"].tolist() == [5, 0]
    assert table.X["b c"].tolist() == ["x", "y z"]
    assert table.y.tolist() == [1, 0]


NUMBERS = "@relation r\n@attribute a numeric\n@attribute b {0,7}\n@attribute y {no,yes}\n@data\n"


def test_numeric_sparse_arff_stays_sparse(tmp_path):
    rows = "{0 5, 2 yes}\n{}\n% nothing\n{1 7}\n{0 ?, 1 0}\n"
    dataset = dataset_from_file(write(tmp_path, NUMBERS + rows, "mine.arff"), "y")
    assert (dataset.sparse, dataset.columns, dataset.missing) == (True, 2, True)
    assert "sparse ARFF, 4 rows" in describe(dataset)[0]
    table = loaded(dataset)
    np.testing.assert_array_equal(table.X.toarray(), [[5, 0], [0, 0], [0, 7], [np.nan, 0]])
    assert (table.classes, table.y.tolist()) == (("no", "yes"), [1, 0, 0, 0])


def test_sparse_arff_columns_can_be_dropped(tmp_path):
    path = write(tmp_path, NUMBERS + "{0 5, 2 yes}\n{1 7}\n", "mine.arff")
    table = loaded(dataset_from_file(path, "y", drop=["a"]))
    np.testing.assert_array_equal(table.X.toarray(), [[0], [7]])
    weighed = dataset_from_file(path, "y", weight="a")
    assert (weighed.sparse, weighed.weighted) == (False, True)


def test_short_sparse_rows_exceeding_memory_are_refused(tmp_path, monkeypatch):
    """Text among the columns makes the table dense: 2,000 rows of 2,000 columns from 30 kB."""
    columns = "".join(f"@attribute c{i} numeric\n" for i in range(2000))
    head = f"@relation r\n{columns}@attribute t {{x,z}}\n@attribute y {{no,yes}}\n@data\n"
    path = write(tmp_path, head + "{0 1}\n{2001 yes}\n" * 1000, "mine.arff")
    monkeypatch.setenv("HARNESS_MAX_BYTES", "8MB")
    with pytest.raises(DataError, match=r"needs more than 8,000,000 bytes.*svmlight"):
        dataset_from_file(path, "y")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{9 1}", "is not ARFF: Bad @DATA"),
        ("{1 3}", "not found in nominal"),
        ("{0 x}", "is not ARFF|cannot be read"),
        ("1,0,no", "is not ARFF"),
    ],
)
def test_invalid_sparse_arff_rows(tmp_path, row, message):
    path = write(tmp_path, NUMBERS + "{0 1}\n{2 yes}\n" + row + "\n", "mine.arff")
    with pytest.raises(DataError, match=message):
        dataset_from_file(path, "y")


def test_svmlight_stays_sparse(tmp_path):
    path = write(tmp_path, "1 1:0.5 3:2\n-1 2:1\n1 # nothing\n", "mine.svm")
    dataset = dataset_from_file(path)
    table = loaded(dataset)
    assert dataset.sparse
    np.testing.assert_array_equal(table.X.toarray(), [[0.5, 0, 2], [0, 1, 0], [0, 0, 0]])
    assert table.classes == ("-1", "1")


def test_svmlight_has_exactly_one_target(tmp_path):
    path = write(tmp_path, "1 1:0.5 3:2\n-1 2:1\n1 # nothing\n", "mine.svm")
    assert dataset_from_file(path, "label").digest == dataset_from_file(path).digest
    with pytest.raises(DataError, match="no column 'income': the target is the first number"):
        dataset_from_file(path, "income")


@pytest.mark.parametrize("option", [{"weight": "w"}, {"drop": ("a",)}, {"categorical": ("a",)}])
def test_svmlight_has_no_named_columns(tmp_path, option):
    with pytest.raises(DataError, match="svmlight has no column names"):
        dataset_from_file(write(tmp_path, "1 1:1\n0 1:2\n", "mine.svm"), **option)


def test_npz_arrays(tmp_path):
    X, y = np.arange(12.0).reshape(4, 3), np.array([0, 1, 1, 0])
    np.savez(tmp_path / "mine.npz", X=X, y=y, w=np.ones(4))
    table = loaded(dataset_from_file(tmp_path / "mine.npz", weight="w"))
    np.testing.assert_array_equal(table.X, X)
    assert table.weight.tolist() == [1, 1, 1, 1]


def test_dropped_identifiers_and_row_numbers_are_reported(tmp_path):
    frame = pd.DataFrame({"id": [f"u{i}" for i in range(3000)], "v": 1.0, "y": np.arange(3000) % 2})
    frame.loc[0, "v"] = 2.0
    dataset = dataset_from_file(write(tmp_path, frame.to_csv()), "y")
    assert list(loaded(dataset).X.columns) == ["v"]
    text = "\n".join(describe(dataset))
    assert "numbers the rows" in text
    assert "left out as identifiers" in text


def test_empty_and_constant_columns_are_kept_and_reported(tmp_path):
    path = write(tmp_path, "m,c,t,a,y\n,1,k,1,0\n,1,k,2,1\n,1,k,3,1\n")
    table = loaded(dataset_from_file(path, "y"))
    assert table.X["m"].isna().all()
    assert table.notes == (
        "no value in 1 column: 'm'",
        "the same value in every row in 2 columns: 'c', 't'",
    )


def test_numbers_are_read_exactly(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(500) * 10.0 ** rng.integers(-30, 30, 500)
    frame = pd.DataFrame({"a": values, "y": values[::-1]})
    table = loaded(dataset_from_file(write(tmp_path, frame.to_csv(index=False)), "y"))
    np.testing.assert_array_equal(table.X["a"], values)
    np.testing.assert_array_equal(table.y, values[::-1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"is empty \(0 bytes\)"),
        ("\n \n\n", "has no table"),
        ("a,y\n", "has a header but no rows"),
        ("a,income\n1,2\n", r"unknown target 'y'; the columns are 'a', 'income'"),
        ("a,Y\n1,2\n", r"unknown target 'y'"),
        ("2,1,k,38.5\n1,0,m,39\n", r"no column names: its first line begins '2', '1'"),
        ("a,y\n1,k\n2,k\n", r"one class only \('k'\)"),
        ("a,y\n1,2.5\n2,2.5\n", "same value in every row"),
        ("a,y\n1,2\n2,\n3,\n", "missing in 2 of 3 rows"),
        ("a,y\n1,\n2,\n", "has no value in any row"),
        ("a,y\n1,0.5\n2,inf\n3,1.5\n", "infinite in 1 row;"),
        ("a,y\n-inf,0\n2,1\ninf,1\n", r"column 'a' is infinite in 2 rows"),
        (f"a,y\n1,0\n2,1\n1{'0' * 400},1\n", r"column 'a' is infinite in 1 row;"),
        (f"a,y\n1,0.5\n2,1{'0' * 400}\n3,1.5\n", r"'y' is infinite in 1 row;"),
        ("a,a,b,b,y\n1,2,3,4,5\n", r"several columns named 'a', 'b'"),
        ("a,y\n1,2,3\n4,5,6\n", "more fields than its header"),
        ("a,y\n1,2\n3,4,5\n", "Expected 2 fields in line 3, saw 3"),
        ('a,y\n"1,2\n3,4\n', "EOF inside string"),
        ("y\n1\n0\n", "no feature column"),
        (b"a,y\n1,0\n\xe9,1\n", r"not UTF-8: line 3 holds byte 0xe9 at position 1; .*iconv"),
        ("a,y\n1,0\n".encode("utf-16"), "text in UTF-16"),
        (pickle.dumps({"a": 1}), "is a pickle"),
        (b"PK\x03\x04....", "is a zip archive"),
        (b"PAR1....PAR1", "is a Parquet file"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (gzip.compress(b"a,y\n" + b"1,2\n" * 999, mtime=0)[:-9], "corrupt or cut short"),
        (gzip.compress(b"a,y\n1,0\n2,1\n", mtime=0) + b"garbage", "corrupt or cut short"),
    ],
)
def test_invalid_content_is_refused_with_one_line(tmp_path, content, message):
    with pytest.raises(DataError, match=message) as caught:
        dataset_from_file(write(tmp_path, content), "y")
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "cache").rglob("meta.json"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.csv", "no file"),
        ("../../../absent.csv", "no file"),
        (".", "is a folder"),
        ("x" * 300 + ".csv", "File name too long"),
        ("a\0b.csv", "no file"),
    ],
)
def test_invalid_paths(tmp_path, name, message):
    with pytest.raises(DataError, match=message):
        dataset_from_file(tmp_path / name, "y")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine.xlsx", "is not an Excel workbook"),
        ("mine.pkl", "pickles are not read"),
        ("mine.json", "convert it"),
        ("mine", "the known endings are .csv"),
        ("mine.parquet.gz", "unpack this one"),
    ],
)
def test_invalid_suffixes(tmp_path, name, message):
    with pytest.raises(DataError, match=message):
        dataset_from_file(write(tmp_path, "a,y\n1,2\n", name), "y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "c"}, r"unknown weight 'c'"),
        ({"group": "c"}, r"unknown group 'c'"),
        ({"drop": ("c",)}, r"unknown dropped column 'c'"),
        ({"categorical": ("c",)}, r"unknown categorical column 'c'"),
        ({"weight": "b"}, "must be 0 or more"),
        ({"task": "survival"}, "the tasks are binary, multiclass, regression, ranking"),
        ({"task": "ranking"}, "a ranking needs queries"),
        ({"task": "binary", "target": "a"}, "4 classes, not 2"),
        ({"task": "regression", "target": "b"}, "holds text such as 'u'"),
    ],
)
def test_invalid_arguments(tmp_path, options, message):
    path = write(tmp_path, "a,b,y\n1,u,0\n2,v,1\n3,u,0\n4,w,1\n")
    with pytest.raises(DataError, match=message):
        dataset_from_file(path, **{"target": "y", **options})


def test_rows_without_a_target_can_be_left_out(tmp_path):
    path = write(tmp_path, "a,y\n1,0\n2,\n3,1\n4,1\n")
    table = loaded(dataset_from_file(path, "y", drop_missing_target=True))
    assert table.X["a"].tolist() == [1, 3, 4]
    assert table.notes == ("1 row without a usable target left out",)


def test_decompression_bomb_is_stopped_before_unpacking(tmp_path, monkeypatch):
    packer = zlib.compressobj(9, wbits=31)
    block = packer.compress(b"a,y\n" + b"1,0\n2,1\n" * 100_000) + packer.flush()
    path = write(tmp_path, block, "bomb.csv.gz")
    monkeypatch.setenv("HARNESS_MAX_BYTES", "100KB")
    with pytest.raises(DataError, match=r"more than 100,000 bytes.*HARNESS_MAX_BYTES"):
        dataset_from_file(path, "y")
    monkeypatch.setenv("HARNESS_MAX_BYTES", "1MB")
    assert dataset_from_file(path, "y").rows == 200_000


@pytest.mark.parametrize("part", ["header", "objects", "lengths", "no X"])
def test_invalid_npz(tmp_path, part):
    path = tmp_path / "mine.npz"
    X, y = np.zeros((5, 2)), np.arange(5) % 2
    match part:
        case "header":  # declares far more than it contains
            np.savez(path, X=X, y=y)
            content = path.read_bytes().replace(b"(5, 2)", b"(5,99)")
            path.write_bytes(content)
        case "objects":
            np.savez(path, X=np.array([{}, {}], dtype=object), y=y)
        case "lengths":
            np.savez(path, X=X, y=y[:4])
        case _:
            np.savez(path, Z=X, y=y)
    with pytest.raises(DataError, match=r"mine\.npz"):
        dataset_from_file(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 qid:1 1:1\n0 qid:2 1:2\n1 qid:1 1:3\n", "rows of a query are not consecutive"),
        ("1.5 qid:1 1:1\n0 qid:2 1:2\n", "whole numbers from 0 to 30"),
        ("1 -3:1\n0 1:2\n", "Invalid index"),
        ("1 2147483000:1\n0 1:2\n", "at most 1,000,000"),
        ("hello world\n", "could not convert"),
        ("1 1:inf\n0 1:2\n", "infinite"),
    ],
)
def test_invalid_svmlight(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        dataset_from_file(write(tmp_path, content, "mine.svm"))


def test_hostile_names_stay_data(tmp_path):
    names = ["<script>alert(1)</script>", "=cmd()", "../../x", "\x1b[31mred", "n" * 10_000, 'q"']
    frame = pd.DataFrame(np.arange(12.0).reshape(2, 6), columns=names)
    frame["y"] = [0, 1]
    before = sorted(tmp_path.iterdir())
    path = write(tmp_path, frame.to_csv(index=False))
    dataset = dataset_from_file(path, "y")
    assert list(loaded(dataset).X.columns) == names
    assert all(len(line) < 600 and line.isprintable() for line in describe(dataset))
    assert set(tmp_path.iterdir()) - set(before) == {path, tmp_path / "cache"}


def test_thirty_thousand_columns(tmp_path):
    header = ",".join(f"c{i}" for i in range(30_000))
    row = ",".join("1" for _ in range(30_000))
    path = write(tmp_path, f"{header},y\n{row},0\n{row},1\n")
    dataset = dataset_from_file(path, "y")
    assert dataset.columns == 30_000
    assert all(len(line) < 600 for line in describe(dataset))


columns = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=12)
    .filter(lambda name: name.strip() == name and name not in {"y", "\ufeff"})
    .filter(lambda name: not name.startswith("\ufeff")),
    min_size=1,
    max_size=4,
    unique=True,
)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(columns, st.lists(numbers, min_size=3, max_size=6), st.sampled_from(["csv", "parquet"]))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_file_reads_back_equal(tmp_path, names, values, ending):
    frame = pd.DataFrame(dict.fromkeys(names, values))
    frame["y"] = np.arange(len(values)) % 2
    path = Path(tmp_path, f"mine.{ending}")
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    table = loaded(dataset_from_file(path, "y"))
    assert list(table.X.columns) == names
    for name in names:
        np.testing.assert_array_equal(table.X[name].to_numpy(), values)
