"""Input of second-order boosting: X as float32 like in XGBoost, dense or CSR."""

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from algorithms.estimator.deferred_imports import is_frame, pd
from algorithms.estimator.fast_validation import plain_table
from algorithms.estimator.frames import validate_data, with_categories, with_text_names
from algorithms.gbdt.input_table import add_up, encode_frame, find_categorical, go_on_with
from algorithms.runtime.threads import Workers, threads_of

ROWS_AT_ONCE = 4096
LARGEST = float(np.finfo(np.float32).max)


def read_rows(estimator, X, *, reset, y="no_validation", known=None, float64_ok=False, **options):
    """Return validated X: float32, C-contiguous, NaN where missing; or CSR.

    If ``float64_ok``, a dense float64 array is kept; its values must fit the range of float32.

    Absent entries of a sparse matrix are missing, as in XGBoost; those of a frame's sparse columns
    are the fill value. Values equal to the ``missing`` of training become NaN. Categorical columns
    of a pandas or polars frame become codes; ``known`` are the categories of an earlier model, as
    in `gbdt.input_table.read_table`.
    """
    if reset:
        estimator._missing = estimator.missing  # noqa: SLF001 - same package
    missing = missing_of(estimator)
    if not reset and (plain := plain_table(estimator, X, np.float32)) is not None:
        return drop_missing(plain, estimator)
    X = given = with_categories(with_text_names(X), None if reset else estimator.categories_)
    if is_frame(X):
        no_known_categories = reset or estimator.categories_ == {}
        if no_known_categories and not estimator.enable_categorical:
            refuse_categories(X)
        X = encode_frame(estimator, X, reset=reset, known=known, dtype=np.float32)
    elif reset:
        estimator.categories_ = go_on_with(known, {})
    is_copy = X is not given
    keep_float64 = (
        float64_ok and isinstance(X, np.ndarray) and X.dtype == np.float64 and X.flags.c_contiguous
    )
    quiet = np.errstate(
        over="ignore", invalid="ignore"
    )  # scikit-learn sums values near the largest float32
    with quiet:
        found = validate_data(
            estimator,
            X,
            y,
            reset=reset,
            dtype=np.float64 if keep_float64 else np.float32,
            order="C",
            accept_sparse="csr",
            ensure_all_finite=False if keep_float64 or np.isinf(missing) else "allow-nan",
            **options,
        )
    X, rest = (found[0], found[1:]) if isinstance(found, tuple) else (found, None)
    if is_copy:
        X.flags.writeable = True  # arrays of pandas are read-only
    if keep_float64:
        check_range(X, estimator)
    X = drop_missing(add_up(X), estimator)
    if np.isinf(missing):  # ±infinity is missing: check for the other infinity
        name = type(estimator).__name__
        assert_all_finite(X, allow_nan=True, estimator_name=name, input_name="X")
    return X if rest is None else (X, *rest)


def missing_of(estimator):
    """Return the value read as missing: that of training, or the parameter before training."""
    return vars(estimator).get("_missing", estimator.missing)


def refuse_categories(X):
    """Raise ValueError if a frame has categorical columns."""
    columns = [name for name, kind in X.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    if columns:
        raise ValueError(f"columns {columns} are categorical: set enable_categorical=True")


def check_range(X, estimator):
    """Raise scikit-learn's ValueError if a value of float64 X is too large for float32."""

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
    """Return X with NaN in place of ``missing``; category codes are left unchanged."""
    missing = missing_of(estimator)
    if np.isnan(missing):
        return X
    values = X.data if sparse.issparse(X) else X
    is_missing = values == np.float32(missing)
    if estimator.categories_:  # then X is dense
        is_missing &= ~find_categorical(estimator, "auto")
    if not is_missing.any():
        return X
    X = X.copy()
    if sparse.issparse(X):
        X.data[is_missing] = np.nan
    else:
        X[is_missing] = np.nan
    return X


def as_dense(X):
    """Return X as a dense float32 array, NaN where an entry is absent."""
    if not sparse.issparse(X):
        return X.astype(np.float32, copy=False)
    entries = X.tocoo()
    dense = np.full(X.shape, np.nan, np.float32)
    dense[entries.row, entries.col] = entries.data
    return dense
