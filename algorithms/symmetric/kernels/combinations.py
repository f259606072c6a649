"""Target statistics and split scores of all feature combinations at one level of a tree.

A combination joins a *base* and one more categorical column. A base is either all numeric and
one-hot splits of the tree, or the columns of a target statistic that the tree uses. The category
of a row is the pair (category in the base, category in the column).
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LOW, MAX_G
from algorithms.gbdt.kernels.booster_arrays import MAX_H as MAX_W
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.symmetric.kernels.base_categories import BaseCategories, reorder_categories
from algorithms.symmetric.kernels.combination_statistics import StatisticScratch, write_codes
from algorithms.symmetric.kernels.split_scores import MIN_DENOMINATOR, add_terms, choose_bin

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio
LOW_BITS = np.uint64(LOW)


class CombinationParts(NamedTuple):
    """The bases of a tree, and the categorical columns; the last base has one category."""

    bases: BaseCategories
    columns: np.ndarray  # int32 (n_columns, n_rows), level of each row
    n_levels: np.ndarray  # int64 (n_columns,)


class LevelCombinations(NamedTuple):
    """The combinations at one level of a tree."""

    bases: np.ndarray  # int64 (n,), numbers of bases
    columns: np.ndarray  # int64 (n,), numbers of columns
    slots: np.ndarray  # int64 (n,), places in the `StatisticCache`


class StatisticCache(NamedTuple):
    """Statistics of combinations."""

    codes: np.ndarray  # uint8 (n_slots, n_sets, n_rows), see `StatisticCodes`
    n_levels: np.ndarray  # int64 (n_slots,), number of categories that have rows


class CategoryScratch(NamedTuple):
    """Scratch space of one thread for the categories of bases and combinations."""

    rows: np.ndarray  # uint32 (n_rows,)
    codes: np.ndarray  # int32 (n_rows,)
    statistics: StatisticScratch


class LevelRows(NamedTuple):
    """Sampled rows grouped by leaf; Σ|g| and Σw of the rows of a chunk fit into a packed sum."""

    rows: np.ndarray  # uint32 (n_sampled,)
    starts: np.ndarray  # int64 (n_leaves or more,), range of each leaf in ``rows``
    ends: np.ndarray  # int64 (n_leaves or more,)
    records: np.ndarray  # int64 (n_outputs, n_sampled or more), in the order of ``rows``; written
    chunks: np.ndarray  # uint32 (n_sampled or more,), ends of the chunks, by leaf; written


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

    cells: np.ndarray  # int64 (2, 256), packed sums by code, of even and of odd rows
    packed: np.ndarray  # int64 (stride,), packed sums of each bin
    planes: np.ndarray  # int64 (n_statistics, 2, stride): ΣG and ΣW of a leaf
    sums: np.ndarray  # float64 (n_statistics, 4, stride)


@kernel
def write_combinations(parts, level, order, ctrs, codes, scratch, cache, first, last):
    """Write the statistics of the combinations first … last − 1.

    Parameters
    ----------
    parts : CombinationParts
    level : LevelCombinations
    order : uint32 (n_rows,), the permutation of the statistics; (0,): that of the bases
    ctrs : CtrArrays
    codes : StatisticCodes
    scratch : CategoryScratch
    cache : StatisticCache, written
    """
    bases, columns = parts.bases, parts.columns
    for c in range(first, last):
        base, column, slot = level.bases[c], level.columns[c], level.slots[c]
        rows = bases.rows[base]
        if len(order):
            places = scratch.statistics.totals
            reorder_categories(bases, base, order, scratch.codes, places, scratch.rows)
            rows = scratch.rows
        n_found = write_codes(
            rows, bases.ends[base], bases.sizes[base], columns[column], parts.n_levels[column],
            ctrs, codes, scratch.statistics, cache.codes[slot],
        )  # fmt: skip
        cache.n_levels[slot] = n_found + bases.n_single_row_categories[base]


@inner_kernel
def write_column(codes, number, own, out):
    """Write the bins of a statistic, uint8 (n_rows,).

    Parameters
    ----------
    codes : StatisticCodes
    number : number of the statistic
    own : uint8 (n_sets, n_rows), codes of the statistics of its combination
    """
    bins, own = codes.bins[number], own[codes.set_of[number]]
    for i in range(np.uint64(len(out))):
        out[i] = bins[np.uint64(own[i])]


@kernel
def order_records(records, level_rows, n_leaves):
    """Write the records in the order of the leaves' rows, and the chunks.

    Parameters
    ----------
    records : int64 (n_outputs, n_rows), packed gradients and weights
    level_rows : LevelRows
    n_leaves : int
    """
    rows, n_chunks = level_rows.rows, 0
    for leaf in range(n_leaves):
        start, end = np.uint64(level_rows.starts[leaf]), np.uint64(level_rows.ends[leaf])
        if start == end:
            continue
        most_g = most_w = np.int64(0)
        for k in range(len(records)):
            own = level_rows.records[k]
            sum_abs_g = weight = np.int64(0)
            for i in range(start, end):
                own[i] = records[k, np.uint64(rows[i])]
                sum_abs_g += abs(own[i] >> HALF)
                weight += own[i] & LOW
            most_g, most_w = max(most_g, sum_abs_g), max(most_w, weight)
        if most_g > MAX_G or most_w > MAX_W:
            n_chunks = write_chunk_ends(level_rows, start, end, len(records), n_chunks)
        level_rows.chunks[n_chunks] = end
        n_chunks += 1


@linked_kernel
def write_chunk_ends(level_rows, start, end, n_outputs, n_chunks):
    """Write the ends of a leaf's chunks but the last one; return the number of chunks."""
    first = start
    while True:
        last = end
        for k in range(n_outputs):
            sum_abs_g = weight = np.int64(0)
            for i in range(first, last):
                record = level_rows.records[k, i]
                sum_abs_g += abs(record >> HALF)
                weight += record & LOW
                if sum_abs_g > MAX_G or weight > MAX_W:
                    last = i
                    break
        if last == end:
            return n_chunks
        level_rows.chunks[n_chunks] = last
        n_chunks += 1
        first = last


