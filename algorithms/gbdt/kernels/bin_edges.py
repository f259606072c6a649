"""Choose the bin edges of numeric features.

A feature with few distinct values gets one bin per value, with edges halfway between the values.
Otherwise bins hold about the same number of rows: a value frequent enough to fill a bin gets its
own bin, and the other values share the remaining bins (LightGBM's greedy rule).
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

LINE = 8  # values per cache line


@inner_kernel
def end_of_run(values, start):
    """Return the end of the run of equal values that begins at ``start``."""
    i = start + 1
    while i < len(values) and values[i] == values[start]:
        i += 1
    return i


@kernel
def count_runs(values, n_values, counts, n_zeros):
    """Replace sorted values by the distinct ones, count each; return the number of distinct ones.

    Parameters
    ----------
    values : (n_values + 1,) float32 or float64, written; the last entry is room for a zero
    n_values : number of given values; they ascend, missing values are last
    counts : int64 (n_values + 1,), written
    n_zeros : number of rows with value zero that are not among the given values
    """
    n_runs, start = np.int64(0), np.int64(0)
    given = values[:n_values]
    while start < n_values and not np.isnan(given[start]):
        end = end_of_run(given, start)
        values[n_runs] = given[start]
        counts[n_runs] = end - start
        n_runs += 1
        start = end
    return n_runs if n_zeros == 0 else add_zeros(values, counts, n_runs, n_zeros)


@inner_kernel
def add_zeros(values, counts, n_runs, n_zeros):
    """Add rows with value zero to the distinct values; return the number of distinct values."""
    at = n_runs
    while at > 0 and values[at - 1] >= 0.0:
        at -= 1
    if at < n_runs and values[at] == 0.0:
        counts[at] += n_zeros
        return n_runs
    for i in range(n_runs, at, -1):
        values[i] = values[i - 1]
        counts[i] = counts[i - 1]
    values[at] = 0.0
    counts[at] = n_zeros
    return n_runs + 1


@kernel
def find_edges(values, counts, max_bins, fewest_rows, edges):
    """Write the edges between the bins of a feature; return the number of edges.

    Parameters
    ----------
    values : (n,) float64, ascending and distinct
    counts : int64 (n,), number of rows with each value
    max_bins : maximum number of bins, at least 1
    fewest_rows : minimum number of rows in a bin
    edges : (max_bins,) float64, written
    """
    n_rows = n_big = big_rows = np.int64(0)
    for i in range(len(values)):
        n_rows += counts[i]
    mean = n_rows / max_bins
    for i in range(len(values)):
        if counts[i] >= mean:
            n_big += 1
            big_rows += counts[i]
    rest, bins_left = n_rows - big_rows, max_bins - n_big
    if len(values) <= max_bins:
        mean, rest, bins_left = 0.0, np.int64(0), np.int64(len(values))
    return close_bins(values, counts, mean, rest, bins_left, max_bins, fewest_rows, edges)


@inner_kernel
def close_bins(values, counts, mean, rest, bins_left, max_bins, fewest_rows, edges):
    """Write an edge wherever the current bin has enough rows.

    Parameters
    ----------
    mean : values with at least this many rows get their own bin; 0: every value does
    rest, bins_left : number of rows of the other values, and of bins for them
    """
    fill = rest / bins_left if bins_left > 0 else 0.0
    count = in_bin = 0
    for i in range(len(values) - 1):
        if count == max_bins - 1:
            break
        is_big = counts[i] >= mean
        next_is_big = counts[i + 1] >= mean
        in_bin += counts[i]
        if not is_big:
            rest -= counts[i]
        full = is_big or in_bin >= fill or (next_is_big and in_bin >= max(1.0, fill / 2.0))
        if full and in_bin >= fewest_rows:
            edges[count] = middle(values[i], values[i + 1])
            count += 1
            in_bin = 0
            if not is_big:
                bins_left -= 1
                fill = rest / bins_left if bins_left > 0 else np.inf
    return count


@inner_kernel
def middle(low, high):
    """Return a float64 t with low ≤ t < high, about halfway."""
    t = np.float64(low) / 2.0 + np.float64(high) / 2.0
    return t if t < high else np.float64(low)


@kernel
def turn_rows(X, columns, rows, out, first, last):
    """Transpose the rows ``rows[first … last − 1]`` of X into columns first … last − 1 of ``out``.

    Eight columns of X, one cache line, are copied at a time, so that each line is read once.

    Parameters
    ----------
    X : (n_rows, n_columns) float32 or float64, C-contiguous
    columns : int64 (n_taken,), the columns that are copied
    rows : int64 (n,)
    out : (n_taken, n) float32 or float64, written
    """
    for left in range(0, len(out), LINE):
        right = min(left + LINE, len(out))
        for i in range(np.uint64(first), np.uint64(last)):
            row = np.uint64(rows[i])
            for j in range(np.uint64(left), np.uint64(right)):
                out[j, i] = X[row, np.uint64(columns[j])]


@kernel
def find_column_edges(
    values, start, end, n_drawn, has_missing, limits, work, counts, edges, found, span
):
    """Choose the edges of sparse columns; those with ``found[j]`` below 0 are left out.

    Parameters
    ----------
    values : (n_entries,) float64, the entries of all columns
    start, end : int64 (n_columns,), start and end of each column's entries
    n_drawn : number of rows if absent entries are zero, else −1
    has_missing : bool (n_columns,), whether a column has missing values
    limits : int64 (3,), maximum number of bins, minimum number of rows in a bin, and minimum number
        of rows on both sides of an edge (see `divides_rows`)
    work : (n + 1,) float64, scratch space for columns of at most n entries
    counts : int64 (n + 1,), scratch space
    edges : (n_entries,) float64, written from each column's start on
    found : int64 (n_columns,), written: number of edges of each column
    span : (first, last + 1), range of columns
    """
    max_bin, in_bin, in_leaf = limits[0], limits[1], limits[2]
    for j in range(span[0], span[1]):
        n_entries = end[j] - start[j]
        must_divide = in_leaf > 1 and not has_missing[j]
        if found[j] < 0:
            continue
        if must_divide and n_drawn >= 0 and n_entries < in_leaf:
            found[j] = 0  # the zeros are on one side of every edge
            continue
        n_values = sort_entries(values[start[j] : end[j]], work)
        n_zeros = n_drawn - n_entries if n_drawn >= 0 else np.int64(0)
        n_runs = count_runs(work[: n_values + 1], n_values, counts, n_zeros)
        n_rows = n_values + n_zeros
        room = max(1, min(max_bin - np.int64(has_missing[j]), n_rows // in_bin))
        own = edges[start[j] : end[j]]
        n_edges = find_edges(work[:n_runs], counts[:n_runs], room, in_bin, own)
        if must_divide and not divides_rows(work[:n_runs], counts, own[:n_edges], in_leaf):
            n_edges = np.int64(0)
        found[j] = n_edges


@inner_kernel
def sort_entries(entries, out):
    """Write the entries that are not NaN to ``out``, ascending; return their number (Shell sort).

    −0.0 becomes 0.0.
    """
    n = np.int64(0)
    for i in range(len(entries)):
        if not np.isnan(entries[i]):
            out[n] = entries[i] + 0.0
            n += 1
    gap = np.int64(1)
    while 3 * gap < n:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            value, at = out[i], i
            while at >= gap and out[at - gap] > value:
                out[at] = out[at - gap]
                at -= gap
            out[at] = value
        gap //= 3
    return n


@kernel
def divides_rows(values, counts, edges, fewest):
    """Return whether an edge has at least ``fewest`` rows on both sides.

    Parameters
    ----------
    values : (n,) float64, ascending and distinct
    counts : int64 (at least n,), number of rows with each value
    edges : float64, ascending
    """
    n_rows = np.int64(0)
    for i in range(len(values)):
        n_rows += counts[i]
    below, edge = np.int64(0), np.int64(0)
    for i in range(len(values)):
        while edge < len(edges) and edges[edge] < values[i]:
            if below >= fewest and n_rows - below >= fewest:
                return True
            edge += 1
        below += counts[i]
    return False
