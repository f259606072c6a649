"""Float64 histograms and split scores in CatBoost's order of summation.

Rows are added in their order. Of the two sides of the last split, the one with fewer rows in
the whole table is summed; the other is the difference. A scan adds bins to the false side and
removes them from the true side. Columns with one border are packed, up to eight bits into one
column of at most 256 buckets; each side of such a split is summed over the buckets. The sums of a
bundle are those of its columns' bins without the defaults, and of the rows with all defaults.
"""

import math
from typing import NamedTuple

import numpy as np

from algorithms.parity.kernels.catboost_random import WARM_UP, next_normal, set_seed
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.symmetric.kernels.segment_scores import (
    BUNDLE,
    FLOATS,
    ONE_HOT,
    PACK,
    sum_candidate,
)

MIN_DENOMINATOR = 1e-100
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
    bins : uint8 or uint16 (n_rows, n_features)
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


@kernel
def build_all_leaves(bins, g, weight, rows, starts, ends, n_leaves, stride, planes):
    """Write the histograms of all leaves, each summed from its rows.

    The parameters are those of `build_float_level`.
    """
    n_columns = bins.shape[1]
    for leaf in range(n_leaves):
        add_rows(
            bins, g, weight, rows, starts[leaf], ends[leaf], 0, n_columns, stride, planes[leaf]
        )


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
def add_one_hot_leaf(planes, first, n_levels, kind, l2, sums):
    """Add all splits of a leaf by one level against the others."""
    false_g = false_w = 0.0
    for b in range(n_levels):
        false_g += planes[0, first + b]
        false_w += planes[1, first + b]
    for b in range(n_levels):
        true_g, true_w = planes[0, first + b], planes[1, first + b]
        false_g -= true_g
        false_w -= true_w
        add_split(kind, false_g, false_w, true_g, true_w, l2, sums, b)
        false_g += true_g
        false_w += true_w


@inner_kernel
def sum_bins(planes, begin, end):
    """Return ΣG and ΣW of some bins."""
    g = w = 0.0
    for i in range(begin, end):
        g += planes[0, i]
        w += planes[1, i]
    return g, w


@inner_kernel
def add_bundle_leaf(planes, first, parts, f, kind, l2, sums):
    """Add all splits of a leaf by the columns of a bundle."""
    low, high = parts.first[f], parts.first[f + 1]
    rest = first + parts.ends[high - 1]
    all_g, all_w = planes[0, rest], planes[1, rest]
    begin = first
    for part in range(low, high):
        g, w = sum_bins(planes, begin, first + parts.ends[part])
        all_g += g
        all_w += w
        begin = first + parts.ends[part]
    begin, split = first, 0
    for part in range(low, high):
        end = first + parts.ends[part]
        g, w = sum_bins(planes, begin, end)
        if parts.kinds[part] == FLOATS:
            false_g, false_w = all_g - g, all_w - w
            for i in range(begin, end):
                if i > begin:
                    false_g += planes[0, i - 1]
                    false_w += planes[1, i - 1]
                    g -= planes[0, i - 1]
                    w -= planes[1, i - 1]
                add_split(kind, false_g, false_w, g, w, l2, sums, split)
                split += 1
        elif parts.kinds[part] == ONE_HOT:
            if end - begin > 1:
                add_split(kind, g, w, all_g - g, all_w - w, l2, sums, split)
            split += 1
            for i in range(begin, end):
                g, w = planes[0, i], planes[1, i]
                add_split(kind, all_g - g, all_w - w, g, w, l2, sums, split)
                split += 1
        begin = end


class Noise(NamedTuple):
    """Normal noise of split scores."""

    deviation: float  # 0: no numbers are drawn
    seeds: np.ndarray  # uint64 (n_candidates,), seed of the generator of each candidate
    starts: np.ndarray  # bool (n_candidates,): False continues the generator of the one before


