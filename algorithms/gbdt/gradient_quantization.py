"""From derivatives to records: choose what a step is worth, and round."""

import math

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import MOST_G, MOST_H, Scale
from algorithms.gbdt.kernels.gradient_packing import step_of_sizes, write_records
from algorithms.runtime.exact_sum_kernels import SINGLE_EXPONENTS
from algorithms.runtime.threads import make_team

STRIDE = 8  # of the rows of a large table whose |g| and h give the mean
FEW_ROWS = 1 << 14
ROWS_TO_PACK = 1 << 15  # from which on it is worth telling other threads of passes like these
IN_ORDER = (np.empty(0, np.uint32), np.empty(0, np.uint32))
LEAST_ROOM = 1 << 12  # rows; cells that are moved more often cost more than a look at the rows


def stride_of_sizes(n_rows):
    """Return every how many rows of a table the mean |g| is taken of."""
    return STRIDE if n_rows >= FEW_ROWS else 1


def step_of(table, n_rows, what):
    """Return the step that some derivatives ask for, a power of two.

    Parameters
    ----------
    table : int64 (SINGLE_EXPONENTS + 1,), of `kernels.exact_sums.add_sizes`
    n_rows : of the whole table
    what : name of the derivatives, for the error

    Raises
    ------
    ValueError
        Where one is not finite.
    """
    return checked(step_of_sizes(table, stride_of_sizes(n_rows), n_rows)[0], what)


def checked(step, what):
    """Return a step; raise ValueError where it is NaN, as that of what is not finite is."""
    if math.isnan(step):
        raise ValueError(f"{what} of the loss are not finite: targets or weights are too large")
    return float(step)


def pack_rows(g, h, seed, records, workers, order=IN_ORDER):
    """Write the records of all rows, and return the `Scale` of their steps.

    Parameters
    ----------
    g : (n_rows,) float32
    h : (n_rows,) float32, or (0,) where every row's is 1
    seed : int below 2³², of the tree
    records : (n_rows,) int64, written
    workers : Workers
    order : of rows that lie otherwise than they are numbered, as `write_records` takes it
    """
    size, stride = workers.threads, stride_of_sizes(len(g))
    team = make_team(size)
    tables = np.empty((size, 2, SINGLE_EXPONENTS + 1), np.int64)
    steps, bounds = np.array([1.0, 1.0]), np.array([1, 1], np.int64)

    def share(rank, _):
        write_records(team, rank, g, h, seed, stride, order, tables, steps, bounds, records)

    workers.share(share, size, team)
    (step_g, step_h), (most_g, most_h) = steps.tolist(), bounds.tolist()
    scale = checked(step_g, "gradients"), checked(step_h, "hessians")
    room = min(MOST_G // most_g, MOST_H // most_h)
    return Scale(*scale, room if room >= LEAST_ROOM else 0)
