"""List the nonzero entries of some columns of a dense table."""

import numpy as np

from algorithms.runtime.jit import kernel


@kernel
def count_entries(X, chosen, counts, first, last):
    """Count the nonzero entries of each chosen column in the rows first … last − 1.

    Parameters
    ----------
    X : (n_rows, n_columns) float32 or float64; NaN counts as nonzero
    chosen : int64 (n_chosen,), the chosen columns
    counts : int64 (n_chosen,), written
    """
    for row in range(np.uint64(first), np.uint64(last)):
        for k in range(np.uint64(len(chosen))):
            counts[k] += X[row, np.uint64(chosen[k])] != 0.0


@kernel
def write_entries(X, chosen, at, indices, data, first, last):
    """Write the rows and values of the nonzero entries, column by column.

    Parameters
    ----------
    at : int64 (n_chosen,), position of the next entry of each column; advanced
    indices : int32; data : of X's dtype; both written
    """
    for row in range(np.uint64(first), np.uint64(last)):
        for k in range(np.uint64(len(chosen))):
            value = X[row, np.uint64(chosen[k])]
            if value != 0.0:
                place = np.uint64(at[k])
                indices[place] = row
                data[place] = value
                at[k] += 1
