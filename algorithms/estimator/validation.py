"""scikit-learn's validation of X, extended by a check of sparse indices.

Neither scikit-learn nor the compiled kernels check the indices of a sparse matrix.
"""

from scipy import sparse
from sklearn.utils import validation

from harness import check_sparse


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
