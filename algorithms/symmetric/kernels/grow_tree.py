"""Growth of a whole symmetric tree in the calling thread.

It makes the same tree as the levels of `symmetric/grower.py`, without the cost of a call of
Python for each step, which small tables spend most of their time on. Scores from sorted rows are
rounded differently, so nearly equal splits may be chosen in another order.
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import TILE
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.math_functions import hash_of
from algorithms.symmetric.kernels.sorted_scan import (
    SortedRows,
    keep_sampled,
    scan_sorted,
    split_all_rows,
    sum_totals,
    unpack,
)
from algorithms.symmetric.kernels.split_scores import (
    NOISE_BITS,
    build_level,
    scan_features,
)


class GrowthArrays(NamedTuple):
    """The binned table, and scratch space for the growth of a tree."""

    bins: np.ndarray  # uint8 (n_rows, n_features)
    columns: np.ndarray  # uint8 (n_features, n_rows)
    n_bins: np.ndarray  # int64 (n_features,)
    stride: int  # number of histogram entries of a feature
    sorted_rows: SortedRows
    features: np.ndarray  # int64 (n_features,), 0 … n_features − 1
    spare: np.ndarray  # uint32 (n_rows,)
    spans: np.ndarray  # int64 (3, n_leaves or more): start and end of each leaf
    planes: np.ndarray  # as in `build_level`
    work: np.ndarray  # as in `build_level`
    scores: np.ndarray  # float64 (4, stride)
    best_score: np.ndarray  # as in `scan_features`
    best_bin: np.ndarray  # as in `scan_features`


class TreeScoring(NamedTuple):
    """How the splits of a tree are scored; the fields are those of `scan_features`."""

    kind: int  # of the score: L2 or Cosine, see `split_scores`
    l2: float  # l2_leaf_reg
    step: np.ndarray  # float64 (2,), quantization steps
    noise: np.ndarray  # float64 (n_quantiles,); (0,): no noise


@kernel
def grow_alone(arrays, records, rows, is_usable, scoring, seeds, splits):
    """Write the splits of a tree; return how many.

    Parameters
    ----------
    arrays : GrowthArrays
    records : int64 (n_outputs, n_rows), packed gradients and weights
    rows : uint32 (n_sampled,), the sampled rows, ascending; written
    is_usable : bool (n_features,)
    scoring : TreeScoring
    seeds : uint32 (depth, 2), seeds of the noise of splits and of features
    splits : int64 (depth, 2), written: feature and bin
    """
    bins, columns, n_bins, stride = arrays.bins, arrays.columns, arrays.n_bins, arrays.stride
    best_score, best_bin, sorted_rows = arrays.best_score, arrays.best_bin, arrays.sorted_rows
    kind, l2, step, noise = scoring.kind, scoring.l2, scoring.step, scoring.noise
    spare, starts, ends = arrays.spare[: len(rows)], arrays.spans[0], arrays.spans[1]
    starts[0], ends[0] = 0, len(rows)
    n_leaves = 1
    is_small, mean_bins = sorted_rows.rows.shape[1] > 0, n_bins.mean()
    has_histograms = True
    for level in range(len(splits)):
        if has_histograms and is_small and n_leaves * mean_bins > bins.shape[0]:
            has_histograms = False
            unpack(records, step, sorted_rows.unpacked)
            keep_sampled(sorted_rows, n_bins)
            number_leaves(rows, starts, ends, n_leaves, sorted_rows.leaf_of)
        if has_histograms:
            scan_level(arrays, bins, records, rows, n_leaves, scoring, seeds[level, 0])
        else:
            sum_totals(sorted_rows, n_leaves)
            scan_sorted(
                sorted_rows, n_leaves, is_usable, n_bins, stride, l2, kind, noise,
                seeds[level, 0], arrays.scores, best_score, best_bin,
            )  # fmt: skip
        f = find_best(best_score, is_usable, noise, seeds[level, 1])
        splits[level, 0], splits[level, 1] = f, best_bin[f]
        if has_histograms:
            split_leaves(columns[f], best_bin[f], rows, spare, starts, ends, n_leaves)
            rows, spare = spare, rows
        else:
            given = columns[f], best_bin[f], sorted_rows.leaf_of, rows, n_leaves, starts, ends
            split_all_rows(*given)
        n_leaves *= 2
        redundant = find_redundant_split(starts, ends, n_leaves)
        if redundant >= 0:
            for later in range(redundant, level):
                splits[later, 0], splits[later, 1] = splits[later + 1, 0], splits[later + 1, 1]
            return level
    return len(splits)


@linked_kernel
def scan_level(arrays, bins, records, rows, n_leaves, scoring, seed):
    """Build the histograms of a level, and write the best split of each feature.

    A few features at a time: their histograms of all leaves stay in the cache.

    Parameters
    ----------
    arrays : GrowthArrays
    bins : uint8 (n_rows, n_features)
    records : int64 (n_outputs, n_rows), packed gradients and weights
    rows : uint32 (n_sampled,), rows grouped by leaf
    n_leaves : int
    scoring : TreeScoring
    seed : uint32, seed of the noise
    """
    starts, ends, sums = arrays.spans[0], arrays.spans[1], arrays.spans[2]
    n_bins, stride, n_features = arrays.n_bins, arrays.stride, bins.shape[1]
    for low in range(0, n_features, TILE):
        high = min(low + TILE, n_features)
        build_level(
            bins, records, rows, starts, ends, n_leaves // 2, arrays.features, n_bins, low, high,
            stride, arrays.planes, arrays.work, sums,
        )  # fmt: skip
        scan_features(
            arrays.planes, n_leaves, n_bins, low, high, stride, scoring.l2, scoring.step,
            scoring.kind, scoring.noise, seed, arrays.scores, arrays.best_score, arrays.best_bin,
        )  # fmt: skip


@inner_kernel
def number_leaves(rows, starts, ends, n_leaves, leaf_of):
    """Write the leaf of each sampled row, and 0 for the others."""
    leaf_of[:] = 0
    for leaf in range(n_leaves):
        for i in range(starts[leaf], ends[leaf]):
            leaf_of[np.uint64(rows[i])] = leaf


@inner_kernel
def find_best(best_score, is_usable, noise, seed):
    """Return the usable feature with the best score plus noise, the first one in a tie."""
    best, at = -np.inf, -1
    for f in range(len(best_score)):
        if is_usable[f]:
            score = best_score[f]
            if len(noise):
                score += noise[np.int64(hash_of(seed, f) >> np.uint32(32 - NOISE_BITS))]
            if score > best or at < 0:
                best, at = score, f
    return at


@kernel
def split_leaves(column, border, rows, spare, starts, ends, n_leaves):
    """Write the rows grouped by the leaves after a split into ``spare``.

    Without a branch on the side of a row: half of such branches would be mispredicted. Rows of the
    true side are collected at the start of the leaf in ``rows``, and then moved behind the others.

    Parameters
    ----------
    column, border : as in `count_sides`
    rows : uint32 (n_sampled,), rows grouped by leaf; written
    spare : uint32 (n_sampled,), written
    starts, ends : int64 (2 n_leaves or more,), ranges of the leaves; written
    n_leaves : number of leaves before the split
    """
    one = np.uint64(1)
    for leaf in range(n_leaves):
        start, end = np.uint64(starts[leaf]), np.uint64(ends[leaf])
        middle = high = start
        for i in range(start, end):
            row = rows[i]
            is_true = np.uint64(column[np.uint64(row)] > border)
            spare[middle] = row
            rows[high] = row
            middle += one - is_true
            high += is_true
        for i in range(high - start):
            spare[middle + i] = rows[start + i]
        starts[n_leaves + leaf], ends[n_leaves + leaf] = middle, end
        ends[leaf] = middle


@kernel
def find_redundant_split(starts, ends, n_leaves):
    """Return the first split of which each pair of leaves has an empty side; −1 if none.

    Parameters
    ----------
    starts, ends : int64 (n_leaves or more,), ranges of the leaves
    n_leaves : int
    """
    bit = 1
    split = 0
    while bit < n_leaves:
        is_redundant = True
        for leaf in range(n_leaves):
            if leaf & bit == 0:
                other = leaf + bit
                if starts[leaf] < ends[leaf] and starts[other] < ends[other]:
                    is_redundant = False
                    break
        if is_redundant:
            return split
        bit *= 2
        split += 1
    return -1
