"""Checks of datasets: the rows match the declaration and are the same each time."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from harness.conformance.findings import contract_check, require
from harness.conformance.registered_object import RegisteredObject
from harness.core.model import Table, Task
from harness.data.splits import default_splits, split_rows

FOLDS = 5


@contract_check("the declaration is complete", kind="dataset")
def complete(registered: RegisteredObject) -> None:
    """Check the fields that plans and reports use without loading the rows."""
    data = registered.value
    require(bool(data.summary), "summary is empty: `harness list datasets` shows it")
    is_digest = re.fullmatch("[0-9a-f]{64}", str(data.digest)) is not None
    require(is_digest, f"digest is {data.digest!r}, not the 64 hex digits of a SHA-256")
    require(data.rows > 0, f"rows is {data.rows}")
    require(data.columns > 0, f"columns is {data.columns}")
    if data.task is Task.MULTICLASS:
        require(data.n_classes >= 3, f"n_classes is {data.n_classes}: give 3 or more")
    else:
        expected = 2 if data.task is Task.BINARY else 0
        require(data.n_classes == expected, f"n_classes is {data.n_classes} for a {data.task} task")


@contract_check("the rows match the declaration", kind="dataset")
def as_declared(registered: RegisteredObject) -> None:
    """Compare the table with each field of the declaration."""
    data, table = registered.value, registered.table
    require(isinstance(table, Table), f"load returns a {type(table).__name__}, not a harness.Table")
    shape = (data.rows, data.columns)
    require(table.X.shape == shape, f"X has shape {table.X.shape}, but {shape} is declared")
    found = {
        "sparse": issparse(table.X),
        "weighted": table.weight is not None,
        "grouped": table.group is not None,
        "given_test": table.test_rows is not None,
        "missing": _missing(table.X),
        "categorical": 0 if issparse(table.X) else len(_categories(table.X)),
    }
    for field, value in found.items():
        declared = getattr(data, field)
        require(value == declared, f"{field} is declared as {declared} and is {value}")


@contract_check("the target, weights and groups fit the task", kind="dataset")
def target(registered: RegisteredObject) -> None:
    """Check dtype, length and values of y, weights, groups and test rows."""
    data, table = registered.value, registered.table
    _of_rows(table, "y", np.int64 if data.n_classes else np.float64)
    require(bool(np.isfinite(table.y).all()), "y has values that are not finite")
    if data.n_classes:
        codes = np.unique(table.y).tolist()
        expected = list(range(data.n_classes))
        require(codes == expected, f"y holds the codes {codes[:9]}, not 0 to {data.n_classes - 1}")
        named = len(table.classes)
        require(named in (0, data.n_classes), f"{named} class names for {data.n_classes} classes")
    for name, dtype in (("weight", np.float64), ("group", np.int64), ("test_rows", np.bool_)):
        if getattr(table, name) is not None:
            _of_rows(table, name, dtype)
    if table.weight is not None:
        valid = bool(np.isfinite(table.weight).all() and (table.weight >= 0).all())
        require(valid and table.weight.sum() > 0, "weights are not finite, or negative, or all 0")


@contract_check("every load gives the same rows", kind="dataset")
def repeatable(registered: RegisteredObject) -> None:
    """Load the dataset twice and compare."""
    hint = "does it use its own, seeded random generator?"
    same = content(registered.table) == content(registered.load())
    require(same, f"a second load returns other rows: {hint}")


@contract_check("rows changed by a caller do not appear in a later load", kind="dataset")
def independent_loads(registered: RegisteredObject) -> None:
    """Overwrite the rows of one load, and load again."""
    before = content(registered.table)
    loaded = registered.load()
    parts: list[Any] = [loaded.y, loaded.weight, loaded.X.data if issparse(loaded.X) else None]
    for part in parts:
        if part is not None and part.flags.writeable:
            part[...] = 0
    if isinstance(loaded.X, pd.DataFrame):
        frame: Any = loaded.X
        frame[frame.select_dtypes("number").columns] = 0
    unchanged = content(registered.load()) == before
    require(unchanged, "a load returns rows that a caller changed before: return a copy")


@contract_check("it can be split into folds", kind="dataset")
def splits(registered: RegisteredObject) -> None:
    """Split the dataset like an experiment."""
    data, table = registered.value, registered.table
    for split in default_splits(data, FOLDS, 1, 0):
        train, test = split_rows(split, table, data.task)
        require(len(train) > 0 and len(test) > 0, f"{split.label} has no training or no test row")


def content(table: Table) -> str:
    """Return a digest of the content of a table."""
    joined = hashlib.sha256()
    parts: list[Any] = [table.y, table.weight, table.group, table.test_rows]
    if issparse(table.X):
        parts += [table.X.data, table.X.indices, table.X.indptr]
    else:
        joined.update(repr([(name, str(kind)) for name, kind in table.X.dtypes.items()]).encode())
        parts += [_column(table.X.iloc[:, i]) for i in range(table.X.shape[1])]
    for part in parts:
        joined.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    joined.update(repr(tuple(table.classes)).encode())
    return joined.hexdigest()


def _column(column: pd.Series[Any]) -> np.ndarray:
    """Return the values of a column; for categories their codes and hashed labels."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        names = pd.util.hash_array(column.cat.categories.astype(str).to_numpy(object))
        return np.concatenate([column.cat.codes.to_numpy(np.int64), names.view(np.int64)])
    return column.to_numpy()


def _of_rows(table: Table, name: str, dtype: type) -> None:
    values = getattr(table, name)
    is_array = isinstance(values, np.ndarray) and values.dtype == dtype
    found = f"{type(values).__name__} of {getattr(values, 'dtype', 'no dtype')}"
    require(is_array, f"{name} is a {found}, not an array of {dtype.__name__}")
    rows = (table.X.shape[0],)
    require(values.shape == rows, f"{name} has shape {values.shape}, not {rows}")


def _missing(X: Any) -> bool:
    return bool(np.isnan(X.data).any() if issparse(X) else X.isna().to_numpy().any())


def _categories(X: pd.DataFrame) -> list[Any]:
    return [name for name, kind in X.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
