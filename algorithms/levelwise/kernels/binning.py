"""Binning of sorted columns into groups of neighboring values, once for all trees."""

import numpy as np

from algorithms.levelwise.kernels.level_arrays import MISSING
from algorithms.runtime.jit import kernel, linked_kernel
from algorithms.trees.kernels.tree_arrays import ROW


@kernel
def bin_columns(values, order, missing, codes, wanted, close, first, last):
    """Fill ``codes`` for the columns first … last − 1.

    A bin ends only between distinct values. With at most ``wanted`` distinct values each has its
    own bin; otherwise bins hold about equally many rows.

    Parameters
    ----------
    values, order, missing : of the `Table`
    codes : Codes, written
    wanted : maximum number of bins, at most `MAX_BINS`
    close : float32, values at most this far apart count as equal
    """
    for f in range(first, last):
        n_present = values.shape[1] - missing[f]
        fewest = 1
        if count_apart(values[f], order[f], n_present, wanted, close) > wanted:
            fewest = (n_present + wanted - 1) // wanted
        codes.bins[f] = cut_bins(values[f], order[f], n_present, fewest, close, codes, f)
        for i in range(n_present, values.shape[1]):
            codes.code[f, order[f, i] & ROW] = MISSING


@linked_kernel
def count_apart(values, order, n_present, enough, close):
    """Return the number of distinct values; counting stops above ``enough``."""
    count = min(n_present, 1)
    for i in range(1, n_present):
        count += values[order[i] & ROW] > values[order[i - 1] & ROW] + close
        if count > enough:
            break
    return count


@linked_kernel
def cut_bins(values, order, n_present, fewest, close, codes, f):
    """Write the bins of one column, each with at least ``fewest`` rows but the last; count them."""
    if n_present == 0:
        codes.starts[f, 0] = 0
        return 0
    b = 0
    start = 0
    codes.starts[f, 0] = 0
    codes.plain[f, 0] = 1
    before = values[order[0] & ROW]
    for i in range(n_present):
        row = np.uint64(order[i] & ROW)
        here = values[row]
        if here > before + close and i - start >= fewest:
            b += 1
            start = i
            codes.starts[f, b] = i
            codes.plain[f, b] = 1
        elif here != before:
            codes.plain[f, b] = 0
        codes.code[f, row] = b
        before = here
    codes.starts[f, b + 1] = n_present
    return b + 1
