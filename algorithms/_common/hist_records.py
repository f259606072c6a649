"""From derivatives to records: choose what a step is worth, and round."""

import math

import numpy as np

from algorithms._common.exact_sums import merge_sizes, size_table, total_of_sizes
from algorithms._kernels.exact_sums import add_sizes
from algorithms._kernels.hist_layout import MOST_G, MOST_H, Scale
from algorithms._kernels.hist_pack import pack

MEAN_BITS = 15  # the mean |g| is about 2¹⁵ steps
MOST_BITS = 30  # and the largest at most 2³⁰
STRIDE = 8  # of the rows of a large table whose |g| and h give the mean
FEW_ROWS = 1 << 14
LEAST_ROOM = 1 << 12  # rows; cells that are moved more often cost more than a look at the rows
INFINITE = 0x7F800000  # bits of float32's infinity; those of NaN are above
BLOCK = 1 << 13  # rows whose sums are taken together, however many threads there are


def choose_step(values, workers, what):
    """Return the step of some derivatives, a power of two, and how many the largest one may be.

    Parameters
    ----------
    values : (n_rows,) float32
    workers : Workers
    what : name of the values, for the error

    Raises
    ------
    ValueError
        Where a value is not finite.
    """
    n = len(values)
    tables = []

    def share(first, last):
        first, last = first * BLOCK, min(last * BLOCK, n)
        own = size_table()
        add_sizes(values, first, first, last, stride_of_sizes(n), own)
        tables.append(own)

    workers.share(share, -(-n // BLOCK))
    table = merge_sizes(tables)
    step = step_of(table, n, what)
    return step, int(largest_of(table) / step) + 2  # rounding adds one at most


def stride_of_sizes(n_rows):
    """Return every how many rows of a table the mean |g| is taken of."""
    return STRIDE if n_rows >= FEW_ROWS else 1


def step_of(table, n_rows, what):
    """Return the step that a table of sizes asks for; parameters as in `choose_step`."""
    if table[-1] >= INFINITE:
        raise ValueError(f"{what} of the loss are not finite: targets or weights are too large")
    largest = largest_of(table)
    if largest == 0.0:
        return 1.0
    mean = total_of_sizes(table) * stride_of_sizes(n_rows) / n_rows
    mean = max(mean, math.ldexp(largest, MEAN_BITS - MOST_BITS))
    by_mean = math.frexp(mean)[1] - 1 - MEAN_BITS
    by_largest = math.frexp(largest)[1] - MOST_BITS
    return math.ldexp(1.0, max(by_mean, by_largest, -960))


def largest_of(table):
    """Return the largest |value| that a table of sizes has seen."""
    return float(table[-1:].astype(np.int32).view(np.float32)[0])


def pack_rows(g, h, seed, records, workers):
    """Write the records of all rows, and return the `Scale` of their steps.

    Parameters
    ----------
    g : (n_rows,) float32
    h : (n_rows,) float32, or (0,) where every row's is 1
    seed : int below 2³², of the tree
    records : (n_rows,) int64, written
    workers : Workers
    """
    step_g, most_g = choose_step(g, workers, "gradients")
    step_h, most_h = choose_step(h, workers, "hessians") if len(h) else (1.0, 1)
    room = min(MOST_G // most_g, MOST_H // most_h)

    def share(first, last):
        first, last = first * BLOCK, min(last * BLOCK, len(g))
        pack(g, h, 1.0 / step_g, 1.0 / step_h, seed, records, first, last)

    workers.share(share, -(-len(g) // BLOCK))
    return Scale(step_g, step_h, room if room >= LEAST_ROOM else 0)
