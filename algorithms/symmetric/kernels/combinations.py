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
    """Sampled rows grouped by leaf; Σ|g| and Σw of the rows of a chunk fit into a packed sum.

    A leaf is narrow if its packed sums cannot overflow, so it has one chunk.
    """

    rows: np.ndarray  # uint32 (n_sampled,)
    starts: np.ndarray  # int64 (n_leaves or more,), range of each leaf in ``rows``
    ends: np.ndarray  # int64 (n_leaves or more,)
    records: np.ndarray  # int64 (n_outputs, n_sampled or more), in the order of ``rows``; written
    chunks: np.ndarray  # uint32 (n_sampled or more,), ends of the chunks, by leaf; written
    # bool (2, n_leaves or more), written: whether each leaf (row 0), its parent (row 1) is narrow
    is_narrow: np.ndarray


class LevelScoring(NamedTuple):
    """How the splits of a level are scored."""

    kind: int  # L2 or COSINE
    noise: np.ndarray  # float64 (2 ** NOISE_BITS,), quantiles of the noise; (0,): no noise
    seed: int  # of the noise of the level
    n_bins: np.ndarray  # int64 (n_statistics,)
    stride: int  # bin b of statistic s has the index s · stride + b, which selects its noise
    l2: float  # λ, in the unit of the weights
    step: np.ndarray  # float64 (2,), quantization steps of gradients and weights


class CombinationSums(NamedTuple):
    """Sums of the combinations of a tree: those of a level are subtracted at the next one.

    The sums of a leaf have ``width`` entries for each statistic of each output: packed ΣG and ΣW
    of the bins up to each bin. They are not valid if the leaf is not narrow.
    """

    packed: np.ndarray  # int64 (n, n_leaves, n_outputs · n_statistics · width), by combination
    n_leaves: np.ndarray  # int64 (n_combinations,), leaves that have sums; 0: none


