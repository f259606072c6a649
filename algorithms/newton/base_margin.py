"""Raw scores from which training or prediction starts instead of the base score."""

import numpy as np
from sklearn.utils import check_array

from algorithms.newton.tree import LARGEST, SMALLEST


def read_margin(given, n_rows, n_scores, name="base_margin"):
    """Return raw scores, float64 (n_rows, n_scores), each a float32 number.

    Parameters
    ----------
    given : array-like (n_rows,) or (n_rows, n_scores), or flat in row-major order
    name : str, argument name in error messages

    Raises
    ------
    ValueError
        If the number of scores is wrong, or one is not finite.
    """
    margin = check_array(given, dtype=np.float32, ensure_2d=False, input_name=name)
    fits = margin.shape[0] == n_rows or margin.ndim == 1
    if not fits or margin.size != n_rows * n_scores:
        raise ValueError(
            f"{name} has shape {margin.shape}; it takes {n_scores} for each of {n_rows} rows"
        )
    return margin.reshape(n_rows, n_scores).astype(np.float64)


def check_in_range(values, name):
    """Raise ValueError if the largest absolute value is outside the range of float32.

    Scores are stored in float32. All values may be 0.
    """
    largest = np.abs(values).max()
    if largest > 0.0 and not SMALLEST <= largest <= LARGEST:
        raise ValueError(
            f"the largest value of {name} is {largest:.3g}, and scores are kept in float32, from "
            f"{SMALLEST:.3g} to {LARGEST:.3g}: give {name} in another unit"
        )
