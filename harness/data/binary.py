"""Read Parquet, ``.npz`` and MATLAB files, after a look at how large they say they are."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.data.places import most_bytes
from harness.data.words import listed, shown
from harness.errors import DataError

_MICROSECONDS_A_DAY = 86_400e6


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file in one thread; dates become days since 1970, decimals floats."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        facts, schema = file.metadata, file.schema_arrow
        _check_size(path, facts.num_rows * max(facts.num_columns, 1) * 8)
        nested = [field.name for field in schema if pa.types.is_nested(field.type)]
        if nested:
            raise DataError(f"{path}: nested columns are not read: {listed(nested)}; drop them")
        table = file.read(use_threads=False)
    index = [name for name in table.column_names if name.startswith("__index_level_")]
    table = table.drop_columns(index)
    columns = [_arrow_column(column) for column in table.columns]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    frame.columns = pd.Index([str(name) for name in table.column_names], dtype=object)
    return frame


def _arrow_column(column: Any) -> pd.Series[Any]:
    """Return one Arrow column as numbers, truth values or text."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _arrow_column(column.cast(kind.value_type))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        moments = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        days: pd.Series[Any] = moments.to_pandas() / _MICROSECONDS_A_DAY
        return days
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.binary()).cast(pa.string())
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        column = column.cast(pa.string())
    found: pd.Series[Any] = column.to_pandas()
    return found


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a ``.npz`` file; an array of objects is a pickle and refused."""
    with zipfile.ZipFile(path) as archive:
        _check_size(path, sum(member.file_size for member in archive.infolist()))
        for member in archive.infolist():
            with archive.open(member) as file:
                _check_header(path, member, file)
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _check_header(path: Path, member: zipfile.ZipInfo, file: Any) -> None:
    """Refuse an array whose header promises other than what is there, before it is allocated."""
    version = np.lib.format.read_magic(file)
    form = np.lib.format
    read = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
    name = shown(member.filename)
    if version not in read:
        raise DataError(f"{path}: {name} has an unknown version {version}")
    shape, _, dtype = read[version](file)
    if dtype.hasobject:
        raise DataError(f"{path}: {name} holds Python objects (a pickle), which are never loaded")
    promised = int(np.prod([int(n) for n in shape], dtype=object)) * dtype.itemsize
    if promised != member.file_size - file.tell():
        raise DataError(f"{path}: {name} is cut short or damaged")


def read_mat(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a MATLAB file (version 7.2 or older)."""
    from scipy.io import loadmat, whosmat

    items = (int(np.prod(shape, dtype=object)) for _, shape, _ in whosmat(path))
    _check_size(path, sum(items) * 8)
    return {k: v for k, v in loadmat(path).items() if not k.startswith("__")}


def _check_size(path: Path, size: int) -> None:
    if size > (limit := most_bytes()):
        raise DataError(
            f"{path} holds {size:,} bytes once read, above the limit of {limit:,}; "
            "set HARNESS_MAX_BYTES=20GiB (or so) to read it"
        )
