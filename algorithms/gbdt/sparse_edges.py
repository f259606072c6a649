"""Bin edges of short columns: one kernel chooses those of all numeric columns.

One call per column took most of the time on text, which has tens of thousands of columns
with few entries each, and on tables of a few hundred rows.
"""

from dataclasses import dataclass, field

import numpy as np

from algorithms.gbdt.kernels.bin_edges import find_column_edges

MAX_ENTRIES = 4096  # maximum entries of a column in the kernel; NumPy sorts more of them faster
LEFT_OUT = -1


@dataclass(frozen=True)
class EdgeLimits:
    """Limits on the bins of features."""

    max_bin: int  # maximum number of bins, including that of missing values; 2 to 256
    min_in_bin: int  # minimum number of sampled rows in a bin
    min_in_leaf: int = 0  # a column needs an edge with so many rows on both sides; 0: it does not
    by_feature: np.ndarray | None = None  # int64 (n_features,), used in place of ``max_bin``
    forced: dict = field(default_factory=dict)  # feature → ascending edges that it must have

    def max_bin_of(self, f):
        """Return the maximum number of bins of a feature."""
        return self.max_bin if self.by_feature is None else int(self.by_feature[f])

    def are_own(self, features):
        """Return which of the features have limits of their own, bool (n,)."""
        if self.by_feature is not None:
            return np.ones(len(features), bool)
        if not self.forced:  # `isin` takes 0.1 ms
            return np.zeros(len(features), bool)
        return np.isin(features, list(self.forced))


@dataclass(frozen=True)
class ColumnEdges:
    """Sampled entries of columns, and the edges that the kernel has chosen."""

    values: np.ndarray  # float64 (n_entries,)
    start: np.ndarray  # int64 (n_columns,)
    end: np.ndarray
    edges: np.ndarray  # float64 (n_entries,): those of a column begin at its start
    found: np.ndarray  # int64 (n_columns,): number of edges; LEFT_OUT

    def entries_of(self, j):
        """Return the entries of a column."""
        return self.values[self.start[j] : self.end[j]]

    def as_list(self):
        """Return the edges of each column; those of columns left out are empty."""
        counts = np.maximum(self.found, 0)
        ends = np.cumsum(counts)
        at = np.arange(counts.sum()) + np.repeat(self.start - (ends - counts), counts)
        compact = self.edges[at]
        firsts = (ends - counts).tolist()
        return [compact[a:b] for a, b in zip(firsts, ends.tolist(), strict=True)]

    @property
    def left_out(self):
        """Numbers of the columns whose edges the kernel has not chosen, int64."""
        return np.flatnonzero(self.found == LEFT_OUT)


def choose_column_edges(table, drawn, others, has_missing, limits, workers):
    """Return the `ColumnEdges` of a table's sparse columns, without long ones and some others.

    Parameters
    ----------
    table : SplitTable
    drawn : uint32, rows of the sample
    others : bool (n_sparse,), columns that are left out: categorical, or with limits of their own
    has_missing : bool (n_sparse,)
    limits : EdgeLimits
    workers : Workers
    """
    values, start, end = table.sparse.sample(drawn, workers)
    values = values.astype(table.read_as, copy=False)
    n_drawn = -1 if np.isnan(table.absent) else len(drawn)
    return choose_edges(values, start, end, n_drawn, others, has_missing, limits, workers)


def choose_edges(values, start, end, n_drawn, others, has_missing, limits, workers):
    """Return the `ColumnEdges` of columns, without long ones and some others.

    Parameters
    ----------
    values : (n_entries,) float32 or float64, the entries of all columns
    start, end : int64 (n_columns,), start and end of each column's entries
    n_drawn : number of rows if absent entries are zero, else −1
    others, has_missing, limits, workers : as in `choose_column_edges`
    """
    values = values.astype(np.float64, copy=False).view()
    values.flags.writeable = False  # one type, whether X may be written or not
    counts, n_columns = end - start, len(start)
    edges = np.empty(len(values))
    found = np.where(others | (counts > MAX_ENTRIES), LEFT_OUT, 0)
    room = int(counts[found == 0].max(initial=0)) + 1
    numbers = np.array([limits.max_bin, limits.min_in_bin, limits.min_in_leaf], np.int64)

    def choose(first, last):
        scratch = np.empty(room), np.empty(room, np.int64)
        given = values, start, end, n_drawn, has_missing, numbers
        find_column_edges(*given, *scratch, edges, found, (first, last))

    workers.share(choose, n_columns)
    return ColumnEdges(values, start, end, edges, found)