@kernel
def scan_combinations(
    cache, codes, slots, level_rows, n_leaves, scoring, scratch, best_score, best_bin, first, last
):  # fmt: skip
    """Write the best split of each statistic of the combinations first … last − 1.

    Parameters
    ----------
    cache : StatisticCache
    codes : StatisticCodes
    slots : int64, place of each combination in the cache
    level_rows : LevelRows
    n_leaves : int
    scoring : LevelScoring
    scratch : ScoreScratch
    best_score : float64 (n, n_statistics), written, without noise
    best_bin : int64 (n, n_statistics), written: the last bin of the false side
    """
    sums, n_bins, stride = scratch.sums, scoring.n_bins, scoring.stride
    for c in range(first, last):
        for s in range(len(n_bins)):
            for b in range(n_bins[s] - 1):
                sums[s, 0, b] = 0.0
                sums[s, 1, b] = MIN_DENOMINATOR
        chunk = 0
        for leaf in range(n_leaves):
            start, end = level_rows.starts[leaf], level_rows.ends[leaf]
            if start == end:
                continue
            n_chunks = 1
            while level_rows.chunks[chunk + n_chunks - 1] != end:
                n_chunks += 1
            ends = level_rows.chunks[chunk : chunk + n_chunks]
            add_leaf(cache.codes[slots[c]], codes, level_rows, start, ends, scoring, scratch)
            chunk += n_chunks
        seed = seed_of(scoring.seed, c)
        for s in range(len(n_bins)):
            best_score[c, s], best_bin[c, s] = choose_bin(
                sums[s], n_bins[s] - 1, scoring.kind, scoring.noise, seed, s * stride
            )


