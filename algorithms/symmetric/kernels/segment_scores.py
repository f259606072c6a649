"""Histograms and split scores of ordered boosting.

A segment is a prefix of a permutation: its body, and a tail of the rows that follow. A side of a
split has the sums of g and w over body rows (G, W) and over tail rows (G′, W′). The average comes
from the body, so no row of a tail scores its own value:

    a = G / (W + λ′)      L2  Σ a G′      Cosine  Σ a G′ / √(Σ a² W′)

The sums run over both sides of all leaves and over all segments.
"""

import math
from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import hash_of
from algorithms.symmetric.kernels.split_scores import COSINE, L2, MIN_DENOMINATOR, NOISE_BITS

BODY, TAIL, START = range(3)  # columns of the segments
BODY_G, BODY_W, TAIL_G, TAIL_W = range(4)
FLOATS, PACK, ONE_HOT, BUNDLE, UNUSED = range(5)  # kinds of candidates, or of a bundle's parts


class SegmentRows(NamedTuple):
    """Gradients and weights of all segments of a fold, one entry a segment and row."""

    position: np.ndarray  # uint32 (n_rows,), place of each row in the permutation
    segments: np.ndarray  # int64 (n_segments, 3): end of the body, end of the tail, first entry
    l2: np.ndarray  # float64 (n_segments,), λ′ of each body
    g: np.ndarray  # float64 (n_scores, n_entries), derivatives of −loss times the weight
    weight: np.ndarray  # float32 (n_entries,), or (0,) if all are 1


class LeafRows(NamedTuple):
    """Rows grouped by leaf, in the order of the permutation within a leaf."""

    rows: np.ndarray  # uint32 (n_rows,)
    starts: np.ndarray  # int64 (n_leaves,)
    ends: np.ndarray  # int64 (n_leaves,)


class BundleParts(NamedTuple):
    """Columns of bundles; the bins of a part begin where those of the part before end.

    A part has a split above each bin of the default and its own bins but the last (FLOATS), or
    one for each of these bins against all others (ONE_HOT), or none (UNUSED).
    """

    first: np.ndarray  # int64 (n_candidates + 1,), first part of each candidate
    ends: np.ndarray  # int64 (n_parts,), bin of the bundle
    kinds: np.ndarray  # int8 (n_parts,): FLOATS, ONE_HOT or UNUSED
    kept: np.ndarray  # bool (n_parts,), whether the splits of a part may be chosen


NO_PARTS = BundleParts(
    np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, bool)
)


class Candidates(NamedTuple):
    """Columns whose splits are scored; a pack has one bit for each of its columns."""

    columns: np.ndarray  # uint8 or uint16 (n_candidates, n_rows), bins
    n_splits: np.ndarray  # int64 (n_candidates,): borders, bits of a pack, or levels of one-hot
    kinds: np.ndarray  # int8 (n_candidates,): FLOATS, PACK, ONE_HOT or BUNDLE
    masks: np.ndarray  # int64 (n_candidates,), the usable bits of a PACK
    parts: BundleParts


class Scoring(NamedTuple):
    """How splits are scored."""

    kind: int  # L2 or COSINE
    noise: np.ndarray  # float64 (2 ** NOISE_BITS,), quantiles of the noise; (0,): no noise
    seed: np.uint32  # of the noise
    stride: int  # entries of a candidate in a histogram


@inner_kernel
def add_rows(column, leaf_rows, leaf, segment_rows, s, k, sums):
    """Write the histogram of a leaf's rows in segment ``s``, for score ``k``.

    Parameters
    ----------
    column : uint8 or uint16 (n_rows,), bins
    leaf_rows : LeafRows
    segment_rows : SegmentRows
    sums : float64 (4, n_bins or more), written: ΣG, ΣW, ΣG′ and ΣW′
    """
    for part in range(4):
        for b in range(sums.shape[1]):
            sums[part, b] = 0.0
    body, tail = segment_rows.segments[s, BODY], segment_rows.segments[s, TAIL]
    first = segment_rows.segments[s, START]
    for i in range(leaf_rows.starts[leaf], leaf_rows.ends[leaf]):
        row = np.uint64(leaf_rows.rows[i])
        place = np.int64(segment_rows.position[row])
        if place >= tail:
            break
        entry = np.uint64(first + place)
        w = np.float64(segment_rows.weight[entry]) if len(segment_rows.weight) else 1.0
        part = BODY_G if place < body else TAIL_G
        b = np.uint64(column[row])
        sums[part, b] += segment_rows.g[k, entry]
        sums[part + 1, b] += w


