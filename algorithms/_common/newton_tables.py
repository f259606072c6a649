"""Read X for second-order boosting: float32 as XGBoost holds it, dense or CSR."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import validate_data

from algorithms._common.few_rows import plain_rows
from algorithms._common.hist_tables import add_up, encode_frame, go_on_with

ROWS_AT_ONCE = 4096
VALUES_AT_ONCE = 1 << 21


def read_rows(estimator, X, *, reset, y="no_validation", known=None, **options):
    """Return X as scikit-learn would check it: float32, C-contiguous, NaN where missing; or CSR.

    Of sparse X absent entries are missing, as in XGBoost. Values equal to the estimator's
    ``missing`` become NaN; columns of a frame whose dtype is categorical become codes, ``known``
    being those of an earlier model, as in `hist_tables.read_table`.
    """
    if not reset and (few := plain_rows(estimator, X, np.float32)) is not None:
        return drop_missing(few, estimator.missing)
    if isinstance(X, pd.DataFrame):
        X = encode_frame(estimator, X, reset=reset, known=known)
    elif reset:
        estimator.categories_ = go_on_with(known, {})
    found = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        dtype=np.float32,
        order="C",
        accept_sparse="csr",
        ensure_all_finite="allow-nan",
        **options,
    )
    X, rest = (found[0], found[1:]) if isinstance(found, tuple) else (found, None)
    X = drop_missing(add_up(X), estimator.missing)
    return X if rest is None else (X, *rest)


def drop_missing(X, missing):
    """Return X with NaN in place of what stands for a missing value."""
    if np.isnan(missing):
        return X
    values = X.data if sparse.issparse(X) else X
    there = values == np.float32(missing)
    if not there.any():
        return X
    X = X.copy()
    if sparse.issparse(X):
        X.data[there] = np.nan
    else:
        X[there] = np.nan
    return X


def as_dense(X):
    """Return X as a dense array, NaN where an entry is absent."""
    if not sparse.issparse(X):
        return X
    listed = X.tocoo()
    dense = np.full(X.shape, np.nan, np.float32)
    dense[listed.row, listed.col] = listed.data
    return dense


def dense_parts(X):
    """Yield slices of rows and these rows, dense."""
    if not sparse.issparse(X):
        yield slice(None), X
        return
    step = max(1, min(ROWS_AT_ONCE, VALUES_AT_ONCE // max(X.shape[1], 1)))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        yield rows, as_dense(X[rows])
