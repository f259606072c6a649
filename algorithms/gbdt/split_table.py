"""Table split into dense and sparse columns.

All columns of a sparse X are sparse. Columns of a dense X become sparse if they are mostly zeros
and exclusive with another column (never both non-zero in a row), so that they can be bundled.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from algorithms.gbdt.kernels.bundling import find_exclusive
from algorithms.gbdt.kernels.nonzero_entries import count_entries, write_entries
from algorithms.gbdt.phase_timer import BUNDLING, timed_phase
from algorithms.gbdt.sparse_columns import ByColumn, ByRow
from algorithms.runtime.threads import ALONE

ROWS_AT_ONCE = 4096
SAMPLED = 1024  # rows in the sample that selects columns of dense X
FEW_ENTRIES = 0.5  # maximum fraction of non-zero rows of a selected column
WORTH_IT = 0.25  # minimum fraction of selected columns
MAX_COLUMNS = 4096  # candidates up to which pairs are compared; of more, all are selected


@dataclass(frozen=True)
class SplitTable:
    """A table with dense and sparse columns.

    Absent entries of sparse columns have the value ``absent``: 0 or NaN. With ``rounds``, float64
    values are read as the nearest float32, which avoids a copy of X.
    """

    array: np.ndarray  # (n_rows, any), C-contiguous; its columns `dense_columns` are the dense ones
    dense_columns: np.ndarray  # int64 (n_dense,), ascending
    sparse: ByColumn | ByRow  # (n_rows, n_sparse), of the dtype of `array`
    sparse_columns: np.ndarray  # int64 (n_sparse,), ascending
    absent: float = 0.0
    rounds: bool = False

    @property
    def shape(self):
        """(n_rows, n_features)."""
        return len(self.array), len(self.dense_columns) + len(self.sparse_columns)

    @property
    def dtype(self):
        """Dtype of the stored values."""
        return self.array.dtype

    @property
    def read_as(self):
        """Dtype as which values are read."""
        return np.dtype(np.float32) if self.rounds else self.dtype


@timed_phase(BUNDLING)
def split_columns(X, workers=ALONE, *, absent=0.0, bundles=True, rounds=False):
    """Return the `SplitTable` of X.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64 array, NaN where missing, or sparse
    workers : Workers
    absent : value of the absent entries of sparse X: 0 or NaN
    bundles : whether exclusive columns of dense X become sparse
    rounds : whether values of dense X are read as the nearest float32
    """
    if isinstance(X, SplitTable):
        return X
    n_rows, n_features = X.shape
    every, none = np.arange(n_features), np.empty(0, np.int64)
    if sparse.issparse(X):
        return SplitTable(
            np.empty((n_rows, 0), X.dtype), none, read_sparse(X, workers), every, absent
        )
    chosen = exclusive_columns(X, np.float32 if rounds else X.dtype) if bundles else none
    if not len(chosen):
        nothing = ByColumn(sparse.csc_array((n_rows, 0), dtype=X.dtype))
        return SplitTable(X, every, nothing, none, rounds=rounds)
    others = np.setdiff1d(every, chosen)
    return SplitTable(X, others, ByColumn(entries_of(X, chosen, workers)), chosen, rounds=rounds)


def read_sparse(X, workers):
    """Return the entries of sparse X, with duplicates added up."""
    if X.format == "csr" and X.has_canonical_format:
        return ByRow(X, workers)
    columns = sparse.csc_array(X)  # shares the arrays of CSC
    if columns is X or not columns.has_canonical_format:
        columns = columns.copy()
        columns.sum_duplicates()
    return ByColumn(columns)


def exclusive_columns(X, read_as):
    """Return the columns of dense X that can be bundled, judged by a sample of its rows."""
    rows = X[:: -(-len(X) // SAMPLED)].astype(read_as, copy=False)
    is_nonzero = rows != 0.0
    chosen = np.flatnonzero(is_nonzero.sum(axis=0) <= FEW_ENTRIES * len(rows))
    if 1 < len(chosen) <= MAX_COLUMNS:
        chosen = chosen[are_exclusive(is_nonzero[:, chosen])]
    is_worth_it = len(chosen) > max(1, WORTH_IT * X.shape[1])
    return chosen if is_worth_it else np.empty(0, np.int64)


def are_exclusive(is_nonzero):
    """Return which columns are exclusive with at least one other column, bool (n_columns,).

    A matrix product would give the same, but its BLAS threads spin for 0.1 s afterwards.

    Parameters
    ----------
    is_nonzero : bool (n_rows, n_columns)
    """
    n_rows, n_columns = is_nonzero.shape
    padded = np.zeros((n_columns, -(-n_rows // 64) * 64), bool)
    padded[:, :n_rows] = is_nonzero.T
    is_exclusive = np.zeros(n_columns, np.uint8)
    find_exclusive(np.packbits(padded, axis=1).view(np.uint64), is_exclusive)
    return is_exclusive.astype(bool)


def entries_of(X, chosen, workers):
    """Return the non-zero entries of some columns of dense X, CSC."""
    blocks = -(-len(X) // ROWS_AT_ONCE)
    counts = np.zeros((blocks, len(chosen)), np.int64)

    def rows(block):
        return block * ROWS_AT_ONCE, min((block + 1) * ROWS_AT_ONCE, len(X))

    def count(first, last):
        for block in range(first, last):
            count_entries(X, chosen, counts[block], *rows(block))

    workers.share(count, blocks)
    indptr = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    at = indptr[:-1] + np.cumsum(counts, axis=0) - counts
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], X.dtype)

    def write(first, last):
        for block in range(first, last):
            write_entries(X, chosen, at[block], indices, data, *rows(block))

    workers.share(write, blocks)
    return sparse.csc_array((data, indices, indptr), shape=(len(X), len(chosen)))
