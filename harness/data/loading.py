"""Load tables of datasets, through the cache if possible, and check them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

from harness.core.errors import DataError
from harness.core.ids import digest
from harness.core.model import Dataset, Table
from harness.data import cache
from harness.data.loader import Loader
from harness.data.tables import facts_of


def table_of(dataset: Dataset, *, fresh: bool = False) -> Table:
    """Return the table of a dataset.

    Parameters
    ----------
    fresh
        Whether to read the source again and replace a cached table.

    Raises
    ------
    DataError
        If the data is missing, damaged, or differs from the declaration.
    """
    if not isinstance(dataset.load, Loader):
        return check(dataset.load(**dataset.options), dataset)
    if not fresh and (known := cache.get(place_of(dataset))) is not None:
        dataset.load.verify()
        return known
    with cache.locked(dataset.digest):
        if not fresh and (known := cache.get(place_of(dataset))) is not None:
            dataset.load.verify()
            return known
        table = dataset.load(**dataset.options)
        table = check(table, dataset)
        place = place_of(dataset)  # includes checksums of files downloaded just now
        reason = cache.put(place, table)
        stored = None if reason else cache.get(place)
    if stored is not None:
        return stored
    note = f"the parsed table was not cached: {reason or 'it could not be read back'}"
    return dataclasses.replace(table, notes=(*table.notes, note))


def place_of(dataset: Dataset) -> str:
    """Return the cache key of a parsed table: a digest that includes pinned checksums."""
    pins = dataset.load.pins() if isinstance(dataset.load, Loader) else {}
    if not pins:
        return dataset.digest
    return digest([dataset.digest, pins])


def check(table: Table, dataset: Dataset) -> Table:
    """Return the table if it is valid and matches the declaration; raise DataError otherwise.

    If the declared counts are not verified (a card without checksum), other counts are only noted.
    """
    name = dataset.name
    _check_form(table, name)
    found, declared = table.X.shape, (dataset.rows, dataset.columns)
    if len(table.classes) != dataset.n_classes:
        raise DataError(
            f"{name} is declared with {dataset.n_classes} classes, but has {len(table.classes)}"
        )
    for fact, says, has in (
        ("sparse", dataset.sparse, not isinstance(table.X, pd.DataFrame)),
        ("weighted", dataset.weighted, table.weight is not None),
        ("given_test", dataset.given_test, table.test_rows is not None),
    ):
        if says != has:
            raise DataError(f"{name} is declared with {fact}={says}, but has {fact}={has}")
    for fact, has in facts_of(table).items():
        if fact in ("categorical", "missing") and has and not getattr(dataset, fact):
            what = "categorical columns" if fact == "categorical" else "missing values"
            raise DataError(f"{name} has {what}, but declares none; correct the declaration")
    if found == declared:
        return table
    counts = "{:,} rows and {:,} columns"
    message = f"{name} is declared with {counts.format(*declared)}, but has {counts.format(*found)}"
    if not getattr(dataset.load, "exact", True):
        return dataclasses.replace(table, notes=(*table.notes, message))
    raise DataError(f"{message}; correct the declaration or get the data again")


def _check_form(table: Table, name: str) -> None:
    rows = table.X.shape[0]
    kind = np.int64 if table.classes else np.float64
    if rows == 0 or table.X.shape[1] == 0:
        raise DataError(f"{name} has no rows or no columns")
    if table.y.shape != (rows,) or table.y.dtype != kind:
        raise DataError(
            f"{name}: y must be {np.dtype(kind)} of shape ({rows},), "
            f"not {table.y.dtype} of shape {table.y.shape}"
        )
    for part in ("weight", "group", "order", "test_rows"):
        array = getattr(table, part)
        if array is not None and array.shape != (rows,):
            raise DataError(f"{name}: {part} must have shape ({rows},), not {array.shape}")
    codes_fit = not table.classes or (table.y.min() >= 0 and table.y.max() < len(table.classes))
    if not codes_fit or not np.isfinite(table.y).all():
        raise DataError(f"{name}: y must be finite, and class codes from 0 to n_classes - 1")
