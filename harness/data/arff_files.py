"""Read ARFF files: dense rows as a frame, sparse rows as a sparse matrix.

In a sparse row an omitted number is 0, and an omitted category is the first one that its column
declares.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from harness.core.errors import DataError, unknown
from harness.data.columns import MAX_COLUMNS, check_names
from harness.data.folders import max_bytes
from harness.data.reading import Reading
from harness.data.safe_names import shown
from harness.data.streams import open_data, packed_size
from harness.data.text_size import bounded_lines

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_NUMBERS = {"NUMERIC", "REAL", "INTEGER"}
_BYTES = 32  # memory of a value in Python lists


class _Arff(NamedTuple):
    """Opened file: kind of each column (a word, or a list of categories), and the rows."""

    kinds: dict[str, Any]
    rows: Iterator[Any]


def read_dense(path: Path, reading: Reading) -> pd.DataFrame:
    """Return a file as a frame of float64 and text columns, with sparse rows filled up."""
    import arff

    with _opened(path, reading, arff.DENSE_GEN) as (kinds, rows):
        held = list(_capped(path, rows, len(kinds)))
    columns = zip(*held, strict=True) if held else ([] for _ in kinds)
    data = {
        name: pd.Series(list(values), dtype=_dtype(kind))
        for (name, kind), values in zip(kinds.items(), columns, strict=True)
    }
    return pd.DataFrame(data, copy=False)


def read_sparse(path: Path, reading: Reading) -> tuple[csr_matrix, np.ndarray]:
    """Return the matrix and the target of a file with sparse rows.

    Returns
    -------
    X : csr_matrix of float64, shape (n_rows, columns that are neither target nor dropped)
    target : ndarray, shape (n_rows,)
        Numbers, or labels as text.

    Raises
    ------
    DataError
        If a column does not exist, or contains text.
    """
    import arff
    from scipy.sparse import csr_matrix

    values, columns, starts = array("d"), array("q"), array("q", [0])
    target = []
    with _opened(path, reading, arff.LOD_GEN) as (kinds, rows):
        places, scales, left_out = _layout(path, reading, kinds)
        aim = list(kinds).index(reading.target)
        for row in rows:
            target.append(row.get(aim, left_out))
            for column, value in row.items():
                if (place := places[column]) >= 0:
                    columns.append(place)
                    values.append(_number(value, scales[column]))
            starts.append(len(columns))
    shape = (len(target), int(max(places, default=-1)) + 1)
    X = csr_matrix((np.array(values), np.array(columns), np.array(starts)), shape=shape)
    dtype = _dtype(kinds[reading.target])
    return X, pd.Series(target, dtype=dtype).to_numpy(np.float64 if dtype is np.float64 else object)


def is_sparse(path: Path, reading: Reading) -> bool:
    """Return whether a file has sparse rows and fits into a sparse matrix."""
    import arff

    named = reading.weight or reading.group or reading.categorical != "text"
    with _opened(path, reading, arff.LOD_GEN) as (kinds, rows):
        try:
            _layout(path, reading, kinds)
            first = next(rows, None)
        except (DataError, arff.ArffException):  # BadLayout: the rows are dense
            return False
    return first is not None and not named


def _layout(
    path: Path, reading: Reading, kinds: dict[str, Any]
) -> tuple[list[int], list[dict[str, float] | None], Any]:
    """Return the position of each column in the matrix, its categories, and the omitted target.

    Positions are −1 for the target and dropped columns; categories are None for numeric columns.
    """
    for role, names in (("target", (reading.target,)), ("dropped column", reading.drop)):
        for name in names:
            if name not in kinds:
                raise DataError(f"{path}: {unknown(role, name[:80], list(kinds), '')}")
    idle = {reading.target, *reading.drop}
    order = count()
    places = [-1 if name in idle else next(order) for name in kinds]
    scales = [None if name in idle else _scale(path, name, kinds[name]) for name in kinds]
    kind = kinds[reading.target]
    return places, scales, kind[0] if isinstance(kind, list) else 0.0


def _scale(path: Path, name: str, kind: Any) -> dict[str, float] | None:
    """Return the numbers of the categories of a column; the omitted category must be 0."""
    if isinstance(kind, str) and kind in _NUMBERS:
        return None
    scale: dict[str, float] = {}
    if isinstance(kind, list):
        with suppress(TypeError, ValueError):
            scale = {label: float(label) for label in kind}
    if not scale or scale[kind[0]] != 0:
        raise DataError(
            f"{path}: the rows are sparse, but the column {shown(name)} holds text; drop it"
        )
    return scale


def _number(value: Any, scale: dict[str, float] | None) -> float:
    if value is None:
        return np.nan
    return float(value) if scale is None else scale[value]


def _capped(path: Path, rows: Iterator[Sequence[Any]], width: int) -> Iterator[Sequence[Any]]:
    """Yield rows; raise DataError if they need too much memory, as sparse rows filled up may."""
    limit = max_bytes(packed_size(path))
    for number, row in enumerate(rows, start=1):
        if number * width * _BYTES > limit:
            raise DataError(
                f"{path} needs more than {limit:,} bytes while it is read as ARFF; set "
                "HARNESS_MAX_BYTES=20GiB (or so) to read it, or save it as Parquet or svmlight"
            )
        yield row


@contextmanager
def _opened(path: Path, reading: Reading, form: int) -> Iterator[_Arff]:
    """Open a file with liac-arff; report its errors as DataError with the line number."""
    import arff

    number = 0  # of the current line: liac-arff reports -1 below @data

    def lines() -> Iterator[str]:
        nonlocal number
        attributes = 0
        for line in bounded_lines(stream, path, ","):
            number += 1
            attributes += line[:10].lower() == b"@attribute"
            if attributes > MAX_COLUMNS:
                raise DataError(
                    f"{path} has more than {MAX_COLUMNS:,} columns; "
                    f"at most {MAX_COLUMNS:,} are read"
                )
            yield line.decode(reading.encoding)

    with open_data(path, reading.member) as stream:
        try:
            content = arff.load(lines(), return_type=form)
            names = check_names(path, [str(name) for name, _ in content["attributes"]])
            kinds = dict(zip(names, (kind for _, kind in content["attributes"]), strict=True))
            yield _Arff(kinds, iter(content["data"]))
        except arff.ArffException as error:
            reason = str(error).splitlines()[0].replace("line -1", f"line {number}")
            if isinstance(error, arff.BadAttributeType):
                reason += " Dates and relations are not read; make them numbers or text."
            raise DataError(f"{path} is not ARFF: {reason}") from None


def _dtype(kind: Any) -> Any:
    """Return the dtype of a column: nominal columns (a list of values) and strings are text."""
    is_number = isinstance(kind, str) and kind.upper() in _NUMBERS
    return np.float64 if is_number else pd.StringDtype(na_value=np.nan)
