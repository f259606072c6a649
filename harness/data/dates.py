"""Dates stored as text: find their format, and turn them into numeric columns.

Time stamps of a Parquet file are days since 1970 and are not changed. A text column is a column of
dates only if every value in it matches one strict format. Nothing is fitted: the numbers of a row
depend only on the text of that row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

_DAYS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d.%m.%y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
)
_CLOCKS = (" %H:%M:%S", " %H:%M", "T%H:%M:%S", "T%H:%M", " %H:%M:%S.%f", "T%H:%M:%S.%f",
           " %I:%M:%S %p", " %I:%M %p")  # fmt: skip
_ZONED = ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%d %H:%M:%S%z")
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%b-%Y", "%B %Y")
FORMATS = (
    *_DAYS,
    *(day + clock for day, clock in product(_DAYS, _CLOCKS)),
    *_ZONED,
    "%Y%m%dT%H%M%S",
    *_MONTHS,
)
YEARS = (1700, 2200)  # of plausible dates; numbers such as 10/1500 are something else
_FIRST = 20  # values that a format must match before it is tried on all values
_LONGEST = 40  # characters of a date; longer text is no date
PARTS = ("days", "year", "month", "weekday", "hour")


def matching_formats(values: Iterable[Any]) -> list[str]:
    """Return the formats that match every one of the given texts; missing values are ignored."""
    texts = list(dict.fromkeys(str(value) for value in values if not pd.isna(value)))
    if not texts or not all(_may_be_date(text) for text in texts):
        return []
    head = pd.Series(texts[:_FIRST])
    likely = [pattern for pattern in FORMATS if _all_match(head, pattern)]
    every = pd.Series(texts)
    return [pattern for pattern in likely if _all_match(every, pattern)]


def date_format(values: Iterable[Any]) -> str:
    """Return the only format of a column of dates, or "" if it has none or the text is ambiguous.

    If day and month could be exchanged, the format with a constant day of the month is taken
    (monthly data); without one the column is ambiguous.
    """
    texts = list(dict.fromkeys(str(value) for value in values if not pd.isna(value)))
    formats = matching_formats(texts)
    if len(formats) < 2:
        return "".join(formats)
    monthly = [f for f in formats if len({*_parsed(pd.Series(texts), f).dt.day}) == 1]
    return monthly[0] if len(monthly) == 1 and len(texts) > 1 else ""


def text_date_formats(frame: pd.DataFrame, names: Iterable[str]) -> dict[str, str]:
    """Return column → format, for the named columns of a frame that hold dates."""
    formats = {}
    for name in names:
        kind = frame[name].dtype
        if _is_text(kind) and (pattern := _format_of_column(frame[name])) != "":
            formats[name] = pattern
    return formats


def _is_text(kind: Any) -> bool:
    return pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind)


def date_features(values: pd.Series[Any], pattern: str) -> dict[str, np.ndarray]:
    """Return elapsed days since 1970, year, month, weekday (Monday is 0) and hour of each row.

    The hour is left out if the format has no time of day. Missing dates give NaN.
    """
    levels = pd.Series(values.dropna().astype(str).unique())
    parsed = dict(zip(levels, _parsed(levels, pattern), strict=True))
    moments = pd.to_datetime(values.map(parsed, na_action="ignore"), utc=True)
    elapsed = (moments - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    columns: dict[str, pd.Series[Any]] = {
        "days": elapsed,
        "year": moments.dt.year,
        "month": moments.dt.month,
        "weekday": moments.dt.day_of_week,
    }
    if has_clock(pattern):
        columns["hour"] = moments.dt.hour
    return {part: column.to_numpy(np.float64, na_value=np.nan) for part, column in columns.items()}


def has_clock(pattern: str) -> bool:
    """Return whether a format has a time of day."""
    return "%H" in pattern or "%I" in pattern


def feature_names(dates: Mapping[str, str], taken: Collection[str]) -> dict[str, dict[str, str]]:
    """Return date column → part → name of its numeric column; no name is in ``taken``."""
    used = set(taken)
    names_of: dict[str, dict[str, str]] = {}
    for column, pattern in dates.items():
        names_of[column] = {}
        for part in PARTS:
            if part == "hour" and not has_clock(pattern):
                continue
            name = f"{column}_{part}"
            while name in used:
                name += "_"
            used.add(name)
            names_of[column][part] = name
    return names_of


def _format_of_column(column: pd.Series[Any]) -> str:
    """Return the format of a text column; its first values alone refuse most columns."""
    head = column.dropna().iloc[:_FIRST]
    if not matching_formats(head):
        return ""
    return date_format(column.dropna().unique())


def _may_be_date(text: str) -> bool:
    return 6 <= len(text) <= _LONGEST and any(sign in text for sign in "-/. T") and text[-1] != "-"


def _all_match(texts: pd.Series[Any], pattern: str) -> bool:
    """Return whether every text matches a format, with a plausible year."""
    years = _parsed(texts, pattern).dt.year
    return bool(years.between(*YEARS).all())


def _parsed(texts: pd.Series[Any], pattern: str) -> pd.Series[Any]:
    """Return moments in UTC; NaT where a text does not match the format exactly."""
    return pd.to_datetime(texts, format=pattern, errors="coerce", exact=True, utc=True)
