"""Conversion of frames with numbers and categories to plain arrays and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

Level = str | int | float


class Categories(NamedTuple):
    """Categorical column: int32 codes (−1 missing) into sorted levels."""

    codes: np.ndarray
    levels: list[Level]


Column = np.ndarray | Categories


@dataclass(frozen=True)
class Blocks:
    """Frame as arrays that can be mapped into memory."""

    names: list[str]  # of the columns, in order
    numbers: np.ndarray  # float64, (n_rows, numeric columns), Fortran order, NaN missing
    codes: np.ndarray  # int32, (n_rows, categorical columns), Fortran order, −1 missing
    levels: list[list[Level] | None]  # of each column, in order; None if it is numeric

    def numeric_names(self) -> list[str]:
        """Return the names of the columns of ``numbers``, in order."""
        pairs = zip(self.names, self.levels, strict=True)
        return [name for name, levels in pairs if levels is None]


def numeric_blocks(names: list[str], numbers: np.ndarray) -> Blocks:
    """Return blocks of numeric columns only, from an array of shape (n_rows, n_columns)."""
    values = np.asfortranarray(numbers, dtype=np.float64)
    none = np.empty((len(values), 0), np.int32, order="F")
    return Blocks(names, values, none, [None] * len(names))


def gather(rows: int, columns: Mapping[str, Column]) -> Blocks:
    """Return columns as blocks."""
    numeric = [c for c in columns.values() if not isinstance(c, Categories)]
    categorical = [c for c in columns.values() if isinstance(c, Categories)]
    numbers = np.empty((rows, len(numeric)), np.float64, order="F")
    for j, values in enumerate(numeric):
        numbers[:, j] = values
    codes = np.empty((rows, len(categorical)), np.int32, order="F")
    for j, found in enumerate(categorical):
        codes[:, j] = found.codes
    levels = [c.levels if isinstance(c, Categories) else None for c in columns.values()]
    return Blocks(list(columns), numbers, codes, levels)


def assemble(blocks: Blocks) -> pd.DataFrame:
    """Return a frame of float64 and ``category`` columns that shares the arrays of the blocks."""
    names = pd.Index(blocks.names, dtype=object)
    if not blocks.codes.shape[1]:
        return pd.DataFrame(blocks.numbers, columns=names, copy=False)
    data: dict[int, np.ndarray | pd.Categorical] = {}
    number = code = 0
    for j, levels in enumerate(blocks.levels):
        if levels is None:
            data[j] = blocks.numbers[:, number]
            number += 1
        else:
            kind = pd.CategoricalDtype(_index_of(levels))
            data[j] = pd.Categorical.from_codes(blocks.codes[:, code], dtype=kind)
            code += 1
    frame = pd.DataFrame(data, copy=False)
    frame.columns = names
    return frame


def take_apart(frame: pd.DataFrame) -> Blocks:
    """Return the arrays of a frame of float64 and ``category`` columns."""
    names = [str(name) for name in frame.columns]
    if not any(isinstance(kind, pd.CategoricalDtype) for kind in frame.dtypes):
        return numeric_blocks(names, frame.to_numpy(np.float64))
    columns: dict[str, Column] = {}
    for j, name in enumerate(names):
        values = frame.iloc[:, j]
        if isinstance(values.dtype, pd.CategoricalDtype):
            levels = values.cat.categories.tolist()
            columns[name] = Categories(values.cat.codes.to_numpy(np.int32), levels)
        else:
            columns[name] = values.to_numpy(np.float64)
    return gather(len(frame), columns)


def _index_of(levels: list[Level]) -> Any:
    if levels and not isinstance(levels[0], str):
        return pd.Index(np.asarray(levels))
    return pd.Index(levels, dtype=pd.StringDtype(na_value=np.nan))
