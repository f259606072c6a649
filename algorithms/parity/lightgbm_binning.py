"""LightGBM's binning: edges and categories from its sample of rows.

Zero has a bin of its own, whose edges are ±1e-35; the rest of the bins is shared between negative
and positive values by their numbers of rows. Categories have bins in the order of their rows, but
for rare ones; the first bin is for those, negative codes and missing values.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.parity.kernels.lightgbm_edges import choose_edges
from algorithms.parity.kernels.lightgbm_random import draw_sample

ZERO = float(np.float32(1e-35))  # values of at most this size are zero
OFTEN = 0.7  # share of rows from which on a bin other than zero's is the filler
COVERED = np.float32(0.99)  # share of rows that has to be in categories with bins


@dataclass(frozen=True)
class FeatureBins:
    """The bins of one feature; it cannot be split where there is but one.

    ``edges`` holds the upper edges of a numeric feature's bins but the last, ``codes`` the
    category of each bin but the first; the other one is None. ``filler`` is the bin whose sums
    are what all others leave, see `lightgbm_layout`.
    """

    edges: np.ndarray | None  # float64, ascending
    codes: np.ndarray | None  # int64
    has_missing: bool  # of numbers: whether the last bin is for missing values
    filler: int

    @property
    def count(self):
        """Number of bins."""
        if self.codes is not None:
            return len(self.codes) + 1
        return len(self.edges) + 1 + self.has_missing

    def number(self, x):
        """Return the bin of each value, int32; where training had no gaps, one is read as zero."""
        gaps = np.isnan(x)
        x = np.where(gaps, 0.0, x)
        if self.codes is not None:
            found = number_codes(x, self.codes)
            return np.where(gaps, 0, found).astype(np.int32)
        found = np.searchsorted(self.edges, x, side="left")
        last = len(self.edges) + 1
        return np.where(gaps & self.has_missing, last, found).astype(np.int32)


def number_codes(x, codes):
    """Return the bin of each category, 0 where it has none."""
    if not len(codes):
        return np.zeros(len(x), np.int64)
    x, order = np.trunc(x), np.argsort(codes)
    at = order[np.minimum(np.searchsorted(codes, x, sorter=order), len(codes) - 1)]
    return np.where(codes[at] == x, at + 1, 0)


def sample_rows(n_rows, wanted, seed):
    """Return the numbers of the rows that bins are found on: all, or as many as wanted."""
    if n_rows <= wanted:
        return slice(None)
    drawn = np.zeros(n_rows, np.uint8)
    draw_sample(int(seed), int(wanted), drawn)
    return np.flatnonzero(drawn)


def find_feature_bins(x, is_set, max_bin, least):
    """Return the `FeatureBins` of a column.

    Parameters
    ----------
    x : (n,) float64, the sample of rows
    is_set : whether values are categories
    max_bin : most bins, that of missing values included
    least : fewest rows of a bin
    """
    gaps = int(np.isnan(x).sum())
    own = np.sort(x[np.abs(x) > ZERO])  # NaN is not above
    zeros = len(x) - gaps - len(own)
    values, counts = count_values(own, zeros)
    if is_set:
        return find_categories(values, counts, gaps, len(x), max_bin, least)
    edges = find_edges(values, counts, zeros, max_bin - bool(gaps), len(x) - gaps, least)
    rows = np.zeros(len(edges) + 1 + bool(gaps), np.int64)
    np.add.at(rows, np.searchsorted(edges, values), counts)
    if gaps:
        rows[-1] = gaps
    return FeatureBins(edges, None, bool(gaps), choose_filler(rows, edges, len(x)))


def choose_filler(rows, edges, total):
    """Return the bin with most rows where that is most of them, else that of zero."""
    top = int(rows.argmax())
    return top if rows[top] / total >= OFTEN else int(np.searchsorted(edges, 0.0))


def count_values(own, zeros):
    """Return distinct values and how often each occurs.

    Neighbours that differ by one rounding unit are one value, the larger one. A zero stands
    between negative and positive values, even where there is none.

    Parameters
    ----------
    own : float64, ascending, without zeros
    zeros : number of zeros
    """
    last = np.append(own[1:] > np.nextafter(own[:-1], np.inf), True)[: len(own)]
    ends = np.flatnonzero(last)
    values, counts = own[ends], np.diff(ends, prepend=-1)
    place = int(np.searchsorted(values, 0.0))
    if 0 < place < len(values) or zeros or not len(values):
        values, counts = np.insert(values, place, 0.0), np.insert(counts, place, zeros)
    return values, counts.astype(np.int64)


def find_edges(values, counts, zeros, max_bin, total, least):
    """Return the edges between a numeric feature's bins, float64.

    Parameters
    ----------
    values, counts : as `count_values` returns them
    zeros : rows of value zero
    max_bin : most bins
    total : rows
    least : fewest rows of a bin
    """
    first, last = np.searchsorted(values, [-ZERO, ZERO], side="right")
    edges = np.empty(0)
    if first and max_bin > 1:
        room = max(1, int(counts[:first].sum() / (total - zeros) * (max_bin - 1)))
        edges = np.append(choose(values[:first], counts[:first], room, least), -ZERO)
    room = max_bin - 1 - len(edges)
    if last < len(values) and room > 0:
        right = choose(values[last:], counts[last:], room, least)
        edges = np.concatenate([edges, [ZERO], right])
    return edges


def choose(values, counts, room, least):
    """Return the edges that `choose_edges` finds on one side of zero."""
    edges = np.empty(max(room, 1) + 1)
    found = choose_edges(values, counts, int(room), int(counts.sum()), int(least), edges)
    return edges[:found]


def find_categories(values, counts, gaps, total, max_bin, least):
    """Return the bins of a categorical feature; parameters as of `find_edges`."""
    whole = np.trunc(values).astype(np.int64)
    gaps += int(counts[whole < 0].sum())
    codes, place = np.unique(whole[whole >= 0], return_inverse=True)
    rows = np.bincount(place, counts[whole >= 0], len(codes)).astype(np.int64)
    taken = 0
    if total > gaps:
        by_rows = np.argsort(-rows, kind="stable")
        codes, rows = codes[by_rows], rows[by_rows]
        wanted = int(float(np.float32(total - gaps) * COVERED) + 0.5)
        room = min(len(codes) + bool(gaps), max_bin)
        covered = 0
        for count in rows.tolist():
            full = covered >= wanted and taken + 1 >= room
            if full or (count < least and taken > 1):
                break
            taken += 1
            covered += count
    kept, own = codes[:taken], rows[:taken]
    in_bin = np.concatenate([[total - own.sum()], own])
    top = int(in_bin.argmax())
    zero = int(np.flatnonzero(kept == 0)[0]) + 1 if (kept == 0).any() else 0
    return FeatureBins(None, kept, False, top if in_bin[top] / total >= OFTEN else zero)
