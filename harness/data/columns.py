"""Conversion of columns to numbers, or to categories with sorted labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.core.errors import DataError
from harness.data.frames import Categories, Column
from harness.data.safe_names import count, listed, shown

_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
MAX_COLUMNS = 1_000_000
MAX_LEVELS = 1000  # levels above which a mostly unique text column is an identifier


def check_names(path: Path, names: Iterable[str]) -> list[str]:
    """Return column names; raise DataError for duplicates."""
    checked = list(names)
    if len(checked) > MAX_COLUMNS:
        raise DataError(f"{path} has {len(checked):,} columns; at most {MAX_COLUMNS:,} are read")
    if len(set(checked)) < len(checked):
        seen: set[str] = set()
        twice = [n for n in checked if n in seen or seen.add(n)]  # type: ignore[func-returns-value]
        raise DataError(f"{path} has several columns named {listed(twice)}; rename them")
    return checked


def column_of(values: pd.Series[Any], forced: bool, *, switches: bool) -> Column:
    """Return a column as float64 numbers with NaN for missing, or as categories.

    Parameters
    ----------
    values
        The column as it was parsed.
    forced
        Whether numbers are categories too, as declared by the dataset.
    switches
        Whether true/false becomes 1/0 instead of two categories.
    """
    kind = values.dtype
    if isinstance(kind, pd.CategoricalDtype):
        values = values.astype(kind.categories.dtype)
        forced, kind = True, values.dtype
    is_truth = pd.api.types.is_bool_dtype(kind)
    if is_truth and switches and not forced:
        return _floats(values)
    if pd.api.types.is_numeric_dtype(kind) and not is_truth:
        numbers = _floats(values)
        if forced and np.isinf(numbers).any():
            raise DataError(
                f"the column {shown(values.name)} is infinite in "
                f"{count(int(np.isinf(numbers).sum()), 'row')}, which is not a category: make them "
                "missing, or declare the column as numbers"
            )
        return categorized(numbers) if forced else numbers
    if pd.api.types.is_object_dtype(kind) and not forced:
        parsed = as_numbers(values)
        if (parsed.notna() == values.notna()).all():
            return _floats(parsed)
    text = labels_of(values)
    if switches and not forced and set(text.dropna().unique()) <= set(_TRUTH):
        return _floats(text.map(_TRUTH))
    codes, levels = pd.factorize(text, sort=True)
    return Categories(codes.astype(np.int32), [str(level) for level in levels])


def as_numbers(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return values as numbers: NaN if not a number, infinite if too large."""
    try:
        return pd.to_numeric(values, errors="coerce")
    except OverflowError:  # pandas cannot parse integers of hundreds of digits
        return values.map(_number).astype(np.float64)


def _number(value: Any) -> float:
    try:
        return float(str(value))
    except ValueError:
        return np.nan


def _floats(values: pd.Series[Any]) -> np.ndarray:
    numbers: np.ndarray = values.to_numpy(np.float64, na_value=np.nan)
    return numbers


def categorized(numbers: np.ndarray) -> Categories:
    """Return numbers as categories, sorted by value; whole numbers as integers."""
    codes, levels = pd.factorize(numbers, sort=True)
    whole = len(levels) > 0 and bool((levels == np.trunc(levels)).all())
    whole = whole and bool((np.abs(levels) < 2**53).all())
    return Categories(codes.astype(np.int32), [int(v) if whole else float(v) for v in levels])


def labels_of(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return values as text, ``1.0`` as ``1``; missing values stay missing."""
    if pd.api.types.is_float_dtype(values.dtype):
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        text = [None if np.isnan(v) else number_label(v) for v in numbers]
        return pd.Series(text, index=values.index, dtype=pd.StringDtype(na_value=np.nan))
    return values.astype(pd.StringDtype(na_value=np.nan))


def number_label(value: float) -> str:
    """Return a number as a label, whole numbers without a decimal point."""
    is_whole = value == np.trunc(value) and abs(value) < 2**53
    return str(int(value)) if is_whole else repr(float(value))


def encode_classes(target: pd.Series[Any]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return int64 codes 0 … n − 1 and the label of each.

    Labels are sorted as numbers if all of them are numbers, else as text.
    """
    codes, labels = pd.factorize(labels_of(target), sort=True)
    numbers = as_numbers(pd.Series(labels)).to_numpy(np.float64)
    order = np.arange(len(labels))
    if not np.isnan(numbers).any():
        order = np.argsort(numbers, kind="stable")
    place = np.empty(len(labels), np.int64)
    place[order] = np.arange(len(labels))
    return place[codes], tuple(str(labels[int(i)]) for i in order)


def identifiers(columns: Mapping[str, Column]) -> list[str]:
    """Return the text columns that identify rows: more than 1000 levels, and more than rows / 2."""
    return [
        name
        for name, found in columns.items()
        if isinstance(found, Categories)
        and len(found.levels) > MAX_LEVELS
        and len(found.levels) > len(found.codes) / 2
    ]
