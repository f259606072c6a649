"""Replace values by the numbers of their bins.

A value x is in the first bin whose edge is not below it: edges[b − 1] < x ≤ edges[b]. The search
halves the edges for many values in step, without a branch, so that it can be vectorised.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

ROWS_AT_ONCE = 256  # their bins, in both orders, fit the first-level cache


@kernel
def bin_rows(X, features, number, edges, indptr, missing, rows, columns, at, values, first, last):
    """Bin some features of the rows for the places first … last − 1.

    Parameters
    ----------
    X : (n_rows, any) float32 or float64
    features : int64 (n_features,), columns of X
    number : uint32 (n_rows,), which row comes to each place; (0,): they stay as they are
    edges : of X's dtype, a power of two less one for each feature, filled up with +inf
    indptr : int64 (n_features + 1,), where a feature's edges begin
    missing : int64 (n_features,), bin of missing values, or −1
    rows : (n_rows, n_features) uint8, written
    columns : (n_features, n_rows) uint8, written
    at : uint64 (ROWS_AT_ONCE,), scratch space
    values : (ROWS_AT_ONCE,) of X's dtype, scratch space
    """
    for start in range(np.uint64(first), np.uint64(last), np.uint64(ROWS_AT_ONCE)):
        n = min(np.uint64(ROWS_AT_ONCE), np.uint64(last) - start)
        for f in range(np.uint64(len(features))):
            of = np.uint64(features[f])
            read_values(X, of, number, start, n, values)
            own = edges[np.uint64(indptr[f]) : np.uint64(indptr[f + np.uint64(1)])]
            search(values, own, at, n)
            for i in range(n):
                columns[f, start + i] = np.uint8(at[i])
            if missing[f] >= 0:
                for i in range(n):
                    if np.isnan(values[i]):
                        columns[f, start + i] = np.uint8(missing[f])
        for i in range(n):
            for f in range(np.uint64(len(features))):
                rows[start + i, f] = columns[f, start + i]


@inner_kernel
def read_values(X, of, number, start, n, values):
    """Copy the values of a column for n places."""
    if len(number):
        for i in range(n):
            values[i] = X[np.uint64(number[start + i]), of]
    else:
        for i in range(n):
            values[i] = X[start + i, of]


@kernel
def bin_entries(data, rows, start, edges, indptr, missing, default, kept, bins, counts, at, f):
    """Bin the entries of a column of a sparse table; those at its default bin are left out.

    Parameters
    ----------
    data : (n_entries,) float32 or float64, column by column
    rows : (n_entries,) int32
    start : int64 (n_columns + 1,), where a column's entries begin
    edges, indptr : as in `bin_rows`
    missing, default : int64 (n_columns,), bin of missing values, or −1, and of absent ones
    kept : uint32 (n_entries,), written: the rows of what is kept, from the column's start on
    bins : uint8 (n_entries,), written likewise: its bins
    counts : int64 (n_columns,), written: how many are kept
    at : uint64 (ROWS_AT_ONCE,), scratch space
    f : column
    """
    own = edges[np.uint64(indptr[f]) : np.uint64(indptr[f + 1])]
    to, end = np.uint64(start[f]), np.uint64(start[f + 1])
    for first in range(to, end, np.uint64(ROWS_AT_ONCE)):
        n = min(np.uint64(ROWS_AT_ONCE), end - first)
        values = data[first : first + n]
        search(values, own, at, n)
        for i in range(n):
            b = missing[f] if np.isnan(values[i]) else np.int64(at[i])
            kept[to] = np.uint32(rows[first + i])
            bins[to] = np.uint8(b)
            to += np.uint64(b != default[f])
    counts[f] = np.int64(to) - start[f]


@inner_kernel
def search(values, edges, at, n):
    """Write the number of edges below each of n values: all of them take each step together."""
    for i in range(n):
        at[i] = 0
    half = np.uint64(len(edges) + 1) >> np.uint64(1)
    bit = np.uint64(0)
    while (half >> bit) > np.uint64(1):
        bit += np.uint64(1)
    while half > np.uint64(0):
        for i in range(n):  # a shift, not a choice: LLVM would make that a branch
            low = at[i]
            below = np.uint64(edges[low + half - np.uint64(1)] < values[i])
            at[i] = low + (below << bit)
        half >>= np.uint64(1)
        bit -= np.uint64(1)
