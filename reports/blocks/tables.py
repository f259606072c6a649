"""Tables of a report: columns, cells with their values, and an interval drawn inside a cell."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from reports.text.format import plain
from reports.text.inline import Words


@dataclass(frozen=True)
class Track:
    """A dot with its interval, drawn inside a table cell; all numbers are shares of its width."""

    low: float
    value: float
    high: float
    zero: float  # position of "no difference"
    band: tuple[float, float] | None = None  # the equivalence margin
    inner: tuple[float, float] | None = None  # a narrower interval, drawn thicker
    kind: ClassVar[str] = "track"


def track(
    interval: tuple[float, float, float],
    domain: tuple[float, float],
    zero: float,
    band: tuple[float, float] | None = None,
    inner: tuple[float, float] | None = None,
) -> Track:
    """Place (low, value, high) in a domain; values outside are clipped."""
    start, end = domain

    def place(x: float) -> float:
        return min(1.0, max(0.0, (x - start) / (end - start)))

    def both(ends: tuple[float, float] | None) -> tuple[float, float] | None:
        return (place(ends[0]), place(ends[1])) if ends else None

    low, value, high = map(place, interval)
    return Track(low, value, high, place(zero), both(band), both(inner))


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    ``value`` is used for sorting and the CSV file in place of the text: the number itself,
    with all digits. ``note`` is a second, smaller line.
    """

    text: Words
    value: float | str | None = None
    note: Words = ""
    tone: str = ""
    track: Track | None = None

    @classmethod
    def of(cls, value: float | None, show: Callable[[float | None], str], **rest: Any) -> Cell:
        """Return the cell of a number, formatted by ``show``."""
        return cls(show(value), value, **rest)


@dataclass(frozen=True)
class Column:
    """A column of a table; numbers are aligned right."""

    title: str
    numeric: bool = False
    unit: str = ""  # of the values in the CSV file
    wide: bool = False  # holds sentences


Row: TypeAlias = Sequence[Cell | Words]


@dataclass(frozen=True)
class Table:
    """A table; its first column names the row. ``name`` is that of its CSV file.

    ``compare`` lets a reader choose two of its numeric columns, which are runs. ``again`` holds the
    commands that repeat its rows, if no figure above it has them.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: Words
    name: str
    compare: bool = False
    again: str = ""
    kind: ClassVar[str] = "table"


_FORMULA = re.compile(r"[=+\-@\t\r]")  # first characters that a spreadsheet reads as a formula
_LONGEST = 120  # characters of a text in a CSV line


def csv_text(table: Table) -> str:
    """Return a table as CSV: numbers with seven digits, formulas made inert."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    units = [f" ({column.unit})" if column.unit else "" for column in table.columns]
    writer.writerow([c.title + unit for c, unit in zip(table.columns, units, strict=True)])
    writer.writerows([_field(cell) for cell in row] for row in table.rows)
    return out.getvalue()


def _field(cell: Cell | Words) -> str:
    value = cell.value if isinstance(cell, Cell) else cell
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (int, float)):
        return f"{value:.7g}"
    text = plain(value)[:_LONGEST]
    return f"'{text}" if _FORMULA.match(text) else text
