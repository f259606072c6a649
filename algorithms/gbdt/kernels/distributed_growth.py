"""Steps of growing a tree on several machines, where each rank scans its share of the features.

`grow_tree` composes the same steps on one machine. Here a reduction comes between building a
histogram and scanning it: each rank builds the histogram of all features for its own rows, and
receives the sums over all ranks for its share of the features. The sums are the same integers as
on one machine, so the splits are the same.
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LEAVES, LOW, MAX_BINS, NEXT, NO_FEATURE
from algorithms.gbdt.kernels.child_histograms import search
from algorithms.gbdt.kernels.grow_tree import split_leaf
from algorithms.gbdt.kernels.interaction_groups import may_use
from algorithms.gbdt.kernels.partition import partition_alone
from algorithms.gbdt.kernels.split import (
    copy_best,
    is_better_split,
    may_split,
    node_stats,
    reset_split,
)
from algorithms.runtime.jit import inner_kernel, kernel

# Indices into `state` beside LEAVES and NEXT, written by `next_split`: how many of the rank's rows
# go left, start and end of the small child's own rows, whether the small child is the left
# one, whether no child may be split, a bound on |Σg| and on rows, and Σh of the small child.
N_LEFT, START, END, LEFT_IS_SMALL, IS_LAST, LARGEST, H_SMALL = range(2, 9)
STATES = 16


class Features(NamedTuple):
    """Properties of the features; the names are those of `booster_arrays.Bins`."""

    count: np.ndarray
    missing: np.ndarray
    is_categorical: np.ndarray
    sizes: np.ndarray
    monotone: np.ndarray
    groups: np.ndarray


class GlobalTree(NamedTuple):
    """State of a growing tree that is the same on every rank."""

    leaves: np.ndarray  # LEAF (num_leaves,); start and end count rows of all ranks
    groups: np.ndarray  # uint64 (num_leaves, n_words): bit set of the groups a leaf may still use
    best: np.ndarray  # BEST (num_leaves,)
    left_bins: np.ndarray  # uint8 (num_leaves, MAX_BINS)
    nodes: np.ndarray  # NODE (2 num_leaves − 1,)
    goes_left: np.ndarray  # uint8 (2 num_leaves − 1, MAX_BINS)
    state: np.ndarray  # int64


class FeatureShare(NamedTuple):
    """Features that a rank scans, and their histograms."""

    features: np.ndarray  # int64, ascending
    first: np.ndarray  # int64: start of each feature's cells
    planes: np.ndarray  # int64 (num_leaves, 2, n_cells): g and h of each leaf, by slot


class SplitScratch(NamedTuple):
    """Scratch space of a scan."""

    small: np.ndarray  # int64 (1, 8, MAX_BINS)
    scores: np.ndarray  # float64 (1, MAX_BINS)
    order: np.ndarray  # int64 (1, MAX_BINS)
    best: np.ndarray  # BEST (1, 2): best splits of the smaller and of the larger child
    left_bins: np.ndarray  # uint8 (1, 2, MAX_BINS): bins that go left in these splits


@kernel
def export_cells(cells, wide, flushed, features, count, stride, first, out):
    """Copy a rank's sums into one contiguous array, and clear them for the next histogram.

    Parameters
    ----------
    cells, wide, flushed : the result of `histogram.build_wide`
    features : int64
    count : int64 (n_features,), number of bins
    stride : number of cells from one feature to the next
    first : int64 (len(features),), position of each feature's sums
    out : int64 (2, n), written: g and h
    """
    for j in range(len(features)):
        f = np.uint64(features[j])
        begin, to = f * np.uint64(stride), np.uint64(first[j])
        for b in range(np.uint64(count[f])):
            cell = cells[begin + b]
            g, h = cell >> HALF, cell & LOW
            cells[begin + b] = 0
            if flushed:
                g += wide[0, begin + b]
                h += wide[1, begin + b]
                wide[0, begin + b] = wide[1, begin + b] = 0
            out[0, to + b], out[1, to + b] = g, h


@kernel
def next_split(scratch, tree, bins, columns, rows, spare, spans, small, large, rules):
    """Store the best splits of two new leaves, pick the next one, and partition the rank's rows.

    Parameters
    ----------
    scratch : SplitScratch, with the best splits of all ranks
    bins : Features
    columns : uint8 (n_features, n_rows)
    rows, spare : uint32, the rank's own rows, grouped by leaf, and scratch space
    spans : int64 (num_leaves, 2), start and end of each leaf's rows
    small, large : the leaves, or −1 if nothing was scanned
    """
    if small >= 0:
        take_best(tree, scratch, small, np.int64(0))
    if large >= 0:
        take_best(tree, scratch, large, np.int64(1))
    state, new = tree.state, tree.state[LEAVES]
    at, top = NO_FEATURE, 0.0
    for leaf in range(0 if new == rules.num_leaves else new):
        if tree.best[leaf]["gain"] > top:
            at, top = leaf, tree.best[leaf]["gain"]
    state[NEXT] = at
    if at < 0:
        return
    leaf, best = tree.leaves[at], tree.best[at]
    goes_left = tree.goes_left[leaf["node"]]
    write_sides(bins, best, tree.left_bins[at], goes_left)
    start, end = spans[at, 0], spans[at, 1]
    column, step = columns[best["feature"]], np.uint64(1)
    n_left = partition_alone(rows, spare, column, step, goes_left, start, end)
    middle = start + n_left
    spans[at, 1], spans[new, 0], spans[new, 1] = middle, middle, end
    left_is_small = 2 * best["h"] <= leaf["h"]
    deep = rules.max_depth > 0 and leaf["depth"] + 1 >= rules.max_depth
    state[N_LEFT], state[LEFT_IS_SMALL] = n_left, left_is_small
    state[START], state[END] = (start, middle) if left_is_small else (middle, end)
    state[IS_LAST] = deep or new + 1 == rules.num_leaves
    state[LARGEST] = max(leaf["spread"], leaf["end"] - leaf["start"])
    state[H_SMALL] = best["h"] if left_is_small else leaf["h"] - best["h"]


@inner_kernel
def take_best(tree, scratch, leaf, which):
    """Store the best split of a leaf."""
    copy_best(tree.best[leaf], scratch.best[0, which])
    if tree.best[leaf]["is_categorical"]:
        for b in range(MAX_BINS):
            tree.left_bins[leaf, b] = scratch.left_bins[0, which, b]


@inner_kernel
def write_sides(bins, best, left_bins, goes_left):
    """Write which bins go left."""
    for b in range(MAX_BINS):
        goes_left[b] = left_bins[b] if best["is_categorical"] else b <= best["bin"]
    missing = bins.missing[best["feature"]]
    if missing >= 0:
        goes_left[missing] = best["missing_left"]


@kernel
def take_better(scratch, best, left_bins):
    """Replace best splits by those of another rank where these are better.

    Parameters
    ----------
    scratch : SplitScratch, written
    best : BEST (1, 2)
    left_bins : uint8 (1, 2, MAX_BINS)
    """
    for which in range(2):
        if is_better_split(
            best[0, which]["gain"], best[0, which]["feature"], scratch.best[0, which]
        ):
            copy_best(scratch.best[0, which], best[0, which])
            for b in range(MAX_BINS):
                scratch.left_bins[0, which, b] = left_bins[0, which, b]


@kernel
def split_global_leaf(n_left, spread, bins, tree, rules, scale):
    """Replace the partitioned leaf by its children; return the small child and the large one.

    Parameters
    ----------
    n_left : number of rows of all ranks that go left
    spread : Σ|g| of the child whose histogram was built, in steps
    """
    at, new, left_is_small = tree.state[NEXT], tree.state[LEAVES], tree.state[LEFT_IS_SMALL]
    slot, whole = tree.leaves[at]["slot"], tree.leaves[at]["spread"]
    split_leaf(at, new, n_left, bins, tree, rules, scale)
    small, large = (at, new) if left_is_small else (new, at)
    tree.leaves[small]["slot"], tree.leaves[large]["slot"] = new, slot
    tree.leaves[small]["spread"], tree.leaves[large]["spread"] = spread, whole - spread
    reset_split(tree.best[at])
    reset_split(tree.best[new])
    return small, large


@kernel
def find_best_splits_of_share(bins, tree, share, sums, scratch, rules, scale, small, large):
    """Find the best splits of two new leaves among the features of a rank.

    Parameters
    ----------
    sums : int64 (2, n_cells), sums of the smaller leaf over all ranks
    scratch : SplitScratch, its `best` and `left_bins` are written
    small, large : the leaves; large is −1 for the root
    """
    one, two = tree.leaves[small], tree.leaves[max(large, 0)]
    for which in range(2):
        reset_all_fields(scratch.best[0, which], scratch.left_bins[0, which])
    scan_one, scan_two = may_split(one, rules), large >= 0 and may_split(two, rules)
    stats = node_stats(one, one["g"], one["h"], rules, scale)
    large_stats = node_stats(two, two["g"], two["h"], rules, scale)
    zero, first, second = np.int64(0), np.int64(0), np.int64(1)
    kept, rest = share.planes[one["slot"]], share.planes[two["slot"]]
    g, h, rest_g, rest_h = (
        scratch.small[0, 0],
        scratch.small[0, 1],
        scratch.small[0, 2],
        scratch.small[0, 3],
    )
    for j in range(len(share.features)):
        f, begin = share.features[j], share.first[j]
        for b in range(np.uint64(bins.count[f])):
            cell = np.uint64(begin) + b
            g[b], h[b] = sums[0, cell], sums[1, cell]
            if large >= 0:
                rest_g[b], rest_h[b] = rest[0, cell] - g[b], rest[1, cell] - h[b]
                rest[0, cell], rest[1, cell] = rest_g[b], rest_h[b]
            kept[0, cell], kept[1, cell] = g[b], h[b]
        if scan_two and may_use(tree.groups[large], bins.groups[f]):
            search(bins, f, rest_g, rest_h, 1.0, large_stats, rules, scale, scratch, zero, second)
        if scan_one and may_use(tree.groups[small], bins.groups[f]):
            search(bins, f, g, h, 1.0, stats, rules, scale, scratch, zero, first)


@kernel
def propose(bins, local, groups, features, first, planes, sums, scratch, rules, scale, may, gains):
    """Find the gain of each feature's best split on a rank's local rows, for the votes of PV-Tree.

    Parameters
    ----------
    local : LEAF (2,), the smaller and the larger new leaf, with the rank's local rows and sums
    groups : uint64 (2, n_words), the interaction groups they may still use
    features : int64, ascending
    first : int64: start of each feature's cells
    planes : int64 (num_leaves, 2, n_cells): g and h of each leaf's local rows, by slot, written
    sums : int64 (2, n_cells), sums of the smaller leaf's local rows
    scratch : SplitScratch, scratch space
    rules : Rules, with minima scaled to the rank's share of the rows
    may : int64 (3,): whether each leaf may be split, and whether there is a larger leaf
    gains : float64 (2, len(features)), written; 0 for features without a split
    """
    zero = np.int64(0)
    stats = node_stats(local[0], local[0]["g"], local[0]["h"], rules, scale)
    large_stats = node_stats(local[1], local[1]["g"], local[1]["h"], rules, scale)
    kept, rest = planes[local[0]["slot"]], planes[local[1]["slot"]]
    g, h, rest_g, rest_h = (
        scratch.small[0, 0],
        scratch.small[0, 1],
        scratch.small[0, 2],
        scratch.small[0, 3],
    )
    for j in range(len(features)):
        f, begin = features[j], first[j]
        gains[0, j] = gains[1, j] = 0.0
        for b in range(np.uint64(bins.count[f])):
            cell = np.uint64(begin) + b
            g[b], h[b] = sums[0, cell], sums[1, cell]
            if may[2]:
                rest_g[b], rest_h[b] = rest[0, cell] - g[b], rest[1, cell] - h[b]
                rest[0, cell], rest[1, cell] = rest_g[b], rest_h[b]
            kept[0, cell], kept[1, cell] = g[b], h[b]
        if may[0] and may_use(groups[0], bins.groups[f]):
            reset_split(scratch.best[0, 0])
            search(bins, f, g, h, 1.0, stats, rules, scale, scratch, zero, zero)
            gains[0, j] = scratch.best[0, 0]["gain"]
        if may[1] and may_use(groups[1], bins.groups[f]):
            reset_split(scratch.best[0, 0])
            search(bins, f, rest_g, rest_h, 1.0, large_stats, rules, scale, scratch, zero, zero)
            gains[1, j] = scratch.best[0, 0]["gain"]


@kernel
def find_best_splits_of_features(
    bins, tree, leaf, features, first, sums, scratch, rules, scale, which
):
    """Find the best split of a leaf among some features, given their sums over all ranks.

    Parameters
    ----------
    leaf : index of the leaf
    features, first, sums : int64; features, ascending; start of their cells; (2, n_cells)
    scratch : SplitScratch, its `best` and `left_bins` of ``which`` (0 or 1) are written
    """
    zero, one = np.int64(0), tree.leaves[leaf]
    reset_all_fields(scratch.best[0, which], scratch.left_bins[0, which])
    if not may_split(one, rules):
        return
    stats = node_stats(one, one["g"], one["h"], rules, scale)
    g, h = scratch.small[0, 0], scratch.small[0, 1]
    for j in range(len(features)):
        f, begin = features[j], first[j]
        for b in range(np.uint64(bins.count[f])):
            g[b], h[b] = sums[0, np.uint64(begin) + b], sums[1, np.uint64(begin) + b]
        if may_use(tree.groups[leaf], bins.groups[f]):
            search(bins, f, g, h, 1.0, stats, rules, scale, scratch, zero, which)


@inner_kernel
def reset_all_fields(best, left_bins):
    """Reset every field of a split, so that ranks send no stale data to each other."""
    reset_split(best)
    best["bin"], best["missing_left"], best["is_categorical"] = 0, 0, 0
    best["g"], best["h"], best["reg_lambda"] = 0, 0, 0.0
    for b in range(MAX_BINS):
        left_bins[b] = 0
