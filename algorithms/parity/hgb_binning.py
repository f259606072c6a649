"""Binning of scikit-learn's HistGradientBoosting: its bin edges and categories.

With few distinct values, the edges are the midpoints of adjacent values; otherwise they are
percentiles. Each known category has a bin. The last bin is for missing values.
"""

from dataclasses import dataclass

import numpy as np

SAMPLE = 200_000  # maximum number of rows from which edges are chosen
FARTHEST = 1e300  # maximum of an edge
MAX_CODE = 2**31


@dataclass(frozen=True)
class FeatureBins:
    """Bins of one feature: its ascending edges, or its ascending categories."""

    edges: np.ndarray | None  # float64
    codes: np.ndarray | None  # int64

    @property
    def count(self):
        """Number of bins, without that of missing values."""
        return len(self.edges) + 1 if self.codes is None else len(self.codes)

    def number(self, x, missing):
        """Return the bin of each value of a column, uint8; ``missing`` for NaN."""
        is_missing = np.isnan(x)
        ends = self.edges if self.codes is None else self.codes
        bins = np.searchsorted(ends, np.where(is_missing, 0.0, x), side="left")
        return np.where(is_missing, missing, bins).astype(np.uint8)


def find_bins(X, is_categorical, max_bin, weight, seed):
    """Return the `FeatureBins` of every column.

    Parameters
    ----------
    X : (n_rows, n_features) float64, NaN where missing
    is_categorical : (n_features,) bool, whether values are categories
    max_bin : maximum number of bins, without that of missing values
    weight : (n_rows,) float64 or None
    seed : int, for the sample of rows

    Raises
    ------
    ValueError
        If a column has more categories than bins, or a category is not an integer ≥ 0.
    """
    rows, row_weight = slice(None), weight
    if len(X) > SAMPLE:
        probability = None if weight is None else weight / np.sum(weight)
        rng = np.random.RandomState(seed)
        rows, row_weight = rng.choice(len(X), SAMPLE, p=probability, replace=True), None
    bins = []
    for f, has_codes in enumerate(is_categorical):
        if has_codes:
            bins.append(FeatureBins(None, find_codes(X[:, f], max_bin, f)))
        else:
            bins.append(FeatureBins(find_edges(X[rows, f], max_bin, row_weight), None))
    return bins


def find_codes(x, max_bin, f):
    """Return a column's categories, ascending."""
    codes = np.unique(x[~np.isnan(x)])
    if ((codes < 0) | (codes >= MAX_CODE) | (codes != np.trunc(codes))).any():
        raise ValueError(
            f"column {f} has categories that are not integers from 0 to 2³¹ − 1: "
            "encode them as integers for parity='scikit-learn'"
        )
    if len(codes) > max_bin:
        raise ValueError(
            f"column {f} has {len(codes)} categories and max_bin={max_bin}: "
            "parity='scikit-learn' needs a bin for each category"
        )
    return codes.astype(np.int64)


def find_edges(x, max_bin, weight):
    """Return the edges between the bins of a column; rows of weight 0 are ignored."""
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
    """Return weighted percentiles of x.

    If a percentile falls between two values, the result is their midpoint.

    Parameters
    ----------
    x, weight : (n,) float64, x ascending, weights above 0
    shares : float64, ascending, in percent
    """
    order = np.argsort(x[:, None], axis=0)[:, 0]  # not stable: may reorder weights of equal values
    reached = np.cumsum(weight[order])
    wanted = shares / 100 * reached[-1]
    last = len(x) - 1
    at = np.minimum(np.searchsorted(reached, wanted), last)
    here, after = x[order[at]], x[order[np.minimum(at + 1, last)]]
    beyond = reached[at] - wanted > np.finfo(np.float64).eps
    return np.where(beyond, here, (here + after) / 2)
