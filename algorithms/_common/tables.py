"""Bring X into the sorted form that trees are grown on, once for all trees on it."""

import numpy as np
from sklearn.utils import assert_all_finite

from algorithms._common.cart import count_features
from algorithms._kernels.layout import EXACT, NEAR, Table
from algorithms._kernels.presort import BUCKETS, PASSES, sort_columns
from algorithms._kernels.rank import write_ranks

ROWS_AT_ONCE = 1024  # rows that are turned into columns at once: they fit the second-level cache
FEW = 5  # features for each one that a node searches from which on ranks are faster than lists
LARGEST = 2**31 - 1  # rows that a list can number


def make_table(tree, X, n_features, workers, name):
    """Return the columns of X in the form that a tree is grown on.

    Parameters
    ----------
    tree : the estimator, with its parameters
    n_features : how many of the columns it is grown on
    X, workers, name : as in `read_columns`
    """
    if tree._sorts_in_nodes:  # noqa: SLF001 - the package's own
        return unsorted_table(X, workers, name)
    few = FEW * count_features(tree.max_features, n_features) <= n_features
    return (rank_table if few else sort_table)(X, workers, name)


def sort_table(X, workers, name):
    """Return the sorted columns of X; parameters and errors are those of `read_columns`."""
    values = read_columns(X, workers, name)
    n_columns, n_rows = values.shape
    table = Table(
        values,
        np.empty((n_columns, n_rows), np.uint32),
        np.empty(n_columns, np.int64),
        np.empty(n_columns, np.int64),
    )

    def sort(first, last):
        items = np.empty((2, n_rows), np.uint64)
        counts = np.empty((PASSES, BUCKETS), np.uint32)
        sort_columns(values, table.order, table.kind, table.missing, items, counts, first, last)

    workers.share(sort, n_columns)
    return table


def rank_table(X, workers, name):
    """Return the ranked columns of X; parameters and errors are those of `read_columns`."""
    values = read_columns(X, workers, name)
    n_columns, n_rows = values.shape
    table = Table(
        values,
        np.empty((n_columns, 0), np.uint32),
        np.empty(n_columns, np.int64),
        np.empty(n_columns, np.int64),
        np.empty((n_rows, n_columns), np.uint32),
        np.empty(n_columns, np.int64),
    )

    def rank(first, last):
        order = np.empty((1, n_rows), np.uint32)
        distinct = np.empty(n_rows, np.float32)
        items = np.empty((2, n_rows), np.uint64)
        counts = np.empty((PASSES, BUCKETS), np.uint32)
        for c in range(first, last):
            kind, missing = table.kind[c : c + 1], table.missing[c : c + 1]
            sort_columns(values[c : c + 1], order, kind, missing, items, counts, 0, 1)
            ranks = table.ranks[:, c]
            table.reach[c] = write_ranks(values[c], order[0], missing[0], ranks, distinct)
            kind[0] = NEAR if table.reach[c] else EXACT

    workers.share(rank, n_columns)
    return table


def unsorted_table(X, workers, name):
    """Return a table of the columns of X without lists, for trees that sort in every node."""
    values = read_columns(X, workers, name)
    none = np.empty(0, np.int64)
    return Table(values, np.empty((0, 0), np.uint32), none, none)


def read_columns(X, workers, name):
    """Return the columns of X, float32 (n_columns, n_rows).

    Parameters
    ----------
    X : (n_rows, n_columns) array of numbers, NaN where missing
    workers : Workers
    name : name of the estimator, for error messages

    Raises
    ------
    ValueError
        Where a value is infinite, or too large for float32.
    """
    n_rows, n_columns = X.shape
    if n_rows > LARGEST:
        raise ValueError(f"{name} can be trained on at most {LARGEST} rows; X has {n_rows}")
    values = np.empty((n_columns, n_rows), np.float32)

    def transpose(first, last):
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(first * ROWS_AT_ONCE, last * ROWS_AT_ONCE, ROWS_AT_ONCE):
                rows = slice(start, start + ROWS_AT_ONCE)
                values[:, rows] = X[rows].T

    workers.share(transpose, -(-n_rows // ROWS_AT_ONCE))
    check_values(values, name)
    return values


def check_values(values, name):
    """Raise scikit-learn's error where a float32 value is infinite; NaN is allowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(values)
    if not np.isfinite(total):
        assert_all_finite(values, allow_nan=True, estimator_name=name, input_name="X")
