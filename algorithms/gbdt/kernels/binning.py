"""Replace values by their bin numbers.

A value x is in the first bin whose upper edge is not below it: edges[b − 1] < x ≤ edges[b]. The
binary search runs for many values in parallel, without branches, so that it can be vectorized.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

ROWS_AT_ONCE = 256  # the bins of so many rows, in both orders, fit the first-level cache


@kernel
def bin_rows(X, features, number, edges, indptr, missing, rows, columns, at, values, first, last):
    """Bin some features of the rows at positions first … last − 1.

    Parameters
    ----------
    X : (n_rows, any) float32 or float64
    features : int64 (n_features,), columns of X
    number : uint32 (n_rows,), the row of X at each position; (0,): rows keep their order
    edges : of X's dtype, 2ᵏ − 1 edges for each feature, padded with +inf
    indptr : int64 (n_features + 1,), start of each feature's edges
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
            feature_edges = edges[np.uint64(indptr[f]) : np.uint64(indptr[f + np.uint64(1)])]
            search(values, feature_edges, at, n)
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
    """Copy the values of a column at n positions."""
    if len(number):
        for i in range(n):
            values[i] = X[np.uint64(number[start + i]), of]
    else:
        for i in range(n):
            values[i] = X[start + i, of]


@kernel
def bin_entries(data, rows, start, edges, indptr, missing, default, kept, bins, counts, at, f):
    """Bin the entries of a column of a CSC matrix, without those in its default bin.

    Parameters
    ----------
    data : (n_entries,) float32 or float64, column by column
    rows : (n_entries,) int32
    start : int64 (n_columns + 1,), start of each column's entries
    edges, indptr : as in `bin_rows`
    missing, default : int64 (n_columns,), bin of missing values, or −1, and bin of zeros
    kept : uint32 (n_entries,), written from the column's start on: the rows of the kept entries
    bins : uint8 (n_entries,), written from the column's start on: the bins of the kept entries
    counts : int64 (n_columns,), written: number of kept entries
    at : uint64 (ROWS_AT_ONCE,), scratch space
    f : index of the column
    """
    feature_edges = edges[np.uint64(indptr[f]) : np.uint64(indptr[f + 1])]
    to, end = np.uint64(start[f]), np.uint64(start[f + 1])
    for first in range(to, end, np.uint64(ROWS_AT_ONCE)):
        n = min(np.uint64(ROWS_AT_ONCE), end - first)
        values = data[first : first + n]
        search(values, feature_edges, at, n)
        for i in range(n):
            b = missing[f] if np.isnan(values[i]) else np.int64(at[i])
            kept[to] = np.uint32(rows[first + i])
            bins[to] = np.uint8(b)
            to += np.uint64(b != default[f])
    counts[f] = np.int64(to) - start[f]


@inner_kernel
def search(values, edges, at, n):
    """Write the number of edges below each of n values, by binary searches in lockstep."""
    for i in range(n):
        at[i] = 0
    half = np.uint64(len(edges) + 1) >> np.uint64(1)
    bit = np.uint64(0)
    while (half >> bit) > np.uint64(1):
        bit += np.uint64(1)
    while half > np.uint64(0):
        for i in range(n):  # add by a shift: LLVM would turn a conditional into a branch
            low = at[i]
            below = np.uint64(edges[low + half - np.uint64(1)] < values[i])
            at[i] = low + (below << bit)
        half >>= np.uint64(1)
        bit -= np.uint64(1)