@inner_kernel
def subtract(parent, child, is_true):
    """Replace a parent's sums and one child's by those of the false and true child."""
    for part in range(4):
        for b in range(parent.shape[1]):
            summed = child[part, b]
            rest = parent[part, b] - summed
            parent[part, b] = rest if is_true else summed
            child[part, b] = summed if is_true else rest


@inner_kernel
def average(g, w, l2):
    """Return G · (1 / (W + λ′)), or 0 if W is not positive."""
    return g * (1.0 / (w + l2)) if w > 0.0 else 0.0


@inner_kernel
def add_sides(kind, false, true, l2, scores, b):
    """Add the false and the true side of split ``b`` of a leaf to the sums of its score."""
    a, c = average(false[0], false[1], l2), average(true[0], true[1], l2)
    if kind == L2:
        scores[0, b] += c * true[2]
        scores[0, b] += a * false[2]
    else:
        scores[0, b] += a * false[2] + c * true[2]
        scores[1, b] += (a * a) * false[3] + (c * c) * true[3]


@inner_kernel
def add_leaf(sums, n_splits, kind, l2, scores):
    """Add all splits of a leaf by a column with borders."""
    f0 = f1 = f2 = f3 = t0 = t1 = t2 = t3 = 0.0
    for b in range(n_splits + 1):
        t0 += sums[0, b]
        t1 += sums[1, b]
        t2 += sums[2, b]
        t3 += sums[3, b]
    for b in range(n_splits):
        f0 += sums[0, b]
        f1 += sums[1, b]
        f2 += sums[2, b]
        f3 += sums[3, b]
        t0 -= sums[0, b]
        t1 -= sums[1, b]
        t2 -= sums[2, b]
        t3 -= sums[3, b]
        add_sides(kind, (f0, f1, f2, f3), (t0, t1, t2, t3), l2, scores, b)


@inner_kernel
def add_pack(sums, n_bits, kind, l2, scores):
    """Add all splits of a leaf by the columns of a pack."""
    for bit in range(n_bits):
        f0 = f1 = f2 = f3 = t0 = t1 = t2 = t3 = 0.0
        for bucket in range(1 << n_bits):
            if (bucket >> bit) & 1:
                t0 += sums[0, bucket]
                t1 += sums[1, bucket]
                t2 += sums[2, bucket]
                t3 += sums[3, bucket]
            else:
                f0 += sums[0, bucket]
                f1 += sums[1, bucket]
                f2 += sums[2, bucket]
                f3 += sums[3, bucket]
        add_sides(kind, (f0, f1, f2, f3), (t0, t1, t2, t3), l2, scores, bit)


@inner_kernel
def add_one_hot(sums, n_levels, kind, l2, scores):
    """Add all splits of a leaf by one level against the others."""
    f0 = f1 = f2 = f3 = 0.0
    for b in range(n_levels):
        f0 += sums[0, b]
        f1 += sums[1, b]
        f2 += sums[2, b]
        f3 += sums[3, b]
    for b in range(n_levels):
        true = sums[0, b], sums[1, b], sums[2, b], sums[3, b]
        f0 -= true[0]
        f1 -= true[1]
        f2 -= true[2]
        f3 -= true[3]
        add_sides(kind, (f0, f1, f2, f3), true, l2, scores, b)
        f0 += true[0]
        f1 += true[1]
        f2 += true[2]
        f3 += true[3]


@inner_kernel
def sum_bins(sums, begin, end):
    """Return the four sums over some bins."""
    s0 = s1 = s2 = s3 = 0.0
    for b in range(begin, end):
        s0 += sums[0, b]
        s1 += sums[1, b]
        s2 += sums[2, b]
        s3 += sums[3, b]
    return s0, s1, s2, s3


@inner_kernel
def bin_sums(sums, b):
    """Return the four sums of a bin."""
    return sums[0, b], sums[1, b], sums[2, b], sums[3, b]


@inner_kernel
def plus(a, b):
    """Return the sums of two groups of rows together."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


@inner_kernel
def minus(a, b):
    """Return the sums of a group of rows without another one."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]


