"""Bins of columns that have more categories than bins, assigned anew for each tree.

A split on categories takes a set from one end of their order by G / (H + s), their slopes
(`hist.careful`). So before each tree the categories are sorted by their slopes over the whole
table. Those at both ends, which the first sets consist of, have a bin each. Those in the middle
share bins with their neighbours, about the same Σh in each bin. The next tree has other gradients,
and so other bins.

A category of fewer than `cat_smooth` rows, estimated from Σh, has no bin in that tree. Its rows are
in the bin of missing values, which goes right. Alone in a bin it could not join a set
(`hist.careful`). In a bin with others it would join them, and its neighbours are chosen by its own
labels: groups of rare categories then repeat the labels of the training rows.

Sums are whole numbers, so bins depend on no number of threads or machines.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from algorithms.gbdt.category_bins import bins_of_codes
from algorithms.gbdt.kernels.category_codes import add_codes, rebin

ALONE = 0.3  # share of the bins, at each end, that hold one category


@dataclass(frozen=True)
class Crowd:
    """A column of more categories than bins.

    ``codes`` int64, ascending, are those that have been met, and ``places`` uint16 or uint32
    (n_rows,) the number of each row's among them: that after the last one where it is missing.
    ``room`` is how many of them have bins.
    """

    feature: int
    codes: np.ndarray
    places: np.ndarray
    room: int


def find_crowds(X, binner, number):
    """Return the `Crowd` of each column that has more categories than bins; of sparse X none.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64, or sparse
    binner : Binner
    number : uint32 (n_rows,), which row comes to each place; (0,): they stay as they are
    """
    found = []
    for f, met in () if sparse.issparse(X) else binner.crowds.items():
        codes = np.sort(met)
        places = places_of(X[:, f], codes)
        places = places[number] if len(number) else places
        found.append(Crowd(f, codes, places, len(binner.codes[f])))
    return found


def places_of(values, codes):
    """Return the number of each row's category, unsigned (n_rows,); of missing ones that after all.

    Parameters
    ----------
    values : (n_rows,) float, NaN where missing
    codes : (n_codes,), ascending
    """
    return bins_of_codes(values, codes.astype(np.int64), np.min_scalar_type(max(len(codes), 256)))


def sum_places(crowd, records, workers):
    """Return Σg and Σh of each category of a column, int64 (n_codes + 1, 2), in steps.

    The last row is of missing values.
    """
    parts = []

    def add(first, last):
        own = np.zeros((len(crowd.codes) + 1, 2), np.int64)
        add_codes(crowd.places, records, own, first, last)
        parts.append(own)

    workers.share(add, len(crowd.places))
    return sum(parts)


def share_bins(sums, frequent, smooth, room):
    """Return the bin of each category of a column, uint8 (n_codes,).

    Parameters
    ----------
    sums : int64 (n_codes, 2), Σg and Σh of each, in steps
    frequent : bool (n_codes,), whether it has a bin; the others get number ``room``
    smooth : s, in steps of h
    room : how many bins there are
    """
    bins = np.full(len(sums), room, np.uint8)
    kept = np.flatnonzero(frequent)
    below = sums[kept, 1] + smooth
    slope = np.divide(sums[kept, 0], below, out=np.zeros(len(kept)), where=below > 0.0)
    order = kept[np.argsort(slope, kind="stable")]
    if len(order) <= room:
        bins[order] = np.arange(len(order))
        return bins
    alone = int(room * ALONE)
    middle = order[alone : len(order) - alone]
    bins[order[:alone]] = np.arange(alone)
    bins[middle] = alone + cut_evenly(sums[middle, 1], room - 2 * alone)
    bins[order[len(order) - alone :]] = np.arange(room - alone, room)
    return bins


def find_frequent(sums, n_rows, cat_smooth):
    """Return which categories of a column have rows enough for a bin, bool (n_codes,).

    Rows are estimated from Σh, as the kernels do in each leaf.

    Parameters
    ----------
    sums : int64 (n_codes + 1, 2), as of `sum_places`, over all rows
    n_rows : of the whole table
    cat_smooth : fewest rows
    """
    h = sums[:, 1]
    rows_per_h = n_rows / max(int(h.sum()), 1)
    return (h[:-1] * rows_per_h + 0.5 >= cat_smooth) & (h[:-1] > 0)


def cut_evenly(weight, parts):
    """Return the part of each of some neighbours, int64 ascending from 0: of about equal weight.

    Parameters
    ----------
    weight : int64 (n,), 0 or more
    parts : how many there may be
    """
    before = np.cumsum(weight) - weight
    share = before.astype(np.float64) / max(int(weight.sum()), 1) * parts
    return np.minimum(share.astype(np.int64), parts - 1)


def give_bins(crowd, numbers, bins, workers):
    """Write the bins of a column's rows, and how many categories each bin holds.

    Parameters
    ----------
    numbers : uint8 (n_codes,), the bin of each category; ``crowd.room``: that of missing values
    bins : Bins, whose column is written
    workers : Workers
    """
    counts = np.bincount(numbers, minlength=crowd.room)
    bins.sizes[crowd.feature, : crowd.room] = counts[: crowd.room]
    numbers = np.append(numbers, np.uint8(crowd.room))
    at = bins.layout.column[crowd.feature]

    def write(first, last):
        rebin(crowd.places, numbers, bins.columns[at], bins.rows, at, first, last)

    workers.share(write, len(crowd.places))
