"""Bins of categorical columns: one per category, or one per group of similar categories.

A column has 255 bins for categories. If it has more categories, each tree uses its own groups: the
categories are sorted by T(G) / (H + λ) over the whole table and cut into groups of neighbors. The
categories of one bin are thus those that this tree would treat alike at its root; the next tree
has other groups. A frequent category has its own bin.

Sums are integers, so groups do not depend on the number of threads.
"""

from dataclasses import replace

import numpy as np

from algorithms.gbdt.high_cardinality import (
    HighCardinalityColumn,
    encode_categories,
    sum_by_category,
    write_bins,
)
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS

ROOM = MAX_BINS - 1  # bins of a column, without the bin of missing values
END_OF_CODES = 1 << 31  # trees hold codes in int32
FREQUENT = 2  # a category with this many times the mean weight of a group has its own bin


class Categories:
    """The categories of a table's columns.

    ``codes[f]`` int32, ascending, are the category codes of column f in the training data, or None
    if the column is numeric. ``bins[f]`` uint8 is the bin of each code in the current tree.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64, or sparse without categories
    categorical : (n_features,) bool

    Raises
    ------
    ValueError
        If a code does not fit in 32 bits.
    """

    def __init__(self, X, categorical):
        self.codes = [seen_codes(X[:, f]) if c else None for f, c in enumerate(categorical)]
        self.bins = [
            None if own is None else np.minimum(np.arange(len(own)), ROOM).astype(np.uint8)
            for own in self.codes
        ]
        self.high_cardinality = {  # columns of more categories than bins
            f: HighCardinalityColumn(f, own.astype(np.int64), encode_categories(X[:, f], own), ROOM)
            for f, own in enumerate(self.codes)
            if own is not None and len(own) > ROOM
        }

    @property
    def binned(self):
        """The codes for a `Binner`: int64 per column, at most ROOM, or None.

        `regroup` writes the bins of columns with more codes before each tree.
        """
        return tuple(None if c is None else c[:ROOM].astype(np.int64) for c in self.codes)

    def put_into(self, binner):
        """Return a copy of ``binner`` in which the first ROOM categories have a bin each."""
        missing = binner.missing.copy()
        for f, own in enumerate(self.binned):
            if own is not None:
                missing[f] = len(own)
        return replace(binner, codes=self.binned, missing=missing)

    def regroup(self, features, records, scale, limits, table, workers):
        """Group the categories of high-cardinality columns for a tree; write the rows' bins.

        Parameters
        ----------
        features : features that the tree may use
        records : (n_rows,) int64, packed gradient pairs
        scale : gbdt.kernels.booster_arrays.Scale
        limits : newton.params.Limits
        table : gbdt.kernels.booster_arrays.Bins, written
        workers : Workers
        """
        used = sorted(self.high_cardinality.keys() & set(features))
        if not used:
            return
        columns = [self.high_cardinality[f] for f in used]
        for f, sums in zip(used, sum_by_category(columns, records, workers), strict=True):
            self.bins[f] = group_codes(sums[:-1], scale, limits)
        write_bins(columns, [self.bins[f] for f in used], table, workers)


def seen_codes(values):
    """Return the distinct codes of a column, ascending int32; negative codes are missing."""
    known = values[values >= 0]
    if known.max(initial=0) >= END_OF_CODES:
        raise ValueError(
            f"a categorical column has code {known.max():.0f}; codes must be below 2**31"
        )
    return np.unique(known.astype(np.int32))


def group_codes(sums, scale, limits):
    """Return the group of each category, uint8 (n_codes,): at most ROOM groups, by slope.

    Parameters
    ----------
    sums : int64 (n_codes, 2), Σg and Σh of each category, in quantization steps
    scale : gbdt.kernels.booster_arrays.Scale
    limits : newton.params.Limits
    """
    h = sums[:, 1] * scale.h
    fits_leaf = (h > 0.0) & (h >= limits.min_child_weight)
    top, below = limits.shrink(sums[:, 0] * scale.g), h + limits.reg_lambda
    slope = np.divide(top, below, out=np.zeros(len(h)), where=fits_leaf)
    order = np.argsort(slope, kind="stable")
    found = np.empty(len(h), np.uint8)
    found[order] = cut(sums[order, 1], slope[order])
    return found


def cut(weight, slope):
    """Return the group of each category in sorted order, uint8, ascending: at most ROOM groups.

    Frequent categories form their own groups. Each takes up two groups: its own, and the end of
    the group before it; there are fewer than ROOM / 2 of them. The remaining groups are distributed
    over the other categories in proportion to √(weight × distance of slopes). Weight alone would
    merge the few categories with extreme slopes, distance alone all those in the middle.

    Parameters
    ----------
    weight : (n,) int64, 0 or more
    slope : (n,) float64, ascending
    """
    alone = weight * ROOM >= max(FREQUENT * weight.sum(), 1)
    worth = np.where(alone, 0.0, np.sqrt(weight * np.gradient(slope)))
    room = ROOM - FREQUENT * int(alone.sum())
    middle = (np.cumsum(worth) - worth / 2.0) / (worth.sum() or 1.0) * room
    part = np.minimum(middle.astype(np.int64), room - 1)
    starts = alone | np.append(False, alone[:-1]) | (np.diff(part, prepend=part[:1]) > 0)
    starts[0] = False
    return np.cumsum(starts).astype(np.uint8)
