"""Scores of the splits of a level from rows sorted by bin, for small tables.

Histograms of a small table are mostly empty: 32 leaves of 254 bins hold 8128 sums of perhaps 1000
rows. Here the rows of a feature pass from the true side to the false side in the order of their
bins. Each row changes the term of its own leaf in the score, so the time depends on the number of
rows instead of leaves × bins.
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LOW
from algorithms.runtime.jit import inner_kernel
from algorithms.symmetric.kernels.split_scores import MIN_DENOMINATOR, choose_bin

FALSE_G, FALSE_W, FIRST_TERM, SECOND_TERM = range(4)  # of `sides`


class SortedRows(NamedTuple):
    """The rows of a table sorted by the bins of each feature, and scratch space of a scan."""

    rows: np.ndarray  # uint32 (n_features, n_rows); (n_features, 0): the table is too large
    ends: np.ndarray  # int64 (n_features, stride), end of each bin in a row of ``rows``
    leaf_of: np.ndarray  # uint16 (n_rows,), leaf of each row at this level
    unpacked: np.ndarray  # float64 (n_outputs, 2, n_rows), gradients and weights
    totals: np.ndarray  # float64 (n_leaves, n_outputs, 2), their sums in each leaf
    sides: np.ndarray  # float64 (n_leaves, n_outputs, 4), sums and terms of each leaf
    kept: np.ndarray  # uint32 (n_features, n_rows), as ``rows``, of the sampled rows
    kept_ends: np.ndarray  # int64 (n_features, stride), as ``ends``, in ``kept``


@inner_kernel
def scan_sorted(
    table, n_leaves, is_usable, n_bins, stride, l2, kind, noise, seed, scores, best_score, best_bin
):
    """Write the best split of each usable feature.

    Parameters
    ----------
    table : SortedRows
    n_leaves : int
    is_usable : bool (n_features,)
    n_bins, stride, l2, kind, noise, seed, best_score, best_bin : as in `scan_features`
    scores : float64 (4, stride), scratch space
    """
    totals, sides, unpacked = table.totals[:n_leaves], table.sides, table.unpacked
    for f in range(len(n_bins)):
        if not is_usable[f]:
            continue
        first, second = start_sides(totals, l2, sides)
        count, start = n_bins[f] - 1, 0
        for b in range(count):
            end = table.kept_ends[f, b]
            for i in range(start, end):
                row = np.uint64(table.kept[f, i])
                leaf = np.uint64(table.leaf_of[row])
                for k in range(len(unpacked)):
                    side, total = sides[leaf, k], totals[leaf, k]
                    side[FALSE_G] += unpacked[k, 0, row]
                    side[FALSE_W] += unpacked[k, 1, row]
                    a, c = terms_of(side[FALSE_G], side[FALSE_W], total[0], total[1], l2)
                    first += a - side[FIRST_TERM]
                    second += c - side[SECOND_TERM]
                    side[FIRST_TERM], side[SECOND_TERM] = a, c
            start = end
            scores[0, b], scores[1, b] = first, max(second, MIN_DENOMINATOR)
        best_score[f], best_bin[f] = choose_bin(
            scores, count, kind, noise, seed, np.int64(f) * stride
        )


@inner_kernel
def start_sides(totals, l2, sides):
    """Put all rows on the true side; return the two sums of the score."""
    first = second = 0.0
    for leaf in range(len(totals)):
        for k in range(totals.shape[1]):
            a, c = terms_of(0.0, 0.0, totals[leaf, k, 0], totals[leaf, k, 1], l2)
            side = sides[leaf, k]
            side[FALSE_G] = side[FALSE_W] = 0.0
            side[FIRST_TERM], side[SECOND_TERM] = a, c
            first += a
            second += c
    return first, second


@inner_kernel
def terms_of(false_g, false_w, whole_g, whole_w, l2):
    """Return the terms of a leaf, split in two sides, in Σ a G and Σ a² W."""
    true_g, true_w = whole_g - false_g, whole_w - false_w
    a, c = false_g / (false_w + l2), true_g / (true_w + l2)
    return a * false_g + c * true_g, a * a * false_w + c * c * true_w


@inner_kernel
def unpack(records, step, unpacked):
    """Write the gradients and weights of all rows, 0 for rows that are left out."""
    for k in range(len(records)):
        for i in range(records.shape[1]):
            unpacked[k, 0, i] = np.float64(records[k, i] >> HALF) * step[0]
            unpacked[k, 1, i] = np.float64(records[k, i] & LOW) * step[1]


@inner_kernel
def keep_sampled(table, n_bins):
    """Write the sampled rows in the order of the bins; the others would change no sum."""
    for f in range(len(n_bins)):
        at = start = 0
        for b in range(n_bins[f]):
            for i in range(start, table.ends[f, b]):
                row = table.rows[f, i]
                table.kept[f, at] = row
                at += np.int64(is_sampled(table.unpacked, np.uint64(row)))
            start = table.ends[f, b]
            table.kept_ends[f, b] = at


@inner_kernel
def is_sampled(unpacked, row):
    """Return whether a row has a gradient or weight that is not 0."""
    found = False
    for k in range(len(unpacked)):
        found |= (unpacked[k, 0, row] != 0.0) | (unpacked[k, 1, row] != 0.0)
    return found


@inner_kernel
def sum_totals(table, n_leaves):
    """Write the sums of gradients and weights of each leaf."""
    totals = table.totals
    totals[:n_leaves] = 0.0
    for k in range(len(table.unpacked)):
        for i in range(len(table.leaf_of)):
            leaf = np.uint64(table.leaf_of[i])
            totals[leaf, k, 0] += table.unpacked[k, 0, i]
            totals[leaf, k, 1] += table.unpacked[k, 1, i]


@inner_kernel
def split_all_rows(column, border, leaf_of, rows, n_leaves, starts, ends):
    """Move rows to the leaves after a split; write the numbers of sampled rows as ranges."""
    bit = np.uint16(n_leaves)
    for i in range(len(leaf_of)):
        leaf_of[i] |= bit * np.uint16(column[i] > border)
    for leaf in range(2 * n_leaves):
        starts[leaf] = ends[leaf] = 0
    for i in range(len(rows)):
        ends[np.uint64(leaf_of[np.uint64(rows[i])])] += 1
