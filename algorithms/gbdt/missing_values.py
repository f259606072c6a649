"""Missing values as LightGBM's parameters ``use_missing`` and ``zero_as_missing`` define them.

Training reads a table in which the missing values of numeric columns are NaN. Each node
of a tree stores whether NaN or zero is missing, so prediction reads the table as it is given.
"""

import numpy as np
from scipy import sparse

ZERO = 1e-35  # numbers of at most this size are zero, as in LightGBM


def missing_kind(params):
    """Return the `harness.Missing` of the nodes, int."""
    from harness import Missing

    if not params.use_missing:
        return int(Missing.NAN_AS_ZERO)
    return int(Missing.ZERO if params.zero_as_missing else Missing.NAN)


def replace_missing(params, X):
    """Return a training table whose missing values are NaN; X itself is not changed.

    With ``zero_as_missing`` zeros of numeric columns become NaN, and sparse X becomes dense.
    Without ``use_missing`` NaN of numeric columns becomes 0.

    Parameters
    ----------
    params : the estimator, with its categorical columns set
    X : (n_rows, n_features) array or sparse matrix
    """
    if params.use_missing and not params.zero_as_missing:
        return X
    numeric = ~params._is_categorical  # noqa: SLF001 - its own part
    if sparse.issparse(X) and not params.use_missing:
        X = X.tocsr(copy=True)
        X.data[np.isnan(X.data) & numeric[X.indices]] = 0.0
        return X
    X = X.toarray(order="C") if sparse.issparse(X) else X.copy()
    if params.use_missing:
        X[(np.abs(X) <= ZERO) & numeric] = np.nan
    else:
        X[np.isnan(X) & numeric] = 0.0
    return X
