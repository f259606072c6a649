"""Binary files of a Dataset: a zip archive of numpy arrays, with checksums.

It holds the rows, the fields (labels, weights and so on) and the parameters. Only arrays of numbers
and of text are stored, so reading a file runs no code in it.
"""

import json
import os
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from algorithms.compat.lightgbm.messages import LightGBMError

ZIP, LIGHTGBM = b"PK\x03\x04", b"______LightGBM_Binary_File_Token______"
FORMAT = "algorithms Dataset 1"
MALFORMED = (
    *(AttributeError, EOFError, KeyError, MemoryError, OSError, OverflowError, RuntimeError),
    *(TypeError, ValueError, zipfile.BadZipFile, zlib.error),
)
FACTS = ("params", "feature_name", "categorical_feature")


def is_binary_file(path):
    """Return whether a file is a binary file of a Dataset.

    Raises
    ------
    LightGBMError
        If it is a binary file that LightGBM has written.
    """
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.read(len(LIGHTGBM))
    if first == LIGHTGBM:
        raise LightGBMError(
            f"{path} is a binary file of LightGBM, which only LightGBM reads: make the Dataset "
            "from the original rows and call save_binary here"
        )
    return first.startswith(ZIP) and has_arrays(path)


def has_arrays(path):
    """Return whether a zip archive holds numpy arrays or cannot be read; a table is neither."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except MALFORMED:
        return True  # `read_binary_file` then raises the error


def write_binary_file(path, rows, fields, facts):
    """Write a binary file; an existing one is replaced when the new one is complete.

    Parameters
    ----------
    path : path
    rows : array, frame or sparse matrix (n_rows, n_features)
    fields : dict, name → array, or None if it is not given
    facts : dict of values that JSON can hold

    Raises
    ------
    LightGBMError
        If a column holds neither numbers nor categories, or a parameter cannot be stored.
    """
    layout, arrays = pack_rows(rows)
    given = {name: np.asarray(one) for name, one in fields.items() if one is not None}
    arrays |= {f"field_{name}": one for name, one in given.items()}
    try:
        header = json.dumps({"format": FORMAT, **facts, **layout}, default=as_list)
    except TypeError as error:
        raise LightGBMError(f"a parameter of the Dataset cannot be saved: {error}") from error
    header = np.frombuffer(header.encode(), np.uint8)
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            np.savez(file, header=header, **arrays)
        part.replace(path)
    except OSError as error:
        raise LightGBMError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def as_list(value):
    """Return a numpy array or number in a form that JSON can hold."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} is neither a number nor text nor a list of these")


def read_binary_file(path):
    """Return the rows, fields and facts that `write_binary_file` has stored.

    Raises
    ------
    LightGBMError
        If the file is damaged, or not of this format.
    """
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        if header.pop("format") != FORMAT:
            raise ValueError("unknown format")
        prefix = "field_"
        names = [name for name in arrays if name.startswith(prefix)]
        fields = {name.removeprefix(prefix): arrays.pop(name) for name in names}
        rows = unpack_rows(header, arrays)
        return rows, fields, {name: header[name] for name in FACTS}
    except MALFORMED as error:
        raise LightGBMError(
            f"{path} is not a complete binary file of a Dataset ({error}): call save_binary again"
        ) from error


def pack_rows(rows):
    """Return rows as a description, dict, and arrays by name."""
    if sparse.issparse(rows):
        rows = rows if rows.format in ("csr", "csc") else rows.tocsr()
        arrays = {name: getattr(rows, name) for name in ("data", "indices", "indptr")}
        return {"kind": rows.format, "shape": list(rows.shape)}, arrays
    if hasattr(rows, "to_pandas"):
        rows = rows.to_pandas()
    if not isinstance(rows, pd.DataFrame):
        return {"kind": "array"}, {"rows": as_numbers(rows, "the table")}
    columns, arrays = [], {}
    for at, (name, column) in enumerate(rows.items()):
        columns.append({"name": name})
        if isinstance(column.dtype, pd.CategoricalDtype):
            arrays[f"column_{at}"] = column.cat.codes.to_numpy()
            arrays[f"categories_{at}"] = as_categories(column.cat.categories, name)
            columns[-1]["ordered"] = bool(column.cat.ordered)
        else:
            arrays[f"column_{at}"] = as_numbers(column, f"column {name!r}")
    return {"kind": "frame", "columns": columns}, arrays


def unpack_rows(header, arrays):
    """Return the rows that `pack_rows` has described; remove its entries from the description."""
    kind = header.pop("kind")
    if kind == "array":
        return arrays["rows"]
    if kind == "frame":
        columns = header.pop("columns")
        found = [unpack_column(one, at, arrays) for at, one in enumerate(columns)]
        return pd.concat(found, axis=1, keys=[one["name"] for one in columns])
    make = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}[kind]
    given = arrays["data"], arrays["indices"], arrays["indptr"]
    return make(given, shape=tuple(header.pop("shape")))


def unpack_column(column, at, arrays):
    """Return a column of a frame, pandas Series."""
    values = arrays[f"column_{at}"]
    if "ordered" not in column:
        return pd.Series(values)
    categories = arrays[f"categories_{at}"]
    categories = categories.astype(object) if categories.dtype.kind == "U" else categories
    found = pd.Categorical.from_codes(values, categories, ordered=column["ordered"])
    return pd.Series(found)


def as_numbers(values, what):
    """Return numbers as an array; missing ones of nullable types become NaN."""
    dtype = getattr(values, "dtype", None)
    try:
        if isinstance(dtype, pd.api.extensions.ExtensionDtype):
            return values.to_numpy(np.float64, na_value=np.nan)
        found = np.asarray(values)
        return found if found.dtype.kind in "biuf" else found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise LightGBMError(
            f"{what} cannot be saved, because it holds neither numbers nor categories: {error}"
        ) from error


def as_categories(values, name):
    """Return the categories of a column as an array of numbers or of text."""
    found = np.asarray(values)
    if found.dtype.kind in "biuf":
        return found
    if not all(isinstance(one, str) for one in found):
        raise LightGBMError(
            f"column {name!r} cannot be saved: its categories must be numbers only or text only"
        )
    return found.astype(str)
