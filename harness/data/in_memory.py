"""Datasets from tables in memory, which are written to a file in the results folder.

Workers are separate processes, and repeating a trial needs the same data later. So the table is
written once, under a name made of the digest of its bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.core.errors import DataError, StoreError
from harness.core.model import Dataset, Task
from harness.data.files import NAMELESS, dataset_from_file, format_of
from harness.data.writing import sweep, write_atomically

FOLDER = "tables"  # inside the results folder
TARGET = "target"  # default name of a target
WORD = "--target COLUMN"  # option of the command line


def dataset_from_given(
    data: Any,
    results: Path,
    *,
    target: str | None = None,
    task: Task | str | None = None,
    columns: Mapping[str, Any] | None = None,
) -> Dataset:
    """Return the dataset for a path, a data frame or a pair (X, y).

    Parameters
    ----------
    data
        The path of a file; a pandas or polars data frame with its target among the columns; or
        (X, y): X of shape (n, columns), a data frame or an array, y of shape (n,).
    results
        The folder of results; tables are kept in ``tables`` there.
    target
        The column to predict; for a pair the name of y; svmlight and ``.npz`` need none.
    task
        ``binary``, ``multiclass`` or ``regression``; by default guessed from the target.
    columns
        Further options of :func:`dataset_from_file`: ``weight``, ``group``, ``time``, ``test``,
        ``drop``.

    Raises
    ------
    DataError
        If ``data`` is none of these, or X and y do not fit together.
    """
    more = dict(columns or {})
    if isinstance(data, (str, Path)) or (isinstance(data, list) and _are_paths(data)):
        first = Path(data if isinstance(data, (str, Path)) else data[0])
        if target is None and format_of(first) not in NAMELESS:
            raise DataError(f"{first} needs a target ({WORD}): which column is to be predicted?")
        return dataset_from_file(data, target, task=task, **more)
    if isinstance(data, tuple):
        frame, target = _joined(data, target)
    else:
        frame = _framed(data)
        if target is None:
            raise DataError("a data frame needs a target: which column is to be predicted?")
    target = str(target)
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    declared = [n for n, kind in kinds if isinstance(kind, pd.CategoricalDtype) and n != target]
    path, digest = _written(frame, results / FOLDER)
    name = f"table-{digest[:8]}"
    return dataset_from_file(path, target, task=task, categorical=declared, name=name, **more)


def _are_paths(data: list[Any]) -> bool:
    return bool(data) and all(isinstance(one, (str, Path)) for one in data)


def _joined(pair: tuple[Any, ...], target: str | None) -> tuple[pd.DataFrame, str]:
    """Return X and y joined into one frame, and the name of y."""
    if len(pair) != 2:
        raise DataError(f"a table is given as (X, y), not as {len(pair)} values")
    X, y = _framed(pair[0]), pair[1]
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    values = values.reshape(-1) if values.ndim == 2 and 1 in values.shape else values
    if values.shape != (len(X),):
        raise DataError(f"X has {len(X)} rows; y has the shape {values.shape}")
    name = str(target or getattr(y, "name", None) or TARGET)
    while name in X.columns:
        name += "_"
    return X.assign(**{name: values}), name


def _framed(data: Any) -> pd.DataFrame:
    """Return a data frame with column names of type str."""
    if hasattr(data, "tocsr"):
        raise DataError("a sparse X is not kept as a table: save it as svmlight and name the file")
    if isinstance(data, pd.DataFrame):
        frame = data
    elif hasattr(data, "to_pandas"):
        frame = data.to_pandas()
    else:
        array = np.asarray(data)
        if array.ndim != 2:
            raise DataError(
                "data is the path of a file, a data frame with a target, or (X, y) with an X of "
                f"two dimensions; it has {array.ndim}"
            )
        frame = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _written(frame: pd.DataFrame, folder: Path) -> tuple[Path, str]:
    """Write a table unless it exists already; return its path and the digest of its bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        sink = pa.BufferOutputStream()
        parquet.write_table(table, sink)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the table cannot be written as Parquet: {error}") from error
    body = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(body).hexdigest()
    path = folder / f"{digest[:16]}.parquet"
    sweep(folder, ".*")
    try:
        if not path.is_file():
            write_atomically(path, body)
    except OSError as error:
        raise StoreError(f"the table cannot be kept in {folder}: {error.strerror}") from error
    return path, digest
