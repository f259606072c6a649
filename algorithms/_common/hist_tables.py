"""Read X for the histogram booster: numbers as they are, categories of frames as codes.

Frames are of pandas or polars. Sparse X stays sparse; its absent entries are zeros.
"""

from numbers import Integral

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import validate_data

from algorithms._common.cat_columns import as_frame, is_named
from algorithms._common.few_rows import plain_table


def read_table(estimator, X, *, reset, y="no_validation", known=None, **options):
    """Return X as a C-contiguous float array, NaN where missing, as scikit-learn would check it.

    Sparse X becomes CSR or CSC; entries that stand twice for one place are added up. float32 and
    float64 stay what they are; all else becomes float64. Columns of a frame whose dtype is
    categorical become codes, by the categories that training saw; with ``reset`` these are kept in
    ``estimator.categories_``, column name, or place where names are not text → categories.

    Parameters
    ----------
    known : dict, optional
        The ``categories_`` of an earlier model, whose codes are kept; new categories come behind.
    """
    if not reset:
        few = plain_table(estimator, X)
        if few is not None:
            return few
    if is_named(X):
        X = encode_frame(estimator, as_frame(X), reset=reset, known=known)
    elif reset:
        estimator.categories_ = go_on_with(known, {})
    dtype = [np.float64, np.float32]
    found = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        dtype=dtype,
        order="C",
        accept_sparse=["csr", "csc"],
        ensure_all_finite="allow-nan",
        **options,
    )
    return (add_up(found[0]), *found[1:]) if isinstance(found, tuple) else add_up(found)


def add_up(X):
    """Return X without entries that stand twice for one place of a sparse matrix."""
    if not sparse.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    if np.isinf(X.data).any():
        raise ValueError("Input X contains infinity or a value too large where entries add up")
    return X


def encode_frame(estimator, X, *, reset, known=None):
    """Return a frame with codes in place of categories.

    Columns go by their names; where these are not text, by their places, as in scikit-learn.
    """
    if reset:
        kinds = enumerate(X.dtypes)
        places = [j for j, kind in kinds if isinstance(kind, pd.CategoricalDtype)]
        named = all(isinstance(name, str) for name in X.columns)
        keys = X.columns[places].tolist() if named else places
        found = {k: X.iloc[:, j].cat.categories for k, j in zip(keys, places, strict=True)}
        if getattr(estimator, "parity", None) == "scikit-learn":
            found = {k: sort_names(categories) for k, categories in found.items()}
        estimator.categories_ = go_on_with(known, found)
    if estimator.categories_ is None and (X.dtypes == "category").any():
        raise ValueError(
            "the model is of a file that does not name its categories: give them as the codes "
            "that it was trained on, such as X[column].cat.codes"
        )
    if not estimator.categories_:
        return X
    X = X.copy(deep=False)
    for key, categories in estimator.categories_.items():
        at = X.columns.get_indexer_for([key])[0] if isinstance(key, str) else key
        if 0 <= at < X.shape[1]:  # else scikit-learn's own check tells what is not there
            codes = place_among(X.iloc[:, at], categories).astype(np.float64)
            X.isetitem(at, np.where(codes < 0.0, np.nan, codes))
    return X


def place_among(column, categories):
    """Return the place of each value of a column among categories, intp; -1 where it is none."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return categories.get_indexer(column.astype(object))
    own = categories.get_indexer(column.cat.categories.astype(object))
    return np.append(own, -1)[column.cat.codes]  # a missing value has the code -1, the last place


def sort_names(categories):
    """Return categories in ascending order, as scikit-learn numbers them, where they have one."""
    try:
        return categories.sort_values()
    except TypeError:  # of several kinds; scikit-learn refuses these
        return categories


def go_on_with(known, found):
    """Return a table's categories with the codes that an earlier model has for them.

    Raises
    ------
    ValueError
        Where other columns than the earlier model's hold categories.
    """
    if known is None:
        return found
    if known.keys() != found.keys():
        raise ValueError(
            f"X has categories in the columns {list(found)}, the model to go on from in "
            f"{list(known)}"
        )
    new = {key: own.difference(known[key], sort=False) for key, own in found.items()}
    return {key: old.append(new[key]) if len(new[key]) else old for key, old in known.items()}


def are_ordered(X):
    """Return which columns of a frame hold categories with an order, list of bool; else none."""
    kinds = X.dtypes if isinstance(X, pd.DataFrame) else ()
    return [isinstance(kind, pd.CategoricalDtype) and bool(kind.ordered) for kind in kinds]


def find_categorical(estimator, wanted, ordered=()):
    """Return which columns are categorical, bool (n_features,).

    All columns of a frame whose dtype is categorical are, and those that are named. LightGBM takes
    ordered categories for numbers, and all that a list does not name: so does its parity mode.

    Parameters
    ----------
    wanted : "auto", a list of column numbers or names, or a mask, bool (n_features,)
    ordered : list of bool, see `are_ordered`

    Raises
    ------
    ValueError
        Where a column is not there, or a mask has another length.
    """
    n_features = estimator.n_features_in_
    names = list(getattr(estimator, "feature_names_in_", []))
    found = np.zeros(n_features, bool)
    is_auto = isinstance(wanted, str)
    as_lightgbm = getattr(estimator, "parity", None) == "lightgbm"
    for key in estimator.categories_:
        at = names.index(key) if isinstance(key, str) else key
        found[at] = not as_lightgbm or (is_auto and not ordered[at])
    if is_auto:
        return found
    for column in columns_of_mask(wanted, n_features):
        at = names.index(column) if isinstance(column, str) and column in names else column
        if not isinstance(at, Integral) or isinstance(at, bool) or not 0 <= at < n_features:
            raise ValueError(f"categorical_feature names {column!r}, which is no column of X")
        found[at] = True
    return found


def columns_of_mask(wanted, n_features):
    """Return the columns that a mask has as true; a list that is no mask stays what it is."""
    is_mask = len(wanted) > 0 and all(isinstance(one, bool | np.bool_) for one in wanted)
    if not is_mask:
        return wanted
    if len(wanted) != n_features:
        raise ValueError(
            f"categorical_feature is a mask of {len(wanted)}; X has {n_features} columns"
        )
    return np.flatnonzero(wanted).tolist()


def trim(weight):
    """Return the weights, or None where all are 1."""
    return None if weight is None or (weight == 1.0).all() else weight
