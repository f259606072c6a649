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
        for node in np.flatnonzero(nodes["left"] >= 0):
            last_bin = int(np.ceil(nodes["threshold"][node])) - 1
            edges = self.binner.edges[nodes["feature"][node]]
            nodes["threshold"][node] = float_above(edges, last_bin)
        return Grown(nodes, grown.at)


def float_above(edges, last_bin):
    """Return the least float32 above a bin: x is in it or below where x is less."""
    if last_bin >= len(edges):  # missing values stand alone on the right
        return LARGEST
    near = np.float32(edges[last_bin])
    return near if near > edges[last_bin] else np.nextafter(near, np.float32(np.inf))
