"""Ordered target statistics: each row reads the counts of the rows before it, then adds its own.

The statistic of a row is (good + prior) / (total + 1), in float32 as in CatBoost. ``total`` counts
the earlier rows of the same level, ``good`` those of some target classes. Its bin is the integer
part of (statistic + shift) / norm · n_borders.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

BORDERS, BUCKETS = 0, 1


@inner_kernel
def bin_of(good, total, prior, shift, norm, n_borders):
    """Return the bin of a statistic; ``good``, prior, shift and norm are float32."""
    value = (good + prior) / np.float32(total + 1)
    return np.uint8((value + shift) / norm * np.float32(n_borders))


@kernel
def write_class_statistics(
    codes, order, classes, kind, counts, priors, shifts, norms, n_borders, first, last, out
):
    """Write the bins of statistics that count classes.

    Parameters
    ----------
    codes : int32 (n_rows,), level of each row
    order : uint32 (n_rows,), the order in which rows are read; (0,) means ascending
    classes : int32 (n_rows,), class of the target
    kind : BORDERS (good: classes above a border) or BUCKETS (good: one class)
    counts : int32 (n_levels, n_classes + 1), zeros; scratch space, the total comes last
    priors, shifts, norms : float32 (n_priors,)
    n_borders : int
    first, last : columns of ``out``, for each border or class and then each prior
    out : uint8 (n_rows, n_statistics), written
    """
    n_priors, n_classes = len(priors), counts.shape[1] - 1
    n_targets = (last - first) // n_priors
    for i in range(len(codes)):
        row = np.int64(order[i]) if len(order) else i
        level = codes[row]
        total = counts[level, n_classes]
        good = total
        for target in range(n_targets):
            if kind == BUCKETS:
                good = counts[level, target]
            else:
                good -= counts[level, target]
            for j in range(n_priors):
                out[row, first + target * n_priors + j] = bin_of(
                    np.float32(good), total, priors[j], shifts[j], norms[j], n_borders
                )
        counts[level, classes[row]] += 1
        counts[level, n_classes] += 1


@kernel
def write_mean_statistics(
    codes, order, classes, scale, sums, totals, priors, shifts, norms, n_borders, first, out
):
    """Write the bins of means of the target class, class / ``scale`` in float32.

    Parameters
    ----------
    scale : float32, the number of target borders
    sums : float32 (n_levels,), zeros; scratch space
    totals : int32 (n_levels,), zeros; scratch space
    first : first column of ``out``, one for each prior
    codes, order, classes, priors, shifts, norms, n_borders, out : as in `write_class_statistics`
    """
    for i in range(len(codes)):
        row = np.int64(order[i]) if len(order) else i
        level = codes[row]
        for j in range(len(priors)):
            out[row, first + j] = bin_of(
                sums[level], totals[level], priors[j], shifts[j], norms[j], n_borders
            )
        sums[level] += np.float32(classes[row]) / scale
        totals[level] += 1


@kernel
def sum_classes(codes, classes, scale, sums):
    """Add class / ``scale`` of each row to its level's sum, float32, in row order."""
    for i in range(len(codes)):
        sums[codes[i]] += np.float32(classes[i]) / scale
