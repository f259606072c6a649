"""Encoding of categorical columns: the code of a value is its index among the known categories.

A missing value stays NaN. A category that did not occur in training becomes -1.
"""

from numbers import Integral

import numpy as np
from scipy.sparse import issparse
from sklearn.utils._param_validation import StrOptions

from algorithms.estimator.deferred_imports import is_frame, pd
from algorithms.estimator.frames import as_pandas, is_polars

MAX_CODES = 1 << 24  # float32 is exact for integers up to here
CATEGORICAL = ["array-like", StrOptions({"from_dtype"}), None]  # valid values of the parameter


def read_categories(tree, X, *, reset):
    """Return X with its categorical columns encoded, or unchanged if there are none.

    Parameters
    ----------
    tree : the estimator; with ``reset`` its ``categories_`` are written: column number → index of
        the categories, in the order of a frame's categorical dtype, else the sorted values
    X : array-like or frame (n_rows, n_features)

    Raises
    ------
    ValueError
        If ``categorical_features`` does not fit X, or X is sparse.
    """
    if reset:
        tree.categories_ = {}
    has_any = tree.categorical_features is not None
    if not reset:
        has_any = bool(getattr(tree, "categories_", {}))  # trees of ensembles have none
    if not has_any or np.ndim(X) != 2:
        return X
    if issparse(X):
        raise ValueError("categorical_features needs an X that is not sparse")
    frame = as_frame(X)
    if reset:
        for j in find_categorical(frame, tree.categorical_features, is_named(X)):
            tree.categories_[j] = known_categories(frame.iloc[:, j])
    coded = frame.copy(deep=False)
    for j, categories in tree.categories_.items():
        if j < frame.shape[1]:  # the number of columns is checked later
            coded.isetitem(j, encode(frame.iloc[:, j], categories))
    return coded if is_named(X) else coded.to_numpy()


def is_named(X):
    """Return whether X is a frame, of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def as_frame(X):
    """Return X as a pandas frame; categorical columns of polars stay categorical."""
    if is_frame(X):
        return X
    if is_polars(X):
        return as_pandas(X)
    if not is_named(X):
        return pd.DataFrame(np.asarray(X))
    return pd.DataFrame({name: X[name].to_numpy() for name in X.columns})


def find_categorical(frame, wanted, named):
    """Return the indices of the categorical columns, ascending.

    Parameters
    ----------
    wanted : "from_dtype", or indices or names of columns, or a mask of all
    named : whether the frame has its own column names
    """
    n = frame.shape[1]
    if isinstance(wanted, str):
        return [j for j in range(n) if isinstance(frame.dtypes.iloc[j], pd.CategoricalDtype)]
    wanted = np.asarray(wanted)
    if wanted.dtype.kind == "b":
        if wanted.shape != (n,):
            raise ValueError(
                "categorical_features set as a boolean mask must have shape (n_features,), got: "
                f"{wanted.shape}"
            )
        return np.flatnonzero(wanted).tolist()
    names = list(frame.columns) if named else []
    indices = set()
    for column in wanted.tolist():
        if isinstance(column, str) and column in names:
            indices.add(names.index(column))
        elif isinstance(column, Integral) and 0 <= column < n:
            indices.add(int(column))
        else:
            raise ValueError(
                f"categorical_features names {column!r}, which is neither a name nor a number "
                f"below {n} of a column of X"
            )
    return sorted(indices)


def known_categories(column):
    """Return the index of a column's categories."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = column.cat.categories
    else:
        categories = pd.Index(column.dropna().unique()).sort_values()
    if len(categories) >= MAX_CODES:
        raise ValueError(f"a column of categories has {len(categories)}; the limit is {MAX_CODES}")
    return categories


def encode(column, categories):
    """Return the codes of a column, float64: NaN if missing, -1 if unknown."""
    values = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    codes = categories.get_indexer(values).astype(np.float64)
    codes[column.isna().to_numpy()] = np.nan
    return codes


def check_conditions(tree, n_outputs=1):
    """Raise ValueError if a tree has categorical columns but does not support them.

    Raises
    ------
    ValueError
        In parity mode, with a criterion or splitter that sorts in nodes, with several outputs, or
        with a monotonic constraint on such a column.
    """
    if not tree.categories_:
        return
    if tree.parity is not None:
        raise ValueError("categorical_features is not supported with parity: use parity=None")
    if n_outputs > 1:
        raise ValueError("categorical_features needs a target with one output")
    if tree._sorts_in_nodes:  # noqa: SLF001 - the package's own
        raise ValueError(
            "categorical_features needs splitter='best' and a criterion other than "
            "'absolute_error' and 'poisson'"
        )
    signs = [] if tree.monotonic_cst is None else np.asarray(tree.monotonic_cst)
    if any(signs[j] != 0 for j in tree.categories_ if j < len(signs)):
        raise ValueError("Categorical features cannot have monotonic constraints.")


def count_codes(categories_of_columns, n_features):
    """Return the number of codes of each feature, int64 (n_features,); 0 for a numeric feature.

    Parameters
    ----------
    categories_of_columns : dict, index of a categorical column → its categories
    n_features : int
    """
    counts = np.zeros(n_features, np.int64)
    for j, categories in categories_of_columns.items():
        counts[j] = max(len(categories), 1)
    return counts
