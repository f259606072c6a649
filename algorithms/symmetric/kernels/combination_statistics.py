"""Target statistics of a combination, as codes that stand for the bins of several statistics.

Statistics that differ in the prior alone have one numerator and one denominator. Few tuples of
their bins occur, so one code of a row replaces them: it is found in a table of small counts instead
of a division for each prior, and one histogram of codes gives those of all priors.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, linked_kernel
from algorithms.symmetric.kernels.target_statistics import BORDERS, COUNTER, MEAN

MARK, TOTAL, FIRST_CLASS = range(3)  # fields of a level in `StatisticScratch.counts`


class StatisticCodes(NamedTuple):
    """Sets of statistics with a common code; they are in the order of the statistics."""

    first: np.ndarray  # int64 (n_sets + 1,), first statistic of each set
    set_of: np.ndarray  # int64 (n_statistics,)
    n_codes: np.ndarray  # int64 (n_sets,), at most 256
    bins: np.ndarray  # uint8 (n_statistics, 256), bin of each code of the set
    order: np.ndarray  # uint8 (n_statistics, 256), codes of the set in the order of their bins
    ends: np.ndarray  # int64 (n_statistics, most bins), end of each bin in ``order``
    tables: np.ndarray  # int64 (n_sets,), the set's number in the two tables below
    code_by_counts: np.ndarray  # uint8 (n_tables, N_SMALL, N_SMALL), by total and numerator
    # uint8 (n_tables, max(radix ** n_priors)), by the bins as the digits of a number
    code_by_bins: np.ndarray


class StatisticScratch(NamedTuple):
    """Scratch space of `write_codes`, with entries for the levels of the largest column."""

    counts: np.ndarray  # int32 (n_levels · (2 + most classes) or more,)
    sums: np.ndarray  # float32 (n_levels,); (0,) without MEAN
    totals: np.ndarray  # int32 (n_rows,), rows of the category of each row
    of_total: np.ndarray  # uint8 (n_rows + 1,), bin of COUNTER


@linked_kernel
def write_codes(rows, ends, size, column, n_levels, ctrs, codes, scratch, out):
    """Write the codes of the statistics of a combination; return its number of categories.

    Categories of the base with one row are not counted.

    Parameters
    ----------
    rows, ends : uint32 (n_rows,), rows of the categories of the base, as in `BaseCategories`
    size : number of these categories
    column : int32 (n_rows,), level of each row in the column that the combination adds
    n_levels : int, of the column
    ctrs : CtrArrays
    codes : StatisticCodes
    scratch : StatisticScratch
    out : uint8 (n_sets, n_rows), written
    """
    most, n_found = np.int32(0), 0  # not counted yet
    for o in range(len(ctrs.kinds)):
        c, n_sets = sets_of(ctrs, o, codes)
        if ctrs.kinds[o] == COUNTER:
            continue
        for own in range(c, c + n_sets):
            out[own, :] = code_of_counts(0, 0, ctrs, o, codes, own)
        if ctrs.kinds[o] == MEAN:
            write_means(rows, ends, size, column, n_levels, ctrs, o, codes, c, scratch, out)
        else:
            given = ctrs, o, codes, c, n_sets
            most, n_found = write_class_codes(
                rows, ends, size, column, n_levels, *given, scratch, out
            )
    if most == 0:
        most, n_found = count_totals(rows, ends, size, column, n_levels, scratch)
    for o in range(len(ctrs.kinds)):
        c, n_sets = sets_of(ctrs, o, codes)
        if ctrs.kinds[o] == COUNTER:
            for own in range(c, c + n_sets):
                write_counter(rows, ends, size, most, ctrs, o, codes.first[own], scratch, out[own])
    return n_found


@inner_kernel
def sets_of(ctrs, option, codes):
    """Return the first set of an option's statistics, and the number of its sets."""
    first = codes.set_of[ctrs.ends[option - 1]] if option else 0
    return first, codes.set_of[ctrs.ends[option] - 1] + 1 - first


