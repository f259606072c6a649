"""Columns that training and prediction ignore: ``ignored_features``.

Their values are replaced by 0, so they may hold anything, such as text.
"""

import numpy as np
from scipy import sparse

from algorithms.estimator.constraints import find_column
from algorithms.estimator.deferred_imports import is_frame
from algorithms.estimator.frames import as_pandas, is_polars


def find_ignored(wanted, X):
    """Return the positions of the ignored columns, tuple of int, ascending.

    Parameters
    ----------
    wanted : list of positions and names, or None
    X : table (n_rows, n_features)

    Raises
    ------
    ValueError
        If a column does not exist.
    """
    if wanted is None or not len(wanted):
        return ()
    return tuple(sorted({position_of(one, X, "ignored_features") for one in wanted}))


def position_of(column, X, parameter):
    """Return the position of a column.

    Parameters
    ----------
    column : int, text of an int, or name if X has names
    X : table (n_rows, n_features)
    parameter : str, for the error message

    Raises
    ------
    ValueError, TypeError
        If the column does not exist, or is neither a number nor text.
    """
    names = [str(name) for name in getattr(X, "columns", ())]
    n_columns = np.shape(X)[1] if np.ndim(X) == 2 else 0
    if isinstance(column, str) and column.isdigit() and column not in names:
        column = int(column)
    return find_column(column, n_columns, names, parameter)


def keep_cat_features(cat_features, X, ignored):
    """Return ``cat_features`` without the ignored columns."""
    if cat_features is None:
        return None
    listed = [cat_features] if np.ndim(cat_features) == 0 else list(cat_features)
    return [one for one in listed if position_of(one, X, "cat_features") not in ignored]


def blank_columns(X, ignored):
    """Return a copy of X with 0 in the ignored columns; X itself if there are none.

    Parameters
    ----------
    X : array-like, frame or sparse matrix (n_rows, n_features)
    ignored : tuple of int
    """
    if not ignored:
        return X
    if sparse.issparse(X):
        X = sparse.csc_matrix(X, copy=True)
        for column in ignored:
            X.data[X.indptr[column] : X.indptr[column + 1]] = 0.0
        return X.tocsr()
    if is_polars(X):
        X = as_pandas(X)
    if is_frame(X):
        X = X.copy(deep=False)
        for column in ignored:
            if column < X.shape[1]:
                X.isetitem(column, 0.0)
        return X
    X = np.array(X)
    if X.ndim == 2:
        X[:, [column for column in ignored if column < X.shape[1]]] = 0
    return X
