"""Histograms of the two children of a leaf: one is built, the other one is obtained by subtraction.

    cells of the larger child = cells of the leaf − cells of the smaller child

Both are scanned column by column, while the cells of a column are still in the first-level cache.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import FLUSHED, HALF, LOW, SPARSE_FLUSHED
from algorithms.gbdt.kernels.categorical_split import scan_sorted
from algorithms.gbdt.kernels.constrained_split import scan_categorical, scan_constrained
from algorithms.gbdt.kernels.narrow_leaf import accumulate_cells
from algorithms.gbdt.kernels.split import scan
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def gather(scratch, threads, first, n_bins, g, h):
    """Add up the threads' sums of a column, and clear them for the next histogram.

    Parameters
    ----------
    threads : (first, last + 1), range of ranks
    first : index of the column's first cell
    n_bins : number of its cells
    g, h : (MAX_BINS,) int64, written
    """
    for thread in range(threads[0], threads[1]):
        cells = scratch.cells[thread]
        for b in range(np.uint64(n_bins)):
            cell = cells[np.uint64(first) + b]
            g[b] = (cell >> HALF) + (g[b] if thread > threads[0] else 0)
            h[b] = (cell & LOW) + (h[b] if thread > threads[0] else 0)
            cells[np.uint64(first) + b] = 0
        if scratch.sums[thread, FLUSHED] or scratch.sums[thread, SPARSE_FLUSHED]:
            wide_g, wide_h = scratch.wide[thread, 0], scratch.wide[thread, 1]
            for b in range(np.uint64(n_bins)):
                g[b] += wide_g[np.uint64(first) + b]
                h[b] += wide_h[np.uint64(first) + b]
                wide_g[np.uint64(first) + b] = 0
                wide_h[np.uint64(first) + b] = 0


@inner_kernel
def keep_histogram(growth, leaf, first, n_bins, wide, by_sums, g, h):
    """Store the sums of a column in a leaf's histogram.

    If ``wide``, g and h are stored in two planes, else as packed cells; with ``by_sums``, each cell
    is the sum of all cells up to it.
    """
    cells, heavy = growth.cells[leaf["slot"]], growth.heavy[leaf["plane"]]
    for b in range(np.uint64(n_bins)):
        if wide:
            cells[np.uint64(first) + b] = g[b]
            heavy[np.uint64(first) + b] = h[b]
        else:
            cells[np.uint64(first) + b] = (g[b] << HALF) + h[b]
    if by_sums and not wide:
        accumulate_cells(cells[first : first + n_bins], n_bins)


@inner_kernel
def subtract(growth, leaf, first, n_bins, g, h, rest_g, rest_h):
    """Write a wide leaf's histogram minus g and h: the sums of its other child."""
    cells, heavy = growth.cells[leaf["slot"]], growth.heavy[leaf["plane"]]
    for b in range(np.uint64(n_bins)):
        rest_g[b] = cells[np.uint64(first) + b] - g[b]
        rest_h[b] = heavy[np.uint64(first) + b] - h[b]


@inner_kernel
def search(bins, f, g, h, weight, stats, rules, scale, scratch, rank, which):
    """Find the best split of a feature with the scan for its kind; its gain is times a weight."""
    n_bins, missing_bin = bins.count[f], bins.missing[f]
    best = scratch.best[rank, which]
    sums = scratch.small[rank, 4:]
    if bins.is_categorical[f]:
        order, left_bins = scratch.order[rank], scratch.left_bins[rank, which]
        sizes = bins.sizes[f]
        if rules.sets_by_value:
            buffers = scratch.small[rank]
            room = buffers[6:], buffers[4:6], scratch.scores[rank], order
            scan_sorted(g, h, sizes, missing_bin, f, stats, rules, scale, room, best, left_bins)
            return  # second-order boosting has no weights
        slopes = scratch.scores[rank]
        scan_categorical(
            g,
            h,
            n_bins,
            missing_bin,
            sizes,
            f,
            weight,
            stats,
            rules,
            scale,
            order,
            slopes,
            best,
            left_bins,
        )
    elif rules.plain:
        scores = scratch.scores[rank]
        scan(g, h, n_bins, missing_bin, f, stats, rules, sums, scores, best)
    else:
        direction = bins.monotone[f]
        scan_constrained(
            g, h, n_bins, missing_bin, f, direction, weight, stats, rules, scale, sums, best
        )
