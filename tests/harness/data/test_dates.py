"""Tests of dates stored as text: strict formats and the numeric columns made from them."""

import numpy as np
import pandas as pd
import pytest

from harness.data import dataset_from_file, dataset_from_mapping, describe
from harness.data.dates import (
    date_features,
    date_format,
    feature_names,
    matching_formats,
    text_date_formats,
)
from harness.data.loading import table_of


@pytest.mark.parametrize(
    ("texts", "pattern"),
    [
        (["2020-01-02", "2020-12-31"], "%Y-%m-%d"),
        (["2020-01-02 03:04", "2020-12-31 23:59"], "%Y-%m-%d %H:%M"),
        (["2020-01-02T03:04:05", "2020-12-31T23:59:59"], "%Y-%m-%dT%H:%M:%S"),
        (["2020-01-02T03:04:05Z", "2020-12-31T23:59:59Z"], "%Y-%m-%dT%H:%M:%S%z"),
        (["20141013T000000", "20150101T120000"], "%Y%m%dT%H%M%S"),
        (["31.12.2020", "1.1.2021"], "%d.%m.%Y"),
        (["01/02/2020", "12/31/2020"], "%m/%d/%Y"),
        (["01/02/2020", "31/12/2020"], "%d/%m/%Y"),
        (["01/31/2020 11:05 PM"], "%m/%d/%Y %I:%M %p"),
        (["12-Jan-2011", "01-Feb-2012"], "%d-%b-%Y"),
        (["January 5, 2020"], "%B %d, %Y"),
        (["2020-01", "2020-12"], "%Y-%m"),
        (["01/03/2020", "01/04/2020", "01/05/2020"], "%d/%m/%Y"),  # months in order
        (["2020-01-02", None, float("nan")], "%Y-%m-%d"),
    ],
)
def test_date_formats_are_found(texts, pattern):
    assert date_format(texts) == pattern


@pytest.mark.parametrize(
    "texts",
    [
        ["2020-01-02", "unknown"],
        ["2020-13-01"],
        ["192.168.1.1"],
        ["1.2.3", "4.5.6"],
        ["5-10", "10-15"],
        ["10/1500", "12/1600"],  # no plausible years
        ["red", "green"],
        ["a street with a very long name - number 12, in the town of 2020-01-02"],
        [],
    ],
)
def test_other_text_is_no_date(texts):
    assert matching_formats(texts) == []


def test_ambiguous_day_and_month_have_no_format():
    assert len(matching_formats(["01/02/2020", "02/03/2020"])) == 2
    assert date_format(["01/02/2020", "02/03/2020"]) == ""


def test_features_of_a_date():
    result = date_features(pd.Series(["2024-02-29 18:30", None]), "%Y-%m-%d %H:%M")
    assert [*result] == ["days", "year", "month", "weekday", "hour"]
    days = (np.datetime64("2024-02-29T18:30") - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    np.testing.assert_array_equal([v[0] for v in result.values()], [days, 2024, 2, 3, 18])
    assert all(np.isnan(values[1]) for values in result.values())
    assert "hour" not in date_features(pd.Series(["2024-02-29"]), "%Y-%m-%d")


def test_features_of_a_row_depend_on_that_row_only():
    texts = pd.Series(pd.date_range("2019-12-20", periods=50).strftime("%d/%m/%Y"))
    whole = date_features(texts, "%d/%m/%Y")
    for part, values in date_features(texts.iloc[7:9], "%d/%m/%Y").items():
        np.testing.assert_array_equal(values, whole[part][7:9])


def test_feature_names_are_new():
    names = feature_names({"when": "%Y-%m-%d"}, ["when", "when_days"])
    assert names == {
        "when": {
            "days": "when_days_",
            "year": "when_year",
            "month": "when_month",
            "weekday": "when_weekday",
        }
    }


def test_date_columns_are_found_among_others():
    moments = pd.date_range("2020-01-01", periods=30, freq="h")
    texts = moments.strftime("%Y-%m-%d %H:%M")
    frame = pd.DataFrame({"a": range(30), "b": texts, "c": "x", "d": [None, *texts[1:]]})
    assert text_date_formats(frame, frame.columns) == dict.fromkeys("bd", "%Y-%m-%d %H:%M")


def test_file_with_dates_becomes_numeric(tmp_path):
    rows = 60
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2020-01-30", periods=rows),
            "color": ["red", "blue"] * (rows // 2),
            "y": np.arange(rows) * 0.7,
        }
    )
    path = tmp_path / "sales.csv"
    frame.to_csv(path, index=False)
    dataset = dataset_from_file(path, "y")
    table = table_of(dataset)
    names = ["when_days", "when_year", "when_month", "when_weekday"]
    assert [name for name in table.X.columns if name.startswith("when_")][:4] == names
    assert [*table.X.columns][-1] == "color"
    assert table.X["when_month"].tolist()[:3] == [1, 1, 2]
    assert np.diff(table.X["when_days"]).tolist() == [1.0] * (rows - 1)
    assert any("dates: 'when'" in line for line in describe(dataset))
    again = dataset_from_mapping(dataset.file)
    assert again.digest == dataset.digest
    pd.testing.assert_frame_equal(again.load().X, table.X)


def test_dates_declared_as_categories_stay_categories(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text("when,a,y\n" + "".join(f"2020-01-{i + 1:02d},{i},{i % 2}\n" for i in range(9)))
    dataset = dataset_from_file(path, "y", categorical=["when"])
    assert table_of(dataset).X["when"].dtype == "category"


def test_single_letter_columns_are_numeric_beside_text(tmp_path):
    path = tmp_path / "letters.csv"
    path.write_text(
        "t,e,x,word,y\n" + "".join(f"{i}.5,{i},{i},w{i % 3},{i % 2}\n" for i in range(9))
    )
    X = table_of(dataset_from_file(path, "y")).X
    assert [str(kind) for kind in X.dtypes] == ["float64"] * 3 + ["category"]