class ScoreScratch(NamedTuple):
    """Scratch space of `scan_combinations`; ``width`` is as in `CombinationSums`."""

    cells: np.ndarray  # int64 (2, 256), packed sums by code, of even and of odd rows
    prefix: np.ndarray  # int64 (257,), packed sums of the first codes
    # int64 (n_leaves, n_outputs · n_statistics · width), as in `CombinationSums`
    leaves: np.ndarray
    planes: np.ndarray  # int64 (2, n_outputs · n_statistics · width), ΣG and ΣW of a leaf
    sums: np.ndarray  # float64 (4, n_statistics · width)


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
    rows, is_narrow, n_chunks = level_rows.rows, level_rows.is_narrow, 0
    for leaf in range(n_leaves // 2):
        is_narrow[1, leaf] = is_narrow[1, leaf + n_leaves // 2] = is_narrow[0, leaf]
    for leaf in range(n_leaves):
        start, end = np.uint64(level_rows.starts[leaf]), np.uint64(level_rows.ends[leaf])
        is_narrow[0, leaf] = True
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
            is_narrow[0, leaf] = False
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
    columns, codes, listed, level_rows, n_leaves, scoring, kept, scratch, best, first, last
):
    """Write the best split of each statistic of the combinations first … last − 1.

    Of each pair of sibling leaves only the smaller one is summed if the sums of their parent are
    known; the other is the difference.

    Parameters
    ----------
    columns : uint8 (n_slots, n_sets, n_rows), as in `StatisticCache`
    codes : StatisticCodes
    listed : (numbers, slots) of the combinations, int64
    level_rows : LevelRows
    n_leaves : int
    scoring : LevelScoring
    kept : CombinationSums, written
    scratch : ScoreScratch
    best : (scores, bins), written
        float64 (n, n_statistics), without noise; int64 (n, n_statistics), the last bin of the
        false side
    """
    numbers, slots = listed
    best_score, best_bin = best
    sums, n_bins = scratch.sums, scoring.n_bins
    width = sums.shape[1] // len(n_bins)
    for c in range(first, last):
        own, leaves, n_before = columns[slots[c]], scratch.leaves, np.int64(0)
        if numbers[c] < len(kept.packed):
            leaves, n_before = kept.packed[numbers[c]], kept.n_leaves[numbers[c]]
            kept.n_leaves[numbers[c]] = n_leaves
        sum_combination_leaves(
            own, codes, level_rows, n_leaves, 2 * n_before == n_leaves, scratch, leaves
        )
        for i in range(sums.shape[1]):
            sums[0, i] = 0.0
            sums[1, i] = MIN_DENOMINATOR
        chunk = 0
        for leaf in range(n_leaves):
            start, end = level_rows.starts[leaf], level_rows.ends[leaf]
            if start == end:
                continue
            if level_rows.is_narrow[0, leaf]:
                add_narrow_leaf(leaves[leaf], scoring, sums)
                chunk += 1
                continue
            clear_planes(scratch.planes)
            while start < end:
                given = start, np.int64(level_rows.chunks[chunk])
                sum_leaf(own, codes, level_rows, *given, scratch, leaves[leaf])
                add_planes(leaves[leaf], scratch.planes)
                start = given[1]
                chunk += 1
            add_wide_leaf(scratch.planes, scoring, sums)
        seed = seed_of(scoring.seed, c)
        for s in range(len(n_bins)):
            best_score[c, s], best_bin[c, s] = choose_bin(
                sums[:, s * width : (s + 1) * width], n_bins[s] - 1, scoring.kind, scoring.noise,
                seed, s * scoring.stride,
            )  # fmt: skip


@inner_kernel
def seed_of(seed, number):
    """Return the same uint32 as `gbdt.sampling.seed_of(seed, number)`."""
    mixed = (np.uint64(seed) ^ np.uint64(number + 1)) * MULTIPLIER
    return np.uint32((mixed ^ (mixed >> np.uint64(29))) & LOW_BITS)


@linked_kernel
def sum_combination_leaves(columns, codes, level_rows, n_leaves, has_parents, scratch, leaves):
    """Write the packed sums of all narrow leaves.

    Parameters
    ----------
    columns : uint8 (n_sets, n_rows), codes of the combination
    has_parents : whether ``leaves`` has the sums of the level before
    leaves : int64 (n_leaves, …), as in `CombinationSums`; written
    codes, level_rows, n_leaves, scratch : as in `scan_combinations`
    """
    starts, ends, is_narrow = level_rows.starts, level_rows.ends, level_rows.is_narrow
    n_before = n_leaves // 2
    for leaf in range(n_leaves - n_before):
        other = leaf + n_before
        if not (has_parents and is_narrow[1, leaf]):
            for one in range(leaf, n_leaves, max(n_before, 1)):
                if is_narrow[0, one]:
                    given = starts[one], ends[one], scratch, leaves[one]
                    sum_leaf(columns, codes, level_rows, *given)
            continue
        is_true = ends[other] - starts[other] <= ends[leaf] - starts[leaf]
        small = other if is_true else leaf
        given = starts[small], ends[small], scratch, leaves[other]
        sum_leaf(columns, codes, level_rows, *given)
        subtract_leaf(leaves[leaf], leaves[other], is_true)


@inner_kernel
def subtract_leaf(parent, child, is_true):
    """Replace a parent's sums and its smaller child's by those of the false and true child."""
    if is_true:
        for i in range(len(parent)):
            parent[i] -= child[i]
    else:
        for i in range(len(parent)):
            one = child[i]
            child[i] = parent[i] - one
            parent[i] = one


@inner_kernel
def sum_leaf(columns, codes, level_rows, start, end, scratch, sums):
    """Write the packed sums of the rows of a leaf, or of a chunk of it.

    Parameters
    ----------
    columns, codes, level_rows, scratch : as in `sum_combination_leaves`
    start, end : range of the rows
    sums : int64 (n_outputs · n_statistics · width,), written
    """
    cells, prefix, rows = scratch.cells, scratch.prefix, level_rows.rows
    n_statistics = len(codes.order)
    width = scratch.sums.shape[1] // n_statistics
    begin, stop = np.uint64(start), np.uint64(end)
    if begin == stop:
        for i in range(len(sums)):
            sums[i] = 0
        return
    for k in range(len(level_rows.records)):
        for own in range(len(codes.n_codes)):
            n_codes = np.uint64(codes.n_codes[own])
            sum_codes(columns[own], rows, level_rows.records[k], begin, stop, n_codes, cells)
            for s in range(codes.first[own], codes.first[own + 1]):
                order, ends, total = codes.order[s], codes.ends[s], np.int64(0)
                for code in range(n_codes):
                    total += cells[0, np.uint64(order[code])]
                    prefix[code + np.uint64(1)] = total
                at = (k * n_statistics + s) * width
                for b in range(len(ends)):
                    sums[at + b] = prefix[ends[b]]


@inner_kernel
def sum_codes(column, rows, records, begin, end, n_codes, cells):
    """Write the packed sums of the rows at begin … end − 1 by code to ``cells[0]``.

    Consecutive rows often have the same code. In two histograms the second addition need not wait
    for the first.
    """
    one = np.uint64(1)
    even, odd = cells[0], cells[1]
    for code in range(n_codes):
        even[code] = 0
        odd[code] = 0
    for i in range(begin, end - one, np.uint64(2)):
        row, other = np.uint64(rows[i]), np.uint64(rows[i + one])
        even[np.uint64(column[row])] += records[i]
        odd[np.uint64(column[other])] += records[i + one]
    if (end - begin) % np.uint64(2):
        last = end - one
        even[np.uint64(column[np.uint64(rows[last])])] += records[last]
    for code in range(n_codes):
        even[code] += odd[code]


@inner_kernel
def add_narrow_leaf(packed, scoring, sums):
    """Add a leaf's score terms, of both sides of all splits of all statistics, to ``sums``."""
    step, n = scoring.step, sums.shape[1]
    for first in range(0, len(packed), n):
        own = packed[first : first + n]
        for i in range(n):
            sums[2, i] = np.float64(own[i] >> HALF) * step[0]
            sums[3, i] = np.float64(own[i] & LOW) * step[1]
        add_whole(scoring, sums)


@inner_kernel
def add_whole(scoring, sums):
    """Add the terms of a leaf whose Σg and Σw of false sides are in ``sums``."""
    last = scoring.n_bins[0] - 1
    if sums[3, last] > 0.0:
        add_terms(sums, sums.shape[1], sums[2, last], sums[3, last], scoring.l2)


@inner_kernel
def clear_planes(planes):
    """Set ΣG and ΣW to 0."""
    for i in range(planes.shape[1]):
        planes[0, i] = planes[1, i] = 0


@inner_kernel
def add_planes(packed, planes):
    """Add packed sums to ΣG and ΣW."""
    for i in range(len(packed)):
        planes[0, i] += packed[i] >> HALF
        planes[1, i] += packed[i] & LOW


@inner_kernel
def add_wide_leaf(planes, scoring, sums):
    """Add the score terms of a leaf of several chunks, as `add_narrow_leaf` does."""
    step, n = scoring.step, sums.shape[1]
    for first in range(0, planes.shape[1], n):
        for i in range(n):
            sums[2, i] = np.float64(planes[0, first + i]) * step[0]
            sums[3, i] = np.float64(planes[1, first + i]) * step[1]
        add_whole(scoring, sums)
