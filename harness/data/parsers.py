"""Parsers of data files, one function per format; every error is a one-line DataError."""

from __future__ import annotations

import csv
import importlib
import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from harness.core.errors import DataError
from harness.data import arff_files, binary, topics
from harness.data.columns import MAX_COLUMNS, check_names
from harness.data.queries import is_query_file, numbered, read_query_file
from harness.data.reading import Reading
from harness.data.safe_names import listed, shown
from harness.data.streams import check_readable, magic, open_data
from harness.data.text_size import LONGEST_LINE, bounded_lines, check_table, checked_size

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_FORMAT_OF_MAGIC = {
    "parquet": {"parquet"},
    "zip": {"xlsx", "npz", "csv", "arff", "sparse_arff", "svmlight"},
}
TEXTS = ("csv", "arff", "sparse_arff", "svmlight")
_WORDS = {
    "pickle": "a pickle; pickles are not read, because they may run code",
    "hdf5": "an HDF5 file, which is not read",
    "utf-16": "text in UTF-16, which is not read",
    "parquet": "a Parquet file",
    "zip": "a zip archive (or a workbook)",
}
_ADVICE = "; save it as CSV in UTF-8, or as Parquet"


class Parsed(NamedTuple):
    """Content of files: a frame that includes the target, or rows and a separate target."""

    data: pd.DataFrame | csr_matrix
    target: np.ndarray | None = None  # (n_rows,), if not a column of ``data``
    queries: np.ndarray | None = None  # (n_rows,), query of each row, if not a column of ``data``


def parse(paths: Sequence[Path], reading: Reading) -> Parsed:
    """Return the concatenated content of the files of a dataset.

    With ``reading.topics`` the last file contains the topics of the rows of the other files.

    Raises
    ------
    DataError
        If a file is invalid; the message is one line.
    """
    if not reading.topics:
        return _stacked(paths, reading)
    *rows, topic_file = paths
    if not rows:
        raise DataError(f"{topic_file} has topics of rows, but no file of rows comes before it")
    data, ids, _ = _stacked(rows, reading)
    assert ids is not None  # topics are used only with svmlight
    return Parsed(data, topics.labels_of(ids, _labels_by_id(topic_file, reading)))


def count_rows(path: Path, reading: Reading) -> int:
    """Return the number of rows of a file."""
    parsed = _parse_one(path, reading)
    return int(parsed.data.shape[0])


def _stacked(paths: Sequence[Path], reading: Reading) -> Parsed:
    """Return the content of files one below the other; ``paths`` may have their query files."""
    files = [path for path in paths if not (reading.query_files and is_query_file(path))]
    parts = [_parse_one(path, reading) for path in files]
    if reading.query_files:
        parts = [
            part._replace(queries=read_query_file(path, part.data.shape[0], paths))
            for path, part in zip(files, parts, strict=True)
        ]
    if len(parts) == 1:
        return parts[0]
    given = [part.queries for part in parts if part.queries is not None]
    if 0 < len(given) < len(parts):
        raise DataError(f"{files[0]} and the files after it: only some have queries (qid)")
    queries = numbered(given) if given else None
    if parts[0].target is not None:
        from scipy import sparse

        widths = {part.data.shape[1] for part in parts}
        if len(widths) > 1:
            raise DataError(f"{files[0]} and the files after it differ in columns: {widths}")
        target = np.concatenate([part.target for part in parts if part.target is not None])
        rows = sparse.vstack([part.data for part in parts], format="csr")
        return Parsed(rows, target, queries)
    columns = list(parts[0].data.columns)
    for path, part in zip(files, parts, strict=True):
        if list(part.data.columns) != columns:
            raise DataError(f"{path} has other columns than {files[0]}")
    frame = pd.concat([part.data for part in parts], ignore_index=True)
    return Parsed(frame, queries=queries)


def _parse_one(path: Path, reading: Reading) -> Parsed:
    with parser_errors(path, reading):
        if reading.format in TEXTS:
            size = checked_size(path, reading)
            if reading.format == "csv":
                check_table(path, size.lines, len(column_names(path, reading)))
        return _PARSERS[reading.format](path, reading)


@contextmanager
def parser_errors(path: Path, reading: Reading) -> Iterator[None]:
    """Convert errors of a parser to a one-line DataError with the file's path."""
    check_readable(path)
    _check_magic(path, reading)
    try:
        yield
    except DataError:
        raise
    except MemoryError:
        raise DataError(f"{path} does not fit into memory; use a part of it") from None
    except UnicodeDecodeError:
        raise DataError(_undecodable(path, reading)) from None
    except Exception as error:  # noqa: BLE001 - parsers raise various errors on broken files
        reason = " ".join(str(error).split()) or type(error).__name__
        reason = reason.removeprefix("Error tokenizing data. C error: ")[:300]
        raise DataError(f"{path} cannot be read as {reading.format}: {reason}") from None


