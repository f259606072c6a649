"""Input of any form: frames of pandas and polars, sparse columns, all kinds of missing values.

`validate_data` extends scikit-learn's to all of them: the same data in another form gives the same
numbers, or an error that names the column. polars itself is never imported.
"""

import sys
from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor

from algorithms.estimator import validation
from algorithms.estimator.deferred_imports import is_frame, pd

CATEGORIES = ("Categorical", "Enum")  # names of polars' types of categories
DATES = "holds dates or times: turn them into numbers, such as days since a date"
NO_NUMBERS = ("could not convert", "setting an array element")  # beginnings of NumPy's errors


def validate_data(estimator, X, y="no_validation", *, reset=True, keeps_sparse=False, **options):
    """Return X, or X and y, like scikit-learn's function of this name, for X of any form.

    Parameters
    ----------
    keeps_sparse : bool
        Whether a frame whose columns are all sparse, with the fill value 0, becomes a sparse
        matrix whose absent entries are zeros; by default it becomes dense.
    estimator, y, reset, options : as in scikit-learn

    Raises
    ------
    ValueError, TypeError
        scikit-learn's errors, those of `naming_columns` for non-numeric columns of a frame, or
        those of `read_targets`.
    """
    X = plain_form(X, keeps_sparse=keeps_sparse)
    y = read_targets(estimator, y)
    with naming_columns(X, reset=reset):
        found = validation.validate_data(estimator, X, y, reset=reset, **options)
    if options.get("dtype", "numeric") is not None:
        refuse_dates(X)
    return found


def as_numbers(X, given):
    """Return an object array as float64, for trees that read numbers; other X unchanged.

    Parameters
    ----------
    X : result of `validate_data` in training
    given : original input, for error messages

    Raises
    ------
    ValueError, TypeError
        As in `validate_data`.
    """
    given = from_arrow(given)
    refuse_dates(given)
    if not isinstance(X, np.ndarray) or X.dtype != object:
        return X
    with naming_columns(given, reset=True):
        return X.astype(np.float64)


def read_targets(estimator, y):
    """Return targets as numbers where possible; other targets are returned unchanged.

    Objects that are all whole numbers, real numbers or bool become an array of that type. For a
    regressor text of numbers becomes float64, too.

    Parameters
    ----------
    estimator : the estimator
    y : targets, None or "no_validation"

    Raises
    ------
    ValueError
        If a target is None, NaN, NaT or pd.NA among objects, or not a number for a regressor.
    """
    if y is None or isinstance(y, str) or sparse.issparse(y):
        return y
    values = np.asarray(y)
    if values.dtype.kind not in "OUSmM" or not 1 <= values.ndim <= 2:
        return y
    if pd.isna(values).any():
        raise ValueError("Input y contains NaN: leave out the rows whose target is missing")
    if is_regressor(estimator):
        if is_temporal(values.dtype):
            raise ValueError(f"y {DATES}")
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError) as error:
            invalid = next(value for value in values.ravel().tolist() if not is_number(value))
            raise ValueError(
                f"y holds {invalid!r}, which is not a number: a regressor needs numbers, labels "
                "need a classifier"
            ) from error
    if values.dtype.kind == "O":
        inferred = pd.DataFrame(values).infer_objects().to_numpy().reshape(values.shape)
        return inferred if inferred.dtype.kind in "biuf" else y
    return y


def from_arrow(X):
    """Return X; Arrow tables and objects with the Arrow stream protocol become pandas frames.

    A polars LazyFrame is collected.
    """
    if is_frame(X) or isinstance(X, (np.ndarray, list)) or sparse.issparse(X):
        return X
    kind = type(X).__module__.partition(".")[0]
    if kind == "polars":
        return X.collect() if hasattr(X, "collect") else X
    if kind == "pyarrow" and hasattr(X, "to_pandas"):
        return X.to_pandas()
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__"):
        import pyarrow as pa

        return pa.table(X).to_pandas()
    return X


def with_text_names(X):
    """Return X; if only some column names of a pandas frame are text, all become text."""
    if not is_frame(X):
        return X
    n_text = sum(isinstance(name, str) for name in X.columns)
    return X.set_axis(X.columns.map(str), axis=1) if 0 < n_text < X.shape[1] else X


def refuse_dates(X):
    """Raise ValueError if an array or a column of a frame holds dates, times or periods."""
    if isinstance(X, np.ndarray) and is_temporal(X.dtype):
        raise ValueError(f"X {DATES}")
    if is_frame(X) or is_polars(X):
        for name, kind in zip(X.columns, X.dtypes, strict=True):
            if is_temporal(kind):
                raise ValueError(f"column {name!r} {DATES}")


def is_temporal(kind):
    """Return whether a dtype of NumPy, pandas or polars is one of dates, times or periods."""
    if hasattr(kind, "is_temporal"):  # polars
        return kind.is_temporal()
    return kind.kind in "mM" or (
        not isinstance(kind, np.dtype) and isinstance(kind, pd.PeriodDtype)
    )


