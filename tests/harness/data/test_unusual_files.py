"""Tests of files from spreadsheets, other locales and old tools."""

import numpy as np
import pytest

from harness.core.errors import DataError
from harness.data import dataset_from_file, describe
from harness.data.loading import table_of


def read(folder, text, name="mine.csv", encoding="utf-8"):
    path = folder / name
    path.write_text(text, encoding=encoding, newline="")
    dataset = dataset_from_file(path, "y")
    return table_of(dataset), "\n".join(describe(dataset))


VALUES = [0.1, -12.5, 3.0, 1234.5678901234567, 2.2250738585072014e-308, 7e22]


def test_decimal_commas_are_read_exactly(tmp_path):
    rows = "".join(f"{v!r};{i}\n".replace(".", ",") for i, v in enumerate(VALUES))
    table, message = read(tmp_path, "a;y\n" + rows)
    assert table.X["a"].tolist() == VALUES
    assert "with decimal commas" in message


@pytest.mark.parametrize(
    "rows",
    [
        ["1,100.5;x", "2,200.5;z"],  # of thousands
        ["2,5;0.5", "3,5;1.5"],  # a number has a point
        ["a, b;1", "1,5;2", "c;3"],  # of most rows it is text
    ],
)
def test_other_commas_stay_text(tmp_path, rows):
    table, message = read(tmp_path, "a;b;y\n" + "".join(f"{r};{i}\n" for i, r in enumerate(rows)))
    assert table.X["a"].dtype == "category"
    assert "decimal commas" not in message


def test_separator_commas_are_no_decimals(tmp_path):
    table, _ = read(tmp_path, 'a,b,y\n"1,5",2,0\n"2,5",3,1\n')
    assert table.X["a"].tolist() == ["1,5", "2,5"]


def test_blanks_after_separators_are_ignored(tmp_path):
    table, _ = read(tmp_path, "a, b, y\n1, u, no\n2, v, yes\n3, u, no\n")
    assert list(table.X.columns) == ["a", "b"]
    assert table.X["b"].tolist() == ["u", "v", "u"]
    assert table.classes == ("no", "yes")


def test_column_name_of_one_blank_is_kept(tmp_path):
    table, _ = read(tmp_path, "a, b,y\n1,u,0\n2,v,1\n")
    assert list(table.X.columns) == ["a", " b"]


@pytest.mark.parametrize("shape", ["{}%", "${},000", "{},000.5", "{} 000"])
def test_numeric_looking_text_is_reported(tmp_path, shape):
    rows = "".join(f'"{shape.format(i + 1)}",{i / 7},{i % 2}\n' for i in range(30))
    table, message = read(tmp_path, "a,b,y\n" + rows)
    assert table.X["a"].dtype == "category"
    assert f"'a' is text, although its values are numbers, such as '{shape.format(1)}'" in message


def test_few_codes_and_dates_are_not_numeric_text(tmp_path):
    rows = "".join(f"{i % 5}%,2020-01-{i + 1:02d},{i % 2}\n" for i in range(28))
    _, message = read(tmp_path, "a,b,y\n" + rows)
    assert "its values are numbers" not in message


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks(tmp_path, ends, mark):
    table, _ = read(tmp_path, mark + ends.join(["a,b,y", "1,u,0", "2,v,1", ""]))
    assert list(table.X.columns) == ["a", "b"]
    np.testing.assert_array_equal(table.X["a"], [1, 2])


def test_arff_with_dates_reports_the_unsupported_type(tmp_path):
    text = "@relation r\n@attribute d date 'yyyy'\n@attribute y {0,1}\n@data\n'2020',1\n"
    with pytest.raises(DataError, match=r"line 2\. Dates and relations are not read"):
        read(tmp_path, text, "mine.arff")


def test_infinity_is_no_category(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("c,y\n1,0\ninf,1\n2,0\n-inf,1\n")
    with pytest.raises(DataError, match=r"the column 'c' is infinite in 2 rows.*not a category"):
        dataset_from_file(path, "y", categorical=("c",))
