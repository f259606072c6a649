"""Quantize gradients: choose the steps, round, and pack g and h of a row into one integer."""

import math

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import MAX_G, MAX_H, Scale
from algorithms.gbdt.kernels.gradient_packing import MIN_ROOM, step_of_sizes, write_records
from algorithms.runtime.exact_sum_kernels import SINGLE_EXPONENTS
from algorithms.runtime.threads import make_team

STRIDE = 8  # every STRIDE-th row of a large table enters the mean |g| and h
FEW_ROWS = 1 << 14
ROWS_TO_PACK = 1 << 15  # rows from which on several threads share such a pass
IN_ORDER = (np.empty(0, np.uint32), np.empty(0, np.uint32))


def stride_of_sizes(n_rows):
    """Return the stride of the rows over which the mean |g| is computed."""
    return STRIDE if n_rows >= FEW_ROWS else 1


def step_of(table, n_rows, what):
    """Return the quantization step of some derivatives, a power of two.

    Parameters
    ----------
    table : int64 (SINGLE_EXPONENTS + 1,), from `exact_sum_kernels.add_sizes`
    n_rows : rows of the whole table
    what : name of the derivatives, for the error message

    Raises
    ------
    ValueError
        If a derivative is not finite.
    """
    return checked(step_of_sizes(table, stride_of_sizes(n_rows), n_rows)[0], what)


def checked(step, what):
    """Return a step; raise ValueError if it is NaN, which means infinite or NaN derivatives."""
    if math.isnan(step):
        raise ValueError(f"{what} of the loss are not finite: targets or weights are too large")
    return float(step)


def pack_rows(g, h, seed, records, workers, order=IN_ORDER):
    """Write the packed gradients of all rows, and return the `Scale` of their steps.

    Parameters
    ----------
    g : (n_rows,) float32
    h : (n_rows,) float32, or (0,) if all are 1
    seed : int below 2³², seed of the tree's rounding
    records : (n_rows,) int64, output
    workers : Workers
    order : row order if rows are reordered: the row's number at each position, uint32 (n_rows,),
        and the positions of the rows that enter the mean |g|; otherwise `IN_ORDER`
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
    room = min(MAX_G // most_g, MAX_H // most_h)
    return Scale(*scale, room if room >= MIN_ROOM else 0)
