"""scikit-learn's validation of X, extended by a check of sparse indices.

Neither scikit-learn nor the compiled kernels check the indices of a sparse matrix.
"""

import numpy as np
from scipy import sparse
from sklearn.utils import validation

from harness import check_sparse

# By bytes of a value. The midpoint of this and a usual value is finite.
INFINITY_REPLACEMENT = {8: 1.5e308, 4: 1.5e38}


def validate_data(estimator, X="no_validation", *given, **options):
    """Return the result of scikit-learn's function after a check of sparse indices."""
    return validation.validate_data(estimator, with_sound_indices(X), *given, **options)


def check_array(X, *given, **options):
    """Return the result of scikit-learn's function after a check of sparse indices."""
    return validation.check_array(with_sound_indices(X), *given, **options)


def with_sound_indices(X):
    """Return X; raise ValueError if it is sparse and its indices do not match its shape."""
    if sparse.issparse(X):
        check_sparse(X)
    return X


def clip_infinite(X):
    """Return float X, an array or a sparse matrix, with infinity replaced by a very large value."""
    values = X.data if sparse.issparse(X) else X
    if not np.isinf(values).any():
        return X
    largest = INFINITY_REPLACEMENT[X.dtype.itemsize]
    values = np.clip(values, -largest, largest)  # NaN stays NaN
    if not sparse.issparse(X):
        return values
    X = X.copy()
    X.data = values
    return X
