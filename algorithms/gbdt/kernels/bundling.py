"""Bundle features that are hardly ever away from their default bins in the same rows.

Algorithm 3 of Ke et al. 2017: features are taken in an order, and each joins the first bundle with
which it has few enough conflicts and room for its bins, or opens a new one. Conflicts are counted
in all rows, so where none is allowed nothing is lost.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import MAX_BINS
from algorithms.runtime.jit import inner_kernel, kernel

ONE = np.uint64(1)
WORD = np.uint64(6)  # a word holds the bits of 64 rows
IN_WORD = np.uint64(63)


@kernel
def find_exclusive(words, found):
    """Write which columns have another one with which they share no row.

    Parameters
    ----------
    words : uint64 (n_columns, n_words): bits, the rows in which a column is not zero
    found : uint8 (n_columns,), zeros; written: 1 or 0
    """
    for a in range(len(words)):
        for b in range(len(words)):
            if found[a]:
                break
            if a == b:
                continue
            k = 0
            while k < words.shape[1] and not words[a, k] & words[b, k]:
                k += 1
            if k == words.shape[1]:
                found[a] = found[b] = 1


@kernel
def find_bundles(start, end, rows, order, needed, most, taken, used, conflicts, bundle):
    """Write the bundle of each feature, or −1 where there is no room; return how many there are.

    Parameters
    ----------
    start, end : int64 (n_features,), where a feature's entries begin and end
    rows : uint32, the rows of the entries
    order : int64 (n_features,), in which features are taken
    needed : int64 (n_features,), cells
    most : conflicts that a bundle may have
    taken : uint64 (most_bundles, ⌈n_rows / 64⌉), zeros; written: a bit is set where its row has an
        entry
    used, conflicts : int64 (most_bundles,), written: cells and conflicts of each bundle
    bundle : int64 (n_features,), written
    """
    n_bundles = 0
    for j in range(len(order)):
        f = order[j]
        bundle[f] = -1
        own = rows[np.uint64(start[f]) : np.uint64(end[f])]
        for b in range(n_bundles):
            if used[b] + needed[f] > MAX_BINS:
                continue
            hits = count_hits(taken[b], own, most - conflicts[b])
            if conflicts[b] + hits <= most:
                bundle[f] = b
                conflicts[b] += hits
                break
        if bundle[f] < 0 and n_bundles < len(taken):
            bundle[f] = n_bundles
            used[n_bundles], conflicts[n_bundles] = 1, 0
            n_bundles += 1
        if bundle[f] >= 0:
            b = bundle[f]
            used[b] += needed[f]
            for i in range(np.uint64(len(own))):
                taken[b, np.uint64(own[i]) >> WORD] |= ONE << (np.uint64(own[i]) & IN_WORD)
    return n_bundles


@inner_kernel
def count_hits(taken, rows, enough):
    """Return how many rows are taken; counting stops above ``enough``."""
    hits = np.int64(0)
    for i in range(np.uint64(len(rows))):
        hits += np.int64((taken[np.uint64(rows[i]) >> WORD] >> (rows[i] & IN_WORD)) & ONE)
        if hits > enough:
            break
    return hits


@kernel
def fill_bundle(start, end, rows, bins, default, first, features, column):
    """Write the cells of a bundle's features; where two want a row, the first one has it.

    Parameters
    ----------
    start, end, rows : as in `find_bundles`
    bins : uint8, of the entries
    default : int64 (n_features,), bin of the other rows, or −1: bins are cells
    first : int64 (n_features,), the first cell of each
    features : int64, features
    column : uint8 (n_rows,), the cell of rows that are all at the default; written
    """
    for j in range(len(features)):
        f = features[j]
        for k in range(np.uint64(start[f]), np.uint64(end[f])):
            row = np.uint64(rows[k])
            if default[f] < 0 or column[row] == 0:
                column[row] = np.uint8(cell_in(bins[k], default[f], first[f]))


@inner_kernel
def cell_in(b, default, first):
    """Return the cell of a bin that is not the default."""
    b = np.int64(b)
    return first + b - np.int64(0 <= default < b)


@kernel
def list_entries(start, end, rows, bins, default, first, features, base, place, cells, own):
    """Write the cells of listed features, row by row, and those of each feature's entries.

    Parameters
    ----------
    features : int64, the listed features, ascending
    base : int64 (n_features,), the first cell of a feature's column
    place : int64 (n_rows,), where a row's next entry is written; moved on
    cells : uint32, written
    own : uint8, written: cells in the column, feature by feature
    """
    at = np.uint64(0)
    for j in range(len(features)):
        f = features[j]
        for k in range(np.uint64(start[f]), np.uint64(end[f])):
            row = np.uint64(rows[k])
            cell = cell_in(bins[k], default[f], first[f])
            cells[np.uint64(place[row])] = np.uint32(base[f] + cell)
            place[row] += 1
            own[at] = np.uint8(cell)
            at += np.uint64(1)


@kernel
def count_entries(start, end, rows, features, counts):
    """Add to each row's count the entries that it has of some features.

    Parameters
    ----------
    counts : int64 (n_rows,), added to
    """
    for j in range(len(features)):
        f = features[j]
        for k in range(np.uint64(start[f]), np.uint64(end[f])):
            counts[np.uint64(rows[k])] += 1
