"""Float64 histograms and split scores in CatBoost's order of summation.

Rows are added in ascending order. Of the two sides of the last split, the one with fewer rows in
the whole table is summed; the other is the difference. A scan adds bins to the false side and
removes them from the true side. Columns with one border are packed, up to eight bits into one
column of at most 256 buckets; each side of such a split is summed over the buckets.
"""

import math

import numpy as np

from algorithms.parity.kernels.catboost_random import WARM_UP, next_normal, set_seed
from algorithms.runtime.jit import inner_kernel, kernel

LEAST = 1e-100
L2 = 0


@inner_kernel
def add_rows(bins, g, weight, rows, start, end, low, high, stride, planes):
    """Add the rows of a leaf to its histogram of the features low … high − 1."""
    for k in range(len(g)):
        for i in range(low * stride, high * stride):
            planes[k, 0, i] = 0.0
            planes[k, 1, i] = 0.0
        for i in range(start, end):
            row = np.uint64(rows[i])
            w = np.float64(weight[row]) if len(weight) else 1.0
            for f in range(low, high):
                at = f * stride + np.int64(bins[row, f])
                planes[k, 0, at] += g[k, row]
                planes[k, 1, at] += w


@kernel
def build_float_level(
    bins, g, weight, rows, starts, ends, n_before, is_true, low, high, stride, planes
):
    """Write the histograms of all leaves for the features low … high − 1.

    Parameters
    ----------
    bins : uint8 (n_rows, n_features)
    g : float64 (n_outputs, n_rows)
    weight : float32 (n_rows,), or (0,) if all are 1
    rows : uint32, rows grouped by leaf
    starts, ends : int64, range of each leaf in ``rows``
    n_before : number of leaves before the last split; 0 at the root
    is_true : whether the true side of the last split is summed
    low, high : range of features
    stride : number of entries of a feature
    planes : float64 (n_leaves, n_outputs, 2, n_features · stride), written
    """
    if n_before == 0:
        add_rows(bins, g, weight, rows, starts[0], ends[0], low, high, stride, planes[0])
        return
    for leaf in range(n_before):
        other = leaf + n_before
        small = other if is_true else leaf
        add_rows(
            bins, g, weight, rows, starts[small], ends[small], low, high, stride, planes[other]
        )
        for k in range(len(g)):
            for plane in range(2):
                for i in range(low * stride, high * stride):
                    part = planes[other, k, plane, i]
                    rest = planes[leaf, k, plane, i] - part
                    planes[leaf, k, plane, i] = rest if is_true else part
                    planes[other, k, plane, i] = part if is_true else rest


@inner_kernel
def average(g, w, l2):
    """Return G · (1 / (W + λ)), or 0 if W is not positive."""
    return g * (1.0 / (w + l2)) if w > 0.0 else 0.0


@inner_kernel
def add_split(kind, false_g, false_w, true_g, true_w, l2, sums, b):
    """Add the two sides of one split of a leaf to the sums of its score."""
    a, c = average(false_g, false_w, l2), average(true_g, true_w, l2)
    if kind == L2:
        sums[0, b] += c * true_g
        sums[0, b] += a * false_g
    else:
        sums[0, b] += a * false_g + c * true_g
        sums[1, b] += (a * a) * false_w + (c * c) * true_w


@inner_kernel
def add_leaf(planes, first, n_bins, kind, l2, sums):
    """Add all splits of a leaf by one feature."""
    true_g = true_w = false_g = false_w = 0.0
    for b in range(n_bins):
        true_g += planes[0, first + b]
        true_w += planes[1, first + b]
    for b in range(n_bins - 1):
        false_g += planes[0, first + b]
        false_w += planes[1, first + b]
        true_g -= planes[0, first + b]
        true_w -= planes[1, first + b]
        add_split(kind, false_g, false_w, true_g, true_w, l2, sums, b)


@inner_kernel
def add_packed_leaf(planes, first, n_bits, kind, l2, sums):
    """Add all splits of a leaf by the features of a pack."""
    for bit in range(n_bits):
        true_g = true_w = false_g = false_w = 0.0
        for bucket in range(1 << n_bits):
            if (bucket >> bit) & 1:
                true_g += planes[0, first + bucket]
                true_w += planes[1, first + bucket]
            else:
                false_g += planes[0, first + bucket]
                false_w += planes[1, first + bucket]
        add_split(kind, false_g, false_w, true_g, true_w, l2, sums, bit)


@inner_kernel
def sum_splits(planes, n_leaves, count, is_packed, first, l2, kind, sums):
    """Write the sums of the scores of all splits by one feature."""
    for b in range(count):
        sums[0, b] = 0.0
        sums[1, b] = LEAST
    for k in range(planes.shape[1]):
        for leaf in range(n_leaves):
            if is_packed:
                add_packed_leaf(planes[leaf, k], first, count, kind, l2, sums)
            else:
                add_leaf(planes[leaf, k], first, count + 1, kind, l2, sums)


@inner_kernel
def score_of(kind, sums, b):
    """Return the score of a split from its sums."""
    return sums[0, b] if kind == L2 else sums[0, b] / math.sqrt(sums[1, b])


@kernel
def scan_floats(
    planes, n_leaves, n_splits, is_pack, low, high, stride, l2, kind, sums, best_score, best_split
):
    """Write the best split of each of the features low … high − 1.

    Parameters
    ----------
    planes : as in `build_float_level`
    n_leaves : int
    n_splits : int64 (n_features,), borders of a column, or bits of a pack
    is_pack : bool (n_features,)
    l2 : λ
    kind : L2, or else Cosine
    sums : (2, stride) float64, scratch space
    best_score : (n_features,) float64, written
    best_split : (n_features,) int64, written
    """
    for f in range(low, high):
        count = n_splits[f]
        sum_splits(planes, n_leaves, count, is_pack[f], f * stride, l2, kind, sums)
        best_score[f] = -np.inf
        for b in range(count):
            score = score_of(kind, sums, b)
            if score > best_score[f]:
                best_score[f] = score
                best_split[f] = b


@kernel
def scan_noisy_floats(
    planes, n_leaves, n_splits, is_pack, masks, low, high, stride, l2, kind, noise, seeds, state,
    sums, best_score, best_split,
):  # fmt: skip
    """Write the best split of each usable feature of low … high − 1 by scores with noise.

    Parameters
    ----------
    planes, n_leaves, n_splits, is_pack, stride, l2, kind, sums : as in `scan_floats`
    masks : uint8 (n_features,): 0 for a feature that is not used; the usable bits of a pack
    noise : standard deviation of the noise of a score
    seeds : uint64 (n_features,), seed of the generator of each feature
    state : uint64 (4,), scratch space
    best_score : (n_features,) float64, written, without noise
    best_split : (n_features,) int64, written
    """
    for f in range(low, high):
        if masks[f] == 0:
            continue
        count = n_splits[f]
        sum_splits(planes, n_leaves, count, is_pack[f], f * stride, l2, kind, sums)
        set_seed(seeds[f], WARM_UP, state)
        best = best_score[f] = -np.inf
        best_split[f] = 0
        for b in range(count):
            if is_pack[f] and (masks[f] >> b) & 1 == 0:
                continue
            score = score_of(kind, sums, b)
            noisy = score
            if noise > 0.0:
                noisy += next_normal(state) * noise
            if noisy > best:
                best, best_score[f], best_split[f] = noisy, score, b
