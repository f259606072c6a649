"""Binning of scikit-learn's HistGradientBoosting: its bin edges and categories.

A feature of few values has an edge in the middle between any two of them, another one at its
percentiles. Every known category has a bin. The last bin is for missing values.
"""

from dataclasses import dataclass

import numpy as np

SAMPLE = 200_000  # rows that edges are chosen on
FARTHEST = 1e300  # most that an edge may be
MOST_CODE = 2**31


@dataclass(frozen=True)
class FeatureBins:
    """The bins of one feature: its ascending edges, or its ascending categories."""

    edges: np.ndarray | None  # float64
    codes: np.ndarray | None  # int64

    @property
    def count(self):
        """Number of bins, that of missing values left out."""
        return len(self.edges) + 1 if self.codes is None else len(self.codes)

    def number(self, x, missing):
        """Return the bin of each value of a column, uint8; ``missing`` where there is none."""
        gaps = np.isnan(x)
        ends = self.edges if self.codes is None else self.codes
        found = np.searchsorted(ends, np.where(gaps, 0.0, x), side="left")
        return np.where(gaps, missing, found).astype(np.uint8)


def find_bins(X, is_set, max_bin, weight, seed):
    """Return the `FeatureBins` of every column.

    Parameters
    ----------
    X : (n_rows, n_features) float64, NaN where missing
    is_set : (n_features,) bool, whether values are categories
    max_bin : most bins, that of missing values left out
    weight : (n_rows,) float64 or None
    seed : int, of the sample of rows

    Raises
    ------
    ValueError
        Where a column has more categories than bins, or others than whole numbers from 0 on.
    """
    rows, own = slice(None), weight
    if len(X) > SAMPLE:
        chance = None if weight is None else weight / np.sum(weight)
        rng = np.random.RandomState(seed)
        rows, own = rng.choice(len(X), SAMPLE, p=chance, replace=True), None
    found = []
    for f, of_codes in enumerate(is_set):
        if of_codes:
            found.append(FeatureBins(None, find_codes(X[:, f], max_bin, f)))
        else:
            found.append(FeatureBins(find_edges(X[rows, f], max_bin, own), None))
    return found


def find_codes(x, max_bin, f):
    """Return a column's categories, ascending."""
    codes = np.unique(x[~np.isnan(x)])
    if ((codes < 0) | (codes >= MOST_CODE) | (codes != np.trunc(codes))).any():
        raise ValueError(
            f"column {f} has categories that are not whole numbers from 0 to 2³¹ − 1: "
            "number them for parity='scikit-learn'"
        )
    if len(codes) > max_bin:
        raise ValueError(
            f"column {f} has {len(codes)} categories and max_bin={max_bin}: with "
            "parity='scikit-learn' each needs a bin"
        )
    return codes.astype(np.int64)


def find_edges(x, max_bin, weight):
    """Return the edges between the bins of a column; rows of weight 0 do not count."""
    known = ~np.isnan(x)
    x, weight = x[known], None if weight is None else weight[known]
    if weight is not None:
        x, weight = x[weight != 0.0], weight[weight != 0.0]
    order = np.argsort(x)
    x, weight = x[order], None if weight is None else weight[order]
    values = np.unique(x)
    if len(values) < 2:
        return np.empty(0)
    if len(values) <= max_bin:
        edges = np.stack([values[:-1], values[1:]], axis=1).mean(axis=1)
    else:
        shares = np.linspace(0, 100, num=max_bin + 1)[1:-1]
        if weight is None:
            edges = np.percentile(x, shares, method="averaged_inverted_cdf")
        else:
            edges = weighted_percentiles(x, weight, shares)
    return np.minimum(np.unique(edges), FARTHEST)


def weighted_percentiles(x, weight, shares):
    """Return the values up to which shares of the weight lie, in percent.

    Where a share ends between two values it is their middle.

    Parameters
    ----------
    x, weight : (n,) float64, x ascending, weights above 0
    shares : float64, ascending
    """
    order = np.argsort(x[:, None], axis=0)[:, 0]  # not stable: weights of equal values move
    reached = np.cumsum(weight[order])
    wanted = shares / 100 * reached[-1]
    last = len(x) - 1
    at = np.minimum(np.searchsorted(reached, wanted), last)
    here, after = x[order[at]], x[order[np.minimum(at + 1, last)]]
    beyond = reached[at] - wanted > np.finfo(np.float64).eps
    return np.where(beyond, here, (here + after) / 2)