def plain_form(X, *, keeps_sparse=False):
    """Return X with sparse columns made dense, and pd.NA replaced by NaN.

    Parameters
    ----------
    X : frame or array, not modified; Arrow tables become pandas frames, and other input is
        returned unchanged
    keeps_sparse : as in `validate_data`
    """
    X = from_arrow(X)
    if isinstance(X, np.ndarray) and X.dtype == object:
        is_missing = pd.isna(X)
        return np.where(is_missing, np.nan, X) if is_missing.any() else X
    if not is_frame(X):
        return X
    kinds = list(X.dtypes)
    columns = [j for j, kind in enumerate(kinds) if is_sparse(kind) or is_object(kind)]
    if not columns or (keeps_sparse and all(is_sparse_matrix(kind) for kind in kinds)):
        return X
    X = X.copy(deep=False)
    for j in columns:
        X.isetitem(j, plain_column(X.iloc[:, j]))
    return X


def plain_column(column):
    """Return a sparse column as a dense one, or an object column with NaN for missing values."""
    if is_sparse(column.dtype):
        return column.sparse.to_dense()
    return pd.Series(np.where(column.isna(), np.nan, column), column.index, dtype=object)


def is_sparse(kind):
    """Return whether a dtype is a sparse pandas dtype."""
    return isinstance(kind, pd.SparseDtype)


def is_object(kind):
    """Return whether a dtype is NumPy's object dtype."""
    return isinstance(kind, np.dtype) and kind.kind == "O"


def is_sparse_matrix(kind):
    """Return whether columns of a dtype can form a sparse matrix that omits zeros."""
    return is_sparse(kind) and kind.subtype.kind in "iuf" and kind.fill_value == 0


def with_categories(X, known=None):
    """Return X; a polars frame with categories, or an Arrow table, becomes a pandas frame.

    Parameters
    ----------
    X : input of the user
    known : dict, optional
        Categories of training; if there are some, text columns are categorical too, as in a pandas
        frame.
    """
    X = from_arrow(X)
    if not is_polars(X) or not (known or any(is_category(kind) for kind in X.dtypes)):
        return X
    return as_pandas(X)


def columns_of_lists(X, n_lists):
    """Return the indices of the columns that belong to a model's lists of categories, list of int.

    LightGBM uses the columns with a categorical dtype, in order. If their number differs from that
    of the lists, text columns are included too, as text can only be categorical.

    Parameters
    ----------
    X : pandas.DataFrame
    n_lists : int

    Raises
    ------
    ValueError
        If neither number of columns equals the number of lists.
    """
    kinds = [pd.api.types.infer_dtype(X.iloc[:, j]) for j in range(X.shape[1])]
    places = [j for j, kind in enumerate(kinds) if kind == "categorical"]
    if len(places) != n_lists:
        places = [j for j, kind in enumerate(kinds) if kind in ("categorical", "string")]
    if len(places) != n_lists:
        raise ValueError(
            f"X has categories in the columns {X.columns[places].tolist()}, but the model file has "
            f"{n_lists} list(s) of categories without column names: give the categorical columns "
            "the dtype category, as in training, or pass an array of codes"
        )
    return places


def is_polars(X):
    """Return whether X is a polars DataFrame; a LazyFrame is not."""
    polars = sys.modules.get("polars")  # not imported: X cannot be a polars frame
    return polars is not None and isinstance(X, polars.DataFrame)


def is_category(kind):
    """Return whether a polars dtype is categorical."""
    return kind.base_type().__name__ in CATEGORIES


def as_pandas(X):
    """Return a polars frame as a pandas frame.

    An Enum keeps its categories and their order. A Categorical gets its distinct values, sorted,
    because its polars categories may include those of other columns.
    """
    columns = {}
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        if is_category(kind):
            categories = kind.categories.to_list() if kind.base_type().__name__ == "Enum" else None
            columns[name] = pd.Categorical(X[name].to_list(), categories=categories)
        else:
            columns[name] = X[name].to_numpy()
    return pd.DataFrame(columns)


@contextmanager
def naming_columns(X, *, reset):
    """Context in which an error about non-numeric values names the column of the frame.

    Parameters
    ----------
    X : pandas or polars frame, its known categories as codes; for other input errors are unchanged
    reset : whether X is the training data

    Raises
    ------
    ValueError
        If a column has dates, text or other objects.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        is_table = is_frame(X) or is_polars(X)
        of_values = isinstance(error, TypeError) or str(error).startswith(NO_NUMBERS)
        message = invalid_column_message(X, reset=reset) if is_table and of_values else None
        if message is None:
            raise
        raise ValueError(message) from error


def invalid_column_message(X, *, reset):
    """Return the error message for the first non-numeric column of a frame, or None."""
    for name, column in (as_pandas(X) if is_polars(X) else X).items():
        if is_temporal(column.dtype):
            return f"column {name!r} {DATES}"
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        invalid = next((value for value in column.dropna() if not is_number(value)), None)
        if isinstance(invalid, str):
            wanted = "give it the dtype category, or turn it into numbers"
            if isinstance(column.dtype, pd.CategoricalDtype):  # this estimator has no categories
                wanted = "turn it into numbers, for example by OrdinalEncoder of scikit-learn"
            wanted = wanted if reset else "numbers are expected"
            return f"column {name!r} holds text, such as {str(invalid)!r}: {wanted}"
        if invalid is not None:
            kind = type(invalid).__name__
            return f"column {name!r} holds a value of type {kind}, which is not a number"
    return None


def is_number(value):
    """Return whether a value is a number, or the text of a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
