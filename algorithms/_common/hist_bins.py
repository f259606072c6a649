"""Bring X into bins: choose the edges on a sample of rows, then number every value's bin.

The sample is drawn by a hash of the row's number, so it is the same for any number of threads,
and for rows that lie on many machines.
"""

from dataclasses import dataclass

import numpy as np

from algorithms._kernels.hist_bin import ROWS_AT_ONCE, bin_rows
from algorithms._kernels.hist_layout import CACHE_LINE, MAX_BINS, Bins
from algorithms._kernels.hist_sketch import draw_rows, find_edges

SAMPLE_SEED = 1
ALL = 1 << 32
ROWS_A_SHARE = 4096


@dataclass(frozen=True)
class Binner:
    """How values become bins.

    ``edges`` holds for each numeric feature its ascending float64 edges; ``codes`` for each
    categorical one the codes that have bins of their own, and None for the others. The bin after
    the last one is for missing values, and for codes without a bin; ``missing`` is its number, or
    −1 where training has none.
    """

    edges: tuple  # of float64 arrays
    codes: tuple  # of int64 arrays or None
    missing: np.ndarray  # int64 (n_features,)

    @property
    def counts(self):
        """Bins of each feature, that of missing values included: int64 (n_features,)."""
        pairs = zip(self.edges, self.codes, strict=True)
        own = [len(e) + 1 if c is None else len(c) for e, c in pairs]
        return np.array(own, np.int64) + (self.missing >= 0)


def sample_rows(n_rows, wanted):
    """Return the rows that edges are chosen on, ascending: all, or about as many as wanted."""
    if n_rows <= wanted:
        return slice(None)
    out = np.empty(n_rows, np.uint32)
    count = draw_rows(np.uint32(SAMPLE_SEED), ALL * wanted // n_rows, 0, n_rows, out)
    return out[:count]


def find_bins(X, categorical, max_bin, sample, min_in_bin, workers):
    """Return the `Binner` of a table.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64, C-contiguous, NaN where missing
    categorical : (n_features,) bool
    max_bin : most bins of a feature, that of missing values included; 2 … 256
    sample : about how many rows edges are chosen on
    min_in_bin : fewest of these rows in a bin
    workers : Workers
    """
    drawn = np.ascontiguousarray(X[sample_rows(len(X), sample)].T)
    gaps = find_gaps(X, workers)

    def find(f):
        values = np.sort(drawn[f])
        values = values[: np.searchsorted(values, np.nan)]
        if categorical[f]:
            return frequent_codes(values, max_bin - 1)
        room = max_bin - 1 if gaps[f] else max_bin
        room = max(1, min(room, len(values) // min_in_bin))
        edges = np.empty(room)
        return edges[: find_edges(values, room, min_in_bin, edges)].copy()

    found = workers.each(find, list(range(X.shape[1])))
    edges = tuple(np.empty(0) if c else e for e, c in zip(found, categorical, strict=True))
    codes = tuple(e if c else None for e, c in zip(found, categorical, strict=True))
    own = [len(e) if c else len(e) + 1 for e, c in zip(found, categorical, strict=True)]
    missing = np.where(gaps | categorical, own, -1).astype(np.int64)
    return Binner(edges, codes, missing)


def find_gaps(X, workers):
    """Return which columns have missing values, bool (n_features,)."""
    found = np.zeros((-(-len(X) // ROWS_A_SHARE), X.shape[1]), bool)

    def look(first, last):
        for part in range(first, last):
            rows = X[part * ROWS_A_SHARE : (part + 1) * ROWS_A_SHARE]
            found[part] = np.isnan(rows).any(axis=0)

    workers.share(look, len(found))
    return found.any(axis=0)


def frequent_codes(values, room):
    """Return the most frequent codes, by count and then by code; negative ones are missing."""
    codes, counts = np.unique(values[values >= 0], return_counts=True)
    return codes[np.lexsort((codes, -counts))][:room].astype(np.int64)


def bin_table(X, binner, monotone, groups, workers):
    """Return the `Bins` of a table; parameters are those of `find_bins`.

    Parameters
    ----------
    monotone : int64 (n_features,): −1, 0, 1
    groups : int64 (n_features,), bits
    """
    n_rows, n_features = X.shape
    rows = np.empty((n_rows, n_features), np.uint8)
    columns = np.empty((n_features, n_rows), np.uint8)
    padded, indptr = pad_edges(binner.edges, X.dtype)
    missing = np.where([c is None for c in binner.codes], binner.missing, -1)

    def fill(first, last):
        first, last = first * ROWS_A_SHARE, min(last * ROWS_A_SHARE, n_rows)
        at, values = np.empty(ROWS_AT_ONCE, np.uint64), np.empty(ROWS_AT_ONCE, X.dtype)
        bin_rows(X, padded, indptr, missing, rows, columns, at, values, first, last)

    workers.share(fill, -(-n_rows // ROWS_A_SHARE))
    for f, codes in enumerate(binner.codes):
        if codes is not None:
            columns[f] = bins_of_codes(X[:, f], codes)
            rows[:, f] = columns[f]
    is_set = np.array([c is not None for c in binner.codes], np.int64)
    return Bins(rows, columns, binner.counts, binner.missing, is_set, monotone, groups)


def pad_edges(edges, dtype):
    """Return all edges in X's dtype, and where each feature's begin.

    Each feature's are filled up to a power of two less one. A float32 x is at most t exactly where
    it is at most the largest float32 that is not above t.
    """
    room = [(1 << len(e).bit_length()) - 1 for e in edges]
    indptr = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    padded = np.full(max(indptr[-1], 1), np.inf, dtype)
    for e, start in zip(edges, indptr, strict=False):
        own = e.astype(dtype)
        above = own.astype(np.float64) > e
        own[above] = np.nextafter(own[above], dtype.type(-np.inf))
        padded[start : start + len(e)] = own
    return padded, indptr


def bins_of_codes(values, codes):
    """Return the bins of categorical values, uint8; what has no bin gets the one after the last."""
    order = np.argsort(codes)
    sorted_codes = np.append(codes[order], np.int64(-1))
    whole = np.where(np.isnan(values), -1.0, values)
    at = np.searchsorted(sorted_codes[:-1], whole)
    known = sorted_codes[at] == whole
    found = np.append(order, len(codes))[np.where(known, at, len(codes))]
    return found.astype(np.uint8)


def cells_of(binner):
    """Return the most bins of a feature, at least 1."""
    return int(min(max(binner.counts, default=1), MAX_BINS))


def stride_of(most_bins):
    """Return how many cells lie between two features.

    An odd number of cache lines: with a power of two, the same bin of many features would fall
    into few sets of the cache, and stores would hold up loads 4096 bytes away.
    """
    lines = -(-most_bins // CACHE_LINE)
    return (lines | 1) * CACHE_LINE