def _check_magic(path: Path, reading: Reading) -> None:
    kind = magic(path)
    if kind == "utf-16" and reading.encoding.lower().startswith("utf-16"):
        return
    if kind in _WORDS and reading.format not in _FORMAT_OF_MAGIC.get(kind, set()):
        raise DataError(f"{path} is {_WORDS[kind]}{_ADVICE}")
    if reading.format == "xlsx" and kind != "zip":
        raise DataError(f"{path} is not an Excel workbook (.xlsx): it is not a zip archive")
    if reading.format == "parquet" and kind != "parquet":
        raise DataError(f"{path} is not a Parquet file: it does not begin with PAR1")


def _undecodable(path: Path, reading: Reading) -> str:
    """Return a message with the first line that is not in the expected encoding."""
    with open_data(path, reading.member) as stream:
        for number, line in enumerate(bounded_lines(stream, path), start=1):
            try:
                line.decode(reading.encoding)
            except UnicodeDecodeError as error:
                byte = f"byte 0x{line[error.start]:02x} at position {error.start + 1}"
                return (
                    f"{path} is not {reading.encoding.upper()}: line {number:,} holds {byte}; "
                    "convert it, for example with `iconv -f latin1 -t utf-8`"
                )
    return f"{path} is not {reading.encoding.upper()}; convert it"


# ------------------------------------------------------------------ CSV


def read_header(path: Path, reading: Reading) -> list[str]:
    """Return the column names of a CSV file; unnamed columns get pandas' default names.

    pandas is not used, because it renames duplicate columns and is slow on very wide files.
    """
    with parser_errors(path, reading):
        names = _first_fields(path, reading)
    return [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(names)]


def _first_fields(path: Path, reading: Reading) -> list[str]:
    """Return the fields of the first row that is not blank."""
    with open_data(path, reading.member) as stream:
        text = _first_lines(stream, path, reading)
        kept = (line for line in text if not (reading.comment and line.startswith(reading.comment)))
        if reading.separator == r"\s+":
            rows: Iterable[list[str]] = (line.split() for line in kept)
        else:
            spaced = reading.skip_spaces
            rows = csv.reader(kept, delimiter=reading.separator, quotechar=reading.quote,
                              skipinitialspace=spaced)  # fmt: skip
        names = next((row for row in rows if "".join(row).strip() or len(row) > 1), None)
    if names is None:
        raise DataError(f"{path} has no table, only blanks")
    return names


def _first_lines(stream: IO[bytes], path: Path, reading: Reading) -> Iterator[str]:
    """Yield the first lines of a file; raise DataError if a row is too long.

    A row with quoted line ends has several lines.
    """
    text = io.TextIOWrapper(stream, _codec(reading), newline="")
    held = separators = 0
    while line := text.readline(LONGEST_LINE):
        held += len(line)
        separators += line.count(reading.separator)
        if separators > MAX_COLUMNS:
            raise DataError(
                f"{path} has more than {MAX_COLUMNS:,} columns; at most {MAX_COLUMNS:,} are read"
            )
        if held >= LONGEST_LINE:
            raise DataError(f"{path}: its first row is longer than {LONGEST_LINE:,} characters")
        yield line
        if not line.strip():
            held = separators = 0


def column_names(path: Path, reading: Reading) -> list[str]:
    """Return the column names of a CSV file; ``f0``, ``f1``, … and ``target`` without a header."""
    if reading.header:
        return check_names(path, read_header(path, reading))
    if reading.names:
        return check_names(path, reading.names)
    return [*(f"f{i}" for i in range(len(_first_fields(path, reading)) - 1)), "target"]


def _codec(reading: Reading) -> str:
    """Return the encoding for reading; a byte order mark of UTF-8 is skipped."""
    return "utf-8-sig" if reading.encoding == "utf-8" else reading.encoding


def _parse_csv(path: Path, reading: Reading) -> Parsed:
    marks: dict[str, Any] = {}
    if reading.missing is not None:
        marks = {"na_values": list(reading.missing), "keep_default_na": False}
    elif reading.more_missing:
        marks = {"na_values": list(reading.more_missing)}
    if reading.header:
        names = column_names(path, reading)
        frame = _read_csv(path, reading, header=0, names=range(len(names)), **marks)
    elif reading.names:
        names = column_names(path, reading)
        frame = _read_csv(path, reading, header=None, names=range(len(names)), **marks)
    else:
        frame = _read_csv(path, reading, header=None, **marks)
        if reading.separator == r"\s+":  # blanks at line ends give empty columns
            frame = frame.dropna(axis=1, how="all")
        names = [*(f"f{i}" for i in range(frame.shape[1] - 1)), "target"]
    frame.columns = pd.Index(names, dtype=object)
    for number in reading.missing_numbers:
        frame = frame.replace(number, np.nan)
    return Parsed(frame)


