"""Quantization of a rank's rows; random rounding depends on row numbers in the whole table."""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF
from algorithms.gbdt.kernels.gradient_packing import H_SEED
from algorithms.runtime.jit import kernel
from algorithms.runtime.math_functions import uniform


@kernel
def pack_run(g, h, per_g, per_h, seed, number, records, first, last):
    """Write the records of consecutive rows, as `gradient_packing.pack` does.

    Parameters
    ----------
    g : (n,) float32
    h : (n,) float32, or (0,) if it is 1 for every row
    per_g, per_h : steps per unit, powers of two
    seed : seed of the tree
    number : number of the row ``first`` in the whole table; the other rows follow it
    records : (n,) int64; records[first : last] are written
    """
    g_seed = np.uint32(seed)
    h_seed = np.uint32(g_seed ^ H_SEED)
    begin = np.uint64(first)
    for i in range(begin, np.uint64(last)):
        of_table = np.uint64(number) + (i - begin)
        gq = np.int64(np.floor(np.float64(g[i]) * per_g + uniform(g_seed, of_table)))
        hq = np.int64(1)
        if len(h):
            hq = np.int64(np.floor(np.float64(h[i]) * per_h + uniform(h_seed, of_table)))
        records[i] = (gq << HALF) + hq
