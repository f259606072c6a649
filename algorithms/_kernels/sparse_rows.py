"""Lay out rows of a CSR table, of those columns alone that something asks for."""

import numpy as np

from algorithms._kernels.jit import kernel


@kernel
def write_rows(indptr, indices, data, place, dense, first, last):
    """Write the entries of the rows first … last − 1 into the first rows of a dense table.

    Parameters
    ----------
    indptr, indices, data : of a CSR table
    place : (n_columns,) int32, which column of ``dense`` each column is
    dense : (at least last − first, n) float64, written where there are entries
    """
    for row in range(first, last):
        for entry in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            dense[row - first, place[indices[entry]]] = data[entry]


@kernel
def wipe_rows(indptr, indices, absent, place, dense, first, last):
    """Write ``absent`` where `write_rows` has written entries."""
    for row in range(first, last):
        for entry in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            dense[row - first, place[indices[entry]]] = absent
