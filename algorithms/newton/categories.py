"""The categories of a table, and the bins that they have: one each, or one with their neighbours.

A column has 255 bins for categories. Where it has more of these, each tree is grown on groups of
them that are made for it: all are sorted by T(G) / (H + λ) over the whole table, which is what is
left to explain of each, and cut into groups of neighbours. So what shares a bin is what this tree
would treat alike at its root, and the next tree has other groups. A frequent category has a bin of
its own.

Sums are whole numbers, so groups do not depend on the number of threads.
"""

from dataclasses import replace

import numpy as np

from algorithms.gbdt.high_cardinality import Crowd, give_bins, places_of, sum_places
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS

ROOM = MAX_BINS - 1  # bins of a column but that of missing values
END_OF_CODES = 1 << 31  # trees hold codes in int32
FREQUENT = 2  # times the weight of a group: what weighs as much is one alone


class Categories:
    """The categories of a table's columns.

    ``codes[f]`` int32, ascending, are those of column f that training has seen, and None where it
    holds numbers. ``bins[f]`` uint8 is the bin of each in the tree at hand.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64, or sparse without categories
    categorical : (n_features,) bool

    Raises
    ------
    ValueError
        Where a code does not fit 32 bits.
    """

    def __init__(self, X, categorical):
        self.codes = [seen_codes(X[:, f]) if c else None for f, c in enumerate(categorical)]
        self.bins = [
            None if own is None else np.minimum(np.arange(len(own)), ROOM).astype(np.uint8)
            for own in self.codes
        ]
        self.crowds = {  # columns of more categories than bins
            f: Crowd(f, own.astype(np.int64), places_of(X[:, f], own), ROOM)
            for f, own in enumerate(self.codes)
            if own is not None and len(own) > ROOM
        }

    @property
    def binned(self):
        """The codes that a `Binner` is given: of each column int64, at most ROOM, or None.

        Of a column of more, bins are written before each tree.
        """
        return tuple(None if c is None else c[:ROOM].astype(np.int64) for c in self.codes)

    def put_into(self, binner):
        """Return a `Binner` in which each category has a bin, as far as there is room."""
        missing = binner.missing.copy()
        for f, own in enumerate(self.binned):
            if own is not None:
                missing[f] = len(own)
        return replace(binner, codes=self.binned, missing=missing)

    def regroup(self, features, records, scale, limits, table, workers):
        """Group the categories that are more than bins for a tree, and write their rows' bins.

        Parameters
        ----------
        features : those that the tree may use
        records : (n_rows,) int64
        scale : hist.layout.Scale
        limits : newton.params.Limits
        table : hist.layout.Bins, written
        workers : Workers
        """
        for f in sorted(self.crowds.keys() & set(features)):
            sums = sum_places(self.crowds[f], records, workers)[:-1]
            self.bins[f] = group_codes(sums, scale, limits)
            give_bins(self.crowds[f], self.bins[f], table, workers)


def seen_codes(values):
    """Return the codes in a column, ascending int32; negative ones are missing."""
    known = values[values >= 0]
    if known.max(initial=0) >= END_OF_CODES:
        raise ValueError(f"a column of categories holds {known.max():.0f}; codes are below 2**31")
    return np.unique(known.astype(np.int32))


def group_codes(sums, scale, limits):
    """Return the group of each category, uint8 (n_codes,): at most ROOM, of neighbours by slope.

    Parameters
    ----------
    sums : int64 (n_codes, 2), Σg and Σh of each, in steps
    scale : hist.layout.Scale
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
    """Return the group of each of some neighbours, uint8, ascending from 0: at most ROOM.

    Frequent ones stand alone. They are less than half as many as there is room, and take up twice
    as much each: one group, and one end of another. Over the others goes what is left of it, in
    proportion to √(weight × distance): where only weight counts, the few at the ends, of which
    there is most to explain, are lumped together; where only distance does, all in the middle.

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
