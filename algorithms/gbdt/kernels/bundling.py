"""Bundle features that are rarely outside their default bins in the same rows.

This is algorithm 3 of Ke et al. 2017: each feature, in a given order, joins the first bundle with
few enough conflicts and enough room for its bins, or starts a new bundle. Conflicts are counted in
all rows, so bundling without conflicts is lossless.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import MAX_BINS
from algorithms.runtime.jit import inner_kernel, kernel

ONE = np.uint64(1)
WORD = np.uint64(6)  # a word holds the bits of 64 rows
IN_WORD = np.uint64(63)


@kernel
def find_exclusive(words, is_exclusive):
    """Mark the columns for which another column exists that is nonzero in none of the same rows.

    Parameters
    ----------
    words : uint64 (n_columns, n_words): bit set of the rows in which a column is not zero
    is_exclusive : uint8 (n_columns,), zeros; written: 1 or 0
    """
    for a in range(len(words)):
        for b in range(len(words)):
            if is_exclusive[a]:
                break
            if a == b:
                continue
            k = 0
            while k < words.shape[1] and not words[a, k] & words[b, k]:
                k += 1
            if k == words.shape[1]:
                is_exclusive[a] = is_exclusive[b] = 1


@kernel
def find_bundles(start, end, rows, order, needed, most, taken, used, conflicts, bundle):
    """Write the bundle of each feature, or −1 if there is no room; return the number of bundles.

    Parameters
    ----------
    start, end : int64 (n_features,), start and end of each feature's entries
    rows : uint32, the rows of the entries
    order : int64 (n_features,), the order in which features are bundled
    needed : int64 (n_features,), number of cells of each feature
    most : maximum number of conflicts in a bundle
    taken : uint64 (max_bundles, ⌈n_rows / 64⌉), zeros; written: bit set of the rows with an entry
    used, conflicts : int64 (max_bundles,), written: number of cells and conflicts of each bundle
    bundle : int64 (n_features,), written
    """
    n_bundles = 0
    for j in range(len(order)):
        f = order[j]
        bundle[f] = -1
        feature_rows = rows[np.uint64(start[f]) : np.uint64(end[f])]
        for b in range(n_bundles):
            if used[b] + needed[f] > MAX_BINS:
                continue
            hits = count_hits(taken[b], feature_rows, most - conflicts[b])
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
            for i in range(np.uint64(len(feature_rows))):
                taken[b, np.uint64(feature_rows[i]) >> WORD] |= ONE << (
                    np.uint64(feature_rows[i]) & IN_WORD
                )
    return n_bundles


@inner_kernel
def count_hits(taken, rows, enough):
    """Return how many of the rows are in the bit set; counting stops above ``enough``."""
    hits = np.int64(0)
    for i in range(np.uint64(len(rows))):
        hits += np.int64((taken[np.uint64(rows[i]) >> WORD] >> (rows[i] & IN_WORD)) & ONE)
        if hits > enough:
            break
    return hits


@kernel
def fill_bundle(start, end, rows, bins, default, first, features, column):
    """Write the cells of a bundle's features; in a row with a conflict, the first feature wins.

    Parameters
    ----------
    start, end, rows : as in `find_bundles`
    bins : uint8, bins of the entries
    default : int64 (n_features,), bin of the other rows, or −1: bins are cells
    first : int64 (n_features,), the first cell of each feature
    features : int64, the features of the bundle
    column : uint8 (n_rows,), written; before, each entry is the cell of all default bins
    """
    for j in range(len(features)):
        f = features[j]
        for k in range(np.uint64(start[f]), np.uint64(end[f])):
            row = np.uint64(rows[k])
            if default[f] < 0 or column[row] == 0:
                column[row] = np.uint8(cell_in(bins[k], default[f], first[f]))


@inner_kernel
def cell_in(b, default, first):
    """Return the cell of a bin that is not the default bin."""
    b = np.int64(b)
    return first + b - np.int64(0 <= default < b)


@kernel
def write_sparse_entries(
    start, end, rows, bins, default, first, features, base, place, cells, column_cells
):
    """Write the cells of sparse features both row by row and feature by feature.

    Parameters
    ----------
    features : int64, the sparse features, ascending
    base : int64 (n_features,), the first cell of a feature's column
    place : int64 (n_rows,), position of each row's next entry; advanced
    cells : uint32, written: indices into the whole histogram, row by row
    column_cells : uint8, written: indices of the cells in their columns, feature by feature
    """
    at = np.uint64(0)
    for j in range(len(features)):
        f = features[j]
        for k in range(np.uint64(start[f]), np.uint64(end[f])):
            row = np.uint64(rows[k])
            cell = cell_in(bins[k], default[f], first[f])
            cells[np.uint64(place[row])] = np.uint32(base[f] + cell)
            place[row] += 1
            column_cells[at] = np.uint8(cell)
            at += np.uint64(1)


@kernel
def count_entries(start, end, rows, features, counts):
    """Add the number of entries of some features in each row to the counts.

    Parameters
    ----------
    counts : int64 (n_rows,), added to
    """
    for j in range(len(features)):
        f = features[j]
        for k in range(np.uint64(start[f]), np.uint64(end[f])):
            counts[np.uint64(rows[k])] += 1