@inner_kernel
def seed_of(seed, number):
    """Return the same uint32 as `gbdt.sampling.seed_of(seed, number)`."""
    mixed = (np.uint64(seed) ^ np.uint64(number + 1)) * MULTIPLIER
    return np.uint32((mixed ^ (mixed >> np.uint64(29))) & LOW_BITS)


@inner_kernel
def add_leaf(columns, codes, level_rows, start, ends, scoring, scratch):
    """Add a leaf's score terms of all statistics of a combination to ``scratch.sums``.

    Parameters
    ----------
    columns : uint8 (n_sets, n_rows), codes of the combination
    start, ends, codes, level_rows, scoring, scratch : as in `sum_leaf`
    """
    for own in range(len(codes.n_codes)):
        for k in range(len(level_rows.records)):
            sum_leaf(columns[own], codes, own, level_rows, k, start, ends, scoring, scratch)
            for s in range(codes.first[own], codes.first[own + 1]):
                add_sums(scratch.planes[s], scoring.n_bins[s], scoring, scratch.sums[s])


@inner_kernel
def sum_leaf(column, codes, own, level_rows, k, start, ends, scoring, scratch):
    """Write ΣG and ΣW of a leaf's rows by bin, for the statistics of set ``own``.

    Parameters
    ----------
    column : uint8 (n_rows,), codes of the set
    k : number of the output
    start, ends : start of the leaf, and ends of its chunks
    codes, level_rows, scoring, scratch : as in `scan_combinations`
    """
    cells, packed, planes, n_bins = scratch.cells, scratch.packed, scratch.planes, scoring.n_bins
    records, n_codes = level_rows.records[k], codes.n_codes[own]
    for s in range(codes.first[own], codes.first[own + 1]):
        for b in range(n_bins[s]):
            planes[s, 0, b] = 0
            planes[s, 1, b] = 0
    begin = np.uint64(start)
    for part in range(len(ends)):
        end = np.uint64(ends[part])
        sum_codes(column, level_rows.rows, records, begin, end, n_codes, cells)
        for s in range(codes.first[own], codes.first[own + 1]):
            for b in range(n_bins[s]):
                packed[b] = 0
            for code in range(np.uint64(n_codes)):
                packed[np.uint64(codes.bins[s, code])] += cells[0, code] + cells[1, code]
            for b in range(n_bins[s]):
                planes[s, 0, b] += packed[b] >> HALF
                planes[s, 1, b] += packed[b] & LOW
        begin = end


@inner_kernel
def sum_codes(column, rows, records, begin, end, n_codes, cells):
    """Write the packed sums of the rows at begin … end − 1 by code, as two histograms.

    Consecutive rows often have the same code. In two histograms the second addition need not wait
    for the first.
    """
    one = np.uint64(1)
    for code in range(n_codes):
        cells[0, code] = 0
        cells[1, code] = 0
    for i in range(begin, end - one, np.uint64(2)):
        row, other = np.uint64(rows[i]), np.uint64(rows[i + one])
        cells[0, np.uint64(column[row])] += records[i]
        cells[1, np.uint64(column[other])] += records[i + one]
    if (end - begin) % np.uint64(2):
        last = end - one
        cells[0, np.uint64(column[np.uint64(rows[last])])] += records[last]


@inner_kernel
def add_sums(planes, n_bins, scoring, sums):
    """Add a leaf's score terms, of both sides of all splits of a statistic, to ``sums``."""
    count, step, g, w = n_bins - 1, scoring.step, np.int64(0), np.int64(0)
    for b in range(count):
        g += planes[0, b]
        w += planes[1, b]
        sums[2, b], sums[3, b] = np.float64(g) * step[0], np.float64(w) * step[1]
    g += planes[0, count]
    w += planes[1, count]
    if w > 0:
        whole = np.float64(g) * step[0], np.float64(w) * step[1]
        add_terms(sums, count, whole[0], whole[1], scoring.l2)
