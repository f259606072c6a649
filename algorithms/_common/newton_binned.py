"""Grow trees on bins with the lists of exact growth: slower, but with all that these know.

For what histograms of leaves do not serve: columns drawn for each level or node, and trees of so
many leaves that their histograms would fill the memory. A value's bin stands for it, so the same
thresholds are tried.
"""

import numpy as np

from algorithms._common.newton_exact import ExactGrower, Grown

LARGEST = np.finfo(np.float32).max


class BinnedGrower:
    """Grows trees on the numbers of bins.

    Parameters
    ----------
    bins : hist_layout.Bins, without categories
    binner : hist_bins.Binner
    limits : newton_params.Limits
    workers : Workers
    name : name of the estimator, for error messages
    """

    def __init__(self, bins, binner, limits, workers, name):
        codes = bins.rows.astype(np.float32)
        for f in np.flatnonzero(binner.missing >= 0):
            codes[bins.columns[f] == binner.missing[f], f] = np.nan
        self.binner = binner
        self.grower = ExactGrower(codes, limits, workers, name)

    def grow(self, g, h, used, draws):
        """Return the `Grown` tree of some derivatives; see `ExactGrower.grow`."""
        grown = self.grower.grow(g, h, used, draws)
        nodes = grown.nodes
        inner = np.flatnonzero(nodes["left"] >= 0)
        last_bins = np.ceil(nodes["threshold"][inner]).astype(np.int64) - 1
        nodes["threshold"][inner] = floats_above(
            self.binner.edges, nodes["feature"][inner], last_bins
        )
        return Grown(nodes, grown.at)


def floats_above(edges, features, last_bins):
    """Return the least float32 above each of some bins: x is in it or below where x is less.

    Parameters
    ----------
    edges : of each feature, float64, ascending
    features, last_bins : (n,) int64; behind a feature's last edge, missing values stand alone
    """
    pairs = zip(features.tolist(), last_bins.tolist(), strict=True)
    wanted = np.array([edges[f][b] if b < len(edges[f]) else np.inf for f, b in pairs])
    near = wanted.astype(np.float32)
    above = np.where(near > wanted, near, np.nextafter(near, np.float32(np.inf)))
    return np.where(np.isinf(wanted), LARGEST, above)
