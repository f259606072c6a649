"""Let plain rows through at once.

scikit-learn's checks of one row take 0.1 to 0.2 ms, several times as long as a hundred trees, as
long as fifty trees take for hundreds of rows, and a third of what a lone tree takes for 25 000.
Most of what they look for cannot be in an array of floats that has the right number of columns.
"""

import numpy as np
import pandas as pd
from scipy import sparse

from algorithms.estimator.frame_to_array import as_they_are, lay_out, with_gaps
from algorithms.estimator.validation import with_sound_indices
from algorithms.runtime.value_checks import GAPS, INFINITE, find_odd

MOST_VALUES = 1 << 22  # of more, scikit-learn's own look at them is what takes the time
FLOATS = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
WHOLE_OR_DOUBLE = frozenset(map(np.dtype, ("f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")))
CSR = (sparse.csr_array, sparse.csr_matrix)


def plain_table(estimator, X, dtype=None):
    """Return `plain_sparse_rows`, `plain_frame` or `plain_rows` of X, by what it is."""
    if sparse.issparse(X):
        return plain_sparse_rows(estimator, with_sound_indices(X), dtype)
    plain = plain_frame if isinstance(X, pd.DataFrame) else plain_rows
    return plain(estimator, X, dtype)


def plain_rows(estimator, X, dtype=None, *, allow_nan=True):
    """Return X as `validate_data` would return it, or None where that has to look itself.

    Parameters
    ----------
    estimator : fitted, with ``n_features_in_``
    X : what a caller gave to be predicted
    dtype : the float type to return; None keeps X's own
    allow_nan : whether values may be missing

    Returns
    -------
    (n_rows, n_features) C-contiguous array, or None: where X is anything but a NumPy array of at
    least one row and at most MOST_VALUES floats, where names of columns were seen in training,
    where a value is infinite or becomes so in ``dtype``, or is NaN and must not be.
    """
    if plain_array(estimator, X) is None or X.size > MOST_VALUES:
        return None
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(X, dtype)
    return found if is_plain(found, allow_nan=allow_nan) else None


def plain_array(estimator, X):
    """Return X, whose values nobody has looked at yet, or None where `validate_data` has to.

    Returns
    -------
    X itself, or None: where it is anything but a NumPy array of floats of at least one row, where
    names of columns were seen in training, or where their number is another one.
    """
    if type(X) is not np.ndarray or X.dtype not in FLOATS or X.ndim != 2:
        return None
    if not len(X) or X.shape[1] != estimator.n_features_in_:
        return None
    return None if hasattr(estimator, "feature_names_in_") else X


def plain_sparse_rows(estimator, X, dtype=None):
    """Return CSR X as `validate_data` would return it, or None where that has to look itself.

    Parameters
    ----------
    estimator, X, dtype : as in `plain_rows`

    Returns
    -------
    CSR, or None: where X is anything but a CSR matrix of at least one row and at most MOST_VALUES
    floats that stand in order, each once, where names of columns were seen in training, or where a
    value is infinite or becomes so in ``dtype``.
    """
    if type(X) not in CSR or X.dtype not in FLOATS or X.ndim != 2:
        return None
    if not X.shape[0] > 0 or X.nnz > MOST_VALUES or X.shape[1] != estimator.n_features_in_:
        return None
    if hasattr(estimator, "feature_names_in_") or not X.has_canonical_format:
        return None
    if dtype is not None and dtype != X.dtype:
        with np.errstate(over="ignore"):
            X = X.astype(dtype)
    return X if is_plain(X.data) else None


def plain_frame(estimator, X, dtype=None):
    """Return the values of a frame as `validate_data` would, or None where that has to look itself.

    Parameters
    ----------
    estimator : fitted, with the ``categories_`` of `hist.tables.encode_frame`
    X, dtype : as in `plain_rows`

    Returns
    -------
    (n_rows, n_features) C-contiguous array, codes in place of categories, or None: where X is
    anything but a frame of at least one row and at most MOST_VALUES values, whose columns have the
    names that training saw and hold float64 numbers, or the categories that training saw, or are
    all numbers of other kinds; where a file leaves open which columns these are of; or where a
    value is infinite or becomes so in ``dtype``.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if type(X) is not pd.DataFrame or names is None or not 0 < X.size <= MOST_VALUES:
        return None
    if X.columns.tolist() != names.tolist():
        return None
    known = estimator.categories_ or {}
    if isinstance(known, list):
        return None
    found = coded_values(X, known, dtype) if known else numbers_of(X, dtype)
    return found if found is not None and is_plain(found) else None


def coded_values(X, known, dtype):
    """Return the values of a frame with known categories, codes in their place; see `plain_frame`.

    None where others than float64 numbers stand beside them, or categories are not the known ones.
    """
    columns = []
    for name, column in X.items():
        values = column.array
        if name in known and has_categories(values.dtype, known[name]):
            columns.append((values.codes, with_gaps))
        elif name not in known and column.dtype == np.float64:
            columns.append((column.to_numpy(), as_they_are))
        else:
            return None
    found = np.empty(X.shape, dtype or np.float64)
    lay_out(columns, found)
    return found


def numbers_of(X, dtype):
    """Return the values of a frame of numbers, or None where it holds others; see `plain_frame`.

    All columns at once: to ask pandas for one after another takes 10 µs each.
    """
    kinds = set(X.dtypes.to_numpy())
    if kinds <= FLOATS and len(kinds) == 1:
        own = kinds.pop()
    elif kinds <= WHOLE_OR_DOUBLE:
        own = np.dtype(np.float64)
    else:
        return None
    with np.errstate(over="ignore"):
        return np.array(X.to_numpy(), dtype or own, order="C")  # its own: pandas locks what it has


def has_categories(kind, known):
    """Return whether a dtype is that of these categories, in this order."""
    if not isinstance(kind, pd.CategoricalDtype):
        return False
    return kind.categories is known or kind.categories.equals(known)


def is_plain(values, *, allow_nan=True):
    """Return whether no value of a contiguous array is infinite, nor NaN."""
    found = find_odd(values.reshape(-1))
    return found & (INFINITE if allow_nan else INFINITE | GAPS) == 0
