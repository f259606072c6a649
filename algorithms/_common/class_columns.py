"""Sort the columns of X for `class_growing`, in little room."""

import numpy as np

from algorithms._common.level_growing import count_bins
from algorithms._common.tables import read_columns
from algorithms._kernels.class_layout import ClassTable
from algorithms._kernels.level_codes import code_columns
from algorithms._kernels.level_layout import MOST, Codes
from algorithms._kernels.presort import BUCKETS, PASSES, sort_columns


def sort_classes(X, workers, name):
    """Return the `ClassTable` and the `Codes` of X.

    Each column is copied and sorted, and its order then written over the copy.

    Parameters
    ----------
    X : (n_rows, n_columns) array of numbers, none missing
    workers : Workers
    name : name of the estimator, for error messages

    Raises
    ------
    ValueError
        Where a value is infinite, or too large for float32.
    """
    n, n_columns = X.shape
    values = read_columns(X, workers, name)
    order = values.view(np.uint32)
    wanted = count_bins(n)
    codes = Codes(
        code=np.empty((n_columns, n), np.uint8),
        starts=np.empty((n_columns, MOST + 1), np.int64),
        bins=np.empty(n_columns, np.int64),
        plain=np.zeros((n_columns, MOST), np.uint8),
    )

    def sort(first, last):
        items = np.empty((2, n), np.uint64)
        counts = np.empty((PASSES, BUCKETS), np.uint32)
        own, kind, missing = np.empty((1, n), np.uint32), np.empty(1, np.int64), np.zeros(1, int)
        for f in range(first, last):
            column = values[f : f + 1]
            sort_columns(column, own, kind, missing, items, counts, 0, 1)
            code_columns(column, own, missing, Codes(*(a[f : f + 1] for a in codes)), wanted, 0, 1)
            order[f] = own[0]

    workers.share(sort, n_columns)
    return lay_flat(X, order), codes


def lay_flat(X, order):
    """Return the `ClassTable` of X: a view of it where it can be, else a float32 copy."""
    if X.dtype not in (np.float32, np.float64) or not (
        X.flags.c_contiguous or X.flags.f_contiguous
    ):
        X = np.ascontiguousarray(X, np.float32)
    flat = X.ravel(order="K")
    double = flat if X.dtype == np.float64 else np.empty(0)
    single = flat if X.dtype == np.float32 else np.empty(0, np.float32)
    row_step, column_step = (step // X.itemsize for step in X.strides)
    return ClassTable(order, double, single, row_step, column_step)
