"""Mapping from category codes to bins."""

import numpy as np

MAX_TABLE = 1 << 20  # largest lookup table, in codes


def bins_of_codes(values, codes, dtype=np.uint8):
    """Return the bins of categorical values; values without a bin get the number n_bins.

    Parameters
    ----------
    values : (n_rows,) float, NaN where missing; truncated to integers, as in prediction
    codes : int64 (n_bins,), non-negative code of each bin
    dtype : unsigned dtype of the result; it must hold n_bins
    """
    values, none = np.ascontiguousarray(values), len(codes)
    end = codes.max(initial=-1) + 1
    if end > MAX_TABLE:
        return bins_of_far_codes(values, codes, dtype)
    bins = np.full(end + 1, none, dtype)
    bins[codes] = np.arange(none)
    inside = (values >= 0) & (values < end)
    return bins[np.where(inside, values, end).astype(np.int64)]


def bins_of_far_codes(values, codes, dtype):
    """Return `bins_of_codes` by binary search, for codes too large for a lookup table."""
    order = np.argsort(codes)
    sorted_codes = np.append(codes[order], np.int64(-1))
    whole = np.where(values >= 0, np.trunc(values), -1.0)
    at = np.searchsorted(sorted_codes[:-1], whole)
    known = sorted_codes[at] == whole
    bins = np.append(order, len(codes))[np.where(known, at, len(codes))]
    return bins.astype(dtype)
