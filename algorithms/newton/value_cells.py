"""Cells of neighboring values of each column; candidate thresholds lie between cells.

The paper's sketch finds values that divide Σh evenly, with a small error (Chen & Guestrin 2016,
section 3.3). Cells do the same: once per fit each column is cut into about `CELLS` cells of about
equally many rows, sixteen cells for each of the largest possible number of bins. One pass over the
rows in order then computes Σh of every cell. Columns with fewer distinct values have one cell per
value, and no error.

A threshold inside a cell is not a candidate, so a cell of several values must not be heavy. If one
weighs more than half of the intended distance between two candidates, ε Σh / 2, its column is
sorted again and cut into cells of few rows and little weight. These cells are used for the
following trees until h changes so that one of them is too heavy. Therefore, if h is that uneven,
rounds that continue from a model begin with cells by rows, and may choose other candidates than
the same rounds in one fit.
"""

import numpy as np
from scipy import sparse

from algorithms.gbdt.kernels.weighted_sketch import (
    CELLS,
    MAX_CELLS,
    count_runs,
    cut_cells,
    weigh_entries,
    weigh_rows,
)
from algorithms.newton.sorted_columns import sort_each, sort_sparse
from algorithms.runtime.threads import ALONE
from algorithms.trees.presorted_table import read_columns

NO_CODES = np.empty(0, np.uint16)
LARGE = 4  # a value with this many cells' worth of rows has its own cell
NO_WEIGHTS = np.empty(0, np.float32)


class Cells:
    """Cells of all columns.

    ``edges[f]`` float64 (n_cells − 1,) are the edges between the cells of column f, ``counts[f]``
    int64 (n_cells,) their numbers of rows, ``several[f]`` int64 the cells with more than one value.
    ``codes`` uint16 (n_columns, n_rows) is the cell of each value, n_cells if missing. For sparse X
    ``codes`` is None; ``orders[f]`` uint32 are the rows of the present entries sorted by value, and
    ``values[f]`` float32 their values if the column has a cell with several values.

    Parameters
    ----------
    X, workers, name : as in `newton.sorted_columns.sort_lists`, which also raises the errors
    """

    def __init__(self, X, workers, name):
        n, n_columns = X.shape
        self.X, self.name = X, name
        self.edges, self.counts, self.several = ([None] * n_columns for _ in range(3))
        self.codes, self.orders, self.values = None, [], []
        if not sparse.issparse(X):
            self.codes = np.empty((n_columns, n), np.uint16)
            sort_each(read_columns(X, workers, name), workers, self.cut_by_rows)
            return
        lists = sort_sparse(X)
        for f in range(n_columns):
            own = slice(*lists.start[f : f + 2])
            order, value = lists.order[own], lists.value[own]
            self.cut_by_rows(f, order, value, order[:0])
            self.orders.append(order)
            self.values.append(value.copy() if len(self.several[f]) else None)

    def weigh(self, f, h):
        """Return Σh of each cell of a column, float64 (n_cells,)."""
        sums = np.zeros(len(self.counts[f]) + 1)
        if self.codes is None:
            weigh_entries(self.orders[f], self.counts[f], h, sums)
        else:
            weigh_rows(self.codes[f], h, sums)
        return sums[:-1]

    def weigh_finely(self, f, h, room):
        """Return Σh of each cell; cut the column again if a cell of several values is too heavy.

        Parameters
        ----------
        f : int
        h : (n_rows,) float32
        room : int, 1/ε
        """
        weights = self.weigh(f, h)
        heaviest = weights[self.several[f]].max(initial=0.0)
        if heaviest <= np.maximum(weights, 0.0).sum() / (2 * room):
            return weights

        def cut(_, order, value, missing):
            total = np.maximum(h[order], 0.0).sum(dtype=np.float64)
            half = CELLS / 2  # half of the cells by rows, half by weight
            self.cut(f, order, value, missing, (h, half / len(order), half / total, 1.0, 1.0))

        if self.codes is None:
            cut(f, self.orders[f], self.values[f], self.orders[f][:0])
        else:
            sort_each(read_columns(self.X[:, f : f + 1], ALONE, self.name), ALONE, cut)
        return self.weigh(f, h)

    def cut_by_rows(self, f, order, value, missing):
        """Cut a column into cells of about equally many rows; see `cut`."""
        fewest = 1.0
        if count_runs(value, CELLS) > CELLS:
            fewest = np.ceil(len(value) / CELLS)
        self.cut(f, order, value, missing, (NO_WEIGHTS, 1.0, 0.0, fewest, LARGE * fewest))

    def cut(self, f, order, value, missing, sizes):
        """Cut a column.

        Parameters
        ----------
        f, order, value, missing : as passed by `newton.sorted_columns.sort_each`
        sizes : h, per_row, per_h, fewest and large, as `cut_cells` takes them
        """
        codes = NO_CODES if self.codes is None else self.codes[f]
        edges, counts = np.empty(MAX_CELLS), np.empty(MAX_CELLS, np.int64)
        several = np.empty(MAX_CELLS, bool)
        n_cells = cut_cells(order, value, *sizes, codes, edges, counts, several)
        self.edges[f], self.counts[f] = edges[: max(n_cells - 1, 0)].copy(), counts[:n_cells].copy()
        self.several[f] = np.flatnonzero(several[:n_cells])
        if len(codes):
            codes[missing] = n_cells
