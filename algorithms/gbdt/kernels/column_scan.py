"""Scan the features of a column: a single feature, or a bundle of several features.

The cells of a bundled feature do not contain its default bin. The sums of that bin are the sums of
the leaf minus those of all other bins. Sums are integers, so the result is exact: a bundled feature
has the same bins as without bundling.

A feature of two bins has one threshold. Bundles of one-hot columns consist of hundreds of such
features, which are scanned together, one cell per feature.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import MAX_BINS
from algorithms.gbdt.kernels.child_histograms import search
from algorithms.gbdt.kernels.interaction_groups import may_use
from algorithms.gbdt.kernels.narrow_leaf import (
    scan_constrained_sums,
    scan_sums,
    sum_bundled,
    unpack_cells,
)
from algorithms.gbdt.kernels.split import is_better_split, score_to_exceed, update_best_split
from algorithms.runtime.jit import inner_kernel, linked_kernel


@inner_kernel
def search_column(bins, c, g, h, groups, weight, stats, rules, scale, scratch, rank, which):
    """Scan all features of a column that a leaf may use.

    Parameters
    ----------
    c : index of the column
    g, h : (MAX_BINS,) int64, sums of its cells
    groups : uint64 (n_words,), interaction groups of the leaf
    weight : float64 (n_features,), factors of gains; 0: not allowed
    """
    layout = bins.layout
    first, last = layout.start[c], layout.start[c + 1]
    pairs = layout.pairs[c] if rules.plain else 0
    buffers = scratch.small[rank]
    for k in range(first, last - pairs):
        f = layout.features[k]
        if weight[f] > 0.0 and may_use(groups, bins.groups[f]):
            own_g, own_h = g, h
            if layout.default[f] >= 0:
                own_g, own_h = buffers[6], buffers[7]
                unbundle(bins, f, g, h, stats, own_g, own_h)
            search(bins, f, own_g, own_h, weight[f], stats, rules, scale, scratch, rank, which)
    if pairs:
        best = scratch.best[rank, which]
        scan_pairs(
            bins,
            last - pairs,
            last,
            g,
            h,
            groups,
            weight,
            stats,
            rules,
            scratch.scores[rank],
            best,
        )


@inner_kernel
def scan_narrow_column(bins, c, cells, groups, weight, stats, rules, scale, scratch, rank, which):
    """Scan the numeric features of a column of a narrow leaf like `search_column`.

    Parameters
    ----------
    cells : (n_cells,) int64, the column's cells, or their cumulative sums if its feature is alone
    """
    layout, buffers = bins.layout, scratch.small[rank]
    best, scores = scratch.best[rank, which], scratch.scores[rank]
    first, last = layout.start[c], layout.start[c + 1]
    pairs = layout.pairs[c] if rules.plain else 0
    for k in range(first, last - pairs):
        f = layout.features[k]
        if weight[f] > 0.0 and may_use(groups, bins.groups[f]):
            left = cells
            if layout.default[f] >= 0:
                left = buffers[6]
                sum_bundled(cells, layout.first[f], layout.default[f], bins.count[f], stats, left)
            n_bins, missing_bin = bins.count[f], bins.missing[f]
            given = left, n_bins, missing_bin, f
            if rules.plain:
                scan_sums(*given, stats, rules, buffers[5], scores, best)
            else:
                constraints = bins.monotone[f], weight[f], stats, rules, scale
                scan_constrained_sums(*given, *constraints, buffers[5], best)
    if pairs:
        g, h = buffers[0], buffers[1]
        unpack_cells(cells, layout.length[c], g, h)
        given = g, h, groups, weight, stats, rules, scores, best
        scan_pairs(bins, last - pairs, last, *given)


@inner_kernel
def unbundle(bins, f, g, h, stats, own_g, own_h):
    """Write the sums of all bins of a feature.

    Parameters
    ----------
    g, h : (MAX_BINS,) int64, sums of the column's cells
    own_g, own_h : (MAX_BINS,) int64, written
    """
    default, cell = bins.layout.default[f], bins.layout.first[f]
    rest_g, rest_h = stats.g, stats.h
    for b in range(bins.count[f]):
        if b != default:
            own_g[b], own_h[b] = g[cell], h[cell]
            rest_g -= g[cell]
            rest_h -= h[cell]
            cell += 1
    own_g[default], own_h[default] = rest_g, rest_h


@linked_kernel
def scan_pairs(bins, first, last, g, h, groups, weight, stats, rules, scores, best):
    """Try the only threshold of each feature of two bins, with the plain gain of `split`.

    Parameters
    ----------
    first, last : the features are features[first : last] of the layout; their cells are consecutive
    g, h : (MAX_BINS,) int64, sums of the column's cells
    weight : float64 (n_features,), 1 or 0: not allowed
    scores : float64 (MAX_BINS,), scratch space
    best : BEST, updated if a split is better
    """
    features, default = bins.layout.features, bins.layout.default
    cell = np.uint64(bins.layout.first[features[first]])
    total_g, total_h = np.float64(stats.g), stats.h + 2.0 * stats.reg_lambda
    least, most = stats.least, stats.h - stats.least
    for i in range(np.uint64(last - first)):
        entry_left = default[np.uint64(features[np.uint64(first) + i])] == 1
        g_int = g[cell + i] if entry_left else stats.g - g[cell + i]
        h_int = h[cell + i] if entry_left else stats.h - h[cell + i]
        g_left, h_left = np.float64(g_int), h_int + stats.reg_lambda
        g_right, h_right = total_g - g_left, total_h - h_left
        score = (g_left * g_left * h_right + g_right * g_right * h_left) / (h_left * h_right)
        scores[i] = score if least <= h_int <= most else -1.0
    for i in range(last - first):
        if scores[i] > score_to_exceed(best, stats):
            f = features[first + i]
            gain = (scores[i] - stats.base) * stats.unit
            may_be_used = weight[f] > 0.0 and may_use(groups, bins.groups[f])
            if may_be_used and is_better_split(gain, f, best):
                at = np.int64(cell) + i
                left = default[f] == 1
                g_left = g[at] if left else stats.g - g[at]
                h_left = h[at] if left else stats.h - h[at]
                update_best_split(best, gain, f, 0, 0, g_left, h_left, rules.reg_lambda)


@inner_kernel
def write_sides(bins, best, left_bins, goes_left):
    """Write which cells of a split's column go left.

    Parameters
    ----------
    left_bins : uint8 (MAX_BINS,), bins that go left if the split is categorical
    goes_left : uint8 (MAX_BINS,), written
    """
    f = best["feature"]
    default, missing = bins.layout.default[f], bins.missing[f]
    if default < 0:
        for b in range(MAX_BINS):
            goes_left[b] = left_bins[b] if best["is_categorical"] else b <= best["bin"]
        if missing >= 0:
            goes_left[missing] = best["missing_left"]
        return
    cell = bins.layout.first[f]
    all_left = best["missing_left"] if default == missing else default <= best["bin"]
    for b in range(MAX_BINS):
        goes_left[b] = all_left
    for b in range(bins.count[f]):
        if b != default:
            goes_left[cell] = best["missing_left"] if b == missing else b <= best["bin"]
            cell += 1
