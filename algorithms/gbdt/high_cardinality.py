"""High-cardinality columns: more categories than bins, assigned to bins again for each tree.

A split on categories takes a set from one end of their order by the slope G / (H + s)
(`gbdt/kernels`). So before each tree the categories are sorted by their slopes over the whole
table. The categories at both ends, which the smallest sets consist of, get a bin each. Those in
the middle share bins with their neighbors, with about the same Σh in each bin. The next tree has
other gradients and therefore other bins.

A category with fewer than `cat_smooth` rows, estimated from Σh, has no bin in that tree. Its rows
are in the bin of missing values, which goes right. Alone in a bin it could not be part of a set.
Sharing a bin would overfit: its neighbors would be chosen by its own labels, so groups of rare
categories would reproduce the labels of the training rows.

Sums are integers, so the bins do not depend on the number of threads or machines.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from algorithms.gbdt.category_bins import bins_of_codes
from algorithms.gbdt.kernels.booster_arrays import CategoryBins
from algorithms.gbdt.kernels.category_codes import add_codes, rebin, write_category_bins


@dataclass(frozen=True)
class HighCardinalityColumn:
    """A column of more categories than bins.

    ``categories``, int64 and ascending, are the values in the training rows. ``codes``, uint16 or
    uint32 (n_rows,), is the index of each row's category; len(categories) if missing. ``n_bins``
    is the number of bins for categories.
    """

    feature: int
    categories: np.ndarray
    codes: np.ndarray
    n_bins: int


def find_high_cardinality(X, binner, number):
    """Return a `HighCardinalityColumn` for each column of more categories than bins.

    For sparse X the list is empty.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64, or sparse
    binner : Binner
    number : uint32 (n_rows,), row at each position; (0,) if rows are not reordered
    """
    columns = []
    for f, all_codes in () if sparse.issparse(X) else binner.high_cardinality.items():
        categories = np.sort(all_codes)
        codes = encode_categories(X[:, f], categories)
        codes = codes[number] if len(number) else codes
        columns.append(HighCardinalityColumn(f, categories, codes, len(binner.codes[f])))
    return columns


def encode_categories(values, categories):
    """Return the index of each row's category in ``categories``, unsigned (n_rows,).

    Missing values get the index len(categories).

    Parameters
    ----------
    values : (n_rows,) float, NaN where missing
    categories : (n_codes,), ascending
    """
    dtype = np.min_scalar_type(max(len(categories), 256))
    return bins_of_codes(values, categories.astype(np.int64), dtype)


def sum_by_category(columns, records, workers):
    """Return Σg and Σh of each category, in steps: an int64 (n_codes + 1, 2) for each column.

    The last row belongs to missing values. The threads divide the rows once for all columns.
    """
    parts = []

    def add(first, last):
        sums = [np.zeros((len(column.categories) + 1, 2), np.int64) for column in columns]
        for column, own in zip(columns, sums, strict=True):
            add_codes(column.codes, records, own, first, last)
        parts.append(sums)

    workers.share(add, len(records))
    return [sum(own) for own in zip(*parts, strict=True)]


def assign_bins(sums, is_frequent, smooth, n_bins):
    """Return the bin of each category of a column, uint8 (n_codes,).

    Parameters
    ----------
    sums : int64 (n_codes, 2), Σg and Σh of each category, in steps
    is_frequent : bool (n_codes,), whether a category gets a bin; the others get number ``n_bins``
    smooth : s, in steps of h
    n_bins : number of bins
    """
    n_codes = len(sums)
    bins = np.empty(n_codes, np.uint8)
    scratch = np.empty(n_codes), np.empty((2, n_codes), np.int64)
    write_category_bins(sums, is_frequent, float(smooth), n_bins, *scratch, bins)
    return bins


def collect_columns(columns, cat_smooth, weight_unit):
    """Return the `CategoryBins` of a table, without the arrays of a batch.

    Parameters
    ----------
    columns : list of HighCardinalityColumn
    cat_smooth, weight_unit : float, see `CategoryBins` and `Booster`
    """
    codes = [column.codes.astype(np.uint32) for column in columns]
    first = np.cumsum([0, *(len(column.categories) + 1 for column in columns)])
    n_codes = int(first[-1])
    return CategoryBins(
        features=np.array([column.feature for column in columns], np.int64),
        n_bins=np.array([column.n_bins for column in columns], np.int64),
        first=first,
        codes=np.stack(codes) if codes else np.empty((0, 0), np.uint32),
        cat_smooth=float(cat_smooth),
        cat_smooth_h=float(cat_smooth / weight_unit),
        sums=np.empty((0, n_codes, 2), np.int64),
        slopes=np.empty(n_codes),
        orders=np.empty((2, n_codes), np.int64),
        is_frequent=np.empty(n_codes, bool),
        bins=np.empty((0, 0, n_codes), np.uint8),
    )


def for_batch(categories, n_rounds, n_scores, size):
    """Return `CategoryBins` with the arrays of a batch of rounds that ``size`` threads add."""
    n_codes = len(categories.slopes)
    sums = np.empty((size, n_codes, 2), np.int64)
    return categories._replace(sums=sums, bins=np.empty((n_rounds, n_scores, n_codes), np.uint8))


def find_frequent(sums, n_rows, cat_smooth):
    """Return which categories of a column have enough rows for a bin, bool (n_codes,).

    Rows are estimated from Σh, as in the split kernels.

    Parameters
    ----------
    sums : int64 (n_codes + 1, 2), from `sum_by_category`, over all rows
    n_rows : rows of the whole table
    cat_smooth : minimum number of rows
    """
    h = sums[:, 1]
    rows_per_h = n_rows / max(int(h.sum()), 1)
    return (h[:-1] * rows_per_h + 0.5 >= cat_smooth) & (h[:-1] > 0)


def write_bins(columns, numbers, bins, workers):
    """Write the bins of the rows of some columns, and the number of categories in each bin.

    Parameters
    ----------
    columns : list of HighCardinalityColumn, not empty
    numbers : list of uint8 (n_codes,), bin of each category; ``n_bins`` is that of missing values
    bins : booster_arrays.Bins, whose columns are written
    workers : Workers
    """
    given = []
    for column, own in zip(columns, numbers, strict=True):
        counts = np.bincount(own, minlength=column.n_bins)
        bins.sizes[column.feature, : column.n_bins] = counts[: column.n_bins]
        at = bins.layout.column[column.feature]
        bins_of = np.append(own, np.uint8(column.n_bins))
        given.append((column.codes, bins_of, bins.columns[at], bins.rows, at))

    def write(first, last):
        for one in given:
            rebin(*one, first, last)

    workers.share(write, len(columns[0].codes))
