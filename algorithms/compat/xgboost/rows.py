"""Conversion of a `DMatrix`'s data: float32 array, CSR matrix or frame with categories."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from algorithms.compat.inputs import as_rows
from algorithms.compat.xgboost.messages import XGBoostError

CATEGORICAL = "c"
TYPE_OF_KIND = {"b": "i", "i": "int", "u": "int", "f": "float"}  # numpy's kind → XGBoost's type
SAVED = b"PK"  # first bytes of a file that `DMatrix.save_binary` wrote


@dataclass
class Rows:
    """Converted data.

    Parameters
    ----------
    table : float32 array or CSR matrix (n_rows, n_columns), or frame with categorical columns
        The columns of a frame are named 0, 1 and so on.
    names, types : list of str, names and types of the columns; None if the data have none
    fields : dict, field of `DMatrix` → values that a file holds; or None
    """

    table: object
    names: list | None = None
    types: list | None = None
    fields: dict | None = None


def read_rows(data, missing, *, enable_categorical):
    """Return data as `Rows`.

    Parameters
    ----------
    data : array, list, frame, sparse matrix, Arrow table or path of a file
    missing : float, value that is read as missing, in addition to NaN
    enable_categorical : bool
        Whether a frame may have categorical columns.

    Raises
    ------
    ValueError
        If the data are not a table of numbers.
    """
    if isinstance(data, str | Path):
        rows = read_file(data)
    else:
        if isinstance(data, pd.DataFrame) and any(
            isinstance(k, pd.SparseDtype) for k in data.dtypes
        ):
            message = "Sparse arrays from pandas are converted into dense."
            warnings.warn(message, UserWarning, stacklevel=4)
        data = as_rows(data)
        if hasattr(data, "collect_schema") and not hasattr(data, "to_pandas"):
            data = data.collect()  # polars' lazy frame
        if type(data).__module__.partition(".")[0] == "polars":
            data = polars_frame(data)
        if isinstance(data, pd.Series):
            data = data.to_frame(data.name or 0)
        rows = read_frame(data, enable_categorical) if isinstance(data, pd.DataFrame) else None
        rows = Rows(read_array(data)) if rows is None else rows
    rows.table = drop_missing(rows.table, missing)
    return rows


def polars_frame(data):
    """Return a polars frame or series as a pandas frame."""
    if hasattr(data, "to_frame"):
        data = data.to_frame()
    columns = {}
    for name, column in zip(data.columns, data.get_columns(), strict=True):
        is_categorical = str(column.dtype).startswith(("Categorical", "Enum"))
        columns[name] = column.to_pandas() if is_categorical else as_floats(column)
    return pd.DataFrame(columns, copy=False)


def as_floats(column):
    """Return a polars column as a numpy array; nulls of a numeric column become NaN."""
    if str(column.dtype) in ("String", "Object", "Date", "Datetime"):
        return column.to_numpy()
    if column.null_count():
        return column.cast(float).to_numpy()
    return column.to_numpy()


def read_array(data):
    """Return an array or list as a float32 array, a sparse matrix as a float32 CSR matrix."""
    if sparse.issparse(data):
        found = sparse.csr_matrix(data).astype(np.float32)
        found.sort_indices()
        return found
    is_masked = np.ma.isMaskedArray(data)
    with np.errstate(over="ignore"):
        found = (
            data.astype(np.float32).filled(np.nan) if is_masked else np.asarray(data, np.float32)
        )
    if found.ndim == 1:
        found = found.reshape(-1, 1)
    if found.ndim != 2:
        raise ValueError(f"Expecting 2 dimensional numpy.ndarray, got: {found.shape}")
    return found


def read_frame(frame, enable_categorical):
    """Return a pandas frame as `Rows`."""
    kinds = [type_of(kind) for kind in frame.dtypes]
    names = frame.columns
    if isinstance(names, pd.MultiIndex):
        names = [" ".join(map(str, name)) for name in names]
    names = [str(name) for name in names]
    wrong = [
        f"{name}: {dtype}"
        for name, kind, dtype in zip(names, kinds, frame.dtypes, strict=True)
        if kind is None or (kind == CATEGORICAL and not enable_categorical)
    ]
    if wrong:
        raise ValueError(
            "DataFrame.dtypes for data must be int, float, bool or category. When categorical type "
            "is supplied, the parameter `enable_categorical` must be set to `True`. Invalid "
            f"columns: {', '.join(wrong)}"
        )
    plain = frame.set_axis(range(frame.shape[1]), axis=1)
    numeric = [at for at, kind in enumerate(kinds) if kind != CATEGORICAL]
    with np.errstate(over="ignore"):
        if len(numeric) == frame.shape[1]:
            values = plain.to_numpy(np.float32, na_value=np.nan)
        else:
            singles = {at: plain[at].to_numpy(np.float32, na_value=np.nan) for at in numeric}
            columns = {at: singles.get(at, plain[at]) for at in plain}
            values = pd.DataFrame(columns, index=plain.index)
            values = values.reset_index(drop=True)
    return Rows(values, names, kinds)


def type_of(dtype):
    """Return XGBoost's type of a column, or None if it is not supported."""
    if isinstance(dtype, pd.CategoricalDtype):
        return CATEGORICAL
    if isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("dictionary"):
        return CATEGORICAL
    dtype = getattr(dtype, "numpy_dtype", dtype)
    return TYPE_OF_KIND.get(getattr(dtype, "kind", ""))


