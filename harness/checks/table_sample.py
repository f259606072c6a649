"""The part of a loaded table that checks read: a fixed sample of its rows, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from harness.core.model import Table, Task
from harness.data.dates import feature_names

MAX_ROWS = 20_000
MIN_ROWS = 1_000
MAX_VALUES = 2_000_000  # rows times columns of a sample
MAX_COLUMNS = 2_000


@dataclass(frozen=True)
class Source:
    """The known facts about the file of a table."""

    target: str = "target"
    dates: Mapping[str, str] = field(default_factory=dict)  # column of dates → its format
    left_out: tuple[str, ...] = ()  # text columns that the loader left out
    ambiguous_dates: tuple[str, ...] = ()
    without_target: int = 0  # rows that have no target
    query_file: bool = False  # whether a file of query lengths lies beside it
    time: str = ""  # column of the time-ordered split


@dataclass(frozen=True)
class Column:
    """The sampled values of one column: numbers, or codes into levels."""

    name: str
    numbers: np.ndarray | None  # float64, NaN missing; None for categories
    codes: np.ndarray | None = None  # int, -1 missing; None for numbers
    levels: Sequence[Any] = ()

    @property
    def missing(self) -> np.ndarray:
        """Return the mask of sampled rows without a value."""
        if self.numbers is not None:
            return np.asarray(np.isnan(self.numbers))
        return np.asarray(self._codes < 0)

    @property
    def has_text(self) -> bool:
        """Return whether the levels are strings, not declared numbers."""
        return bool(len(self.levels)) and isinstance(self.levels[0], str)

    @cached_property
    def groups(self) -> np.ndarray:
        """Return a code from 0 on for each sampled row; equal values have equal codes."""
        values = self._codes if self.numbers is None else self.numbers
        return np.asarray(pd.factorize(values, use_na_sentinel=False)[0])

    @property
    def _codes(self) -> np.ndarray:
        assert self.codes is not None  # a column has numbers or codes
        return self.codes


@dataclass(frozen=True)
class TableSample:
    """A table, and a reproducible sample of its rows."""

    table: Table
    task: Task
    source: Source = Source()

    @property
    def n_rows(self) -> int:
        """Return the number of rows of the whole table."""
        return int(self.table.X.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Return whether the features are a sparse matrix, whose columns have no names."""
        return not isinstance(self.table.X, pd.DataFrame)

    @cached_property
    def rows(self) -> np.ndarray:
        """Return the positions of the sampled rows, ascending."""
        width = max(int(self.table.X.shape[1]), 1)
        most = int(np.clip(MAX_VALUES // width, MIN_ROWS, MAX_ROWS))
        if self.n_rows <= most:
            return np.arange(self.n_rows)
        random = np.random.default_rng(0)
        return np.sort(random.choice(self.n_rows, most, replace=False))

    @cached_property
    def y(self) -> np.ndarray:
        """Return the targets of the sampled rows."""
        return np.asarray(self.table.y[self.rows])

    @cached_property
    def created(self) -> frozenset[str]:
        """Return the numeric columns that the loader made from dates."""
        if self.is_sparse:
            return frozenset()
        names = {str(name) for name in self.table.X.columns}
        made = feature_names(self.source.dates, self.source.dates)
        return frozenset(name for parts in made.values() for name in parts.values()) & names

    @cached_property
    def columns(self) -> list[Column]:
        """Return the sampled columns, without those that the loader made from dates."""
        return [column for column in self.features if column.name not in self.created]

    @cached_property
    def features(self) -> list[Column]:
        """Return the sampled columns, evenly chosen from very wide tables; none if sparse."""
        if self.is_sparse:
            return []
        width = self.table.X.shape[1]
        places = np.unique(np.linspace(0, width - 1, min(width, MAX_COLUMNS)).astype(int))
        return [self._column(int(place)) for place in places]

    def whole(self, name: str) -> pd.Series[Any]:
        """Return all values of a column."""
        column: pd.Series[Any] = self.table.X[name]
        return column

    def _column(self, place: int) -> Column:
        values = self.table.X.iloc[:, place]
        name, kind = str(self.table.X.columns[place]), values.dtype
        if isinstance(kind, pd.CategoricalDtype):
            codes = values.cat.codes.to_numpy()[self.rows].astype(np.int64)
            return Column(name, None, codes, kind.categories.tolist())
        return Column(name, values.to_numpy(np.float64)[self.rows])


TOKENS_OF_TIME = frozenset({"date", "datetime", "timestamp", "time", "day", "month", "year"})


def name_tokens(name: str) -> list[str]:
    """Return the words of a column name: ``customerId`` and ``customer_id`` both end in ``id``."""
    words: list[str] = []
    current = ""
    for last, sign in zip(" " + name, name, strict=False):
        if not sign.isalnum():
            words.append(current)
            current = ""
        elif sign.isupper() and last.islower():
            words.append(current)
            current = sign.lower()
        else:
            current += sign.lower()
    return [word for word in [*words, current] if word]
