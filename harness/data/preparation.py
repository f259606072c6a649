"""Preparation of a dataset for an algorithm: encoding and imputation, fitted on training rows.

``native`` leaves values unchanged, including NaN and infinities. ``ordinal`` replaces a category by
its index among the sorted categories of the training rows, and an unseen one by -1. ``onehot``
makes a 0/1 column for each category of the training rows; an unseen category gives zeros. With
``+impute`` a missing number becomes the median of the training rows and a missing category a
separate category; without it both stay NaN.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from harness.core.errors import ConfigError, DataError, unknown
from harness.core.model import Accepts, Dataset, Table

NAMES = tuple(base + tail for base in ("native", "ordinal", "onehot") for tail in ("", "+impute"))


def choose(accepts: Accepts, dataset: Dataset) -> str:
    """Return the most native preparation of a dataset that an algorithm accepts."""
    return common([accepts], dataset)


def common(accepts: Iterable[Accepts], dataset: Dataset) -> str:
    """Return the most native preparation that every algorithm of a pair accepts.

    Use :func:`refusal` to check whether an algorithm supports the dataset at all.
    """
    every = list(accepts)
    takes_categories = not dataset.categorical or all(a.categorical for a in every)
    takes_missing = not dataset.missing or all(a.missing for a in every)
    return ("native" if takes_categories else "ordinal") + ("" if takes_missing else "+impute")


def refusal(accepts: Accepts, dataset: Dataset) -> str | None:
    """Return the reason why no preparation makes a dataset fit for an algorithm, or None."""
    if dataset.sparse and not accepts.sparse:
        return "it does not accept sparse data"
    if dataset.sparse and dataset.missing and not accepts.missing:
        return "it does not accept missing values, and those of sparse data are not imputed"
    if dataset.weighted and not accepts.weights:
        return "it does not accept row weights"
    return None


@dataclass(frozen=True, eq=False)
class Preparation:
    """Fitted preparation; ``apply`` transforms any rows.

    ``fills`` has the fill value of each column, NaN for none. ``places`` maps a categorical column
    to an array of new codes by category code; its last entry is for missing values.
    """

    name: str
    columns: tuple[str, ...]  # names of the prepared columns, for display
    categorical: tuple[int, ...]  # positions of categorical columns in the prepared X
    notes: tuple[str, ...]  # sentences for the report
    fills: np.ndarray  # (number of input columns,) float64
    places: dict[int, np.ndarray]

    def apply(self, X: Any) -> Any:
        """Return prepared rows.

        Parameters
        ----------
        X : DataFrame or CSR matrix
            Rows of the table that the preparation was fitted on.

        Returns
        -------
        CSR matrix for sparse data; a DataFrame where categories are kept, numbers as float64 and
        each category as its number in the whole dataset, columns named ``c0``, ``c1``, … (libraries
        refuse some characters in names); else a C-contiguous float64 array.
        """
        if sparse.issparse(X):
            return X.tocsr().astype(np.float64, copy=False)
        if not self.places:
            return self._numbers(X)
        if self.name.startswith("native"):
            return self._frame(X)
        return self._encoded(X, onehot=self.name.startswith("onehot"))

    def _numbers(self, X: pd.DataFrame) -> np.ndarray:
        """Return numeric columns as one array, with missing values filled."""
        values: np.ndarray = np.require(_as_floats(X), requirements=["C", "W"])
        for j in np.flatnonzero(~np.isnan(self.fills)):
            column = values[:, j]
            column[np.isnan(column)] = self.fills[j]
        return values

    def _number(self, X: pd.DataFrame, j: int) -> np.ndarray:
        values = _as_floats(X.iloc[:, j])
        return (
            values if np.isnan(self.fills[j]) else np.where(np.isnan(values), self.fills[j], values)
        )

    def _frame(self, X: pd.DataFrame) -> pd.DataFrame:
        columns: dict[str, Any] = {}
        for j in range(X.shape[1]):
            if j in self.places:
                place = self.places[j]
                kept = pd.RangeIndex(int(np.nanmax(place, initial=-1)) + 1)
                codes = np.nan_to_num(place, nan=-1).astype(np.int64)[_codes(X.iloc[:, j])]
                columns[f"c{j}"] = pd.Categorical.from_codes(codes, categories=kept)
            else:
                columns[f"c{j}"] = self._number(X, j)
        return pd.DataFrame(columns)

    def _encoded(self, X: pd.DataFrame, *, onehot: bool) -> np.ndarray:
        numbers = np.zeros((len(X), len(self.columns)))
        at = 0
        for j in range(X.shape[1]):
            if j not in self.places:
                numbers[:, at] = self._number(X, j)
                at += 1
                continue
            place = self.places[j][_codes(X.iloc[:, j])]
            if not onehot:
                numbers[:, at] = place
                at += 1
                continue
            width = int(np.nanmax(self.places[j], initial=-1)) + 1
            seen = np.flatnonzero(place >= 0)
            numbers[seen, at + place[seen].astype(np.int64)] = 1.0
            numbers[np.isnan(place), at : at + width] = np.nan
            at += width
        return numbers


def fit_preparation(name: str, table: Table, train_rows: np.ndarray) -> Preparation:
    """Fit a preparation on the training rows of a table.

    Parameters
    ----------
    name
        One of ``NAMES``.
    table
        Its ``category`` columns are categorical; every other column must be numeric.
    train_rows
        Row numbers, or a mask of all rows.

    Raises
    ------
    ConfigError
        For an unknown name.
    DataError
        For sparse data that would have to be encoded or imputed, and for a text column.
    """
    if name not in NAMES:
        raise ConfigError(unknown("preparation", name, NAMES, f"use one of {', '.join(NAMES)}"))
    X = table.X
    if sparse.issparse(X):
        if name != "native":
            raise DataError(f"sparse data is only prepared as 'native', not {name!r}")
        names = tuple(f"c{j}" for j in range(X.shape[1]))
        return Preparation(name, names, (), (), np.full(X.shape[1], np.nan), {})
    kept = [isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes]
    impute = name.endswith("+impute")
    notes: list[str] = []
    fills = np.full(X.shape[1], np.nan)
    places: dict[int, np.ndarray] = {}
    for j, is_category in enumerate(kept):
        if is_category and name.startswith("native"):
            places[j] = _every_place(X, j, impute=impute)
        elif is_category:
            places[j] = _seen_places(X.iloc[train_rows, j], impute=impute)
        elif impute:
            fills[j] = _median(X.iloc[train_rows, j], notes)
    columns = _prepared_columns(X, places, onehot=name.startswith("onehot"))
    positions = tuple(places) if name.startswith("native") else ()
    return Preparation(name, columns, positions, tuple(notes), fills, places)


def _as_floats(X: pd.DataFrame | pd.Series[Any]) -> np.ndarray:
    try:
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"a column is neither numbers nor categories: {error}") from error


def _codes(column: pd.Series[Any]) -> np.ndarray:
    """Return category codes of a column, -1 where missing."""
    codes: np.ndarray = column.cat.codes.to_numpy()
    return codes


def _every_place(X: pd.DataFrame, j: int, *, impute: bool) -> np.ndarray:
    """Return codes that are those of the whole dataset."""
    n = len(X.iloc[:, j].cat.categories)
    return np.append(np.arange(n, dtype=np.float64), float(n) if impute else np.nan)


def _seen_places(column: pd.Series[Any], *, impute: bool) -> np.ndarray:
    """Return codes by sorted label for the categories in the training rows, -1 for others."""
    categories, codes = column.cat.categories, _codes(column)
    seen = np.zeros(len(categories) + 1, bool)
    seen[codes] = True
    by_label = np.arange(len(categories))
    if not column.cat.ordered:
        labels = categories.to_numpy()
        numeric = np.issubdtype(labels.dtype, np.number)
        by_label = np.argsort(labels if numeric else labels.astype(str), kind="stable")
    order = np.append(by_label, len(categories))  # a missing value comes last
    if not impute:
        seen[-1] = False
    order = order[seen[order]]
    places = np.full(len(categories) + 1, -1.0)
    places[order] = np.arange(len(order))
    if not impute:
        places[-1] = np.nan
    return places


def _median(train: pd.Series[Any], notes: list[str]) -> float:
    values = _as_floats(train)
    values = values[np.isfinite(values)]
    if len(values):
        return float(np.median(values))
    notes.append(f"column {str(train.name)!r} has no value in the training rows; filled with 0")
    return 0.0


def _prepared_columns(
    X: pd.DataFrame, places: dict[int, np.ndarray], *, onehot: bool
) -> tuple[str, ...]:
    names: list[str] = []
    for j, column in enumerate(map(str, X.columns)):
        if not onehot or j not in places:
            names.append(column)
            continue
        place, labels = places[j], [*map(str, X.iloc[:, j].cat.categories), "(missing)"]
        names += [f"{column}={labels[k]}" for k in np.argsort(place) if place[k] >= 0]
    return tuple(names)
