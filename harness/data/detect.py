"""Detect the format details, target and task of a user's file, and describe them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.core.errors import DataError, unknown
from harness.core.model import Table, Task
from harness.data import arff_files
from harness.data.columns import as_numbers
from harness.data.parsers import parser_errors, read_header
from harness.data.reading import Reading
from harness.data.safe_names import count, listed, shown
from harness.data.streams import open_data

LABEL = "label"  # name of the target of a file without column names
SEPARATORS = (",", ";", "\t", "|")
FEW_INTEGERS = 20  # maximum distinct whole numbers of a classification target
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
_DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
_LIKE_NUMBER = re.compile(r"[-+]?[$€£¥]?\s?[-+]?\d[\d.,' ]*\s?[%$€£¥]?")
_LINES = 1000  # maximum lines that are examined
_NAMELESS = "Unnamed: "  # prefix of pandas for columns without a name
_HEAD = 2**20  # bytes examined for the header


def complete(path: Path, reading: Reading) -> Reading:
    """Return reading options completed from the file: separator, row numbers, target."""
    if reading.format == "svmlight":
        if reading.weight or reading.group or reading.drop or reading.categorical != "text":
            raise DataError(f"{path}: svmlight has no column names")
        if reading.target not in ("", LABEL):
            raise DataError(
                f"{path}: svmlight has no column {shown(reading.target)}: the target is the first "
                f"number of each row, named {LABEL!r}"
            )
        return reading.model_copy(update={"target": LABEL, "separator": ","})
    if reading.format != "csv":
        target = reading.target or ("y" if reading.format == "npz" else "")
        reading = reading.model_copy(update={"target": target, "separator": ","})
        return _with_sparse_format(path, reading) if reading.format == "arff" else reading
    separator = reading.separator or find_separator(path, reading.encoding)
    reading = reading.model_copy(update={"separator": separator})
    reading = reading.model_copy(update=_csv_options(path, reading))
    header = read_header(path, reading)
    if reading.target and reading.target not in header:
        if _is_data(header):
            raise DataError(
                f"{path} has no column names: its first line begins {listed(header[:3])}; "
                "put a line with a name for each column above it"
            )
        hint = f"the columns are {listed(header)}"
        raise DataError(f"{path}: {unknown('target', reading.target[:80], header, hint)}")
    numbers = [n for n in header[:1] if n.startswith(_NAMELESS) and _counts_rows(path, reading)]
    return reading.model_copy(update={"drop": (*numbers, *reading.drop)})


def _with_sparse_format(path: Path, reading: Reading) -> Reading:
    with parser_errors(path, reading):
        sparse = arff_files.is_sparse(path, reading)
    return reading.model_copy(update={"format": "sparse_arff"}) if sparse else reading


def _is_data(header: list[str]) -> bool:
    """Return whether a header consists mostly of numbers, so that the column names are missing."""
    numbers = as_numbers(pd.Series(header)).notna()
    return bool(numbers.mean() > 0.5)


def find_separator(path: Path, encoding: str) -> str:
    """Return the separator that splits the first line into the most fields, outside quotes."""
    if ".tsv" in path.suffixes or ".tab" in path.suffixes:
        return "\t"
    with open_data(path) as stream:
        head = stream.read(_HEAD)
    line = next((part for part in head.splitlines() if part.strip()), b"")
    text = line.decode(encoding, errors="replace")
    counts = {}
    for separator in SEPARATORS:
        try:
            counts[separator] = len(next(csv.reader([text], delimiter=separator), []))
        except csv.Error:  # a field above the limit of the csv module
            counts[separator] = text.count(separator) + 1
    return max(SEPARATORS, key=lambda separator: counts[separator])


def _csv_options(path: Path, reading: Reading) -> dict[str, Any]:
    """Return options of a CSV file from its first rows: blanks before names, decimal commas."""
    with parser_errors(path, reading), open_data(path) as stream:
        head = stream.read(_HEAD).decode(reading.encoding, errors="replace")
    rows = [*_fields(head.splitlines()[:_LINES], reading)]
    if len(rows) < 2 or len(rows[0]) < 2:
        return {}
    options: dict[str, Any] = {}
    if all(name.startswith(" ") for name in rows[0][1:]):
        options["skip_spaces"] = True
    if reading.separator != "," and _has_decimal_commas(rows[1:]):
        options["decimal"] = ","
    return options


def _fields(lines: list[str], reading: Reading) -> Iterator[list[str]]:
    """Yield the fields of rows; stop at the first malformed row."""
    with suppress(csv.Error):
        yield from csv.reader(lines, delimiter=reading.separator, quotechar=reading.quote)


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    """Return whether a column has numbers with commas, and no field has a decimal point."""
    rows = [[field.strip() for field in row] for row in rows]
    if any(_DECIMAL_POINT.fullmatch(field) for row in rows for field in row):
        return False
    for column in zip_longest(*rows, fillvalue=""):
        filled = [field for field in column if field]
        commas = sum(_DECIMAL_COMMA.fullmatch(field) is not None for field in filled)
        if commas > len(filled) / 2:
            return True
    return False


def _counts_rows(path: Path, reading: Reading) -> bool:
    """Return whether the first column only numbers the rows, as written by pandas and R."""
    from harness.data.parsers import parse

    first = parse([path], reading).data.iloc[:, 0]
    if not pd.api.types.is_integer_dtype(first.dtype):
        return False
    values = first.to_numpy()
    return bool((np.diff(values) == 1).all()) and values[:1].tolist() in ([0], [1])


def guess_task(
    target: Any, path: str, name: str, queries: np.ndarray | None = None
) -> tuple[Task, str]:
    """Return the task for a target, and the reason.

    A file with queries is a ranking. Text, booleans and at most ``FEW_INTEGERS`` different whole
    numbers are classes; other numbers are a regression target.
    """
    if not len(target):
        raise DataError(f"{path} has a header but no rows")
    values = pd.Series(target).dropna()
    if values.empty:
        raise DataError(f"{path}: the target {shown(name)} has no value in any row")
    if queries is not None:
        return Task.RANKING, f"it has {len(np.unique(queries)):,} queries"
    distinct = int(values.nunique())
    classes = Task.BINARY if distinct <= 2 else Task.MULTICLASS
    is_number = pd.api.types.is_numeric_dtype(values.dtype)
    if not is_number or pd.api.types.is_bool_dtype(values.dtype):
        return classes, f"{distinct:,} different texts"
    numbers = values.to_numpy(np.float64)
    whole = bool(np.isfinite(numbers).all() and (numbers == np.trunc(numbers)).all())
    if whole and distinct <= FEW_INTEGERS:
        return classes, f"{distinct:,} different whole numbers"
    kind = "whole numbers" if whole else "numbers"
    return Task.REGRESSION, f"{distinct:,} different {kind}"


def detection_sentences(
    path: Path, reading: Reading, table: Table, task: Task, why: str
) -> list[str]:
    """Return sentences on what was detected, one per line."""
    rows, width = table.X.shape
    upper = reading.format in ("csv", "arff")
    kind = reading.format.upper() if upper else reading.format.replace("_arff", " ARFF")
    separated = f" separated by {shown(reading.separator)}" if reading.format == "csv" else ""
    separated += ", with decimal commas" if reading.decimal == "," else ""
    lines = [
        f"{shown(path.name)}: {kind}{separated}, {rows:,} rows, {count(width, 'column')} to use"
    ]
    classes = f" with {len(table.classes)} classes" if table.classes else ""
    lines.append(f"target {shown(reading.target)}: {task.value}{classes} ({why})")
    if isinstance(table.X, pd.DataFrame):
        lines += [*_kinds(table.X), *_dates(reading), *_numbers_as_text(table.X)]
    else:
        share = table.X.nnz / max(rows * width, 1)
        lines.append(f"sparse: {share:.2%} of the values are not zero")
    lines += _roles(reading, table)
    if any(name.startswith(_NAMELESS) for name in reading.drop):
        lines.append("left out the first column: it has no name and numbers the rows")
    return [*lines, *table.notes]


def _roles(reading: Reading, table: Table) -> Iterator[str]:
    """Yield sentences on columns that are not features."""
    if reading.weight:
        yield f"weight: {shown(reading.weight)}"
    if reading.group == "" and table.group is not None:
        yield f"{len(np.unique(table.group)):,} queries; rows of one query are never in both parts"
    if reading.group:
        yield f"group: {shown(reading.group)}; rows of one group are never in both parts of a split"
    if reading.order:
        groups = " of groups that it does not test" if table.group is not None else ""
        yield f"time: {shown(reading.order)}; every split trains on earlier rows{groups}"
    dropped = [name for name in reading.drop if not name.startswith(_NAMELESS)]
    if dropped:
        yield f"dropped: {listed(dropped)}"
    if table.test_rows is not None:
        yield f"test rows: {int(table.test_rows.sum()):,}, the last ones; there are no other splits"


def _kinds(frame: pd.DataFrame) -> list[str]:
    is_category = np.array([isinstance(kind, pd.CategoricalDtype) for kind in frame.dtypes])
    names = frame.columns.to_numpy(dtype=object)
    missing = frame.isna().to_numpy().any(axis=0)
    lines = []
    for word, which in (("numeric", ~is_category), ("categorical", is_category)):
        if which.any():
            named = listed(names[which].tolist())
            lines.append(f"{word}: {count(int(which.sum()), 'column')} ({named})")
    if missing.any():
        named = listed(names[missing].tolist())
        share = float(frame.isna().to_numpy().mean())
        where = count(int(missing.sum()), "column")
        lines.append(f"missing values: {100 * share:.3g} % of all values, in {where} ({named})")
    return lines


def _dates(reading: Reading) -> list[str]:
    """Return a line on the date columns and their features."""
    if not reading.dates:
        return []
    named = listed([*reading.dates])
    return [f"dates: {named}, each used as elapsed days, year, month, weekday and hour"]


def _numbers_as_text(frame: pd.DataFrame) -> Iterator[str]:
    """Yield sentences on text columns with numbers: percentages, money, 1,234.5."""
    for name, kind in zip(frame.columns, frame.dtypes, strict=True):
        if not isinstance(kind, pd.CategoricalDtype) or len(kind.categories) <= FEW_INTEGERS:
            continue
        levels = [level for level in kind.categories if isinstance(level, str)]
        if levels and all(map(_LIKE_NUMBER.fullmatch, levels)):
            example = shown(levels[0])
            yield f"{shown(name)} is text, although its values are numbers, such as {example}"
