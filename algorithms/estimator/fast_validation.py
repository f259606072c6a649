"""Fast validation of plain arrays and frames before training and prediction.

scikit-learn's validation of one row takes 0.1 to 0.2 ms: several times as long as the prediction
with a hundred trees, or as long as fifty trees take for hundreds of rows. Most of its checks are
unnecessary for a float array with the right number of columns. In training it takes 2 ms, as long
as ten trees on a few hundred rows.
"""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_feature_names, _check_n_features

from algorithms.estimator.deferred_imports import is_frame, is_of_pandas, pd
from algorithms.estimator.frame_to_array import codes_with_nan
from algorithms.estimator.frames import validate_data
from algorithms.estimator.validation import with_sound_indices
from algorithms.runtime.value_checks import HAS_NAN, INFINITE, find_nonfinite

MAX_ROWS_AS_OBJECTS = 8  # frames of at most this many rows are read as objects
MAX_VALUES = 1 << 22  # above this size scikit-learn's overhead does not matter
FLOATS = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
WHOLE_OR_DOUBLE = frozenset(map(np.dtype, ("f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")))
CSR = (sparse.csr_array, sparse.csr_matrix)


def plain_table(estimator, X, dtype=None):
    """Return `plain_sparse_rows`, `plain_frame` or `plain_rows` of X, depending on its type."""
    if sparse.issparse(X):
        return plain_sparse_rows(estimator, with_sound_indices(X), dtype)
    plain = plain_frame if is_frame(X) else plain_rows
    return plain(estimator, X, dtype)


def plain_training_rows(estimator, X, y, *, is_owned):
    """Return X and y of training as `validate_data` would, or None if full validation is needed.

    Sets ``n_features_in_`` and ``feature_names_in_``, unless the result is None.

    Parameters
    ----------
    estimator : the estimator
    X : input of ``fit``; categories of a frame are codes already
    y : (n_rows,) targets
    is_owned : whether the values of a frame X are not the user's, so they need no copy

    Returns
    -------
    X : C-contiguous float array (n_rows, n_features), NaN where missing; a float array is not
        copied
    y : (n_rows,) array of numbers or bool
        None unless X is a NumPy float array or a numeric frame, y is one-dimensional, both have at
        least one entry and at most MAX_VALUES, and their values are finite (X may have NaN).
    """
    y = plain_targets(y)
    is_plain_frame = is_frame(X) and type(X) is pd.DataFrame
    is_array = type(X) is np.ndarray and X.dtype in FLOATS and X.ndim == 2
    if y is None or not (is_plain_frame or is_array):
        return None
    if not 0 < X.size <= MAX_VALUES or len(X) != len(y):
        return None
    if is_plain_frame:
        values = owned_values(X) if is_owned else numbers_of(X, None)
    else:
        values = np.ascontiguousarray(X)
    if values is None or not is_plain(values):
        return None
    store_feature_names(estimator, X)
    _check_n_features(estimator, X, reset=True)
    return values, y


def store_feature_names(estimator, X):
    """Set or delete ``feature_names_in_`` as scikit-learn does.

    Parameters
    ----------
    estimator : the estimator
    X : NumPy array or pandas frame
    """
    names = [] if type(X) is np.ndarray else X.columns.tolist()
    is_text = names and all(type(name) is str for name in names)
    if is_text and len(set(names)) == len(names):  # scikit-learn refuses a repeated name
        # scikit-learn's check, which uses narwhals, takes 0.3 ms more
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif type(X) is np.ndarray:
        estimator.__dict__.pop("feature_names_in_", None)
    else:
        _check_feature_names(estimator, X, reset=True)


def owned_values(X):
    """Return the values of a frame that holds no array of the user, or None if not numeric."""
    if set(X.dtypes.to_numpy()) != {np.dtype(np.float64)}:
        return numbers_of(X, None)
    values = np.ascontiguousarray(X.to_numpy())
    values.flags.writeable = True  # pandas makes its arrays read-only
    return values


def plain_targets(y):
    """Return targets as a one-dimensional array, or None if full validation is needed."""
    if is_of_pandas(y, "Series") and type(y) is pd.Series and isinstance(y.dtype, np.dtype):
        y = y.to_numpy()
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "biuf":
        return None
    return y if y.dtype.kind in "biu" or np.isfinite(y).all() else None


def read_float32(estimator, X):
    """Return X as C-contiguous float32, or as CSR; raise the same errors as scikit-learn."""
    if (few := plain_rows(estimator, X, np.float32)) is not None:
        return few
    form = {"dtype": np.float32, "order": "C", "ensure_all_finite": "allow-nan"}
    return validate_data(estimator, X, accept_sparse="csr", reset=False, **form)


