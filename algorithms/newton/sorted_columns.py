"""Sorted columns of X for exact trees, computed once per fit."""

import numpy as np
from scipy import sparse

from algorithms.newton.kernels.exact_arrays import Lists
from algorithms.trees.kernels.presort import sort_columns
from algorithms.trees.kernels.tree_arrays import CLOSE
from algorithms.trees.kernels.tree_arrays import ROW as ROW_BITS
from algorithms.trees.presorted_table import read_columns, sort_scratch


def sort_lists(X, workers, name):
    """Return the `Lists` of X.

    Parameters
    ----------
    X : (n_rows, n_columns) float32 array, NaN where missing, or a CSR matrix, whose absent entries
        are missing
    workers : Workers
    name : name of the estimator, for error messages

    Raises
    ------
    ValueError
        If a value is infinite, or there are too many rows.
    """
    if sparse.issparse(X):
        return sort_sparse(X)
    n = X.shape[0]
    values = read_columns(X, workers, name)
    present = n - np.count_nonzero(np.isnan(values), axis=1)
    start = np.concatenate([[0], np.cumsum(present)]).astype(np.int64)
    lists = Lists(np.empty(start[-1], np.uint32), np.empty(start[-1], np.float32), start)

    def take(f, order, value, _):
        part = slice(start[f], start[f + 1])
        lists.order[part], lists.value[part] = order, value

    sort_each(values, workers, take)
    return lists


def sort_each(values, workers, take):
    """Sort columns one by one; call ``take`` on each before its buffers are reused.

    Parameters
    ----------
    values : (n_columns, n_rows) float32, NaN where missing
    workers : Workers
    take : callable (f, order, value, missing)
        Column index, rows of its present values sorted by value (uint32), these values, and rows
        of missing values.
    """
    n_columns, n = values.shape

    def sort(first, last):
        scratch = sort_scratch(n)
        order, kind, missing = np.empty((1, n), np.uint32), np.empty(1, np.int64), np.empty(1, int)
        for f in range(first, last):
            sort_columns(values[f : f + 1], order, kind, missing, scratch, CLOSE, 0, 1)
            order &= ROW_BITS
            present = n - missing[0]
            take(f, order[0, :present], scratch.ordered[:present], order[0, present:])

    workers.share(sort, n_columns)


def sort_sparse(X):
    """Return the `Lists` of a CSR matrix; NaN entries are left out, like absent ones."""
    columns = X.tocsc()
    columns.sort_indices()
    if np.isnan(columns.data).any():
        entries = columns.tocoo()
        kept = ~np.isnan(entries.data)
        parts = (entries.data[kept], (entries.row[kept], entries.col[kept]))
        columns = sparse.csc_array(parts, shape=X.shape)
    start = columns.indptr.astype(np.int64)
    order, value = columns.indices.astype(np.uint32), columns.data.astype(np.float32)
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        part = value[first:last]
        if (part[1:] < part[:-1]).any():
            by_value = np.argsort(part, kind="stable")
            value[first:last] = part[by_value]
            order[first:last] = order[first:last][by_value]
    return Lists(order, value, start)
