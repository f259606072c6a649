"""Target statistics (CTRs) of a projection.

A statistic is (numerator + prior) / denominator, float32 as in CatBoost. BORDERS, BUCKETS and MEAN
are ordered: only earlier rows of the same category count. The numerator is the number of their
target classes above a border, the number in one class, or the sum of class / (n_classes − 1); the
denominator is 1 + their number. COUNTER is not ordered: the numerator is the number of all rows of
the category, the denominator 1 + the size of the largest category.

The bin is the integer part of (statistic + shift) / norm · n_borders. Divisions are done for all
rows of a statistic together, so that they are vectorized.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

BORDERS, BUCKETS, MEAN, COUNTER = range(4)


class CtrArrays(NamedTuple):
    """Options of the target statistics of a projection.

    The statistics are grouped by option; within an option they are ordered by target border or
    class, and then by prior.
    """

    kinds: np.ndarray  # int64 (n_options,): BORDERS, BUCKETS, MEAN or COUNTER
    classes: np.ndarray  # uint16 (n_options, n_rows), class of the target; not used by COUNTER
    n_classes: np.ndarray  # int64 (n_options,); 0 for COUNTER
    n_borders: np.ndarray  # int64 (n_options,), borders of the statistic
    n_priors: np.ndarray  # int64 (n_options,)
    ends: np.ndarray  # int64 (n_options,), end of each option's statistics
    priors: np.ndarray  # float32 (n_statistics,)
    shifts: np.ndarray  # float32 (n_statistics,)
    norms: np.ndarray  # float32 (n_statistics,)


class CountScratch(NamedTuple):
    """Scratch space of `write_statistics`."""

    counts: np.ndarray  # int32 (n_levels · (1 + most classes) or more,)
    sums: np.ndarray  # float32 (n_levels or more,); (0,) without MEAN
    numerators: np.ndarray  # float32 (most targets, n_rows)
    denominators: np.ndarray  # float32 (n_rows,)


@kernel
def write_statistics(codes, n_levels, order, ctrs, scratch, out):
    """Write the bins of all statistics of a projection; return the number of levels with rows.

    Parameters
    ----------
    codes : int32 (n_rows,), level of each row
    n_levels : int, number of codes; some may have no rows
    order : uint32 (n_rows,), the order in which rows are read; (0,) means ascending
    ctrs : CtrArrays
    scratch : CountScratch
    out : uint8 (n_statistics, n_rows), written
    """
    counts, first, width = scratch.counts, 0, 1
    for o in range(len(ctrs.kinds)):
        kind, n_classes, n_priors = ctrs.kinds[o], ctrs.n_classes[o], ctrs.n_priors[o]
        n_targets = (ctrs.ends[o] - first) // n_priors
        width = n_classes + 1 if kind < MEAN else 1  # BORDERS and BUCKETS count classes
        for i in range(n_levels * width):
            counts[i] = 0
        if kind == COUNTER:
            count_rows(codes, n_levels, scratch)
        elif kind == MEAN:
            sum_earlier(codes, n_levels, order, ctrs.classes[o], n_classes - 1, scratch)
        else:
            count_earlier(codes, order, ctrs.classes[o], kind, n_targets, width, scratch)
        for s in range(first, ctrs.ends[o]):
            write_bins(
                scratch.numerators[(s - first) // n_priors], scratch.denominators, ctrs.priors[s],
                ctrs.shifts[s], ctrs.norms[s], np.float32(ctrs.n_borders[o]), out[s],
            )  # fmt: skip
        first = ctrs.ends[o]
    n_used = 0
    for level in range(n_levels):
        n_used += np.int64(counts[level * width] > 0)
    return n_used


@inner_kernel
def count_earlier(codes, order, classes, kind, n_targets, width, scratch):
    """Write class counts, and 1 + the number, of the earlier rows of each row's category.

    Parameters
    ----------
    kind : BORDERS (numerators: classes above a border) or BUCKETS (numerators: one class)
    width : 1 + number of classes; the total of a category comes before its classes in the counts
    codes, order, classes, n_targets, scratch : as in `write_statistics`
    """
    numerators, denominators, counts = scratch.numerators, scratch.denominators, scratch.counts
    is_shuffled = len(order) > 0
    for i in range(np.uint64(len(codes))):
        row = np.uint64(order[i]) if is_shuffled else i
        at = np.uint64(codes[row] * width)
        total = counts[at]
        denominators[row] = np.float32(total + 1)
        left = total
        for target in range(np.uint64(n_targets)):
            own = counts[at + np.uint64(1) + target]
            left -= own
            numerators[target, row] = np.float32(left if kind == BORDERS else own)
        counts[at] = total + 1
        counts[at + np.uint64(1) + np.uint64(classes[row])] += 1


@inner_kernel
def sum_earlier(codes, n_levels, order, classes, n_borders, scratch):
    """Write Σ class / ``n_borders``, in float32, over the earlier rows of each row's category."""
    counts, sums = scratch.counts, scratch.sums
    numerators, denominators = scratch.numerators, scratch.denominators
    scale = np.float32(n_borders)
    for level in range(n_levels):
        sums[level] = np.float32(0.0)
    for i in range(len(codes)):
        row = np.int64(order[i]) if len(order) else i
        level = codes[row]
        numerators[0, row], denominators[row] = sums[level], np.float32(counts[level] + 1)
        sums[level] += np.float32(classes[row]) / scale
        counts[level] += 1


@inner_kernel
def count_rows(codes, n_levels, scratch):
    """Write numerators and denominators of COUNTER: category size, and 1 + the largest size."""
    counts, numerators, denominators = scratch.counts, scratch.numerators, scratch.denominators
    for i in range(np.uint64(len(codes))):
        counts[np.uint64(codes[i])] += 1
    most = 0
    for level in range(n_levels):
        most = max(most, counts[level])
    for i in range(np.uint64(len(codes))):
        numerators[0, i] = np.float32(counts[np.uint64(codes[i])])
        denominators[i] = np.float32(most + 1)


@inner_kernel
def write_bins(numerators, denominators, prior, shift, norm, n_borders, out):
    """Write the bins of a statistic; all arguments but ``out`` are float32."""
    for i in range(np.uint64(len(out))):
        value = (numerators[i] + prior) / denominators[i]
        out[i] = np.uint8((value + shift) / norm * n_borders)


@kernel
def sum_classes(codes, classes, scale, sums):
    """Add class / ``scale`` of each row to its level's sum, float32, in row order."""
    for i in range(len(codes)):
        sums[codes[i]] += np.float32(classes[i]) / scale