@inner_kernel
def is_usable(candidates, f, b):
    """Return whether split ``b`` of a candidate may be chosen."""
    if candidates.kinds[f] == PACK:
        return (candidates.masks[f] >> b) & 1 != 0
    if candidates.kinds[f] != BUNDLE:
        return True
    parts, begin, split = candidates.parts, 0, 0
    for part in range(parts.first[f], parts.first[f + 1]):
        if parts.kinds[part] == FLOATS:
            split += parts.ends[part] - begin
        elif parts.kinds[part] == ONE_HOT:
            split += parts.ends[part] - begin + 1
        begin = parts.ends[part]
        if b < split:
            return parts.kept[part]
    return False


@inner_kernel
def find_best(candidates, f, kind, sums, noise, state, best_score, best_split):
    """Write the best usable split of a candidate by its score with noise, the first one in a tie.

    Parameters
    ----------
    candidates : Candidates
    f : int, the candidate
    kind : L2, or else Cosine
    sums : float64 (2, n_splits or more), of the scores
    noise : Noise
    state : uint64 (4,), generator
    best_score : float64 (n_candidates,), written, without noise
    best_split : int64 (n_candidates,), written
    """
    if noise.deviation > 0.0 and noise.starts[f]:
        set_seed(noise.seeds[f], WARM_UP, state)
    best = best_score[f] = -np.inf
    best_split[f] = 0
    for b in range(candidates.n_splits[f]):
        if not is_usable(candidates, f, b):
            continue
        score = sums[0, b] if kind == L2 else sums[0, b] / math.sqrt(sums[1, b])
        noisy = score
        if noise.deviation > 0.0:
            noisy += next_normal(state) * noise.deviation
        if noisy > best:
            best, best_score[f], best_split[f] = noisy, score, b


@kernel
def scan_candidates(
    planes, n_leaves, candidates, low, high, stride, l2, kind, noise, state, sums, best_score,
    best_split,
):  # fmt: skip
    """Write the best split of each of the candidates low … high − 1.

    Parameters
    ----------
    planes : float64 (n_leaves, n_outputs, 2, n_candidates · stride)
    n_leaves : int
    candidates : Candidates; those with the mask 0 are left out
    low, high : range of candidates
    stride : number of entries of a candidate
    l2 : λ
    kind : L2, or else Cosine
    noise : Noise
    state : uint64 (4,), scratch space
    sums : float64 (2, stride), scratch space
    best_score : (n_candidates,) float64, written, without noise
    best_split : (n_candidates,) int64, written
    """
    for f in range(low, high):
        if candidates.masks[f] == 0:
            continue
        count, first = candidates.n_splits[f], f * stride
        for b in range(count):
            sums[0, b] = 0.0
            sums[1, b] = MIN_DENOMINATOR
        for k in range(planes.shape[1]):
            for leaf in range(n_leaves):
                own = planes[leaf, k]
                if candidates.kinds[f] == PACK:
                    add_packed_leaf(own, first, count, kind, l2, sums)
                elif candidates.kinds[f] == ONE_HOT:
                    add_one_hot_leaf(own, first, count, kind, l2, sums)
                elif candidates.kinds[f] == BUNDLE:
                    add_bundle_leaf(own, first, candidates.parts, f, kind, l2, sums)
                else:
                    add_leaf(own, first, count + 1, kind, l2, sums)
        find_best(candidates, f, kind, sums, noise, state, best_score, best_split)


@kernel
def scan_noisy_segments(
    candidates, leaf_rows, segment_rows, kind, noise, state, n_leaves, sides, planes, first, last,
    scores, best_score, best_split,
):  # fmt: skip
    """Write the best split of each of the candidates first … last − 1 by scores with noise.

    Parameters
    ----------
    candidates : Candidates; those with the mask 0 are left out
    leaf_rows, segment_rows, n_leaves, planes, scores : as in `scan_segments`
    kind : L2 or COSINE
    noise : Noise
    state : uint64 (4,), scratch space
    sides : int64 (n_candidates,), ``side`` of `scan_segments`
    best_score : float64 (n_candidates,), written, without noise
    best_split : int64 (n_candidates,), written
    """
    for f in range(first, last):
        if candidates.masks[f] == 0:
            continue
        sum_candidate(
            candidates, leaf_rows, segment_rows, kind, n_leaves, sides[f], planes, f, scores
        )
        find_best(candidates, f, kind, scores, noise, state, best_score, best_split)
