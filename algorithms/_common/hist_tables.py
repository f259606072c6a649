"""Read X for the histogram booster: numbers as they are, categories of frames as codes.

Sparse X stays sparse; its absent entries are zeros.
"""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import validate_data

from algorithms._common.few_rows import plain_rows


def read_table(estimator, X, *, reset, y="no_validation", **options):
    """Return X as a C-contiguous float array, NaN where missing, as scikit-learn would check it.

    Sparse X becomes CSR or CSC; entries that stand twice for one place are added up. float32 and
    float64 stay what they are; all else becomes float64. Columns of a frame whose dtype is
    categorical become codes, by the categories that training saw; with ``reset`` these are kept in
    ``estimator.categories_``, column name → categories.
    """
    if not reset and (few := plain_rows(estimator, X)) is not None:
        return few
    if isinstance(X, pd.DataFrame):
        X = encode_frame(estimator, X, reset=reset)
    elif reset:
        estimator.categories_ = {}
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


def encode_frame(estimator, X, *, reset):
    """Return a frame with codes in place of categories."""
    names = [c for c in X.columns if isinstance(X[c].dtype, pd.CategoricalDtype)]
    if reset:
        estimator.categories_ = {name: X[name].cat.categories for name in names}
    if not estimator.categories_:
        return X
    codes = {}
    for name, categories in estimator.categories_.items():
        if name in X.columns:
            found = categories.get_indexer(X[name].astype(object)).astype(np.float64)
            found[found < 0] = np.nan
            codes[name] = found
    return X.assign(**codes)


def find_categorical(estimator, wanted):
    """Return which columns are categorical, bool (n_features,).

    Parameters
    ----------
    wanted : "auto", or a list of column numbers or names

    Raises
    ------
    ValueError
        Where a column is not there.
    """
    n_features = estimator.n_features_in_
    names = list(getattr(estimator, "feature_names_in_", []))
    found = np.zeros(n_features, bool)
    for name in estimator.categories_:
        found[names.index(name)] = True
    if isinstance(wanted, str):
        return found
    for column in wanted:
        at = names.index(column) if isinstance(column, str) and column in names else column
        if isinstance(at, str) or not 0 <= at < n_features:
            raise ValueError(f"categorical_feature names {column!r}, which is no column of X")
        found[at] = True
    return found


def codes_of(y, classes):
    """Return the codes of an evaluation table's labels; raise ValueError where one is new."""
    codes = np.searchsorted(classes, y)
    known = classes[np.minimum(codes, len(classes) - 1)] == y
    if not known.all():
        raise ValueError("eval_set has labels that y has not")
    return codes


def trim(weight):
    """Return the weights, or None where all are 1."""
    return None if weight is None or (weight == 1.0).all() else weight
