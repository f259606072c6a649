"""Lay out rows of a CSR table, of those columns alone that something asks for.

Rows come in blocks, in which each column's values lie together: row by row is a block for each row.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel


@kernel
def write_rows(indptr, indices, data, place, laid, width, block, first, last):
    """Write the entries of the rows first … last − 1 into the first places of a table.

    Parameters
    ----------
    indptr, indices, data : of a CSR table
    place : (n_columns,) int32, which column of ``laid`` each column is
    laid : float64, written where there are entries
    width : columns of ``laid``
    block : how many rows a block has
    """
    for row in range(first, last):
        own = first_place(row - first, width, block)
        for entry in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            laid[own + place[indices[entry]] * block] = data[entry]


@kernel
def wipe_rows(indptr, indices, absent, place, laid, width, block, first, last):
    """Write ``absent`` where `write_rows` has written entries."""
    for row in range(first, last):
        own = first_place(row - first, width, block)
        for entry in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            laid[own + place[indices[entry]] * block] = absent


@inner_kernel
def first_place(row, width, block):
    """Return where a row has its value of the first column."""
    return row // block * block * width + row % block