def drop_missing(values, missing):
    """Return the table with ``missing`` replaced by NaN.

    Raises
    ------
    XGBoostError
        If a value is infinite and ``missing`` is not.
    """
    is_frame = isinstance(values, pd.DataFrame)
    if is_frame:
        for at, column in values.items():
            if not isinstance(column.dtype, pd.CategoricalDtype):
                values[at] = drop_missing(column.to_numpy(), missing)
        return values
    own = values.data if sparse.issparse(values) else values
    if np.isinf(own).any() and not np.isinf(missing):
        raise XGBoostError(
            "Input data contains `inf` or a value too large, while `missing` is not set to `inf`"
        )
    is_missing = own == np.float32(missing)
    if not is_missing.any():
        return values
    values = values.copy()
    (values.data if sparse.issparse(values) else values)[is_missing] = np.nan
    return values


def read_file(path):
    """Return a file as `Rows`: LibSVM's format, CSV, or a file of `DMatrix.save_binary`.

    Raises
    ------
    XGBoostError
        If the file does not exist or has another format.
    """
    path, _, options = str(path).partition("?")
    options = dict(part.partition("=")[::2] for part in options.split("&") if part)
    if not Path(path).is_file():
        raise XGBoostError(f"the file {path} does not exist")
    with Path(path).open("rb") as file:
        start = file.readline()
    try:
        if start.startswith(SAVED):
            return read_saved(path)
        if options.get("format") == "csv":
            table = pd.read_csv(path, header=None).to_numpy(np.float32)
            if "label_column" not in options:
                return Rows(table)
            at = int(options["label_column"])
            return Rows(np.delete(table, at, axis=1), fields={"label": table[:, at]})
        with_queries = b"qid:" in start
        parts = load_svmlight_file(path, zero_based=True, query_id=with_queries, dtype=np.float32)
    except (ValueError, KeyError, OSError) as error:
        raise XGBoostError(f"{path} cannot be read as a table: {error}") from error
    fields = {"label": parts[1], **({"qid": parts[2]} if with_queries else {})}
    return Rows(parts[0], fields=fields)


def read_saved(path):
    """Return a file that `write_saved` wrote as `Rows`."""
    with np.load(path, allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    if "indptr" in found:
        parts = [found.pop(name) for name in ("data", "indices", "indptr")]
        values = sparse.csr_matrix(tuple(parts), shape=tuple(found.pop("shape")))
    else:
        values = found.pop("values")
    names, types = (found.pop(name, None) for name in ("names", "types"))
    names, types = (None if one is None else one.tolist() for one in (names, types))
    return Rows(values, names, types, found)


def write_saved(path, values, others):
    """Write rows and fields to a file.

    Parameters
    ----------
    path : str or path
    values : float32 array or CSR matrix
    others : dict of arrays
    """
    if sparse.issparse(values):
        parts = {"data": values.data, "indices": values.indices, "indptr": values.indptr}
        parts["shape"] = np.array(values.shape)
    else:
        parts = {"values": values}
    with Path(path).open("wb") as file:
        np.savez(file, **parts, **others)
