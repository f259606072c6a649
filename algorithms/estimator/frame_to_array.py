"""Conversion of frame columns to one array, without intermediate copies."""

import numpy as np

VALUES = 1 << 15  # values per block of rows, so that a block stays in the cache
MIN_ROWS = 1024  # for fewer rows the overhead per column dominates


def lay_out(columns, out):
    """Write columns into one array.

    Parameters
    ----------
    columns : list of (values, read)
        Arrays (n_rows,), and functions that convert some of their values to numbers.
    out : (n_rows, n_columns) float32 or float64, written; too large values become infinite
    """
    step = max(MIN_ROWS, VALUES // max(out.shape[1], 1))
    with np.errstate(over="ignore"):
        for first in range(0, len(out), step):
            rows = slice(first, first + step)
            for j, (values, read) in enumerate(columns):
                out[rows, j] = read(values[rows])


def as_they_are(values):
    """Return the values unchanged."""
    return values


def codes_with_nan(codes):
    """Return category codes as floats, NaN for the missing value −1."""
    return np.where(codes < 0, np.nan, codes)


def is_plain(kind):
    """Return whether a dtype is numeric and fits in float64."""
    return isinstance(kind, np.dtype) and kind.kind in "fiub" and kind.itemsize <= 8