def plain_rows(estimator, X, dtype=None, *, allow_nan=True):
    """Return X as `validate_data` would return it, or None if full validation is needed.

    Parameters
    ----------
    estimator : fitted, with ``n_features_in_``
    X : input of a prediction method
    dtype : float dtype to return; None keeps that of X
    allow_nan : whether NaN is allowed

    Returns
    -------
    (n_rows, n_features) C-contiguous array. None if X is not a NumPy array with at least one row
    and at most MAX_VALUES floats, if a value is infinite (also in ``dtype``), or if a value is NaN
    and that is not allowed.
    """
    if getattr(X, "size", 0) > MAX_VALUES or plain_array(estimator, X) is None:
        return None
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(X, dtype)
    return values if is_plain(values, allow_nan=allow_nan) else None


def plain_array(estimator, X):
    """Return X without a check of its values, or None if full validation is needed.

    Returns
    -------
    X itself. None if it is not a NumPy float array with at least one row, or if the number of
    columns differs.

    Warns
    -----
    UserWarning
        If training had column names, as scikit-learn warns.
    """
    if type(X) is not np.ndarray or X.dtype not in FLOATS or X.ndim != 2:
        return None
    if not len(X) or X.shape[1] != estimator.n_features_in_:
        return None
    if hasattr(estimator, "feature_names_in_"):
        _check_feature_names(estimator, X, reset=False)
    return X


def plain_sparse_rows(estimator, X, dtype=None):
    """Return CSR X as `validate_data` would return it, or None if full validation is needed.

    Parameters
    ----------
    estimator, X, dtype : as in `plain_rows`

    Returns
    -------
    CSR matrix. None if X is not a canonical CSR matrix with at least one row and at most
    MAX_VALUES floats, if training had column names, or if a value is infinite (also in
    ``dtype``).
    """
    if type(X) not in CSR or X.dtype not in FLOATS or X.ndim != 2:
        return None
    if not X.shape[0] > 0 or X.nnz > MAX_VALUES or X.shape[1] != estimator.n_features_in_:
        return None
    if hasattr(estimator, "feature_names_in_") or not X.has_canonical_format:
        return None
    if dtype is not None and dtype != X.dtype:
        with np.errstate(over="ignore"):
            X = X.astype(dtype)
    return X if is_plain(X.data) else None


def plain_frame(estimator, X, dtype=None):
    """Return a frame's values as `validate_data` would, or None if full validation is needed.

    Parameters
    ----------
    estimator : fitted, with the ``categories_`` of `gbdt.input_table.encode_frame`
    X, dtype : as in `plain_rows`

    Returns
    -------
    (n_rows, n_features) C-contiguous array, with codes in place of categories. None unless X is a
    frame with at least one row and at most MAX_VALUES values, whose columns have the names of
    training and are numeric or have the categories of training. Also None if
    a model file does not name its categorical columns, or if a value is infinite (also in
    ``dtype``).
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or not is_frame(X) or not 0 < X.size <= MAX_VALUES:
        return None
    if type(X) is not pd.DataFrame or X.columns.tolist() != names.tolist():
        return None
    known = estimator.categories_ or {}
    if isinstance(known, list):
        return None
    values = coded_values(X, known, dtype) if known else numbers_of(X, dtype)
    return values if values is not None and is_plain(values) else None


def coded_values(X, known, dtype):
    """Return the values of a frame with known categories as codes; see `plain_frame`.

    None if another column is not numeric, or if the categories differ from the known ones.
    """
    names = X.columns.tolist()
    numeric = [j for j, name in enumerate(names) if name not in known]
    if not set(X.dtypes.to_numpy()[numeric]) <= WHOLE_OR_DOUBLE:
        return None
    coded = np.empty(X.shape, dtype or np.float64)
    for j, name in enumerate(names):
        if name in known:
            values = X[name].array
            if not has_categories(values.dtype, known[name]):
                return None
            coded[:, j] = codes_with_nan(values.codes)
    with np.errstate(over="ignore"):
        # pandas takes 10 to 40 µs for each column that is read alone.
        if len(X) <= MAX_ROWS_AS_OBJECTS:
            coded[:, numeric] = X.to_numpy()[:, numeric]
        else:
            coded[:, numeric] = X.iloc[:, numeric].to_numpy()
    return coded


def numbers_of(X, dtype):
    """Return the values of a numeric frame, or None if it is not numeric; see `plain_frame`.

    All columns are read at once; reading single columns takes 10 µs each in pandas.
    """
    kinds = set(X.dtypes.to_numpy())
    if kinds <= FLOATS and len(kinds) == 1:
        common = kinds.pop()
    elif kinds <= WHOLE_OR_DOUBLE:
        common = np.dtype(np.float64)
    else:
        return None
    with np.errstate(over="ignore"):
        return np.array(
            X.to_numpy(), dtype or common, order="C"
        )  # a copy: arrays of pandas are read-only


def has_categories(kind, known):
    """Return whether a dtype has these categories in this order."""
    if not isinstance(kind, pd.CategoricalDtype):
        return False
    return kind.categories is known or kind.categories.equals(known)


def is_plain(values, *, allow_nan=True):
    """Return whether no value of a contiguous array is infinite, or NaN if not allowed."""
    flags = find_nonfinite(values.reshape(-1))
    return flags & (INFINITE if allow_nan else INFINITE | HAS_NAN) == 0
