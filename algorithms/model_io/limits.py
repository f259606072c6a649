"""Checks of numbers in model files, before anything is computed with them or made for them."""

import numpy as np

from algorithms.model_io.errors import ModelFileError

MOST_OUTPUTS = 1 << 16
MOST_CODES = 1 << 24  # XGBoost's own limit; LightGBM writes a bit for each code
MOST_FEATURES = (1 << 30) - 1  # of a `harness.TreeEnsemble`


def check_outputs(wanted, n_trees):
    """Refuse more scores than trees can add to; a model without trees may have some."""
    if not 1 <= wanted <= max(MOST_OUTPUTS, n_trees):
        raise ModelFileError(f"it asks for {wanted} scores a row and has {n_trees} trees")


def check_codes(sets):
    """Refuse sets, node → (codes, side), with codes that no bit set should hold."""
    most = max((max(codes, default=0) for codes, _ in sets.values()), default=0)
    if most >= MOST_CODES:
        raise ModelFileError(f"it asks for the category {most}; {MOST_CODES - 1} is the largest")


def check_features(wanted, names):
    """Return a number of features; refuse one that is out of range, or not that of the names.

    Parameters
    ----------
    wanted : int
    names : list of names in the file, empty where it has none
    """
    if not 0 <= wanted <= MOST_FEATURES:
        raise ModelFileError(f"it has {wanted} columns; {MOST_FEATURES} are the most")
    if names and len(names) != wanted:
        raise ModelFileError(f"it has {wanted} columns and names {len(names)}")
    return wanted


def integers(values, low, high, what):
    """Return integers of a file as int64, once they are within a range.

    Parameters
    ----------
    values : list of numbers, or of their texts
    low, high : the least and the largest that is allowed
    what : what they are, for the error
    """
    if any(isinstance(value, str) for value in values):
        found = np.array([int(value) for value in values])
    else:
        found = np.array(values)
    if found.size == 0:
        return np.zeros(0, np.int64)
    if found.ndim != 1 or found.dtype.kind not in "biu":
        raise ModelFileError(f"{what} are no whole numbers of 64 bits")
    least, largest = int(found.min()), int(found.max())
    if least < low or largest > high:
        wrong = least if least < low else largest
        raise ModelFileError(f"{what} has the value {wrong}, which is not in {low} to {high}")
    return found.astype(np.int64)
