"""Growth of a whole symmetric tree in the calling thread.

It makes the same tree as the levels of `symmetric/grower.py`, without the cost of a call of
Python for each step, which small tables spend most of their time on. Scores from sorted rows are
rounded differently, so nearly equal splits may be chosen in another order.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import hash_of
from algorithms.symmetric.kernels.partition import count_sides, partition_rows
from algorithms.symmetric.kernels.sorted_scan import (
    SortedRows,
    keep_sampled,
    scan_sorted,
    split_all_rows,
    sum_totals,
    unpack,
)
from algorithms.symmetric.kernels.split_scores import NOISE_BITS, build_level, scan_features


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
    places: np.ndarray  # int64 (2, n_leaves)
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
    planes, work, scores, places = arrays.planes, arrays.work, arrays.scores, arrays.places
    best_score, best_bin, sorted_rows = arrays.best_score, arrays.best_bin, arrays.sorted_rows
    kind, l2, step, noise = scoring.kind, scoring.l2, scoring.step, scoring.noise
    features, spans, spare = arrays.features, arrays.spans, arrays.spare[: len(rows)]
    starts, ends, sums = spans[0], spans[1], spans[2]
    starts[0], ends[0] = 0, len(rows)
    n_features, n_leaves = bins.shape[1], 1
    is_small, mean_bins = sorted_rows.rows.shape[1] > 0, n_bins.mean()
    has_histograms = True
    for level in range(len(splits)):
        if has_histograms and is_small and n_leaves * mean_bins > bins.shape[0]:
            has_histograms = False
            unpack(records, step, sorted_rows.unpacked)
            keep_sampled(sorted_rows, n_bins)
            number_leaves(rows, starts, ends, n_leaves, sorted_rows.leaf_of)
        if has_histograms:
            build_level(
                bins, records, rows, starts, ends, n_leaves // 2, features, n_bins, 0, n_features,
                stride, planes, work, sums,
            )  # fmt: skip
            scan_features(
                planes, n_leaves, n_bins, 0, n_features, stride, l2, step, kind, noise,
                seeds[level, 0], scores, best_score, best_bin,
            )  # fmt: skip
        else:
            sum_totals(sorted_rows, n_leaves)
            scan_sorted(
                sorted_rows, n_leaves, is_usable, n_bins, stride, l2, kind, noise,
                seeds[level, 0], scores, best_score, best_bin,
            )  # fmt: skip
        f = find_best(best_score, is_usable, noise, seeds[level, 1])
        splits[level, 0], splits[level, 1] = f, best_bin[f]
        if has_histograms:
            split_leaves(columns[f], best_bin[f], rows, spare, starts, ends, places, n_leaves)
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
def split_leaves(column, border, rows, spare, starts, ends, places, n_leaves):
    """Write the rows grouped by the leaves after a split into ``spare``.

    Parameters
    ----------
    column, border, rows : as in `count_sides`
    spare : uint32 (n_sampled,), written
    starts, ends : int64 (2 n_leaves or more,), ranges of the leaves; written
    places : int64 (2, n_leaves or more), scratch space
    n_leaves : number of leaves before the split
    """
    n_rows = len(rows)
    count_sides(column, border, rows, starts, ends, n_leaves, places, 0, n_rows)
    for leaf in range(n_leaves):
        middle = starts[leaf] + places[0, leaf]
        starts[n_leaves + leaf], ends[n_leaves + leaf] = middle, ends[leaf]
        places[0, leaf], places[1, leaf] = starts[leaf], middle
    partition_rows(column, border, rows, starts, ends, n_leaves, places, spare, 0, n_rows)
    for leaf in range(n_leaves):
        ends[leaf] = starts[n_leaves + leaf]


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
