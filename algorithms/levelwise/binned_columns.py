"""Sorted and binned columns of X for level-wise growth, in five bytes per value.

Only each value's place in the sort order and its bin are stored. The few values that must be
compared are read from X itself, which the caller keeps anyway.
"""

import numpy as np

from algorithms.levelwise.kernels.binning import bin_columns
from algorithms.levelwise.kernels.level_arrays import MAX_BINS, CodedTable, Codes
from algorithms.trees.kernels.presort import sort_columns
from algorithms.trees.presorted_table import find_close, read_columns, sort_scratch

MIN_BINS = 16
ROWS_PER_BIN = 8  # minimum; smaller bins save few rows
NO_DOUBLES, NO_SINGLES = np.empty(0), np.empty(0, np.float32)
for empty in (NO_DOUBLES, NO_SINGLES):
    empty.flags.writeable = False  # of the type of the other values


def count_bins(n_rows):
    """Return the number of bins of a column with many values."""
    return min(MAX_BINS, max(MIN_BINS, n_rows // ROWS_PER_BIN))


def sort_coded(X, workers, name, close=None):
    """Return the `CodedTable` and the `Codes` of X.

    Each column is copied and sorted; its order then overwrites the copy.

    Parameters
    ----------
    X : (n_rows, n_columns) array of numbers, NaN where missing; it must not change
    workers : Workers
    name : name of the estimator, for error messages
    close : values at most this far apart count as equal; by default as in `find_close`

    Raises
    ------
    ValueError
        If a value is infinite, or too large for float32.
    """
    n, n_columns = X.shape
    values = read_columns(X, workers, name)
    close = find_close(values) if close is None else np.float32(close)  # of a single dtype
    order = values.view(np.uint32)
    wanted = count_bins(n)
    missing = np.empty(n_columns, np.int64)
    codes = Codes(
        code=np.empty((n_columns, n), np.uint8),
        starts=np.empty((n_columns, MAX_BINS + 1), np.int64),
        bins=np.empty(n_columns, np.int64),
        plain=np.zeros((n_columns, MAX_BINS), np.uint8),
    )

    def sort(first, last):
        scratch = sort_scratch(n)
        column_order, kind = np.empty((1, n), np.uint32), np.empty(1, np.int64)
        for f in range(first, last):
            column = values[f : f + 1]
            absent = missing[f : f + 1]
            sort_columns(column, column_order, kind, absent, scratch, close, 0, 1)
            column_codes = Codes(*(a[f : f + 1] for a in codes))
            bin_columns(column, column_order, absent, column_codes, wanted, close, 0, 1)
            order[f] = column_order[0]

    workers.share(sort, n_columns)
    return lay_flat(X, order, missing, close), codes


def lay_flat(X, order, missing, close):
    """Return the `CodedTable` of X: a flat view of X if possible, else a float32 copy."""
    if X.dtype not in (np.float32, np.float64) or not (
        X.flags.c_contiguous or X.flags.f_contiguous
    ):
        X = np.ascontiguousarray(X, np.float32)
    flat = X.ravel(order="K").view()
    flat.flags.writeable = False  # as pandas' arrays are: kernels are compiled for one type only
    double = flat if X.dtype == np.float64 else NO_DOUBLES
    single = flat if X.dtype == np.float32 else NO_SINGLES
    row_step, column_step = (step // X.itemsize for step in X.strides)
    return CodedTable(order, missing, double, single, row_step, column_step, close)
