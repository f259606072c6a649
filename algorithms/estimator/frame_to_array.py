"""Lay the columns of a frame side by side: each value goes to its place at once, without a copy."""

import numpy as np

VALUES = 1 << 15  # of some rows, that stay in a cache until all their columns are written
FEWEST_ROWS = 1024  # for fewer, asking for a column takes as long as its values


def lay_out(columns, out):
    """Write columns side by side.

    Parameters
    ----------
    columns : list of (values, read)
        Arrays (n_rows,), and what makes numbers of some of their values.
    out : (n_rows, n_columns) float32 or float64, written; what is too large becomes infinite
    """
    step = max(FEWEST_ROWS, VALUES // max(out.shape[1], 1))
    with np.errstate(over="ignore"):
        for first in range(0, len(out), step):
            rows = slice(first, first + step)
            for j, (values, read) in enumerate(columns):
                out[rows, j] = read(values[rows])


def as_they_are(values):
    """Return the values."""
    return values


def with_gaps(codes):
    """Return codes of categories, NaN for the missing value's −1."""
    return np.where(codes < 0, np.nan, codes)


def is_plain(kind):
    """Return whether a column of a dtype holds numbers that a float64 holds."""
    return isinstance(kind, np.dtype) and kind.kind in "fiub" and kind.itemsize <= 8
