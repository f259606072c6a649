"""Turn derivatives into records: whole numbers of a step, rounded without bias.

    step  Δ = 2^⌈log₂(max / 2³⁰)⌉ at least, and such that the mean |g| is about 2¹⁵ steps
    q = ⌊g / Δ + u⌋           u in [0, 1) from the row's number and the tree's: E q = g / Δ

A row's precision follows from the mean |g|, never from the number of rows; the sums of q are
exact, so what a sum over m rows can be off by is the noise of rounding alone, at most Δ √m / 2
in standard deviation. Steps are powers of two, so that a step times a sum is exact as well.
"""

import numpy as np

from algorithms._kernels.hist_layout import HALF
from algorithms._kernels.hist_math import uniform
from algorithms._kernels.jit import kernel

H_SEED = np.uint32(0x85EBCA6B)


@kernel
def pack(g, h, per_g, per_h, seed, records, first, last):
    """Write the records of the rows first … last − 1.

    Parameters
    ----------
    g : (n,) float32
    h : (n,) float32, or (0,) where it is 1 for every row
    per_g, per_h : steps per unit, powers of two
    seed : of the tree
    records : (n,) int64, written
    """
    g_seed = np.uint32(seed)
    h_seed = np.uint32(g_seed ^ H_SEED)
    if len(h):
        for i in range(np.uint64(first), np.uint64(last)):
            gq = np.int64(np.floor(np.float64(g[i]) * per_g + uniform(g_seed, i)))
            hq = np.int64(np.floor(np.float64(h[i]) * per_h + uniform(h_seed, i)))
            records[i] = (gq << HALF) + hq
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            gq = np.int64(np.floor(np.float64(g[i]) * per_g + uniform(g_seed, i)))
            records[i] = (gq << HALF) + 1
