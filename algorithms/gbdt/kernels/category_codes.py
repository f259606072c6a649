"""Sums of gradients by category for columns with more categories than bins, and their binning."""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LOW
from algorithms.runtime.jit import kernel


@kernel
def add_codes(codes, records, sums, first, last):
    """Add the records of the rows first … last − 1 to the sums of their categories.

    Parameters
    ----------
    codes : (n_rows,) uint16 or uint32, code of each row's category; n_codes if it is missing
    records : (n_rows,) int64
    sums : (n_codes + 1, 2) int64, added to: Σg and Σh, in steps
    """
    for i in range(np.uint64(first), np.uint64(last)):
        code = np.uint64(codes[i])
        sums[code, 0] += records[i] >> HALF
        sums[code, 1] += records[i] & LOW


@kernel
def rebin(codes, bins, column, rows, place, first, last):
    """Write the bins of one column for the rows first … last − 1, in both orders.

    Parameters
    ----------
    codes : as in `add_codes`
    bins : (n_codes + 1,) uint8, bin of each category and, last, of missing values
    column : (n_rows,) uint8, written
    rows : (n_rows, n_columns) uint8, of which one column is written
    place : index of that column
    """
    at = np.uint64(place)
    for i in range(np.uint64(first), np.uint64(last)):
        b = bins[np.uint64(codes[i])]
        column[i] = b
        rows[i, at] = b