@inner_kernel
def add_bundle(sums, parts, f, kind, l2, scores):
    """Add all splits of a leaf by the columns of a bundle."""
    low, high = parts.first[f], parts.first[f + 1]
    every = bin_sums(sums, parts.ends[high - 1])
    begin, split = 0, 0
    for part in range(low, high):
        every = plus(every, sum_bins(sums, begin, parts.ends[part]))
        begin = parts.ends[part]
    begin = 0
    for part in range(low, high):
        end = parts.ends[part]
        own = sum_bins(sums, begin, end)
        rest = minus(every, own)
        if parts.kinds[part] == FLOATS:
            for b in range(begin, end):
                if b > begin:
                    rest, own = plus(rest, bin_sums(sums, b - 1)), minus(own, bin_sums(sums, b - 1))
                add_sides(kind, rest, own, l2, scores, split)
                split += 1
        elif parts.kinds[part] == ONE_HOT:
            if end - begin > 1:
                add_sides(kind, own, rest, l2, scores, split)
            split += 1
            for b in range(begin, end):
                true = bin_sums(sums, b)
                add_sides(kind, minus(every, true), true, l2, scores, split)
                split += 1
        begin = end


@inner_kernel
def add_splits(candidates, f, sums, kind, l2, scores):
    """Add all splits of a leaf by candidate ``f``."""
    count = candidates.n_splits[f]
    if candidates.kinds[f] == PACK:
        add_pack(sums, count, kind, l2, scores)
    elif candidates.kinds[f] == ONE_HOT:
        add_one_hot(sums, count, kind, l2, scores)
    elif candidates.kinds[f] == BUNDLE:
        add_bundle(sums, candidates.parts, f, kind, l2, scores)
    else:
        add_leaf(sums, count, kind, l2, scores)


@inner_kernel
def find_best(scores, candidates, scoring, candidate, best_score, best_split):
    """Write the best usable split of a candidate, the first one in a tie."""
    best = -np.inf
    best_score[candidate], best_split[candidate] = -np.inf, 0
    is_pack, mask = candidates.kinds[candidate] == PACK, candidates.masks[candidate]
    for b in range(candidates.n_splits[candidate]):
        if is_pack and (mask >> b) & 1 == 0:
            continue
        score = scores[0, b] / math.sqrt(scores[1, b]) if scoring.kind == COSINE else scores[0, b]
        noisy = score
        if len(scoring.noise):
            entry = candidate * scoring.stride + b
            index = hash_of(scoring.seed, entry) >> np.uint32(32 - NOISE_BITS)
            noisy += scoring.noise[np.int64(index)]
        if noisy > best:
            best = noisy
            best_score[candidate], best_split[candidate] = score, b


@inner_kernel
def sum_candidate(candidates, leaf_rows, segment_rows, kind, n_leaves, side, planes, f, scores):
    """Build the histograms of one candidate, and write the sums of the scores of its splits.

    The parameters are those of `scan_segments`; ``kind`` is L2 or COSINE.
    """
    keeps = len(planes) > 1 or planes.shape[1] > 1 or planes.shape[2] > 1
    half = n_leaves // 2
    column = candidates.columns[f]
    for b in range(candidates.n_splits[f]):
        scores[0, b] = 0.0
        scores[1, b] = MIN_DENOMINATOR
    for s in range(len(segment_rows.segments)):
        l2 = segment_rows.l2[s]
        for k in range(len(segment_rows.g)):
            if side >= 0:
                for leaf in range(half):
                    child = planes[leaf + half, s, k, f]
                    small = leaf + half if side == 1 else leaf
                    add_rows(column, leaf_rows, small, segment_rows, s, k, child)
                    subtract(planes[leaf, s, k, f], child, side == 1)
            for leaf in range(n_leaves):
                sums = planes[leaf, s, k, f] if keeps else planes[0, 0, 0, f]
                if side < 0:
                    add_rows(column, leaf_rows, leaf, segment_rows, s, k, sums)
                add_splits(candidates, f, sums, kind, l2, scores)


@kernel
def scan_segments(
    candidates, leaf_rows, segment_rows, scoring, n_leaves, side, planes, first, last, scores,
    best_score, best_split,
):  # fmt: skip
    """Write the best split of the candidates first … last − 1.

    Parameters
    ----------
    candidates, leaf_rows, segment_rows, scoring : as their classes say
    n_leaves : int, leaves of this level
    side : 1 or 0: the true or false children of the last split are summed, and their siblings
        are the differences to the kept parents; −1: all leaves are summed
    planes : float64 (n_kept, n_segments, n_scores, n_candidates, 4, stride): the kept histograms;
        or (1, 1, 1, n_candidates, 4, stride) as scratch space if ``side`` is −1 at every level
    scores : float64 (2, stride), scratch space
    best_score : float64 (n_candidates,), written, without noise
    best_split : int64 (n_candidates,), written
    """
    for f in range(first, last):
        sum_candidate(
            candidates, leaf_rows, segment_rows, scoring.kind, n_leaves, side, planes, f, scores
        )
        find_best(scores, candidates, scoring, f, best_score, best_split)
