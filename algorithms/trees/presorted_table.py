"""Sorted or ranked columns of X, computed once and shared by all trees on X."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite

from algorithms.trees.cart import count_features
from algorithms.trees.kernels.presort import BUCKETS, PASSES, SortScratch, sort_columns
from algorithms.trees.kernels.rank import write_ranks
from algorithms.trees.kernels.tree_arrays import CLOSE, EXACT, NEAR, Table

ROWS_AT_ONCE = 1024  # rows transposed at once: they fit in the second-level cache
BLOCK_VALUES = 1 << 22  # values of a sparse X that are converted to dense at once
FEW = 5  # ratio of features to searched features from which ranks are faster than lists
FEW_OF_TWO_CLASSES = 2  # by gini, for which `unsorted_search` does not sort
TWO = 2
SMALL_RANGE = 1e-3  # of a column
LARGEST = 2**31 - 1  # maximum row number of a list


def make_table(tree, X, n_features, workers, name, n_outputs=1, *, by_counts=False):
    """Return the columns of X in the form on which a tree is grown.

    Parameters
    ----------
    tree : the estimator, with its parameters
    n_features : number of columns on which the tree is grown
    X, workers, name : as in `read_columns`
    n_outputs : number of outputs of the target; trees of several outputs sort rows in every node
    by_counts : whether weights are counts of drawn rows; their sums are the same in any order
    """
    if tree._sorts_in_nodes or n_outputs > 1:  # noqa: SLF001 - the package's own
        return unsorted_table(X, workers, name)
    is_pair = tree.criterion == "gini" and getattr(tree, "n_classes_", 0) == TWO
    least = FEW_OF_TWO_CLASSES if is_pair and by_counts else FEW
    few = least * count_features(tree.max_features, n_features) <= n_features
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
        close=find_close(values),
    )

    # Allocated in the caller's thread, so that its allocator can reuse the memory afterwards.
    spare = [sort_scratch(n_rows) for _ in range(min(workers.threads, n_columns))]

    def sort(first, last):
        scratch = spare.pop()
        for c in range(first, last):
            workers.check()
            lists = table.order, table.kind, table.missing
            sort_columns(values, *lists, scratch, table.close, c, c + 1)

    workers.share(sort, n_columns)
    return table


def sort_scratch(n_rows):
    """Return scratch space to sort a column with ``n_rows`` rows."""
    return SortScratch(
        items=np.empty(n_rows, np.uint64),
        ordered=np.empty(n_rows, np.float32),
        counts=np.empty((PASSES, BUCKETS), np.uint32),
    )


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
        find_close(values),
    )

    def rank(first, last):
        order = np.empty((1, n_rows), np.uint32)
        distinct = np.empty(n_rows, np.float32)
        scratch = sort_scratch(n_rows)
        for c in range(first, last):
            workers.check()
            kind, missing = table.kind[c : c + 1], table.missing[c : c + 1]
            sort_columns(values[c : c + 1], order, kind, missing, scratch, table.close, 0, 1)
            given = table.ranks[:, c], distinct, table.close
            table.reach[c] = write_ranks(values[c], order[0], missing[0], *given)
            kind[0] = NEAR if table.reach[c] else EXACT

    workers.share(rank, n_columns)
    return table


def unsorted_table(X, workers, name):
    """Return a table of the columns of X without lists, for trees that sort in every node."""
    values = read_columns(X, workers, name)
    none = np.empty(0, np.int64)
    return Table(values, np.empty((0, 0), np.uint32), none, none, close=find_close(values))


def find_close(values):
    """Return how far apart values may be that count as equal, float32.

    It is 1e-7, as in scikit-learn. If columns have a range below `SMALL_RANGE`, it is 1e-7 times
    the smallest range, so that a small unit does not make a column constant.

    Parameters
    ----------
    values : (n_columns, n_rows) float32, NaN where missing
    """
    with np.errstate(over="ignore"):
        spans = np.fmax.reduce(values, axis=1) - np.fmin.reduce(values, axis=1)
    small = spans[(spans > 0.0) & (spans < SMALL_RANGE)]
    return np.float32(CLOSE * small.min()) if len(small) else CLOSE


def read_columns(X, workers, name):
    """Return the columns of X, float32 (n_columns, n_rows).

    Parameters
    ----------
    X : (n_rows, n_columns) array of numbers, NaN where missing, or sparse
        A sparse X needs as much memory as a dense one.
    workers : Workers
    name : name of the estimator, for error messages

    Raises
    ------
    ValueError
        If a value is infinite, or too large for float32.
    """
    n_rows, n_columns = X.shape
    if n_rows > LARGEST:
        raise ValueError(f"{name} can be trained on at most {LARGEST} rows; X has {n_rows}")
    if issparse(X):
        return fill_columns(X, name)
    values = np.empty((n_columns, n_rows), np.float32)

    def transpose(first, last):
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(first * ROWS_AT_ONCE, last * ROWS_AT_ONCE, ROWS_AT_ONCE):
                workers.check()
                rows = slice(start, start + ROWS_AT_ONCE)
                values[:, rows] = X[rows].T

    workers.share(transpose, -(-n_rows // ROWS_AT_ONCE))
    check_values(values, name)
    return values


def fill_columns(X, name):
    """Return the columns of a sparse X as `read_columns` does; absent entries are 0."""
    X = X.tocsc(copy=True)
    X.sum_duplicates()
    values = np.zeros(X.shape[::-1], np.float32)
    with np.errstate(over="ignore"):
        for c in range(X.shape[1]):
            part = slice(X.indptr[c], X.indptr[c + 1])
            values[c, X.indices[part]] = X.data[part]
    check_values(values, name)
    return values


def as_rows(X):
    """Return X as C-contiguous float32, or as CSR if it is sparse."""
    return X.tocsr() if issparse(X) else np.ascontiguousarray(X, np.float32)


def row_blocks(X):
    """Yield the rows of a sparse X as C-contiguous float32, in blocks."""
    X = X.tocsr()
    step = max(1, BLOCK_VALUES // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        with np.errstate(over="ignore"):
            yield np.ascontiguousarray(X[start : start + step].toarray(), np.float32)


def check_sparse(X, name):
    """Raise scikit-learn's errors if a sparse X has missing values or 64-bit indices."""
    if not issparse(X):
        return
    assert_all_finite(X.data, estimator_name=name, input_name="X")
    if X.indices.dtype != np.intc or X.indptr.dtype != np.intc:
        raise ValueError("No support for np.int64 index based sparse matrices")


def check_values(values, name):
    """Raise scikit-learn's error if a float32 value is infinite; NaN is allowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        # As in scikit-learn, sum first, check each value only if needed.
        if not np.isfinite(np.sum(values)):
            assert_all_finite(values, allow_nan=True, estimator_name=name, input_name="X")
