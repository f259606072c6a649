"""Read Parquet, ``.npz`` and MATLAB files, after a check of their declared sizes."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.core.errors import DataError
from harness.data.folders import max_bytes
from harness.data.safe_names import listed, shown

_MICROSECONDS_A_DAY = 86_400e6
_BATCH = 16_384  # rows between two checks of the size


def read_parquet(path: Path) -> pd.DataFrame:
    """Return a Parquet file as a frame; dates become days since 1970, decimals floats."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        facts, schema = file.metadata, file.schema_arrow
        fixed = _claimed_size(facts)
        _check_size(path, fixed)
        nested = [field.name for field in schema if pa.types.is_nested(field.type)]
        if nested:
            raise DataError(f"{path}: nested columns are not read: {listed(nested)}; drop them")
        _check_texts(path, file, fixed)
        table = file.read(use_threads=False)
    for column in table.columns:
        if _is_text(column.type):
            column.validate(full=True)  # texts of a damaged file may be invalid UTF-8
    index = [name for name in table.column_names if name.startswith("__index_level_")]
    table = table.drop_columns(index)
    columns = [_arrow_column(column) for column in table.columns]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    frame.columns = pd.Index([str(name) for name in table.column_names], dtype=object)
    return frame


def _claimed_size(facts: Any) -> int:
    """Return the size of the data in bytes, according to the footer."""
    groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
    rows = max(facts.num_rows, sum(group.num_rows for group in groups))
    unpacked = sum(group.total_byte_size for group in groups)
    return int(max(rows * max(facts.num_columns, 1) * 8, unpacked))


def _check_texts(path: Path, file: Any, size: int) -> None:
    """Check the size of the expanded texts of a file before they are expanded.

    A small file can refer to a long text millions of times, so dictionary columns are read as
    dictionaries if Arrow supports it, other columns some rows at a time. Support is tested by
    reading, because reading the encodings of a damaged file's metadata can crash the process.
    """
    names = list(dict.fromkeys(f.name for f in file.schema_arrow if _is_text(f.type)))
    if names:
        _check_size(path, size + _text_size(path, file, names, _limit(path) - size))


def _text_size(path: Path, file: Any, names: list[str], most: int) -> int:
    """Return the size of text columns in bytes, or any value above ``most``."""
    try:
        return _count_texts(path, file, names, most, coded=names)
    except OSError as error:  # Arrow cannot read delta-encoded texts as dictionaries
        if "not yet implemented" not in str(error).lower():
            raise
    if len(names) == 1:
        return _count_texts(path, file, names, most, coded=None)
    size = 0
    for name in names:
        if size <= most:
            size += _text_size(path, file, [name], most - size)
    return size


def _count_texts(
    path: Path, file: Any, names: list[str], most: int, coded: list[str] | None
) -> int:
    """Return the bytes of texts, counted until above ``most``; ``coded``: dictionary columns."""
    from pyarrow import parquet

    size = 0
    with parquet.ParquetFile(path, metadata=file.metadata, read_dictionary=coded) as again:
        for batch in again.iter_batches(_BATCH, columns=names, use_threads=False):
            size += sum(map(_text_bytes, batch.columns))
            if size > most:
                break
    return size


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return any(check(kind) for check in (*texts, pa.types.is_large_binary))


def _text_bytes(column: Any) -> int:
    """Return the bytes of the expanded texts of an Arrow array."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = compute.binary_length(column.dictionary).take(column.indices)
    return int(compute.sum(lengths, min_count=0).as_py())


def _arrow_column(column: Any) -> pd.Series[Any]:
    """Return one Arrow column as numbers, booleans or text."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _arrow_column(column.cast(kind.value_type))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        moments = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        days: pd.Series[Any] = moments.to_pandas() / _MICROSECONDS_A_DAY
        return days
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.binary()).cast(pa.string())
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        column = column.cast(pa.string())
    series: pd.Series[Any] = column.to_pandas()
    return series


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a ``.npz`` file; object arrays (pickles) are an error."""
    with zipfile.ZipFile(path) as archive:
        _check_size(path, sum(member.file_size for member in archive.infolist()))
        for member in archive.infolist():
            with archive.open(member) as file:
                _check_header(path, member, file)
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _check_header(path: Path, member: zipfile.ZipInfo, file: Any) -> None:
    """Raise DataError if an array's header does not match its size, before it is allocated."""
    version = np.lib.format.read_magic(file)
    form = np.lib.format
    read = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
    name = shown(member.filename)
    if version not in read:
        raise DataError(f"{path}: {name} has an unknown version {version}")
    shape, _, dtype = read[version](file)
    if dtype.hasobject:
        raise DataError(f"{path}: {name} holds Python objects (a pickle), which are never loaded")
    declared = int(np.prod([int(n) for n in shape], dtype=object)) * dtype.itemsize
    if declared != member.file_size - file.tell():
        raise DataError(f"{path}: {name} is cut short or damaged")


def read_mat(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a MATLAB file (version 7.2 or older)."""
    from scipy.io import loadmat, whosmat

    items = (int(np.prod(shape, dtype=object)) for _, shape, _ in whosmat(path))
    _check_size(path, sum(items) * 8)
    return {k: v for k, v in loadmat(path).items() if not k.startswith("__")}


def _limit(path: Path) -> int:
    """Return the maximum size of a file's data; all of these formats are compressed."""
    return max_bytes(path.stat().st_size)


def _check_size(path: Path, size: int) -> None:
    if size > (limit := _limit(path)):
        raise DataError(
            f"{path} holds {size:,} bytes once read, above the limit of {limit:,}; "
            "set HARNESS_MAX_BYTES=20GiB (or so) to read it"
        )
