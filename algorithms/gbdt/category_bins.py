"""From codes of categories to bins."""

import numpy as np

LARGEST_TABLE = 1 << 20  # codes, of which each has a place


def bins_of_codes(values, codes, dtype=np.uint8):
    """Return the bins of categorical values; what has no bin gets the one after the last.

    Parameters
    ----------
    values : (n_rows,) float, NaN where missing; fractions are cut off, as prediction does
    codes : int64 (n_bins,), that of each bin, 0 or more
    dtype : unsigned, of what is returned; it holds n_bins
    """
    values, none = np.ascontiguousarray(values), len(codes)
    end = codes.max(initial=-1) + 1
    if end > LARGEST_TABLE:
        return bins_of_far_codes(values, codes, dtype)
    bins = np.full(end + 1, none, dtype)
    bins[codes] = np.arange(none)
    inside = (values >= 0) & (values < end)
    return bins[np.where(inside, values, end).astype(np.int64)]


def bins_of_far_codes(values, codes, dtype):
    """Return `bins_of_codes`, of codes that reach too far for a table of all."""
    order = np.argsort(codes)
    sorted_codes = np.append(codes[order], np.int64(-1))
    whole = np.where(values >= 0, np.trunc(values), -1.0)
    at = np.searchsorted(sorted_codes[:-1], whole)
    known = sorted_codes[at] == whole
    found = np.append(order, len(codes))[np.where(known, at, len(codes))]
    return found.astype(dtype)
