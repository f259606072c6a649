"""scikit-learn's checks of X, for sparse matrices whose indices may be damaged too.

scikit-learn does not look at the indices of a sparse matrix, and neither do compiled kernels.
"""

from scipy import sparse
from sklearn.utils import validation

from harness import check_sparse


def validate_data(estimator, X="no_validation", *given, **options):
    """Return what scikit-learn's function of this name does, of X whose indices are sound."""
    return validation.validate_data(estimator, with_sound_indices(X), *given, **options)


def check_array(X, *given, **options):
    """Return what scikit-learn's function of this name does, of X whose indices are sound."""
    return validation.check_array(with_sound_indices(X), *given, **options)


def check_X_y(X, *given, **options):  # noqa: N802 - scikit-learn's name
    """Return what scikit-learn's function of this name does, of X whose indices are sound."""
    return validation.check_X_y(with_sound_indices(X), *given, **options)


def with_sound_indices(X):
    """Return X; raise a ValueError where it is sparse and its indices do not fit its shape."""
    if sparse.issparse(X):
        check_sparse(X)
    return X
