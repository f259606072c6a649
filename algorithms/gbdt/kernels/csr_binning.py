"""Convert CSR rows into binned columns, without an intermediate copy of the values by column.

Each thread converts one part of the rows. The entries of each part are counted first, so that each
thread knows the position of its entries in each column, and the entries of a column keep the order
of the rows.
"""

import numpy as np

from algorithms.runtime.jit import kernel

ONE = np.uint64(1)


@kernel
def count_columns(indptr, indices, data, rows, counts, has_missing, first, last):
    """Count the entries of each column in the rows ``rows[first … last − 1]``.

    Parameters
    ----------
    indptr, indices, data : CSR matrix without duplicates; int64, int32, float32 or float64
    rows : uint32
    counts : int64 (n_columns,), added to
    has_missing : bool (n_columns,), set to True for columns with a missing value
    """
    for k in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(rows[k])
        for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + ONE])):
            column = np.uint64(indices[e])
            counts[column] += 1
            if np.isnan(data[e]):
                has_missing[column] = True


@kernel
def take_values(indptr, indices, data, rows, at, out, first, last):
    """Write the values of rows ``rows[first … last − 1]``, column by column.

    Parameters
    ----------
    at : int64 (n_columns,), position of the next value of each column; advanced
    out : of data's dtype, written
    """
    for k in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(rows[k])
        for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + ONE])):
            column = np.uint64(indices[e])
            out[np.uint64(at[column])] = data[e]
            at[column] += 1


@kernel
def bin_by_row(indptr, indices, data, edges, ways, at, kept, bins, first, last):
    """Bin the entries of the rows first … last − 1, without those in default bins.

    Parameters
    ----------
    edges : of data's dtype, 2ᵏ − 1 edges for each column, padded with +inf
    ways : int32 (n_columns, 4), one row per column to share a cache line: start of its edges,
        2ᵏ⁻¹, bin of missing values, bin of zeros
    at : int64 (n_columns,), position of the next entry of each column; advanced
    kept : uint32, written: the rows of the kept entries, column by column
    bins : uint8, written: the bins of the kept entries
    """
    for row in range(np.uint64(first), np.uint64(last)):
        for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + ONE])):
            column, value = np.uint64(indices[e]), data[e]
            low = np.uint64(ways[column, 0])
            half = np.uint64(ways[column, 1])
            while half > np.uint64(0):
                low += half * np.uint64(edges[low + half - ONE] < value)
                half >>= ONE
            b = np.int64(low) - np.int64(ways[column, 0])
            b = np.int64(ways[column, 2]) if np.isnan(value) else b
            to = np.uint64(at[column])
            kept[to] = np.uint32(row)
            bins[to] = np.uint8(b)
            at[column] += np.int64(b != ways[column, 3])


@kernel
def close_gaps(starts, ends, kept, bins, counts, first, last):
    """Close the gaps between the parts' entries, for the columns first … last − 1.

    Parameters
    ----------
    starts, ends : int64 (n_parts, n_columns), start and end of each part's entries
    kept, bins : as in `bin_by_row`, written
    counts : int64 (n_columns,), written: number of entries of each column
    """
    for c in range(np.uint64(first), np.uint64(last)):
        to = np.uint64(ends[0, c])
        for part in range(1, len(starts)):
            begin, end = np.uint64(starts[part, c]), np.uint64(ends[part, c])
            if begin == to:
                to = end
                continue
            for i in range(begin, end):
                kept[to] = kept[i]
                bins[to] = bins[i]
                to += ONE
        counts[c] = np.int64(to) - starts[0, c]
