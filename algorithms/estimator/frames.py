"""Forms of a table: frames of pandas and polars, sparse columns, missing values of all kinds.

`validate_data` is scikit-learn's for all of them: the same table in another form gives the same
numbers, or one error that names the column. polars itself is never imported.
"""

import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from algorithms.estimator import validation

CATEGORIES = ("Categorical", "Enum")  # names of polars' types of categories
NO_NUMBERS = ("could not convert", "setting an array element")  # NumPy's errors begin so


def validate_data(estimator, X, y="no_validation", *, reset=True, keeps_sparse=False, **options):
    """Return X, or X and y, as scikit-learn's function of this name does, of X in any form.

    Parameters
    ----------
    keeps_sparse : bool
        Whether a frame whose columns are all sparse, with the fill value 0, becomes a sparse
        matrix whose absent entries are zeros; by default it becomes dense.
    estimator, y, reset, options : as in scikit-learn

    Raises
    ------
    ValueError, TypeError
        scikit-learn's; of a frame's columns that hold no numbers, those of `naming_columns`.
    """
    X = plain_form(X, keeps_sparse=keeps_sparse)
    with naming_columns(X, reset=reset):
        return validation.validate_data(estimator, X, y, reset=reset, **options)


def as_numbers(X, given):
    """Return an array of objects as one of float64, for trees that read numbers; all else as it is.

    Parameters
    ----------
    X : what `validate_data` returned for training
    given : what the caller gave, for errors

    Raises
    ------
    ValueError, TypeError
        As of `validate_data`.
    """
    if not isinstance(X, np.ndarray) or X.dtype != object:
        return X
    with naming_columns(given, reset=True):
        return X.astype(np.float64)


def plain_form(X, *, keeps_sparse=False):
    """Return X with dense columns in place of sparse ones, and NaN in place of pd.NA.

    Parameters
    ----------
    X : frame or array, which stays as it is; all else is returned
    keeps_sparse : as in `validate_data`
    """
    if isinstance(X, np.ndarray) and X.dtype == object:
        is_missing = pd.isna(X)
        return np.where(is_missing, np.nan, X) if is_missing.any() else X
    if not isinstance(X, pd.DataFrame):
        return X
    kinds = list(X.dtypes)
    odd = [j for j, kind in enumerate(kinds) if is_sparse(kind) or is_object(kind)]
    if not odd or (keeps_sparse and all(is_sparse_matrix(kind) for kind in kinds)):
        return X
    X = X.copy(deep=False)
    for j in odd:
        X.isetitem(j, plain_column(X.iloc[:, j]))
    return X


def plain_column(column):
    """Return a sparse column as a dense one; an object column with NaN for missing values."""
    if is_sparse(column.dtype):
        return column.sparse.to_dense()
    return pd.Series(np.where(column.isna(), np.nan, column), column.index, dtype=object)


def is_sparse(kind):
    """Return whether a dtype is one of pandas' sparse ones."""
    return isinstance(kind, pd.SparseDtype)


def is_object(kind):
    """Return whether a dtype is NumPy's of objects."""
    return isinstance(kind, np.dtype) and kind.kind == "O"


def is_sparse_matrix(kind):
    """Return whether columns of a dtype can be a matrix that omits zeros."""
    return is_sparse(kind) and kind.subtype.kind in "iuf" and kind.fill_value == 0


def with_categories(X, known=None):
    """Return X; a frame of polars that holds categories as a frame of pandas, else as it is.

    Parameters
    ----------
    X : what a caller gave
    known : dict, optional
        The categories that training saw: where there are some, a column of plain text holds them
        too, as in a frame of pandas.
    """
    if not is_polars(X) or not (known or any(is_category(kind) for kind in X.dtypes)):
        return X
    return as_pandas(X)


def columns_of_lists(X, n_lists):
    """Return the places of the columns that a model's lists of categories are of, list of int.

    LightGBM takes the columns whose dtype is categorical, in their order; where these are not as
    many as the lists, those of text are taken too, as text can only be categories.

    Parameters
    ----------
    X : pandas.DataFrame
    n_lists : int

    Raises
    ------
    ValueError
        Where neither are as many as the lists.
    """
    kinds = [infer_dtype(X.iloc[:, j]) for j in range(X.shape[1])]
    places = [j for j, kind in enumerate(kinds) if kind == "categorical"]
    if len(places) != n_lists:
        places = [j for j, kind in enumerate(kinds) if kind in ("categorical", "string")]
    if len(places) != n_lists:
        raise ValueError(
            f"X has categories in the columns {X.columns[places].tolist()}; the model is of a file "
            f"whose lists of categories are {n_lists}, and do not name their columns: give each of "
            "these the dtype category, as in training, or all columns as an array, with codes"
        )
    return places


def is_polars(X):
    """Return whether X is a data frame of polars; a lazy one is none."""
    polars = sys.modules.get("polars")  # nobody has such a frame who has not imported it
    return polars is not None and isinstance(X, polars.DataFrame)


def is_category(kind):
    """Return whether a type of polars is one of categories."""
    return kind.base_type().__name__ in CATEGORIES


def as_pandas(X):
    """Return a frame of polars as one of pandas.

    An Enum has its own categories, in its order; a Categorical those that stand in it, sorted: all
    that polars numbers in a process may be of other columns too.
    """
    columns = {}
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        if is_category(kind):
            own = kind.categories.to_list() if kind.base_type().__name__ == "Enum" else None
            columns[name] = pd.Categorical(X[name].to_list(), categories=own)
        else:
            columns[name] = X[name].to_numpy()
    return pd.DataFrame(columns)


@contextmanager
def naming_columns(X, *, reset):
    """Have an error over values that are no numbers name the column of a frame that holds them.

    Parameters
    ----------
    X : frame of pandas or polars, its known categories as codes; all else keeps its errors
    reset : whether it is that of training

    Raises
    ------
    ValueError
        Where a column holds dates, text or other objects.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        is_frame = isinstance(X, pd.DataFrame) or is_polars(X)
        of_values = isinstance(error, TypeError) or str(error).startswith(NO_NUMBERS)
        told = odd_column(X, reset=reset) if is_frame and of_values else None
        if told is None:
            raise
        raise ValueError(told) from error


def odd_column(X, *, reset):
    """Return what is wrong with the first column of a frame that holds no numbers, or None."""
    for name, column in (as_pandas(X) if is_polars(X) else X).items():
        if column.dtype.kind in "mM" or isinstance(column.dtype, pd.PeriodDtype):
            return (
                f"column {name!r} holds dates or times: turn it into numbers, such as days since "
                "a date"
            )
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        odd = next((value for value in column.dropna() if not is_number(value)), None)
        if isinstance(odd, str):
            wanted = "give it the dtype category, or turn it into numbers"
            wanted = wanted if reset else "numbers are expected"
            return f"column {name!r} holds text, such as {str(odd)!r}: {wanted}"
        if odd is not None:
            return f"column {name!r} holds a {type(odd).__name__}, which is no number"
    return None


def is_number(value):
    """Return whether a value is a number, or text of one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
