"""Grow trees on bins with the lists of exact growth: slower, but with all that these know.

For what histograms of leaves do not serve: columns drawn for each level or node, and trees of so
many leaves that their histograms would fill the memory. A value's bin stands for it, so the same
thresholds are tried.
"""

import numpy as np
from scipy import sparse

from algorithms.gbdt.binning import bin_table
from algorithms.newton.exact_grower import ExactGrower, Grown

FIRST = 256.0  # code of the first bin: sums of two codes are beyond all of them


class BinnedGrower:
    """Grows trees on the numbers of bins.

    Parameters
    ----------
    X : (n_rows, n_features) float32, or float64 that stands for it, C-contiguous, NaN where
        missing; or CSR, whose absent entries are missing and stay absent
    binner : hist.bins.Binner, without categories
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
        """Return the `Grown` tree of some derivatives; see `ExactGrower.grow`."""
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

    As X it is float32 (n_rows, n_features).
    """
    bins = bin_table(X, binner, limits.monotone, limits.groups, workers)
    codes = bins.rows.astype(np.float32)
    codes += np.float32(FIRST)
    for f in np.flatnonzero(binner.missing >= 0):
        codes[bins.columns[f] == binner.missing[f], f] = np.nan
    return codes


def list_codes(X, binner, workers):
    """Return the bin of each entry of CSR, `FIRST` and above; NaN where the entry is NaN.

    It is a float32 CSC matrix.
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
    """Return the last bin that goes left, int64.

    Parameters
    ----------
    thresholds : (n,) float32, between two codes; or about twice the last code of a node, where it
        parts missing values from all others: there the last bin that is in the node, as with
        histograms
    """
    codes = np.where(thresholds < 2.0 * FIRST, np.ceil(thresholds) - 1.0, thresholds / 2.0)
    return codes.astype(np.int64) - int(FIRST)


def floats_above(edges, features, last_bins):
    """Return the least float32 above each of some bins: x is in it or below where x is less.

    Parameters
    ----------
    edges : of each feature, float64, ascending
    features, last_bins : (n,) int64; behind a feature's last edge, missing values stand alone, and
        the threshold is infinite, as no float32 is above the largest
    """
    pairs = zip(features.tolist(), last_bins.tolist(), strict=True)
    wanted = np.array([edges[f][b] if b < len(edges[f]) else np.inf for f, b in pairs])
    near = wanted.astype(np.float32)
    above = np.where(near > wanted, near, np.nextafter(near, np.float32(np.inf)))
    return np.where(np.isinf(wanted), np.inf, above)
