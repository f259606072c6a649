"""Tables of a report: columns, cells with their values, and an interval drawn inside a cell."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from harness.core.field_errors import explain_fields
from reports.text.format import plain, short
from reports.text.inline import Code, Words


@explain_fields
@dataclass(frozen=True)
class Track:
    """A dot with its interval, drawn inside a table cell; all numbers are shares of its width.

    Attributes
    ----------
    low
        Left end, a share of the width.
    value
        Position of the dot, a share of the width.
    high
        Right end, a share of the width.
    zero
        Position of "no difference", a share of the width.
    band
        Ends of the equivalence margin, shares of the width.
    inner
        Ends of a narrower interval that is drawn thicker, shares of the width.
    """

    low: float
    value: float
    high: float
    zero: float
    band: tuple[float, float] | None = None
    inner: tuple[float, float] | None = None
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


@explain_fields
@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    text
        Text of the cell.
    value
        Value for sorting and for the CSV file, with all digits; None uses the text.
    note
        Second, smaller line.
    tone
        Meaning that sets the color: good, same, bad, unsure or "".
    track
        Interval drawn in the cell.
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

    @classmethod
    def named(cls, name: str, note: Words = "") -> Cell:
        """Return the cell of a name, set as code and sorted by the whole name."""
        return cls([Code(short(name))], name, note)


@explain_fields
@dataclass(frozen=True)
class Column:
    """A column of a table; numbers are aligned right.

    Attributes
    ----------
    title
        Heading.
    numeric
        Whether the column holds numbers, which are aligned right.
    unit
        Unit of the values in the CSV file.
    wide
        Whether the column holds sentences.
    """

    title: str
    numeric: bool = False
    unit: str = ""
    wide: bool = False


def texts(*titles: str) -> list[Column]:
    """Return columns of text."""
    return [Column(title) for title in titles]


def numeric(*titles: str, unit: str = "") -> list[Column]:
    """Return columns of numbers in one unit."""
    return [Column(title, numeric=True, unit=unit) for title in titles]


Row: TypeAlias = Sequence[Cell | Words]


@explain_fields
@dataclass(frozen=True)
class Table:
    """A table; its first column names the row.

    Attributes
    ----------
    columns
        Columns; the first one names the row.
    rows
        Rows: a cell or words for each column.
    caption
        Caption.
    name
        Name of the CSV file, without its ending.
    compare
        Whether a reader can choose two numeric columns, which are runs.
    again
        Commands that repeat the rows, if no figure above has them.
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
