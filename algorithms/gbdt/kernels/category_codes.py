"""Sums of gradients by category for columns with more categories than bins, and their binning."""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LOW
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.thread_team import barrier_wait, share_of

ALONE = 0.3  # fraction of the bins, at each end, that hold one category


@kernel
def add_codes(codes, records, sums, first, last):
    """Add the records of the rows first … last − 1 to the sums of their categories.

    Parameters
    ----------
    codes : (n_rows,) uint16 or uint32, code of each row's category; n_codes if it is missing
    records : (n_rows,) int64
    sums : (n_codes + 1, 2) int64, added to: Σg and Σh, in steps
    """
    for i in range(np.uint64(first), np.uint64(last)):
        code = np.uint64(codes[i])
        sums[code, 0] += records[i] >> HALF
        sums[code, 1] += records[i] & LOW


@kernel
def rebin(codes, bins, column, rows, place, first, last):
    """Write the bins of one column for the rows first … last − 1, in both orders.

    Parameters
    ----------
    codes : as in `add_codes`
    bins : (n_codes + 1,) uint8, bin of each category and, last, of missing values
    column : (n_rows,) uint8, written
    rows : (n_rows, n_columns) uint8, of which one column is written
    place : index of that column
    """
    at = np.uint64(place)
    for i in range(np.uint64(first), np.uint64(last)):
        b = bins[np.uint64(codes[i])]
        column[i] = b
        rows[i, at] = b


@kernel
def write_category_bins(sums, is_frequent, smooth, n_bins, slopes, orders, bins):
    """Write the bin of each category of a column; categories are sorted by G / (H + s).

    Parameters
    ----------
    sums : int64 (n_codes, 2), Σg and Σh of each category, in steps
    is_frequent : bool (n_codes,), whether a category gets a bin; the others get number ``n_bins``
    smooth : s, in steps of h
    n_bins : number of bins
    slopes : float64 (n_codes,), scratch space
    orders : int64 (2, n_codes), scratch space
    bins : uint8 (n_codes,), written
    """
    n_kept = np.int64(0)
    for code in range(len(sums)):
        bins[code] = n_bins
        if is_frequent[code]:
            below = sums[code, 1] + smooth
            slopes[code] = sums[code, 0] / below if below > 0.0 else 0.0
            orders[0, n_kept] = code
            n_kept += 1
    order = orders[sort_codes(slopes, orders, n_kept)]
    if n_kept <= n_bins:
        for i in range(n_kept):
            bins[order[i]] = i
        return
    alone = np.int64(n_bins * ALONE)
    for i in range(alone):
        bins[order[i]] = i
        bins[order[n_kept - 1 - i]] = n_bins - 1 - i
    share_bins(sums, order, alone, n_kept - alone, n_bins - 2 * alone, bins)


@linked_kernel
def assign_category_bins(team, rank, categories, at, k, records, step_h, bins):
    """Assign the categories of high-cardinality columns to bins for one tree; write these bins.

    Every thread of the team calls this after it has written its records. Returns False if another
    thread has left the team. Threads divide the rows to sum gradients and to write bins, and the
    columns to choose bins.

    Parameters
    ----------
    team : ThreadTeam
    rank : rank of the calling thread
    categories : CategoryBins, scratch space and bins written
    at, k : round and score of the tree
    records : int64 (n_rows,), packed gradients
    step_h : float, quantization step of h
    bins : Bins, whose rows, columns and sizes are written
    """
    if not barrier_wait(team):
        return False
    n_rows, sums = len(records), categories.sums
    first, last = share_of(team, rank, np.int64(0), n_rows)
    for code in range(sums.shape[1]):
        sums[rank, code, 0] = sums[rank, code, 1] = 0
    for c in range(len(categories.features)):
        own = sums[rank, categories.first[c] : categories.first[c + 1]]
        add_codes(categories.codes[c], records, own, first, last)
    barrier_wait(team)
    for c in range(rank, len(categories.features), team.size):
        bin_column(team, categories, c, n_rows, step_h, categories.bins[at, k], bins)
    barrier_wait(team)
    for c in range(len(categories.features)):
        own = categories.bins[at, k, categories.first[c] : categories.first[c + 1]]
        place = bins.layout.column[categories.features[c]]
        rebin(categories.codes[c], own, bins.columns[place], bins.rows, place, first, last)
    return True


@inner_kernel
def bin_column(team, categories, c, n_rows, step_h, chosen, bins):
    """Write the bin of each code of a column, and the number of codes in each bin."""
    begin, missing = categories.first[c], categories.first[c + 1] - 1
    sums, n_bins, total = categories.sums[0], categories.n_bins[c], np.int64(0)
    for code in range(begin, missing + 1):
        for other in range(1, team.size):
            sums[code, 0] += categories.sums[other, code, 0]
            sums[code, 1] += categories.sums[other, code, 1]
        total += sums[code, 1]
    rows_per_h = n_rows / max(total, 1)
    for code in range(begin, missing):
        h = sums[code, 1]
        categories.is_frequent[code] = h * rows_per_h + 0.5 >= categories.cat_smooth and h > 0
    write_category_bins(
        sums[begin:missing],
        categories.is_frequent[begin:missing],
        categories.cat_smooth_h / step_h,
        n_bins,
        categories.slopes[begin:missing],
        categories.orders[:, begin:missing],
        chosen[begin:missing],
    )
    chosen[missing] = n_bins
    sizes = bins.sizes[categories.features[c]]
    for b in range(n_bins):
        sizes[b] = 0
    for code in range(begin, missing):
        if chosen[code] < n_bins:
            sizes[chosen[code]] += 1


@inner_kernel
def share_bins(sums, order, first, last, parts, bins):
    """Write bins from ``first`` on for sorted categories, so that bins have about equal Σh.

    Parameters
    ----------
    order : the categories are order[first : last]
    parts : maximum number of bins
    """
    total, before = np.int64(0), np.int64(0)
    for i in range(first, last):
        total += sums[order[i], 1]
    for i in range(first, last):
        share = np.int64(np.float64(before) / np.float64(max(total, 1)) * parts)
        bins[order[i]] = first + min(share, parts - 1)
        before += sums[order[i], 1]


@inner_kernel
def sort_codes(slopes, orders, count):
    """Sort the first codes of orders[0] by slope, stably; return the row of the sorted codes.

    Sorted runs are merged to runs of twice the length, from one row of ``orders`` to the other.
    """
    source, length = np.int64(0), np.int64(1)
    while length < count:
        given, merged = orders[source], orders[1 - source]
        for start in range(0, count, 2 * length):
            middle = min(start + length, count)
            end = min(middle + length, count)
            i, j = start, middle
            for at in range(start, end):
                if i < middle and (j >= end or slopes[given[i]] <= slopes[given[j]]):
                    merged[at] = given[i]
                    i += 1
                else:
                    merged[at] = given[j]
                    j += 1
        source, length = 1 - source, 2 * length
    return source
