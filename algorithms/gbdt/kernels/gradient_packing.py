"""Quantize gradients and hessians to integers and pack them, with unbiased random rounding.

    step  Δ = 2^⌈log₂(max / 2³⁰)⌉ at least, and such that the mean |g| is about 2¹⁵ steps
    q = ⌊g / Δ + u⌋           u in [0, 1), a hash of the row and the seed of the tree: E q = g / Δ

The step follows from the mean |g|, not from the number of rows. The sums of q are exact, so the
only error of a sum over m rows is the rounding, with a standard deviation of at most Δ √m / 2.
Steps are powers of two, so that a step times a sum is exact as well.
"""

import math

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF
from algorithms.runtime.exact_sum_kernels import (
    MIN_EXPONENT,
    SINGLE_EXPONENTS,
    SINGLE_FRACTION,
    add_sizes,
    add_sizes_at,
)
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.math_functions import uniform
from algorithms.runtime.thread_team import barrier_wait, share_of

H_SEED = np.uint32(0x85EBCA6B)
MEAN_BITS = 15  # the mean |g| is about 2¹⁵ steps
MAX_BITS = 30  # and the largest at most 2³⁰
INFINITE = 0x7F800000  # bits of float32's infinity; those of NaN are above
BLOCK = 1 << 13  # minimum number of rows that a thread packs
MIN_ROOM = 1 << 12  # rows that a histogram entry must be able to sum between two flushes


@linked_kernel
def pack(g, h, per_g, per_h, seed, number, records, first, last):
    """Write the records of the rows first … last − 1.

    Parameters
    ----------
    g : (n,) float32
    h : (n,) float32, or (0,) if it is 1 for every row
    per_g, per_h : steps per unit, powers of two
    seed : seed of the tree
    number : uint32 (n,), row numbers that the rounding depends on; (0,): 0 … n − 1
    records : (n,) int64, written
    """
    if len(number) and len(h):
        for i in range(np.uint64(first), np.uint64(last)):
            records[i] = record_of(g[i], h[i], per_g, per_h, seed, number[i])
    elif len(number):
        for i in range(np.uint64(first), np.uint64(last)):
            records[i] = record_of_g(g[i], per_g, seed, number[i])
    elif len(h):
        for i in range(np.uint64(first), np.uint64(last)):
            records[i] = record_of(g[i], h[i], per_g, per_h, seed, i)
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            records[i] = record_of_g(g[i], per_g, seed, i)


@inner_kernel
def record_of(g, h, per_g, per_h, seed, number):
    """Return the record of a row."""
    h_seed = np.uint32(np.uint32(seed) ^ H_SEED)
    gq = np.int64(np.floor(np.float64(g) * per_g + uniform(np.uint32(seed), number)))
    hq = np.int64(np.floor(np.float64(h) * per_h + uniform(h_seed, number)))
    return (gq << HALF) + hq


@inner_kernel
def record_of_g(g, per_g, seed, number):
    """Return the record of a row whose h is 1."""
    gq = np.int64(np.floor(np.float64(g) * per_g + uniform(np.uint32(seed), number)))
    return (gq << HALF) + 1


@kernel
def write_records(team, rank, g, h, seed, stride, order, tables, steps, bounds, records):
    """Choose the steps of g and h, and write the records of all rows; every thread calls this.

    Returns False if another thread has left the team; then nothing is written.

    Parameters
    ----------
    team : ThreadTeam
    rank : rank of the calling thread, 0 … size − 1
    g, h, seed, records : as in `pack`
    stride : every stride-th row is used for the mean; a divisor of BLOCK
    order : (number, sized), uint32 (n,) and ascending: numbers as in `pack`, and the positions of
        every stride-th number; (0,): rows are in the order of their numbers
    tables : (size, 2, SINGLE_EXPONENTS + 1) int64, scratch space
    steps : (2,) float64, written: the steps of g and h; NaN, and no records are written, if a value
        is not finite; that of h is kept if h is (0,)
    bounds : (2,) int64, written: bounds on |g| and h, in steps
    """
    n = len(g)
    number, sized = order
    first, last = share_of(team, rank, 0, -(-n // BLOCK))
    first, last = min(first * BLOCK, n), min(last * BLOCK, n)
    n_kinds = 2 if len(h) else 1
    tables[rank] = 0
    begin = last if len(number) else first
    from_, to = share_of(team, rank, 0, len(sized))
    add_sizes(g, begin, first, last, stride, tables[rank, 0])
    add_sizes_at(g, sized, from_, to, tables[rank, 0])
    if n_kinds > 1:
        add_sizes(h, begin, first, last, stride, tables[rank, 1])
        add_sizes_at(h, sized, from_, to, tables[rank, 1])
    if not barrier_wait(team):
        return False
    if rank == 0:
        for kind in range(n_kinds):
            merge_sizes(tables[:, kind])
            steps[kind], bounds[kind] = step_of_sizes(tables[0, kind], stride, n)
    barrier_wait(team)
    if not (np.isnan(steps[0]) or np.isnan(steps[1])):
        pack(g, h, 1.0 / steps[0], 1.0 / steps[1], seed, number, records, first, last)
    return True


@inner_kernel
def merge_sizes(tables):
    """Add the tables of `add_sizes` of all threads into the first one."""
    for other in range(1, len(tables)):
        for exponent in range(SINGLE_EXPONENTS):
            tables[0, exponent] += tables[other, exponent]
        most = max(tables[0, SINGLE_EXPONENTS], tables[other, SINGLE_EXPONENTS])
        tables[0, SINGLE_EXPONENTS] = most


@kernel
def step_of_sizes(table, stride, n_rows):
    """Return the quantization step for a table of sizes, and a bound on |v| in steps.

    Parameters
    ----------
    table : (SINGLE_EXPONENTS + 1,) int64, the result of `add_sizes`
    stride : every stride-th row was added
    n_rows : number of rows of the whole table

    Returns
    -------
    float64, int64; NaN, 0 if a value was not finite
    """
    most = table[SINGLE_EXPONENTS]
    if most >= INFINITE:
        return np.nan, np.int64(0)
    if most == 0:
        return 1.0, np.int64(2)
    total = 0.0
    for exponent in range(SINGLE_EXPONENTS):
        if table[exponent]:
            total += scaled(table[exponent], exponent)
    fraction = most & SINGLE_FRACTION
    exponent = most >> 23
    largest = scaled(fraction + (SINGLE_FRACTION + 1 if exponent else 0), exponent)
    mean = max(total * stride / n_rows, math.ldexp(largest, MEAN_BITS - MAX_BITS))
    by_mean = math.frexp(mean)[1] - 1 - MEAN_BITS
    by_largest = math.frexp(largest)[1] - MAX_BITS
    step = math.ldexp(1.0, max(by_mean, by_largest))
    return step, np.int64(largest / step) + 2  # rounding adds one at most


@inner_kernel
def scaled(mantissa, exponent):
    """Return m · 2^e as float64, for a float32 mantissa m and the bits of its exponent."""
    return math.ldexp(np.float64(mantissa), max(exponent - 1, 0) + MIN_EXPONENT)
