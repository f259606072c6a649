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


def choose_steps(derivatives, workers):
    """Return the step of each kind of derivatives, a power of two, and how many its largest is.

    Parameters
    ----------
    derivatives : name, for errors → (n_rows,) float32
    workers : Workers

    Returns
    -------
    list of (step, bound on |value| / step)

    Raises
    ------
    ValueError
        Where a value is not finite.
    """
    kinds = list(derivatives.values())
    n = len(kinds[0])
    tables = []

    def share(first, last):
        first, last = first * BLOCK, min(last * BLOCK, n)
        own = [size_table() for _ in kinds]
        for values, table in zip(kinds, own, strict=True):
            add_sizes(values, first, first, last, stride_of_sizes(n), table)
        tables.append(own)

    workers.share(share, -(-n // BLOCK))
    found = []
    for what, own in zip(derivatives, zip(*tables, strict=True), strict=True):
        table = merge_sizes(own)
        step = step_of(table, n, what)
        found.append((step, int(largest_of(table) / step) + 2))  # rounding adds one at most
    return found


def stride_of_sizes(n_rows):
    """Return every how many rows of a table the mean |g| is taken of."""
    return STRIDE if n_rows >= FEW_ROWS else 1


def step_of(table, n_rows, what):
    """Return the step that a table of sizes asks for; raise ValueError as `choose_steps` does."""
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
    kinds = {"gradients": g, "hessians": h} if len(h) else {"gradients": g}
    (step_g, most_g), (step_h, most_h) = [*choose_steps(kinds, workers), (1.0, 1)][:2]
    room = min(MOST_G // most_g, MOST_H // most_h)

    def share(first, last):
        first, last = first * BLOCK, min(last * BLOCK, len(g))
        pack(g, h, 1.0 / step_g, 1.0 / step_h, seed, records, first, last)

    workers.share(share, -(-len(g) // BLOCK))
    return Scale(step_g, step_h, room if room >= LEAST_ROOM else 0)
