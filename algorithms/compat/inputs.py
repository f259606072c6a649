"""Conversion of Arrow, polars and sparse pandas inputs to supported types."""

import numpy as np

from algorithms.estimator.deferred_imports import is_frame, is_of_pandas, pd
from algorithms.estimator.frames import from_arrow, with_text_names


def as_rows(X):
    """Return X as `from_arrow` does; sparse columns of a pandas frame become dense.

    If only some column names are text, all become text, as in LightGBM and XGBoost.
    """
    X = from_arrow(X)
    if not is_frame(X):
        return X
    return with_text_names(X.apply(as_dense_column) if has_sparse_columns(X) else X)


def has_sparse_columns(X):
    """Return whether a pandas frame has a sparse column."""
    kind_of_sparse = pd.SparseDtype
    return any(isinstance(kind, kind_of_sparse) for kind in X.dtypes.tolist())


def as_dense_column(column):
    """Return a column of a pandas frame; a sparse one becomes dense."""
    return column.sparse.to_dense() if isinstance(column.dtype, pd.SparseDtype) else column


def as_vector(y):
    """Return labels or weights; Arrow arrays and polars series and frames become numpy arrays."""
    if is_of_pandas(y, "Series"):
        return as_dense_column(y)
    if is_frame(y):
        return y.apply(as_dense_column)
    kind = type(y).__module__.partition(".")[0]
    if kind in ("pyarrow", "polars"):
        if hasattr(y, "columns") and not isinstance(y, np.ndarray):
            y = y.to_pandas() if kind == "pyarrow" else y.to_numpy()
            y = np.asarray(y)
            return y if y.ndim == 2 and y.shape[1] > 1 else y.ravel()
        return np.asarray(y.to_pandas() if kind == "pyarrow" else y.to_numpy())
    if hasattr(y, "__arrow_c_stream__") and not hasattr(y, "__array__"):
        import pyarrow as pa

        return pa.chunked_array(y).to_pandas().to_numpy()
    return y
