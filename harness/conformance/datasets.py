"""Checks of datasets: the rows match the declaration and are the same each time."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from harness.conformance.findings import demand, promise
from harness.conformance.held import Held
from harness.core.model import Table, Task
from harness.data.splits import default_splits, split_rows

FOLDS = 5


@promise("the declaration is complete", kind="dataset")
def complete(held: Held) -> None:
    """Check the fields that plans and reports use without loading the rows."""
    data = held.value
    demand(bool(data.summary), "summary is empty: `harness list datasets` shows it")
    is_digest = re.fullmatch("[0-9a-f]{64}", str(data.digest)) is not None
    demand(is_digest, f"digest is {data.digest!r}, not the 64 hex digits of a SHA-256")
    demand(data.rows > 0, f"rows is {data.rows}")
    demand(data.columns > 0, f"columns is {data.columns}")
    if data.task is Task.MULTICLASS:
        demand(data.n_classes >= 3, f"n_classes is {data.n_classes}: give 3 or more")
    else:
        wanted = 2 if data.task is Task.BINARY else 0
        demand(data.n_classes == wanted, f"n_classes is {data.n_classes}, of a {data.task} task")


@promise("the rows are what it declares", kind="dataset")
def as_declared(held: Held) -> None:
    """Compare the table with each field of the declaration."""
    data, table = held.value, held.table
    demand(isinstance(table, Table), f"load returns a {type(table).__name__}, not a harness.Table")
    shape = (data.rows, data.columns)
    demand(table.X.shape == shape, f"X is {table.X.shape}, and {shape} is declared")
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
        demand(value == declared, f"{field} is declared as {declared} and is {value}")


@promise("the target and what goes with each row are as its task wants them", kind="dataset")
def target(held: Held) -> None:
    """Check dtype, length and values of y, weights, groups and test rows."""
    data, table = held.value, held.table
    _of_rows(table, "y", np.int64 if data.n_classes else np.float64)
    demand(bool(np.isfinite(table.y).all()), "y has values that are not finite")
    if data.n_classes:
        codes = np.unique(table.y).tolist()
        wanted = list(range(data.n_classes))
        demand(codes == wanted, f"y holds the codes {codes[:9]}, not 0 to {data.n_classes - 1}")
        named = len(table.classes)
        demand(named in (0, data.n_classes), f"{named} names of {data.n_classes} classes")
    for name, dtype in (("weight", np.float64), ("group", np.int64), ("test_rows", np.bool_)):
        if getattr(table, name) is not None:
            _of_rows(table, name, dtype)
    if table.weight is not None:
        fair = bool(np.isfinite(table.weight).all() and (table.weight >= 0).all())
        demand(fair and table.weight.sum() > 0, "weights are not finite, or negative, or all 0")


@promise("every load gives the same rows", kind="dataset")
def repeatable(held: Held) -> None:
    """Load the dataset twice and compare."""
    told = "is its random generator seeded, and by itself?"
    same = content(held.table) == content(held.load())
    demand(same, f"a second load gives other rows: {told}")


@promise("what is written into the rows is in no later load", kind="dataset")
def apart(held: Held) -> None:
    """Overwrite the rows of one load, and load again."""
    before = content(held.table)
    mine = held.load()
    parts: list[Any] = [mine.y, mine.weight, mine.X.data if issparse(mine.X) else None]
    for part in parts:
        if part is not None and part.flags.writeable:
            part[...] = 0
    if isinstance(mine.X, pd.DataFrame):
        frame: Any = mine.X
        frame[frame.select_dtypes("number").columns] = 0
    kept = content(held.load()) == before
    demand(kept, "a load shows what was written into the one before: give a copy")


@promise("folds can be drawn of it", kind="dataset")
def splits(held: Held) -> None:
    """Split the dataset like an experiment."""
    data, table = held.value, held.table
    for split in default_splits(data, FOLDS, 1, 0):
        train, test = split_rows(split, table, data.task)
        demand(len(train) > 0 and len(test) > 0, f"{split.label} has no training or no test row")


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
    demand(is_array, f"{name} is a {found}, not an array of {dtype.__name__}")
    rows = (table.X.shape[0],)
    demand(values.shape == rows, f"{name} has shape {values.shape}, not {rows}")


def _missing(X: Any) -> bool:
    return bool(np.isnan(X.data).any() if issparse(X) else X.isna().to_numpy().any())


def _categories(X: pd.DataFrame) -> list[Any]:
    return [name for name, kind in X.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