@inner_kernel
def clear_marks(counts, n_levels, width):
    """Mark the counts of all levels as unused."""
    for level in range(n_levels):
        counts[level * width + MARK] = 0


@inner_kernel
def count_totals(rows, ends, size, column, n_levels, scratch):
    """Write the number of rows of each row's category, by the place of the row.

    Returns the largest number, at least 1, and the number of categories.
    """
    counts, width = scratch.counts, np.uint64(2)
    clear_marks(counts, n_levels, 2)
    most, n_found, start = np.int32(1), 0, np.uint64(0)
    for category in range(size):
        end, mark = np.uint64(ends[category]), np.int32(category + 1)
        for i in range(start, end):
            at = np.uint64(column[np.uint64(rows[i])]) * width
            scratch.totals[i] = at
            is_new = counts[at] != mark
            counts[at] = mark
            counts[at + np.uint64(TOTAL)] = 1 if is_new else counts[at + np.uint64(TOTAL)] + 1
            n_found += np.int64(is_new)
        most = max(most, write_totals(start, end, scratch))
        start = end
    return most, n_found


@inner_kernel
def write_totals(start, end, scratch):
    """Replace the places of the counts of some rows by the numbers of rows of their categories.

    Returns the largest number.
    """
    totals, most = scratch.totals, np.int32(0)
    for i in range(start, end):
        totals[i] = scratch.counts[np.uint64(totals[i]) + np.uint64(TOTAL)]
        most = max(most, totals[i])
    return most


@inner_kernel
def bin_of(numerator, denominator, ctrs, option, s):
    """Return the bin of statistic ``s`` for a numerator and a denominator, both float32."""
    value = (numerator + ctrs.priors[s]) / denominator
    n_borders = np.float32(ctrs.n_borders[option])
    return np.uint8((value + ctrs.shifts[s]) / ctrs.norms[s] * n_borders)


@inner_kernel
def code_of(numerator, denominator, ctrs, option, codes, own):
    """Return the code of set ``own`` for a numerator and a denominator, both float32."""
    key = np.uint64(0)
    for s in range(codes.first[own], codes.first[own + 1]):
        digit = np.uint64(bin_of(numerator, denominator, ctrs, option, s))
        key = key * np.uint64(ctrs.n_borders[option] + 1) + digit
    return codes.code_by_bins[codes.tables[own], key]


@inner_kernel
def code_of_counts(numerator, total, ctrs, option, codes, own):
    """Return the code of set ``own`` for a numerator and ``total`` earlier rows of a category."""
    given = np.float32(numerator), np.float32(total + 1)
    return code_of(*given, ctrs, option, codes, own)


@inner_kernel
def write_class_codes(
    rows, ends, size, column, n_levels, ctrs, option, codes, c, n_sets, scratch, out
):
    """Write the codes of BORDERS or BUCKETS: sets ``c`` and following, some for each target.

    It writes the number of rows of each row's category, too, and returns what `count_totals` does.
    """
    counts, classes = scratch.counts, ctrs.classes[option]
    n_targets = ctrs.n_classes[option] - np.int64(ctrs.kinds[option] == BORDERS)
    per_target, most, n_found = n_sets // n_targets, np.int32(1), 0
    is_borders, n_small = ctrs.kinds[option] == BORDERS, codes.code_by_counts.shape[1]
    width = np.uint64(FIRST_CLASS + ctrs.n_classes[option])
    clear_marks(counts, n_levels, np.int64(width))
    if is_borders and n_sets == 1:
        given = ctrs, option, codes, c
        return write_border_codes(rows, ends, size, column, width, *given, scratch, out[c])
    start = np.uint64(0)
    for category in range(size):
        end, mark = np.uint64(ends[category]), np.int32(category + 1)
        for i in range(start, end):
            row = np.uint64(rows[i])
            at = np.uint64(column[row]) * width
            first = at + np.uint64(FIRST_CLASS)
            scratch.totals[i] = at
            if counts[at] != mark:
                counts[at] = mark
                n_found += 1
                for j in range(at + np.uint64(TOTAL), at + width):
                    counts[j] = 0
            total = counts[at + np.uint64(TOTAL)]
            left, own = total, c
            for target in range(np.uint64(n_targets)):
                count = counts[first + target]
                left -= count
                numerator = left if is_borders else count
                for _ in range(per_target):
                    if total < n_small:
                        table = codes.code_by_counts[codes.tables[own]]
                        out[own, row] = table[np.uint64(total), np.uint64(numerator)]
                    else:
                        out[own, row] = code_of_counts(numerator, total, ctrs, option, codes, own)
                    own += 1
            counts[at + np.uint64(TOTAL)] = total + 1
            counts[first + np.uint64(classes[row])] += 1
        most = max(most, write_totals(start, end, scratch))
        start = end
    return most, n_found


