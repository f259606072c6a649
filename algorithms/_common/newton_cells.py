"""Put the values of each column into cells of neighbours, once a fit; candidates lie between cells.

The paper's sketch answers which values part Σh evenly, with a small error (Chen & Guestrin 2016,
section 3.3). So do cells: a column has at most `MOST_CELLS`, sixteen for each of the most bins, of
about equally many rows; Σh of every cell is then one pass over the rows in their order. Columns of
fewer distinct values have a cell for each, and no error. Where few neighbours hold most of Σh, the
error is that of their cell, as candidates lie between cells alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from algorithms._common.newton_lists import sort_each, sort_sparse
from algorithms._common.tables import read_columns
from algorithms._kernels.newton_sketch import (
    MOST_CELLS,
    count_runs,
    cut_cells,
    weigh_entries,
    weigh_rows,
)

NO_CODES = np.empty(0, np.uint16)


@dataclass(frozen=True)
class Cells:
    """The cells of all columns.

    ``edges[f]`` float64 (n_cells − 1,) lie between the cells of column f, ``counts[f]`` int64
    (n_cells,) are their rows. ``codes`` uint16 (n_columns, n_rows) is each value's cell, n_cells
    where it is missing. Of sparse X there are none, but ``orders[f]`` uint32, the rows of the
    present entries by value.
    """

    edges: list
    counts: list
    codes: np.ndarray | None
    orders: list

    def weigh(self, f, h):
        """Return Σh of each cell of a column, float64 (n_cells,)."""
        sums = np.zeros(len(self.counts[f]) + 1)
        if self.codes is None:
            weigh_entries(self.orders[f], self.counts[f], h, sums)
        else:
            weigh_rows(self.codes[f], h, sums)
        return sums[:-1]


def make_cells(X, workers, name):
    """Return the `Cells` of X; parameters and errors are those of `newton_lists.sort_lists`."""
    n, n_columns = X.shape
    if sparse.issparse(X):
        lists = sort_sparse(X)
        spans = [slice(*lists.start[f : f + 2]) for f in range(n_columns)]
        orders = [lists.order[own] for own in spans]
        found = [cells_of(o, lists.value[s], NO_CODES) for o, s in zip(orders, spans, strict=True)]
        return Cells(*map(list, zip(*found, strict=True)), None, orders)
    values = read_columns(X, workers, name)
    codes = np.empty((n_columns, n), np.uint16)
    found = [None] * n_columns

    def cut(f, order, value, missing):
        found[f] = cells_of(order, value, codes[f])
        codes[f, missing] = len(found[f][1])

    sort_each(values, workers, cut)
    return Cells(*map(list, zip(*found, strict=True)), codes, [])


def cells_of(order, value, codes):
    """Return the edges between the cells of a sorted column, and their rows; write ``codes``."""
    fewest = 1
    if count_runs(value, MOST_CELLS) > MOST_CELLS:
        fewest = -(-len(value) // MOST_CELLS)
    edges, counts = np.empty(MOST_CELLS), np.empty(MOST_CELLS, np.int64)
    n_cells = cut_cells(order, value, fewest, codes, edges, counts)
    return edges[: max(n_cells - 1, 0)].copy(), counts[:n_cells].copy()
