"""LightGBM's choice of bin edges among distinct values: as many rows in each as there can be."""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel


@inner_kernel
def add_edge(low, high, edges, count):
    """Note the number after the middle of two values, unless it is the last edge again."""
    edge = np.nextafter((low + high) / 2.0, np.inf)
    if count and edge <= np.nextafter(edges[count - 1], np.inf):
        return count
    edges[count] = edge
    return count + 1


@inner_kernel
def separate(values, counts, least, edges):
    """Write an edge between values wherever a bin has rows enough; return their number."""
    n_edges, rows = 0, 0
    for i in range(len(values) - 1):
        rows += counts[i]
        if rows >= least:
            before = n_edges
            n_edges = add_edge(values[i], values[i + 1], edges, n_edges)
            rows = 0 if n_edges > before else rows
    return n_edges


@kernel
def choose_edges(values, counts, room, total, least, edges):
    """Write the edges between bins, the last bin's end left out; return their number.

    A value with more rows than a bin should have gets one of its own; what is left is shared
    among the other bins, anew after each.

    Parameters
    ----------
    values : (n,) float64, ascending
    counts : (n,) int64, rows of each
    room : most bins
    total : rows
    least : fewest rows of a bin
    edges : (room,) float64, written
    """
    n = len(values)
    if n <= room:
        return separate(values, counts, least, edges)
    room = max(min(room, total // least), 1)
    fair = total / room  # rows of a bin; a value of as many is big
    others, rest = room, total
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
            if closed >= room - 1:
                break
            rows = 0
            if not big:
                others -= 1
                size = rest / np.float64(others)
    return n_edges