@inner_kernel
def write_border_codes(rows, ends, size, column, width, ctrs, option, codes, own, scratch, out):
    """Write the codes of BORDERS with one target border and one set, without branches on counts.

    Results are those of `write_class_codes`.
    """
    counts, classes = scratch.counts, ctrs.classes[option]
    table, n_small = codes.code_by_counts[codes.tables[own]], codes.code_by_counts.shape[1]
    most, n_found, start, zero = np.int32(1), 0, np.uint64(0), np.int32(0)
    for category in range(size):
        end, mark = np.uint64(ends[category]), np.int32(category + 1)
        for i in range(start, end):
            row = np.uint64(rows[i])
            at = np.uint64(column[row]) * width
            scratch.totals[i] = at
            is_new = counts[at] != mark
            total, above = counts[at + np.uint64(TOTAL)], counts[at + np.uint64(FIRST_CLASS)]
            total, above = zero if is_new else total, zero if is_new else above
            n_found += np.int64(is_new)
            if total < n_small:
                out[row] = table[np.uint64(total), np.uint64(above)]
            else:
                out[row] = code_of_counts(above, total, ctrs, option, codes, own)
            counts[at], counts[at + np.uint64(TOTAL)] = mark, total + 1
            counts[at + np.uint64(FIRST_CLASS)] = above + classes[row]
        most = max(most, write_totals(start, end, scratch))
        start = end
    return most, n_found


@inner_kernel
def write_means(rows, ends, size, column, n_levels, ctrs, option, codes, c, scratch, out):
    """Write the codes of MEAN: one set from ``c`` on for each prior."""
    counts, sums, classes, width = scratch.counts, scratch.sums, ctrs.classes[option], 2
    scale = np.float32(ctrs.n_classes[option] - 1)
    clear_marks(counts, n_levels, width)
    start = 0
    for category in range(size):
        end, mark = np.int64(ends[category]), np.int32(category + 1)
        for i in range(start, end):
            row = np.uint64(rows[i])
            level = column[row]
            at = level * width
            if counts[at] != mark:
                counts[at], counts[at + TOTAL], sums[level] = mark, 0, np.float32(0.0)
            denominator = np.float32(counts[at + TOTAL] + 1)
            for p in range(ctrs.n_priors[option]):
                given = sums[level], denominator, ctrs, option, codes
                out[c + p, row] = code_of(*given, c + p)
            sums[level] += np.float32(classes[row]) / scale
            counts[at + TOTAL] += 1
        start = end


@inner_kernel
def write_counter(rows, ends, size, most, ctrs, option, s, scratch, out):
    """Write the bins of COUNTER statistic ``s``."""
    of_total, denominator = scratch.of_total, np.float32(most + 1)
    for total in range(1, most + 1):
        of_total[total] = bin_of(np.float32(total), denominator, ctrs, option, s)
    out[:] = of_total[1]
    n = np.uint64(ends[size - 1]) if size else np.uint64(0)
    for i in range(n):
        out[np.uint64(rows[i])] = of_total[np.uint64(scratch.totals[i])]
