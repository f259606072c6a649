"""Range checks of numbers in model files, before memory is allocated for them."""

import numpy as np

from algorithms.model_io.errors import ModelFileError

MAX_OUTPUTS = 1 << 16
MAX_CODES = 1 << 24  # XGBoost's limit; LightGBM writes one bit per code
MAX_FEATURES = (1 << 30) - 1  # limit of `harness.TreeEnsemble`


def check_outputs(wanted, n_trees):
    """Raise ModelFileError if there are more scores than trees; a model may have no trees."""
    if not 1 <= wanted <= max(MAX_OUTPUTS, n_trees):
        raise ModelFileError(f"it has {wanted} scores per row but only {n_trees} trees")


def check_features(wanted, names):
    """Return the number of features; raise ModelFileError if it is invalid.

    Parameters
    ----------
    wanted : int
    names : list of names in the file, or empty
    """
    if not 0 <= wanted <= MAX_FEATURES:
        raise ModelFileError(f"it has {wanted} columns; at most {MAX_FEATURES} are allowed")
    if names and len(names) != wanted:
        raise ModelFileError(f"it has {wanted} columns and names {len(names)}")
    return wanted


def integers(values, low, high, what):
    """Return integers of a file as int64; raise ModelFileError if one is out of range.

    Parameters
    ----------
    values : list of integers, or of texts
    low, high : smallest and largest allowed value
    what : name of the values in the error message
    """
    if any(isinstance(value, str) for value in values):
        numbers = np.array([int(value) for value in values])
    else:
        numbers = np.array(values)
    if numbers.size == 0:
        return np.zeros(0, np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "biu":
        raise ModelFileError(f"{what}: not all values are 64-bit integers")
    least, largest = int(numbers.min()), int(numbers.max())
    if least < low or largest > high:
        wrong = least if least < low else largest
        raise ModelFileError(f"{what} has the value {wrong}, which is not in {low} to {high}")
    return numbers.astype(np.int64)
