"""The two ensembles of a comparison, and the training rows of both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from harness.trees import predict
from harness.trees.ensemble import TreeEnsemble

Rows = np.ndarray  # (k,) int64 row numbers, ascending


@dataclass(frozen=True, eq=False)
class Side:
    """One ensemble, with the algorithm's name, params and reference."""

    ensemble: TreeEnsemble
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    reference: str = ""  # the reference algorithm whose params and rules it has; "": unknown


@dataclass(frozen=True, eq=False)
class Training:
    """The prepared training rows.

    Parameters
    ----------
    X
        As passed to the adapters: an array, a DataFrame with ``category`` columns, or CSR.
    y
        float64 targets, or int64 class codes.
    weight
        float64 or None.
    columns
        Names for display; ``c0``, ``c1``, … if there are none.
    categories
        Position of a categorical column → names of its categories by code, for display.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None
    columns: Sequence[str] = ()
    categories: Mapping[int, Sequence[str]] = field(default_factory=dict)
    _kept: dict[tuple[int, str], np.ndarray] = field(default_factory=dict, repr=False)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Training:
        """Return the rows that a worker exported as ``training``."""
        if "X" in arrays:
            X: Any = arrays["X"]
        else:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            X = sparse.csr_matrix(parts, shape=tuple(arrays["shape"].tolist()))
        columns = [str(name) for name in arrays["columns"]]
        names = json.loads(str(arrays["categories"])) if "categories" in arrays else {}
        categories = {int(column): found for column, found in names.items()}
        return cls(X, arrays["y"], arrays.get("weight"), columns, categories)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    @property
    def weights(self) -> np.ndarray:
        """Return the weight of each row; 1 without weights."""
        return np.ones(self.rows) if self.weight is None else self.weight

    def name(self, column: int) -> str:
        """Return the name of a column."""
        return self.columns[column] if column < len(self.columns) else f"c{column}"

    def category(self, column: int, code: int) -> str:
        """Return the name of a category, or its code if the name is unknown."""
        names = self.categories.get(column, ())
        return names[code] if 0 <= code < len(names) else str(code)

    def column(self, number: int, absent: str = "zero") -> np.ndarray:
        """Return a column as float64, categories as codes, with NaN for missing values.

        ``absent`` is the value of an entry that a sparse matrix omits: zero or nan.
        """
        if isinstance(self.X, np.ndarray):
            leaf_of_row: np.ndarray = np.asarray(self.X[:, number], np.float64)
            return leaf_of_row
        key = (number, absent if sparse.issparse(self.X) else "")
        if key not in self._kept:
            self._kept[key] = self._column(number, absent)
        return self._kept[key]

    def _column(self, number: int, absent: str) -> np.ndarray:
        if sparse.issparse(self.X):
            entries = self.X[:, [number]].tocoo()
            values = np.full(self.rows, np.nan if absent == "nan" else 0.0)
            values[entries.row] = entries.data
            return values
        column = self.X.iloc[:, number]
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy().astype(np.float64)
            return np.where(codes < 0, np.nan, codes)
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(values)

    def feature_values(self, ensemble: TreeEnsemble, node: int, rows: Rows) -> np.ndarray:
        """Return the values of some rows in the feature of a node."""
        values: np.ndarray = self.column(int(ensemble.feature[node]), ensemble.absent)[rows]
        return values

    def goes_left(self, ensemble: TreeEnsemble, node: int, rows: Rows) -> np.ndarray:
        """Return which of some rows go left at a node."""
        return predict.goes_left(ensemble, node, self.feature_values(ensemble, node, rows))

    def leaves(self, ensemble: TreeEnsemble, tree: int) -> np.ndarray:
        """Return the leaf of every row in one tree, (n,) node numbers."""
        leaf_of_row = np.empty(self.rows, np.int64)
        todo = [(int(ensemble.offsets[tree]), np.arange(self.rows))]
        while todo:
            node, rows = todo.pop()
            if ensemble.left[node] < 0:
                leaf_of_row[rows] = node
                continue
            left = self.goes_left(ensemble, node, rows)
            todo += [(int(ensemble.left[node]), rows[left])]
            todo += [(int(ensemble.right[node]), rows[~left])]
        return leaf_of_row
