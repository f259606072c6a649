"""Target statistics and split scores of all feature combinations at one level of a tree.

A combination joins a *base* and one more categorical column. A base is either all numeric and
one-hot splits of the tree, or the columns of a target statistic that the tree uses. The category
of a row is the pair (category in the base, category in the column).
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LOW
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.symmetric.kernels.split_scores import MIN_DENOMINATOR, add_terms, choose_bin
from algorithms.symmetric.kernels.target_statistics import write_statistics

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio
UPPER, LOW_BITS = np.uint64(32), np.uint64(LOW)


class CodedParts(NamedTuple):
    """Category codes of the rows, for the bases of a tree and for the categorical columns."""

    bases: np.ndarray  # int32 (n_bases, n_rows)
    base_sizes: np.ndarray  # int64 (n_bases,), number of codes
    columns: np.ndarray  # int32 (n_columns, n_rows)
    column_sizes: np.ndarray  # int64 (n_columns,)


class LevelCombinations(NamedTuple):
    """The combinations at one level of a tree."""

    bases: np.ndarray  # int64 (n,), numbers of bases
    columns: np.ndarray  # int64 (n,), numbers of columns
    slots: np.ndarray  # int64 (n,), places in the `StatisticCache`


class StatisticCache(NamedTuple):
    """Statistics of combinations."""

    bins: np.ndarray  # uint8 (n_slots, n_statistics, n_rows)
    n_levels: np.ndarray  # int64 (n_slots,), number of categories that have rows


class KeyScratch(NamedTuple):
    """Scratch space of `combine_codes`: a hash table of pairs of codes."""

    keys: np.ndarray  # int64 (a power of 2, at least 2 n_rows,)
    numbers: np.ndarray  # int32, of the same size
    max_codes: int  # maximum number of possible pairs that are not renumbered


class LevelScoring(NamedTuple):
    """How the splits of a level are scored."""

    kind: int  # L2 or COSINE
    noise: np.ndarray  # float64 (2 ** NOISE_BITS,), quantiles of the noise; (0,): no noise
    seed: int  # of the noise of the level
    n_bins: np.ndarray  # int64 (n_statistics,)
    stride: int  # bin b of statistic s has the index s · stride + b, which selects its noise
    l2: float  # λ, in the unit of the weights
    step: np.ndarray  # float64 (2,), quantization steps of gradients and weights


class ScoreScratch(NamedTuple):
    """Scratch space of `scan_combinations`."""

    histogram: np.ndarray  # float64 (n_outputs, n_statistics, stride, 2): Σg and Σw of a leaf
    sums: np.ndarray  # float64 (n_statistics, 4, stride)


@linked_kernel
def combine_codes(base, base_size, column, column_size, scratch, out):
    """Write the code of each row's pair of categories; return the number of codes.

    If there could be more pairs than ``scratch.max_codes``, they are numbered by first appearance.

    Parameters
    ----------
    base, column : int32 (n_rows,)
    base_size, column_size : number of codes
    scratch : KeyScratch
    out : int32 (n_rows,), written
    """
    width = np.int64(column_size)
    if base_size * width <= scratch.max_codes:
        for i in range(np.uint64(len(out))):
            out[i] = base[i] * width + column[i]
        return base_size * width
    keys, numbers = scratch.keys, scratch.numbers
    for i in range(len(keys)):
        keys[i] = -1
    mask, count = np.uint64(len(keys) - 1), 0
    for i in range(np.uint64(len(out))):
        key = np.int64(base[i]) * width + column[i]
        at = ((np.uint64(key) * MULTIPLIER) >> UPPER) & mask
        while keys[at] != key:
            if keys[at] < 0:
                keys[at], numbers[at] = key, count
                count += 1
            else:
                at = (at + np.uint64(1)) & mask
        out[i] = numbers[at]
    return np.int64(count)


@kernel
def write_combinations(parts, level, order, ctrs, codes, key_scratch, scratch, cache, first, last):
    """Write the statistics of the combinations first … last − 1.

    Parameters
    ----------
    parts : CodedParts
    level : LevelCombinations
    order, ctrs, scratch : as in `write_statistics`
    codes : int32 (n_rows,), scratch space
    key_scratch : KeyScratch
    cache : StatisticCache, written
    """
    for c in range(first, last):
        base, column, slot = level.bases[c], level.columns[c], level.slots[c]
        size = combine_codes(
            parts.bases[base], parts.base_sizes[base], parts.columns[column],
            parts.column_sizes[column], key_scratch, codes,
        )  # fmt: skip
        n_levels = write_statistics(codes, size, order, ctrs, scratch, cache.bins[slot])
        cache.n_levels[slot] = n_levels


@kernel
def scan_combinations(
    bins, slots, records, leaf_rows, n_leaves, scoring, scratch, best_score, best_bin, first, last
):  # fmt: skip
    """Write the best split of each statistic of the combinations first … last − 1.

    Parameters
    ----------
    bins, slots : as in `StatisticCache` and `LevelCombinations`
    records : int64 (n_outputs, n_rows), packed gradients and weights
    leaf_rows : LeafRows
    n_leaves : int
    scoring : LevelScoring
    scratch : ScoreScratch
    best_score : float64 (n, n_statistics), written, without noise
    best_bin : int64 (n, n_statistics), written: the last bin of the false side
    """
    sums, n_bins, stride = scratch.sums, scoring.n_bins, scoring.stride
    for c in range(first, last):
        own = bins[slots[c]]
        for s in range(len(own)):
            for b in range(n_bins[s] - 1):
                sums[s, 0, b] = 0.0
                sums[s, 1, b] = MIN_DENOMINATOR
        for leaf in range(n_leaves):
            start, end = leaf_rows.starts[leaf], leaf_rows.ends[leaf]
            if start < end:
                sum_rows(own, records, leaf_rows.rows, start, end, scoring.step, scratch.histogram)
                add_sums(scratch.histogram, n_bins, scoring.l2, sums)
        seed = seed_of(scoring.seed, c)
        for s in range(len(own)):
            best_score[c, s], best_bin[c, s] = choose_bin(
                sums[s], n_bins[s] - 1, scoring.kind, scoring.noise, seed, s * stride
            )


@inner_kernel
def seed_of(seed, number):
    """Return the same uint32 as `gbdt.sampling.seed_of(seed, number)`."""
    mixed = (np.uint64(seed) ^ np.uint64(number + 1)) * MULTIPLIER
    return np.uint32((mixed ^ (mixed >> np.uint64(29))) & LOW_BITS)


@inner_kernel
def sum_rows(bins, records, rows, start, end, step, histogram):
    """Write the sums of the gradients and weights of a leaf's rows for each statistic.

    The sums are exact: they are multiples of the steps, which are powers of two.
    """
    for k in range(histogram.shape[0]):
        for s in range(histogram.shape[1]):
            for b in range(histogram.shape[2]):
                histogram[k, s, b, 0] = 0.0
                histogram[k, s, b, 1] = 0.0
    for i in range(np.uint64(start), np.uint64(end)):
        row = np.uint64(rows[i])
        for k in range(np.uint64(len(records))):
            record = records[k, row]
            g = np.float64(record >> HALF) * step[0]
            w = np.float64(record & LOW) * step[1]
            for s in range(np.uint64(len(bins))):
                b = np.uint64(bins[s, row])
                histogram[k, s, b, 0] += g
                histogram[k, s, b, 1] += w


@inner_kernel
def add_sums(histogram, n_bins, l2, sums):
    """Add a leaf's score terms, of both sides of all splits, to ``sums``."""
    for s in range(len(n_bins)):
        count = n_bins[s] - 1
        for k in range(len(histogram)):
            g = w = 0.0
            for b in range(count):
                g += histogram[k, s, b, 0]
                w += histogram[k, s, b, 1]
                sums[s, 2, b], sums[s, 3, b] = g, w
            g += histogram[k, s, count, 0]
            w += histogram[k, s, count, 1]
            if w > 0.0:
                add_terms(sums[s], count, g, w, l2)
