"""Grower on bin numbers with the sorted lists of exact growth: slower, but without restrictions.

It serves the cases that leaf histograms do not support: columns drawn per level or node, and trees
with so many leaves that their histograms would not fit in memory. Each value is replaced by its
bin number, so the same thresholds are tried.
"""

import numpy as np
from scipy import sparse

from algorithms.gbdt.binning import bin_table
from algorithms.gbdt.model import find_upper_edges
from algorithms.newton.exact_grower import ExactGrower, Grown

FIRST = 256.0  # code of the first bin: the sum of two codes exceeds every code


class BinnedGrower:
    """Grower of exact trees on bin numbers.

    Parameters
    ----------
    X : (n_rows, n_features) float32, or float64 with the same order, C-contiguous, NaN where
        missing; or CSR, whose absent entries are missing and stay absent
    binner : gbdt.binning.Binner, without categorical columns
    limits : newton.params.Limits
    workers : Workers
    name : name of the estimator, for error messages
    """

    def __init__(self, X, binner, limits, workers, name):
        if sparse.issparse(X):
            codes = list_codes(X, binner, workers)
        else:
            codes = dense_codes(X.astype(np.float32, copy=False), binner, limits, workers)
        self.binner = binner
        self.grower = ExactGrower(codes, limits, workers, name)

    def grow(self, g, h, used, draws):
        """Return the `Grown` tree for derivatives g and h; see `ExactGrower.grow`."""
        grown = self.grower.grow(g, h, used, draws)
        nodes = grown.nodes
        inner = np.flatnonzero(nodes["left"] >= 0)
        last_bins = bins_below(nodes["threshold"][inner])
        nodes["threshold"][inner] = floats_above(
            self.binner.edges, nodes["feature"][inner], last_bins
        )
        return Grown(nodes, grown.at)


def dense_codes(X, binner, limits, workers):
    """Return the bin of each value of dense X, `FIRST` and above; NaN where missing.

    The result is float32 (n_rows, n_features), like X.
    """
    bins = bin_table(X, binner, limits.monotone, limits.groups, workers)
    codes = bins.rows.astype(np.float32)
    codes += np.float32(FIRST)
    for f in np.flatnonzero(binner.missing >= 0):
        codes[bins.columns[f] == binner.missing[f], f] = np.nan
    return codes


def list_codes(X, binner, workers):
    """Return the bin of each entry of CSR, `FIRST` and above; NaN where the entry is NaN.

    The result is a float32 CSC matrix.
    """
    columns = sparse.csc_array(X, dtype=np.float32, copy=True)

    def code(first, last):
        for f in range(first, last):
            own = columns.data[columns.indptr[f] : columns.indptr[f + 1]]
            found = FIRST + np.searchsorted(binner.edges[f], own)
            own[:] = np.where(np.isnan(own), np.nan, found)

    workers.share(code, X.shape[1])
    return columns


def bins_below(thresholds):
    """Return the last bin that goes left at each threshold, int64.

    Parameters
    ----------
    thresholds : (n,) float32, between two codes; or about twice the last code of the node if the
        split separates missing values from all others: then the result is the last bin of the
        node, as with histograms
    """
    codes = np.where(thresholds < 2.0 * FIRST, np.ceil(thresholds) - 1.0, thresholds / 2.0)
    return codes.astype(np.int64) - int(FIRST)


def floats_above(edges, features, last_bins):
    """Return the smallest float32 above each given bin: x < threshold iff x is in it or below.

    Parameters
    ----------
    edges : list of the bin edges of each feature, float64, ascending
    features, last_bins : (n,) int64; a bin after the last edge separates missing values from
        all others, and its threshold is infinite
    """
    return next_floats(find_upper_edges(edges, features, last_bins, np.inf))


def next_floats(wanted):
    """Return the smallest float32 above each number, float32; an infinite one remains."""
    near = wanted.astype(np.float32)
    above = np.where(near > wanted, near, np.nextafter(near, np.float32(np.inf)))
    return np.where(np.isinf(wanted), np.inf, above)
