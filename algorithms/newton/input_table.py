"""Read X for second-order boosting: float32 as XGBoost holds it, dense or CSR."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import assert_all_finite

from algorithms.estimator.fast_validation import plain_table
from algorithms.estimator.frames import validate_data, with_categories
from algorithms.gbdt.input_table import add_up, encode_frame, find_categorical, go_on_with
from algorithms.runtime.threads import Workers, threads_of

ROWS_AT_ONCE = 4096
LARGEST = float(np.finfo(np.float32).max)


def read_rows(estimator, X, *, reset, y="no_validation", known=None, wide=False, **options):
    """Return X as scikit-learn would check it: float32, C-contiguous, NaN where missing; or CSR.

    Where ``wide``, a dense array of float64 stays what it is, its values within float32's range.

    Of a sparse matrix absent entries are missing, as in XGBoost. Those of a frame's sparse columns
    are the fill value. Values equal to the ``missing`` of training become NaN. Columns of a frame,
    of pandas or polars, whose dtype is categorical become codes, ``known`` being those of an
    earlier model, as in `hist.tables.read_table`.
    """
    if reset:
        estimator._missing = estimator.missing  # noqa: SLF001 - its own part
    missing = missing_of(estimator)
    if not reset and (few := plain_table(estimator, X, np.float32)) is not None:
        return drop_missing(few, estimator)
    X = given = with_categories(X, None if reset else estimator.categories_)
    if isinstance(X, pd.DataFrame):
        knows_none = reset or estimator.categories_ == {}
        if knows_none and not estimator.enable_categorical:
            refuse_categories(X)
        X = encode_frame(estimator, X, reset=reset, known=known, dtype=np.float32)
    elif reset:
        estimator.categories_ = go_on_with(known, {})
    is_ours = X is not given
    stays = wide and isinstance(X, np.ndarray) and X.dtype == np.float64 and X.flags.c_contiguous
    quiet = np.errstate(over="ignore", invalid="ignore")  # sums of what is, or nearly, too large
    with quiet:
        found = validate_data(
            estimator,
            X,
            y,
            reset=reset,
            dtype=np.float64 if stays else np.float32,
            order="C",
            accept_sparse="csr",
            ensure_all_finite=False if stays or np.isinf(missing) else "allow-nan",
            **options,
        )
    X, rest = (found[0], found[1:]) if isinstance(found, tuple) else (found, None)
    if is_ours:
        X.flags.writeable = True  # pandas locks what it holds
    if stays:
        check_range(X, estimator)
    X = drop_missing(add_up(X), estimator)
    if np.isinf(missing):  # then the other infinity is looked for once it is known
        name = type(estimator).__name__
        assert_all_finite(X, allow_nan=True, estimator_name=name, input_name="X")
    return X if rest is None else (X, *rest)


def missing_of(estimator):
    """Return the value that stood for a missing one in training, or is to do so."""
    return vars(estimator).get("_missing", estimator.missing)


def refuse_categories(X):
    """Raise where a frame has columns of categories that are not asked for."""
    columns = [name for name, kind in X.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    if columns:
        raise ValueError(f"columns {columns} are categories: set enable_categorical=True")


def check_range(X, estimator):
    """Raise scikit-learn's error where a value of float64 X is too large for float32."""

    def check(first, last):
        for start in range(first * ROWS_AT_ONCE, last * ROWS_AT_ONCE, ROWS_AT_ONCE):
            workers.check()
            rows = X[start : start + ROWS_AT_ONCE]
            if max(np.fmax.reduce(rows, axis=None), -np.fmin.reduce(rows, axis=None)) > LARGEST:
                name = type(estimator).__name__
                with np.errstate(over="ignore"):
                    narrow = rows.astype(np.float32)
                assert_all_finite(narrow, allow_nan=True, estimator_name=name, input_name="X")

    with Workers(threads_of(estimator)) as workers:
        workers.share(check, -(-len(X) // ROWS_AT_ONCE))


def drop_missing(X, estimator):
    """Return X with NaN in place of what stands for a missing value; codes of categories do not."""
    missing = missing_of(estimator)
    if np.isnan(missing):
        return X
    values = X.data if sparse.issparse(X) else X
    there = values == np.float32(missing)
    if estimator.categories_:  # then X is dense
        there &= ~find_categorical(estimator, "auto")
    if not there.any():
        return X
    X = X.copy()
    if sparse.issparse(X):
        X.data[there] = np.nan
    else:
        X[there] = np.nan
    return X


def as_dense(X):
    """Return X as a dense float32 array, NaN where an entry is absent."""
    if not sparse.issparse(X):
        return X.astype(np.float32, copy=False)
    listed = X.tocoo()
    dense = np.full(X.shape, np.nan, np.float32)
    dense[listed.row, listed.col] = listed.data
    return dense
