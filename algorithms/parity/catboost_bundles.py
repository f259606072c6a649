"""Exclusive feature bundles: sparse columns that CatBoost merges into one.

Bin 0 is the default of a column. Two columns exclude each other if no row has other bins than 0 in
both. The bins of a bundle are those of its columns one after the other, without their defaults;
the last bin is for rows in which all columns have their default. Bundles are made greedily in
two orders of the columns, and those that save more histograms are used. Bundles of fewer than four
columns with two bins are split up again: such columns are packed as bits.
"""

import numpy as np

from algorithms.parity.catboost_generator import RandomNumbers

MAX_BINS = 1 << 10  # bins of a bundle
MAX_TRIED = 100  # bundles that are tried for a column
MIN_BINARY = 4  # columns with two bins that make a bundle worthwhile
RANGE = 1 << 64  # of random numbers


def find_bundles(columns):
    """Return the bundles, lists of positions in ``columns`` in the order of their bins.

    Parameters
    ----------
    columns : sequence of (column of X, bins (n_rows,), number of bins), by ascending column of X
    """
    rows = [np.flatnonzero(bins) for _, bins, _ in columns]
    by_count = sorted(range(len(columns)), key=lambda position: -len(rows[position]))
    found = []
    for order in (range(len(columns)), by_count):
        bundling = _Bundling(columns, rows)
        for position in order:
            bundling.add(position)
        found.append(bundling.kept_bundles())
    saved = [sum(map(len, bundles)) - len(bundles) for bundles in found]
    return found[1] if saved[1] > saved[0] else found[0]


class _Bundling:
    """Bundles that are made in one order of the columns.

    Parameters
    ----------
    columns : as in `find_bundles`
    rows : list of int arrays, the rows in which each column has another bin than 0
    """

    def __init__(self, columns, rows):
        self.columns, self.rows, self.random = columns, rows, RandomNumbers(0)
        self.n_rows = len(columns[0][1]) if len(columns) else 0
        self.positions, self.is_taken = [], []  # of each bundle
        self.n_bins, self.counts = np.zeros((2, len(columns)), np.int64)  # of each bundle
        self.bundle_of = {}  # by column of X

    def kept_bundles(self):
        """Return the bundles that are kept, lists of positions."""
        widths = zip(self.positions, self.n_bins.tolist(), strict=False)
        return [own for own, bins in widths if len(own) >= MIN_BINARY or bins > len(own) > 1]

    def add(self, position):
        """Put a column into a bundle: that of a neighbor, another one, or a new one.

        As in CatBoost, a column is left out if both neighbors are in one bundle that cannot take
        it.
        """
        feature, _, n_bins = self.columns[position]
        if n_bins - 1 >= MAX_BINS:
            return
        tried = []
        for neighbor in (feature - 1, feature + 1):
            bundle = self.bundle_of.get(neighbor)
            if bundle is None:
                continue
            if bundle in tried or (
                self._have_space(position)[bundle] and self._put(position, bundle)
            ):
                return
            tried.append(bundle)
        others = [one for one in np.flatnonzero(self._have_space(position)) if one not in tried]
        for bundle in self._draw(others, MAX_TRIED - len(tried)):
            if self._put(position, bundle):
                return
        self.positions.append([])
        self.is_taken.append(np.zeros(self.n_rows, bool))
        self._put(position, len(self.positions) - 1)

    def _draw(self, bundles, most):
        """Return bundles, in random order if there are more than ``most``."""
        if len(bundles) <= most:
            return bundles
        for i in range(most):
            j = i + self._draw_below(len(bundles) - i)
            bundles[i], bundles[j] = bundles[j], bundles[i]
        return bundles[:most]

    def _draw_below(self, count):
        """Return a random number below ``count``."""
        limit = (RANGE - 1) // count * count
        while (number := int(self.random.numbers(1)[0])) >= limit:
            pass
        return number % count

    def _have_space(self, position):
        """Return which bundles have enough bins and rows for a column, bool (n_bundles,)."""
        count = len(self.positions)
        has_bins = self.n_bins[:count] + self.columns[position][2] - 1 < MAX_BINS
        return has_bins & (self.counts[:count] + len(self.rows[position]) <= self.n_rows)

    def _put(self, position, bundle):
        """Add a column to a bundle if they exclude each other; return whether it was added."""
        rows = self.rows[position]
        if self.is_taken[bundle][rows].any():
            return False
        self.is_taken[bundle][rows] = True
        self.positions[bundle].append(position)
        self.n_bins[bundle] += self.columns[position][2] - 1
        self.counts[bundle] += len(rows)
        self.bundle_of[self.columns[position][0]] = bundle
        return True
