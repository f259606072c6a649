"""Read the raw scores that rows start from in place of the base score."""

import numpy as np
from sklearn.utils import check_array

from algorithms.newton.tree import LARGEST, SMALLEST


def read_margin(given, n_rows, n_scores, name="base_margin"):
    """Return raw scores, float64 (n_rows, n_scores), each a float32 number.

    Parameters
    ----------
    given : array-like (n_rows,), (n_rows, n_scores), or all of these, row after row
    name : str, what the error calls them

    Raises
    ------
    ValueError
        Where there are more or fewer of them, or one is not finite.
    """
    found = check_array(given, dtype=np.float32, ensure_2d=False, input_name=name)
    fits = found.shape[0] == n_rows or found.ndim == 1
    if not fits or found.size != n_rows * n_scores:
        raise ValueError(
            f"{name} has shape {found.shape}; it takes {n_scores} for each of {n_rows} rows"
        )
    return found.reshape(n_rows, n_scores).astype(np.float64)


def check_in_range(values, name):
    """Raise ValueError where float32, in which scores are kept, cannot hold the largest of values.

    Where all are 0 it can.
    """
    largest = np.abs(values).max()
    if largest > 0.0 and not SMALLEST <= largest <= LARGEST:
        raise ValueError(
            f"the largest value of {name} is {largest:.3g}, and scores are kept in float32, from "
            f"{SMALLEST:.3g} to {LARGEST:.3g}: give {name} in another unit"
        )
