"""Bin edges for weighted rows: weighted quantiles over all rows.

A few rows may have nearly all of the weight, so all rows are used, not a sample as for unweighted
rows.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from algorithms.gbdt.kernels.bin_edges import find_edges
from algorithms.gbdt.kernels.weighted_sketch import weigh_runs
from algorithms.newton.sorted_columns import sort_each, sort_sparse
from algorithms.trees.presorted_table import read_columns

PARTS = 1 << 40  # integer that the total weight is scaled to
AT_ONCE = 8  # columns that are sorted at a time


def weigh_edges(binner, X, weight, max_bin, workers, name):
    """Return a `Binner` with weighted edges for the numeric columns.

    Parameters
    ----------
    binner : Binner of X
    X : dense or CSR, as in `newton.sorted_columns.sort_lists`
    weight : (n_rows,) float64, above 0
    max_bin : maximum number of bins per column, including the bin of missing values
    workers, name : as in `sort_lists`, which also raises the errors
    """
    edges, missing = list(binner.edges), binner.missing.copy()
    weight = np.ldexp(weight, -np.frexp(weight.max())[1])  # at most 1: no sum can overflow
    per_weight = PARTS / weight.sum()

    def choose(f, order, value):
        if binner.codes[f] is not None:
            return
        counts = np.empty(len(value), np.int64)
        n_runs = weigh_runs(order, value, weight, per_weight, counts)
        room = max_bin - (missing[f] >= 0)
        own, distinct = np.empty(room), value[:n_runs].astype(np.float64)
        edges[f] = own[: find_edges(distinct, counts[:n_runs], room, 1, own)].copy()
        if missing[f] >= 0:
            missing[f] = len(edges[f]) + 1

    if sparse.issparse(X):
        lists = sort_sparse(X)
        for f in range(X.shape[1]):
            own = slice(*lists.start[f : f + 2])
            choose(f, lists.order[own], lists.value[own])
    else:
        for begin in range(0, X.shape[1], AT_ONCE):
            columns = read_columns(X[:, begin : begin + AT_ONCE], workers, name)
            sort_each(columns, workers, lambda j, o, v, _, begin=begin: choose(begin + j, o, v))
    return replace(binner, edges=tuple(edges), missing=missing)
