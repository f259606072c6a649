"""Sparse columns (CSC or CSR) and their binning.

CSR is converted to columns of bins, with five bytes per entry, without an intermediate CSC of the
values. Only if the edges of all columns do not fit into the cache, or a column is categorical, the
matrix is converted to CSC first.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from algorithms.gbdt.category_bins import bins_of_codes
from algorithms.gbdt.kernels.binning import ROWS_AT_ONCE, bin_entries
from algorithms.gbdt.kernels.csr_binning import bin_by_row, close_gaps, count_columns, take_values

MAX_EDGES = 1 << 16  # maximum number of edges for which CSR entries are binned in row order


@dataclass(frozen=True)
class Edges:
    """Bin edges of sparse columns; entries in the default bin are dropped."""

    values: np.ndarray  # dtype of the values; a power of two minus one for each column
    begin: np.ndarray  # int64 (n_columns + 1,)
    codes: list  # int64 arrays, or None for numeric columns
    missing: np.ndarray  # int64 (n_columns,), or −1
    default: np.ndarray  # int64 (n_columns,), bin of absent entries


@dataclass(frozen=True)
class ByColumn:
    """CSC in canonical form."""

    matrix: object  # csc_array (n_rows, n_columns)

    @property
    def shape(self):
        """(n_rows, n_columns)."""
        return self.matrix.shape

    @property
    def counts(self):
        """Number of entries of each column, int64 (n_columns,)."""
        return np.diff(self.matrix.indptr).astype(np.int64)

    @property
    def has_missing(self):
        """Mask of the columns with missing values among their entries, bool (n_columns,)."""
        has_nan = np.zeros(self.shape[1], bool)
        at = np.flatnonzero(np.isnan(self.matrix.data))
        has_nan[np.searchsorted(self.matrix.indptr, at, side="right") - 1] = True
        return has_nan

    def sample(self, rows, workers):  # noqa: ARG002 - same signature as `ByRow.sample`
        """Return the values of the entries in some rows, and each column's start and end."""
        data, indptr = self.matrix.data, self.matrix.indptr.astype(np.int64)
        n_rows = self.shape[0]
        if len(rows) < n_rows and len(data) > 0:
            is_drawn = np.bincount(rows, minlength=n_rows)[self.matrix.indices] > 0
            data, indptr = data[is_drawn], np.append(0, np.cumsum(is_drawn))[indptr]
        return data, indptr[:-1], indptr[1:]

    def bin(self, edges, workers):
        """Return the bins of all entries that are not in the default bin.

        Returns
        -------
        start, counts : int64 (n_columns,), first entry and number of entries of each column
        kept : uint32, rows of the entries, ascending within a column
        bins : uint8, bins of the entries
        """
        data, rows = self.matrix.data, self.matrix.indices.astype(np.int32, copy=False)
        start = self.matrix.indptr.astype(np.int64)
        kept, bins = np.empty(len(data), np.uint32), np.empty(len(data), np.uint8)
        counts = np.empty(self.shape[1], np.int64)
        given = edges.values, edges.begin, edges.missing, edges.default, kept, bins, counts

        def fill(first, last):
            at = np.empty(ROWS_AT_ONCE, np.uint64)
            for j in range(first, last):
                if edges.codes[j] is None:
                    bin_entries(data, rows, start, *given, at, j)
                    continue
                own = slice(start[j], start[j + 1])
                found = bins_of_codes(data[own], edges.codes[j])
                there = found != edges.default[j]
                counts[j] = np.count_nonzero(there)
                to = slice(start[j], start[j] + counts[j])
                kept[to], bins[to] = rows[own][there], found[there]

        workers.share(fill, self.shape[1])
        return start[:-1], counts, kept, bins


class ByRow:
    """CSR in canonical form.

    Parameters
    ----------
    matrix : csr_array (n_rows, n_columns)
    workers : Workers, each of which processes a part of the rows
    """

    def __init__(self, matrix, workers):
        self.matrix, self.shape = matrix, matrix.shape
        indices = matrix.indices.astype(np.int32, copy=False)
        self.arrays = matrix.indptr.astype(np.int64), indices, matrix.data
        rows = np.arange(self.shape[0], dtype=np.uint32)
        self.ends = self._ends(len(rows), workers)
        self.parts, self.has_missing = self._count(rows, self.ends, workers)
        self.counts = self.parts.sum(axis=0)

    def _ends(self, n_rows, workers):
        """Return the boundaries of the parts of rows, one part per thread.

        The number of parts is limited so that the counts take no more memory than the entries.
        """
        most = max(1, self.matrix.nnz // max(self.shape[1], 1))
        parts = max(1, min(workers.threads, n_rows, most))
        return [n_rows * i // parts for i in range(parts + 1)]

    def _count(self, rows, ends, workers):
        """Return the entries per part of rows and column, and which columns have missing values."""
        counts = np.zeros((len(ends) - 1, self.shape[1]), np.int64)
        has_missing = np.zeros(counts.shape, bool)

        def count(first, last):
            for part in range(first, last):
                own = counts[part], has_missing[part], ends[part], ends[part + 1]
                count_columns(*self.arrays, rows, *own)

        workers.share(count, len(counts))
        return counts, has_missing.any(axis=0)

    def sample(self, rows, workers):
        """Return the values of the entries in some rows, and each column's start and end."""
        ends = self._ends(len(rows), workers)
        counts, _ = self._count(rows, ends, workers)
        starts = starts_of(counts)
        out = np.empty(counts.sum(), self.matrix.dtype)

        def take(first, last):
            for part in range(first, last):
                take_values(
                    *self.arrays, rows, starts[part].copy(), out, ends[part], ends[part + 1]
                )

        workers.share(take, len(counts))
        return out, starts[0], starts[0] + counts.sum(axis=0)

    def bin(self, edges, workers):
        """Return the bins of all entries that are not in the default bin, as `ByColumn.bin`."""
        if len(edges.values) > MAX_EDGES or any(codes is not None for codes in edges.codes):
            return ByColumn(sparse.csc_array(self.matrix)).bin(edges, workers)
        n_columns = self.shape[1]
        starts = starts_of(self.parts)
        ends = starts.copy()
        n_entries = self.matrix.nnz
        kept, bins = np.empty(n_entries, np.uint32), np.empty(n_entries, np.uint8)
        counts = np.empty(n_columns, np.int64)
        halves = (np.diff(edges.begin) + 1) // 2
        ways = np.stack([edges.begin[:-1], halves, edges.missing, edges.default], 1).astype(
            np.int32
        )
        given = edges.values, ways

        def fill(first, last):
            for part in range(first, last):
                own = ends[part], kept, bins, self.ends[part], self.ends[part + 1]
                bin_by_row(*self.arrays, *given, *own)

        def close(first, last):
            close_gaps(starts, ends, kept, bins, counts, first, last)

        workers.share(fill, len(starts))
        workers.share(close, n_columns)
        return starts[0], counts, kept, bins


def starts_of(counts):
    """Return the first entry of each part and column, in column-major order: (parts, columns)."""
    flat = counts.T.ravel()
    return np.ascontiguousarray((np.cumsum(flat) - flat).reshape(counts.T.shape).T)
