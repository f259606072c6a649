"""LightGBM's choice of bin edges among distinct values, for bins with about equally many rows."""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel


@inner_kernel
def add_edge(low, high, edges, count):
    """Append the float after the middle of two values, unless it equals the last edge."""
    edge = np.nextafter((low + high) / 2.0, np.inf)
    if count and edge <= np.nextafter(edges[count - 1], np.inf):
        return count
    edges[count] = edge
    return count + 1


@inner_kernel
def separate(values, counts, min_data_in_bin, edges):
    """Write an edge as soon as a bin has enough rows; return the number of edges."""
    n_edges, rows = 0, 0
    for i in range(len(values) - 1):
        rows += counts[i]
        if rows >= min_data_in_bin:
            before = n_edges
            n_edges = add_edge(values[i], values[i + 1], edges, n_edges)
            rows = 0 if n_edges > before else rows
    return n_edges


@kernel
def choose_edges(values, counts, max_bin, total, min_data_in_bin, edges):
    """Write the edges between bins, without the end of the last bin; return their number.

    A value with at least ``total / max_bin`` rows gets its own bin. The other bins have about
    equally many of the remaining rows; their mean size is computed again after each bin.

    Parameters
    ----------
    values : (n,) float64, ascending
    counts : (n,) int64, number of rows of each value
    max_bin : maximum number of bins
    total : number of rows
    min_data_in_bin : minimum number of rows of a bin
    edges : (max_bin,) float64, written
    """
    n = len(values)
    if n <= max_bin:
        return separate(values, counts, min_data_in_bin, edges)
    max_bin = max(min(max_bin, total // min_data_in_bin), 1)
    fair = total / max_bin  # rows per bin; a value with at least as many is big
    others, rest = max_bin, total
    for i in range(n):
        if counts[i] >= fair:
            others -= 1
            rest -= counts[i]
    size = rest / np.float64(others)
    n_edges, closed, rows = 0, 0, 0
    for i in range(n - 1):
        big = counts[i] >= fair
        if not big:
            rest -= counts[i]
        rows += counts[i]
        next_is_big = counts[i + 1] >= fair
        if big or rows >= size or (next_is_big and rows >= max(1.0, size * 0.5)):
            n_edges = add_edge(values[i], values[i + 1], edges, n_edges)
            closed += 1
            if closed >= max_bin - 1:
                break
            rows = 0
            if not big:
                others -= 1
                size = rest / np.float64(others)
    return n_edges
