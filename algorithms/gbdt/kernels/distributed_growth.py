"""The steps of growing a tree on many machines: a rank scans its share of the features.

`hist.grow` composes the same steps on one machine. Here a reduction stands between building a
histogram and scanning it: each rank builds its rows' histogram of all features, and gets the sums
over all ranks for its own share. What is scanned is the same integers, so every split is as well.
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.best_splits import copy_best, may_split
from algorithms.gbdt.kernels.booster_arrays import HALF, LEAVES, LOW, MAX_BINS, NEXT, NO_FEATURE
from algorithms.gbdt.kernels.child_histograms import search
from algorithms.gbdt.kernels.grow_tree import split_leaf
from algorithms.gbdt.kernels.interaction_groups import may_use
from algorithms.gbdt.kernels.partition import partition_alone
from algorithms.gbdt.kernels.split import is_better_split, node_stats, reset_split
from algorithms.runtime.jit import inner_kernel, kernel

# Places in `state` beside LEAVES and NEXT, written by `next_split`: the leaf's own rows that go
# left, where the small child's own rows begin and end, whether that is the left one, whether no
# child may be split, a bound on |Σg| and on rows, and Σh of the small child.
N_LEFT, START, END, LEFT_IS_SMALL, IS_LAST, LARGEST, H_SMALL = range(2, 9)
STATES = 16


class Features(NamedTuple):
    """What steps must know of the features; the names are those of `hist.layout.Bins`."""

    count: np.ndarray
    missing: np.ndarray
    is_categorical: np.ndarray
    sizes: np.ndarray
    monotone: np.ndarray
    groups: np.ndarray


class GlobalTree(NamedTuple):
    """A tree as every rank knows it; rows are those of the whole table."""

    leaves: np.ndarray  # LEAF (num_leaves,); start and end count rows of all ranks
    groups: np.ndarray  # uint64 (num_leaves, n_words): bits, groups that a leaf may still use
    found: np.ndarray  # BEST (num_leaves,)
    left_bins: np.ndarray  # uint8 (num_leaves, MAX_BINS)
    nodes: np.ndarray  # NODE (2 num_leaves − 1,)
    goes_left: np.ndarray  # uint8 (2 num_leaves − 1, MAX_BINS)
    state: np.ndarray  # int64


class FeatureShare(NamedTuple):
    """The features that a rank scans, and their histograms."""

    features: np.ndarray  # int64, ascending
    first: np.ndarray  # int64: where a feature's cells begin
    planes: np.ndarray  # int64 (num_leaves, 2, n_cells): g and h of each leaf, by slot


class SplitScratch(NamedTuple):
    """Scratch space of a scan."""

    small: np.ndarray  # int64 (1, 8, MAX_BINS)
    scores: np.ndarray  # float64 (1, MAX_BINS)
    order: np.ndarray  # int64 (1, MAX_BINS)
    best: np.ndarray  # BEST (1, 2): of the smaller and of the larger child
    left_bins: np.ndarray  # uint8 (1, 2, MAX_BINS), likewise


@kernel
def export_cells(cells, wide, flushed, features, count, stride, first, out):
    """Write a rank's sums side by side, and clear them for the next histogram.

    Parameters
    ----------
    cells, wide, flushed : as `hist.build.build_wide` leaves them
    features : int64
    count : int64 (n_features,), bins
    stride : cells between two features
    first : int64 (len(features),), where each feature's sums go
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
    """Take the best splits of two new leaves, choose the next one, and part a rank's own rows.

    Parameters
    ----------
    scratch : SplitScratch, with the best splits of all ranks
    bins : Features
    columns : uint8 (n_features, n_rows)
    rows, spare : uint32, a rank's own rows, those of a leaf together
    spans : int64 (num_leaves, 2), where those of each leaf begin and end
    small, large : the leaves, or −1 where nothing was scanned
    """
    if small >= 0:
        take_best(tree, scratch, small, np.int64(0))
    if large >= 0:
        take_best(tree, scratch, large, np.int64(1))
    state, new = tree.state, tree.state[LEAVES]
    at, top = NO_FEATURE, 0.0
    for leaf in range(0 if new == rules.num_leaves else new):
        if tree.found[leaf]["gain"] > top:
            at, top = leaf, tree.found[leaf]["gain"]
    state[NEXT] = at
    if at < 0:
        return
    leaf, best = tree.leaves[at], tree.found[at]
    goes_left = tree.goes_left[leaf["node"]]
    write_sides(bins, best, tree.left_bins[at], goes_left)
    start, end = spans[at, 0], spans[at, 1]
    n_left = partition_alone(rows, spare, columns[best["feature"]], goes_left, start, end)
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
    """Write down the best split of a leaf."""
    copy_best(tree.found[leaf], scratch.best[0, which])
    if tree.found[leaf]["is_set"]:
        for b in range(MAX_BINS):
            tree.left_bins[leaf, b] = scratch.left_bins[0, which, b]


