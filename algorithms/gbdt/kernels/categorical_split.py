"""Find the best categorical split of a leaf in second-order (XGBoost-like) boosting.

The categories of the rows of a leaf are sorted by T(G) / (H + λ), the value of a leaf of one
category, with the opposite sign. Categories whose H is too small for a leaf count as 0. The sorted
categories are scanned like the bins of a numeric feature (Fisher 1958: the best partition is among
these), so the side of missing values is learned. If there are few categories, each one is tried
against all others.

Categories without a row in the leaf should not get an extreme value at prediction. Therefore the
left side is the one where the value 0 belongs; categories without a row in the leaf, codes unseen
in training, and missing values, if the leaf has none, go left.
"""

import numpy as np

from algorithms.gbdt.kernels.constrained_split import scan_constrained
from algorithms.gbdt.kernels.node_score import shrink
from algorithms.gbdt.kernels.split import scan
from algorithms.runtime.jit import inner_kernel, linked_kernel


@linked_kernel
def scan_sorted(g, h, sizes, missing_bin, feature, stats, rules, scale, scratch, best, left_bins):
    """Try sets of categories, with missing values on either side.

    Parameters
    ----------
    g, h : (MAX_BINS,) int64, sums of each bin, in steps
    sizes : int32 (MAX_BINS,), number of categories in each bin
    missing_bin : the last bin of the feature; equals the number of bins of categories
    stats, rules, scale : `NodeStats` of the leaf, `Rules`, `Scale`
    scratch : cells, sums, scores and order: int64 (2, MAX_BINS) twice, then float64 (MAX_BINS,) and
        int64 (MAX_BINS,)
    best : BEST, updated if a split is better
    left_bins : uint8 (MAX_BINS,), written with ``best``: 1 for the bins that go left
    """
    cells, _, slopes, order = scratch
    if missing_bin < rules.max_cat_to_onehot:
        for b in range(missing_bin):
            if h[b] > 0:
                try_one(
                    g, h, missing_bin, b, feature, stats, rules, scale, scratch, best, left_bins
                )
        return
    used = sort_categories(g, h, missing_bin, stats, rules, scale, order, slopes)
    if used == 0:
        return
    n_cells, merged = lay_sorted(g, h, sizes, order, used, rules.max_cat_threshold, cells)
    if is_better(g, h, missing_bin, n_cells, feature, stats, rules, scale, scratch, best):
        n_left = best["bin"] + 1
        if n_left > merged:
            n_left += used - n_cells
        b = order[min(n_left, used - 1)]
        turned = n_left < used and slope_of(g[b], h[b], stats, rules, scale) < 0.0
        for b in range(missing_bin):
            left_bins[b] = h[b] == 0
        for i in range(used):
            left_bins[order[i]] = (i < n_left) != turned
        if turned:
            best["g"], best["h"] = stats.g - best["g"], stats.h - best["h"]
            best["missing_left"] = h[missing_bin] == 0 or not best["missing_left"]


@inner_kernel
def try_one(g, h, missing_bin, b, feature, stats, rules, scale, scratch, best, left_bins):
    """Try one category on the right, all others on the left."""
    cells = scratch[0]
    cells[0, 0], cells[1, 0] = stats.g - g[b] - g[missing_bin], stats.h - h[b] - h[missing_bin]
    cells[0, 1], cells[1, 1] = g[b], h[b]
    if is_better(g, h, missing_bin, 2, feature, stats, rules, scale, scratch, best):
        for other in range(missing_bin):
            left_bins[other] = 1
        if best["bin"] == 0:
            left_bins[b] = 0


@inner_kernel
def slope_of(g, h, stats, rules, scale):
    """Return T(G) / (H + λ) of a category, in steps; 0 if its H is too small for a leaf."""
    return (
        shrink(g, rules.reg_alpha / scale.g) / (h + stats.reg_lambda) if h >= stats.least else 0.0
    )


@inner_kernel
def sort_categories(g, h, missing_bin, stats, rules, scale, order, slopes):
    """Write the bins with rows in the leaf, sorted stably by slope; return their number.

    Parameters
    ----------
    order : int64 (MAX_BINS,), written
    slopes : float64 (MAX_BINS,), written: T(G) / (H + λ) of the sorted bins
    """
    used = 0
    for b in range(missing_bin):
        if h[b] > 0:
            slope = slope_of(g[b], h[b], stats, rules, scale)
            i = used
            while i > 0 and slopes[i - 1] > slope:
                slopes[i], order[i] = slopes[i - 1], order[i - 1]
                i -= 1
            slopes[i], order[i] = slope, b
            used += 1
    return used


@inner_kernel
def lay_sorted(g, h, sizes, order, used, most, cells):
    """Write the sums of sorted bins; return the number of cells and the cell with several bins.

    The smaller side of a split has at most ``most`` categories, or one bin. Therefore all bins
    further from both ends are merged into one cell.
    """
    n_cells, merged = 0, used
    before, behind = np.int64(0), np.int64(0)
    for i in range(used):
        behind += sizes[order[i]]
    for i in range(used):
        far = before > most and behind > most
        if far and 1 < i < used - 1:
            merged = min(merged, i - 1)
            cells[0, n_cells - 1] += g[order[i]]
            cells[1, n_cells - 1] += h[order[i]]
        else:
            cells[0, n_cells], cells[1, n_cells] = g[order[i]], h[order[i]]
            n_cells += 1
        size = sizes[order[i]]
        before += size
        behind -= size
    return n_cells, merged


@inner_kernel
def is_better(g, h, missing_bin, n_cells, feature, stats, rules, scale, scratch, best):
    """Scan cells and then missing values as bins; return whether this updated the best split."""
    cells, sums, scores, _ = scratch
    cells[0, n_cells], cells[1, n_cells] = g[missing_bin], h[missing_bin]
    bins = cells[0], cells[1], n_cells + 1, n_cells
    if rules.plain:
        scan(*bins, feature, stats, rules, sums, scores, best)
    else:
        direction = np.int64(0)
        scan_constrained(*bins, feature, direction, 1.0, stats, rules, scale, sums, best)
    if best["feature"] != feature or best["is_categorical"]:  # not updated
        return False
    best["is_categorical"] = 1
    if h[missing_bin] == 0:
        best["missing_left"] = 1
    return True
