"""LightGBM's binning: edges and categories from its sample of rows.

Zero has its own bin, with the edges ±1e-35. The other bins are divided between negative and
positive values in proportion to their rows. Categories get bins in the order of their row counts;
the first bin is for rare categories, negative codes and missing values.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.parity.kernels.lightgbm_edges import choose_edges
from algorithms.parity.kernels.lightgbm_random import draw_sample

ZERO = float(np.float32(1e-35))  # values up to this absolute value are zero
OFTEN = 0.7  # minimum share of rows of ``most_freq_bin``, unless it is the bin of zero
COVERED = np.float32(0.99)  # minimum share of rows in categories with their own bins


@dataclass(frozen=True)
class FeatureBins:
    """Bins of one feature; a feature with a single bin is not split.

    A numeric feature has ``edges``, the upper edges of all bins but the last; a categorical one has
    ``codes``, the category of each bin but the first. The other one is None. For ``most_freq_bin``
    see `lightgbm_arrays`.
    """

    edges: np.ndarray | None  # float64, ascending
    codes: np.ndarray | None  # int64
    has_missing: bool  # whether the last bin is for missing values; False if categorical
    most_freq_bin: int

    @property
    def count(self):
        """Number of bins."""
        if self.codes is not None:
            return len(self.codes) + 1
        return len(self.edges) + 1 + self.has_missing

    def number(self, x):
        """Return the bin of each value, int32; NaN is 0 if training had no missing values."""
        is_missing = np.isnan(x)
        x = np.where(is_missing, 0.0, x)
        if self.codes is not None:
            bins = number_codes(x, self.codes)
            return np.where(is_missing, 0, bins).astype(np.int32)
        bins = np.searchsorted(self.edges, x, side="left")
        last = len(self.edges) + 1
        return np.where(is_missing & self.has_missing, last, bins).astype(np.int32)


def number_codes(x, codes):
    """Return the bin of each category, 0 if it has none."""
    if not len(codes):
        return np.zeros(len(x), np.int64)
    x, order = np.trunc(x), np.argsort(codes)
    at = order[np.minimum(np.searchsorted(codes, x, sorter=order), len(codes) - 1)]
    return np.where(codes[at] == x, at + 1, 0)


def sample_rows(n_rows, wanted, seed):
    """Return the rows used for binning: all, or a sample of the wanted size."""
    if n_rows <= wanted:
        return slice(None)
    drawn = np.zeros(n_rows, np.uint8)
    draw_sample(int(seed), int(wanted), drawn)
    return np.flatnonzero(drawn)


def find_feature_bins(x, is_categorical, max_bin, min_data_in_bin):
    """Return the `FeatureBins` of a column.

    Parameters
    ----------
    x : (n,) float64, the sampled rows
    is_categorical : whether values are categories
    max_bin : maximum number of bins, including that of missing values
    min_data_in_bin : minimum number of rows of a bin
    """
    n_missing = int(np.isnan(x).sum())
    nonzero = np.sort(x[np.abs(x) > ZERO])  # without NaN
    zeros = len(x) - n_missing - len(nonzero)
    values, counts = count_values(nonzero, zeros)
    if is_categorical:
        return find_categories(values, counts, n_missing, len(x), max_bin, min_data_in_bin)
    edges = find_edges(
        values, counts, zeros, max_bin - bool(n_missing), len(x) - n_missing, min_data_in_bin
    )
    rows = np.zeros(len(edges) + 1 + bool(n_missing), np.int64)
    np.add.at(rows, np.searchsorted(edges, values), counts)
    if n_missing:
        rows[-1] = n_missing
    return FeatureBins(edges, None, bool(n_missing), find_most_freq_bin(rows, edges, len(x)))


def find_most_freq_bin(rows, edges, total):
    """Return the bin with the most rows if its share is at least OFTEN, else the bin of zero."""
    top = int(rows.argmax())
    return top if rows[top] / total >= OFTEN else int(np.searchsorted(edges, 0.0))


def count_values(nonzero, zeros):
    """Return the distinct values, and the number of rows of each.

    Values that differ by one unit in the last place count as one, the larger one. 0 is inserted
    between negative and positive values, even if it does not occur.

    Parameters
    ----------
    nonzero : float64, ascending, without zeros
    zeros : number of zeros
    """
    last = np.append(nonzero[1:] > np.nextafter(nonzero[:-1], np.inf), True)[: len(nonzero)]
    ends = np.flatnonzero(last)
    values, counts = nonzero[ends], np.diff(ends, prepend=-1)
    place = int(np.searchsorted(values, 0.0))
    if 0 < place < len(values) or zeros or not len(values):
        values, counts = np.insert(values, place, 0.0), np.insert(counts, place, zeros)
    return values, counts.astype(np.int64)


def find_edges(values, counts, zeros, max_bin, total, min_data_in_bin):
    """Return the edges between a numeric feature's bins, float64.

    Parameters
    ----------
    values, counts : results of `count_values`
    zeros : number of rows with the value 0
    max_bin : maximum number of bins
    total : number of rows
    min_data_in_bin : minimum number of rows of a bin
    """
    first, last = np.searchsorted(values, [-ZERO, ZERO], side="right")
    edges = np.empty(0)
    if first and max_bin > 1:
        max_bins = max(1, int(counts[:first].sum() / (total - zeros) * (max_bin - 1)))
        edges = np.append(choose(values[:first], counts[:first], max_bins, min_data_in_bin), -ZERO)
    max_bins = max_bin - 1 - len(edges)
    if last < len(values) and max_bins > 0:
        right = choose(values[last:], counts[last:], max_bins, min_data_in_bin)
        edges = np.concatenate([edges, [ZERO], right])
    return edges


def choose(values, counts, max_bins, least):
    """Return the result of `choose_edges` on one side of zero."""
    edges = np.empty(max(max_bins, 1) + 1)
    n_edges = choose_edges(values, counts, int(max_bins), int(counts.sum()), int(least), edges)
    return edges[:n_edges]


def find_categories(values, counts, n_missing, total, max_bin, min_data_in_bin):
    """Return the bins of a categorical feature; parameters are as in `find_edges`."""
    whole = np.trunc(values).astype(np.int64)
    n_missing += int(counts[whole < 0].sum())
    codes, place = np.unique(whole[whole >= 0], return_inverse=True)
    rows = np.bincount(place, counts[whole >= 0], len(codes)).astype(np.int64)
    taken = 0
    if total > n_missing:
        by_rows = np.argsort(-rows, kind="stable")
        codes, rows = codes[by_rows], rows[by_rows]
        wanted = int(float(np.float32(total - n_missing) * COVERED) + 0.5)
        max_bins = min(len(codes) + bool(n_missing), max_bin)
        covered = 0
        for count in rows.tolist():
            full = covered >= wanted and taken + 1 >= max_bins
            if full or (count < min_data_in_bin and taken > 1):
                break
            taken += 1
            covered += count
    kept, kept_rows = codes[:taken], rows[:taken]
    in_bin = np.concatenate([[total - kept_rows.sum()], kept_rows])
    top = int(in_bin.argmax())
    zero = int(np.flatnonzero(kept == 0)[0]) + 1 if (kept == 0).any() else 0
    return FeatureBins(None, kept, False, top if in_bin[top] / total >= OFTEN else zero)
