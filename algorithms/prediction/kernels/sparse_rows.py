"""Dense blocks of rows of a CSR matrix, with the columns used by splits only.

Each block is in column-major order; with one row per block this is row-major order.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel


@kernel
def write_rows(indptr, indices, data, place, dense, width, block, first, last):
    """Write the entries of the rows first … last − 1 to the beginning of ``dense``.

    Parameters
    ----------
    indptr, indices, data : arrays of a CSR matrix
    place : (n_columns,) int32, column of ``dense`` for each column
    dense : float64, written at the present entries
    width : number of columns of ``dense``
    block : number of rows per block
    """
    for row in range(first, last):
        offset = first_place(row - first, width, block)
        for entry in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            dense[offset + place[indices[entry]] * block] = data[entry]


@kernel
def wipe_rows(indptr, indices, absent, place, dense, width, block, first, last):
    """Reset the entries written by `write_rows` to ``absent``."""
    for row in range(first, last):
        offset = first_place(row - first, width, block)
        for entry in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            dense[offset + place[indices[entry]] * block] = absent


@inner_kernel
def first_place(row, width, block):
    """Return the position of a row's value in the first column."""
    return row // block * block * width + row % block
