"""Turn CSR rows into columns of bins, without the columns of values that lie between.

Each part of the rows is one thread's. It knows where its entries of each column go, because the
parts have been counted first, so a column's entries stand in the order of rows.
"""

import numpy as np

from algorithms.runtime.jit import kernel

ONE = np.uint64(1)


@kernel
def count_columns(indptr, indices, data, rows, counts, gaps, first, last):
    """Count the entries of each column in the rows ``rows[first … last − 1]``.

    Parameters
    ----------
    indptr, indices, data : of CSR without duplicates; int64, int32, float32 or float64
    rows : uint32
    counts : int64 (n_columns,), added to
    gaps : bool (n_columns,), set where an entry is missing
    """
    for k in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(rows[k])
        for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + ONE])):
            column = np.uint64(indices[e])
            counts[column] += 1
            if np.isnan(data[e]):
                gaps[column] = True


@kernel
def take_values(indptr, indices, data, rows, at, out, first, last):
    """Write the values of rows ``rows[first … last − 1]``, column by column.

    Parameters
    ----------
    at : int64 (n_columns,), where the next value of each column goes; moved on
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
    """Bin the entries of the rows first … last − 1; those at their default bins are left out.

    Parameters
    ----------
    edges : of data's dtype, a power of two less one for each column, filled up with +inf
    ways : int32 (n_columns, 4), together as they are looked up for every entry: where a column's
        edges begin, half of that power of two, and the bins of missing values and of absent ones
    at : int64 (n_columns,), where the next entry of each column goes; moved on
    kept : uint32, written: the rows of what is kept, column by column
    bins : uint8, written likewise: its bins
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
    """Bring the entries of the columns first … last − 1 together, where parts left some out.

    Parameters
    ----------
    starts, ends : int64 (n_parts, n_columns), where the entries of each part lie
    kept, bins : as in `bin_by_row`, written
    counts : int64 (n_columns,), written: how many a column has
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