def _read_csv(path: Path, reading: Reading, **options: Any) -> pd.DataFrame:
    """Read a CSV file with pandas; a row with more fields than the header is an error."""
    with open_data(path, reading.member) as stream, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame: pd.DataFrame = pd.read_csv(
                stream,
                sep=reading.separator,
                quotechar=reading.quote,
                comment=reading.comment or None,
                decimal=reading.decimal,
                skipinitialspace=reading.skip_spaces,
                encoding=_codec(reading),
                index_col=False,
                low_memory=False,
                **options,
            )
        except pd.errors.EmptyDataError:
            raise DataError(f"{path} has no table, only blanks") from None
        except pd.errors.ParserWarning:
            raise DataError(f"{path} has rows with more fields than its header") from None
    return frame


# ------------------------------------------------------------------ the other formats


def _parse_parquet(path: Path, _: Reading) -> Parsed:
    frame = binary.read_parquet(path)
    check_names(path, frame.columns)
    return Parsed(frame)


def _parse_arff(path: Path, reading: Reading) -> Parsed:
    return Parsed(arff_files.read_dense(path, reading))


def _parse_sparse_arff(path: Path, reading: Reading) -> Parsed:
    return Parsed(*arff_files.read_sparse(path, reading))


def _parse_svmlight(path: Path, reading: Reading) -> Parsed:
    from sklearn.datasets import load_svmlight_file

    zero_based: Any = reading.zero_based if reading.columns else "auto"
    with open_data(path, reading.member) as stream:
        X, y, query = load_svmlight_file(
            stream, n_features=reading.columns or None, zero_based=zero_based, query_id=True
        )
    if X.shape[1] > MAX_COLUMNS:
        raise DataError(f"{path} has {X.shape[1]:,} columns; at most {MAX_COLUMNS:,} are read")
    if reading.topics:
        topics.check_ids(y, path)
    return Parsed(X, y, query if query.any() else None)


def _labels_by_id(path: Path, reading: Reading) -> pd.Series[Any]:
    """Return the label of each id in a file of topics."""
    plain = Reading(separator=r"\s+")
    with parser_errors(path, plain):
        lines = _read_csv(
            path, plain, header=None, dtype=str, quoting=csv.QUOTE_NONE, keep_default_na=False
        )
        return topics.labels_by_id(lines, reading.topics, path)


def _parse_arrays(path: Path, reading: Reading) -> Parsed:
    read = binary.read_npz if reading.format == "npz" else binary.read_mat
    arrays = read(path)
    X = arrays.get("X")
    if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(f"{path} has no array X of numbers with rows and columns")
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])], copy=False)
    for name in dict.fromkeys((reading.target, reading.weight, reading.group)):
        if name:
            if name not in arrays:
                raise DataError(f"{path} has no array {shown(name)}; it has {listed([*arrays])}")
            column = arrays[name].ravel()
            if len(column) != len(frame):
                raise DataError(
                    f"{path}: X has {len(frame):,} rows, but {shown(name)} {len(column):,} values"
                )
            frame[name] = column
    return Parsed(frame)


def _parse_json_lines(path: Path, reading: Reading) -> Parsed:
    with open_data(path, reading.member) as stream:
        frame = pd.read_json(stream, lines=True, encoding=reading.encoding)
    nested = [str(n) for n in frame.columns if frame[n].map(type).isin((list, dict)).any()]
    if nested:
        raise DataError(f"{path}: nested values are not read: {listed(nested)}; flatten them")
    return Parsed(_with_marks(frame, path, reading))


def _parse_workbook(path: Path, reading: Reading) -> Parsed:
    try:
        importlib.import_module("openpyxl")  # pandas reads workbooks with it
    except ImportError:
        raise DataError(
            f"{path} is an Excel workbook, but openpyxl, which reads it, is not installed: "
            "pip install openpyxl, or save the sheet as CSV"
        ) from None
    with open_data(path, reading.member) as stream:
        frame = pd.read_excel(io.BytesIO(stream.read()), engine="openpyxl")
    return Parsed(_with_marks(frame, path, reading))


def _with_marks(frame: pd.DataFrame, path: Path, reading: Reading) -> pd.DataFrame:
    """Return a frame with str column names and with missing values at missing-value marks."""
    frame.columns = pd.Index(check_names(path, map(str, frame.columns)), dtype=object)
    for name, kind in zip(frame.columns, frame.dtypes, strict=True):
        if pd.api.types.is_datetime64_any_dtype(kind):
            frame[name] = frame[name].astype(str).mask(frame[name].isna())
        elif not pd.api.types.is_numeric_dtype(kind):
            frame[name] = frame[name].mask(frame[name].isin(list(reading.more_missing)))
    return frame


_PARSERS: dict[str, Callable[[Path, Reading], Parsed]] = {
    "csv": _parse_csv,
    "parquet": _parse_parquet,
    "arff": _parse_arff,
    "sparse_arff": _parse_sparse_arff,
    "svmlight": _parse_svmlight,
    "jsonl": _parse_json_lines,
    "xlsx": _parse_workbook,
    "npz": _parse_arrays,
    "mat": _parse_arrays,
}
