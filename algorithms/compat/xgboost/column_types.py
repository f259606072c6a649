"""Column types that the user gives, and categories of a model's columns."""

import pandas as pd

from algorithms.compat.xgboost.dmatrix import DMatrix, as_categories
from algorithms.compat.xgboost.rows import CATEGORICAL


def with_types(X, types):
    """Return rows as a frame whose columns of the type "c" are categorical.

    Without such a type the rows are returned unchanged.

    Parameters
    ----------
    X : array, sparse matrix or pandas frame; codes of categories are whole numbers from 0
    types : list of str, one type per column; or None

    Raises
    ------
    ValueError
        If the number of types is not that of the columns, or a code is invalid.
    """
    if types is None or CATEGORICAL not in types or type(X).__module__.startswith("polars"):
        return X
    if not isinstance(X, pd.DataFrame):
        return DMatrix(X, feature_types=types).rows()
    if len(types) != X.shape[1]:
        raise ValueError(f"feature_types has {len(types)} entries for {X.shape[1]} columns")
    X = X.copy(deep=False)
    for at, kind in enumerate(types):
        if kind == CATEGORICAL and not isinstance(X.dtypes.iloc[at], pd.CategoricalDtype):
            X.isetitem(at, as_categories(X.iloc[:, at].to_numpy(float, na_value=float("nan"))))
    return X


class Categories:
    """Categories of the columns of a model.

    Parameters
    ----------
    names : list of str, names of all columns
    kept : dict, column index → pd.Index of its categories
    """

    def __init__(self, names, kept):
        self._names, self._kept = names, kept

    def empty(self):
        """Return True if no column has categories."""
        return not self._kept

    def to_arrow(self):
        """Return (name, pyarrow array of categories, or None) for each column, list."""
        import pyarrow as pa

        return [
            (name, pa.array(self._kept[at]) if at in self._kept else None)
            for at, name in enumerate(self._names)
        ]