@inner_kernel
def write_sides(bins, best, left_bins, goes_left):
    """Write which bins go left."""
    for b in range(MAX_BINS):
        goes_left[b] = left_bins[b] if best["is_set"] else b <= best["bin"]
    missing = bins.missing[best["feature"]]
    if missing >= 0:
        goes_left[missing] = best["missing_left"]


@kernel
def take_better(scratch, best, left_bins):
    """Take those of another rank's best splits that are better.

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
    """Put the children of the leaf that was parted in its place; return the small and the large.

    Parameters
    ----------
    n_left : rows of all ranks that go left
    spread : Σ|g| of the child whose histogram was built, in steps
    """
    at, new, left_is_small = tree.state[NEXT], tree.state[LEAVES], tree.state[LEFT_IS_SMALL]
    slot, whole = tree.leaves[at]["slot"], tree.leaves[at]["spread"]
    split_leaf(at, new, n_left, bins, tree, rules, scale)
    small, large = (at, new) if left_is_small else (new, at)
    tree.leaves[small]["slot"], tree.leaves[large]["slot"] = new, slot
    tree.leaves[small]["spread"], tree.leaves[large]["spread"] = spread, whole - spread
    reset_split(tree.found[at])
    reset_split(tree.found[new])
    return small, large


@kernel
def find_best_splits_of_share(bins, tree, share, sums, scratch, rules, scale, small, large):
    """Find a rank's best splits of two new leaves among its own features.

    Parameters
    ----------
    sums : int64 (2, n_cells), of the smaller leaf, over all ranks
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
            search(bins, f, rest_g, rest_h, large_stats, rules, scale, scratch, zero, second)
        if scan_one and may_use(tree.groups[small], bins.groups[f]):
            search(bins, f, g, h, stats, rules, scale, scratch, zero, first)


@kernel
def propose(bins, own, groups, features, first, planes, sums, scratch, rules, scale, may, gains):
    """Find how much the best split of each feature gains by a rank's own rows (PV-Tree's votes).

    Parameters
    ----------
    own : LEAF (2,), the smaller and the larger new leaf, with the rank's own rows and sums
    groups : uint64 (2, n_words), what they may still use
    features : int64, ascending
    first : int64: where a feature's cells begin
    planes : int64 (num_leaves, 2, n_cells): g and h of each leaf's own rows, by slot, written
    sums : int64 (2, n_cells), of the smaller leaf's own rows
    scratch : SplitScratch, scratch space
    rules : with what a rank's share of the rows needs
    may : int64 (3,): whether each leaf may be split, and whether there is a larger one
    gains : float64 (2, len(features)), written; 0 where no split gains
    """
    zero = np.int64(0)
    stats = node_stats(own[0], own[0]["g"], own[0]["h"], rules, scale)
    large_stats = node_stats(own[1], own[1]["g"], own[1]["h"], rules, scale)
    kept, rest = planes[own[0]["slot"]], planes[own[1]["slot"]]
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
            search(bins, f, g, h, stats, rules, scale, scratch, zero, zero)
            gains[0, j] = scratch.best[0, 0]["gain"]
        if may[1] and may_use(groups[1], bins.groups[f]):
            reset_split(scratch.best[0, 0])
            search(bins, f, rest_g, rest_h, large_stats, rules, scale, scratch, zero, zero)
            gains[1, j] = scratch.best[0, 0]["gain"]


@kernel
def find_best_splits_of_features(
    bins, tree, leaf, features, first, sums, scratch, rules, scale, which
):
    """Find the best split of a leaf among some features whose sums over all ranks are known.

    Parameters
    ----------
    leaf : its number
    features, first, sums : int64, ascending; where their cells begin; (2, n_cells)
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
            search(bins, f, g, h, stats, rules, scale, scratch, zero, which)


@inner_kernel
def reset_all_fields(best, left_bins):
    """Forget a best split, every field of it: what ranks tell each other has no leftovers."""
    reset_split(best)
    best["bin"], best["missing_left"], best["is_set"] = 0, 0, 0
    best["g"], best["h"], best["ridge"] = 0, 0, 0.0
    for b in range(MAX_BINS):
        left_bins[b] = 0
