"""The steps of growing a tree on many machines: a rank scans its share of the features.

`hist_grow` composes the same steps on one machine. Here a reduction stands between building a
histogram and scanning it: each rank builds its rows' histogram of all features, and gets the sums
over all ranks for its own share. What is scanned is the same integers, so every split is as well.
"""

from typing import NamedTuple

import numpy as np

from algorithms._kernels.hist_build import HALF, LOW
from algorithms._kernels.hist_grow import divide
from algorithms._kernels.hist_sides import search
from algorithms._kernels.hist_split import clear, facts_of
from algorithms._kernels.hist_survey import choose, may_split
from algorithms._kernels.jit import kernel


class Board(NamedTuple):
    """A tree as every rank knows it; rows are those of the whole table."""

    leaves: np.ndarray  # LEAF (num_leaves,); start and end count rows of all ranks
    found: np.ndarray  # BEST (num_leaves,)
    members: np.ndarray  # uint8 (num_leaves, MAX_BINS)
    nodes: np.ndarray  # NODE (2 num_leaves − 1,)
    goes_left: np.ndarray  # uint8 (2 num_leaves − 1, MAX_BINS)
    state: np.ndarray  # int64


class Share(NamedTuple):
    """The features that a rank scans, and their histograms."""

    features: np.ndarray  # int64, ascending
    first: np.ndarray  # int64: where a feature's cells begin
    planes: np.ndarray  # int64 (num_leaves, 2, n_cells): g and h of each leaf, by slot


class Desk(NamedTuple):
    """Scratch space of a scan."""

    small: np.ndarray  # int64 (1, 8, MAX_BINS)
    scores: np.ndarray  # float64 (1, MAX_BINS)
    order: np.ndarray  # int64 (1, MAX_BINS)
    best: np.ndarray  # BEST (1, 2): of the smaller and of the larger child
    members: np.ndarray  # uint8 (1, 2, MAX_BINS), likewise


@kernel
def export_cells(cells, wide, flushed, features, count, stride, first, out):
    """Write a rank's sums side by side, and clear them for the next histogram.

    Parameters
    ----------
    cells, wide, flushed : as `hist_build.build_wide` leaves them
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
            out[0, to + b] = g
            out[1, to + b] = h


@kernel
def split_leaf(at, n_left, left_is_small, spread, bins, board, rules, scale):
    """Put the children of a leaf in its place, now that all ranks have parted their rows.

    Parameters
    ----------
    at : the leaf
    n_left : rows of all ranks that go left
    left_is_small : whether the left child's histogram was built; the other keeps the leaf's slot
    spread : Σ|g| of that child, in steps
    """
    new = board.state[0]
    slot, whole = board.leaves[at]["slot"], board.leaves[at]["spread"]
    divide(at, new, n_left, bins, board, rules, scale)
    small, large = (at, new) if left_is_small else (new, at)
    board.leaves[small]["slot"], board.leaves[large]["slot"] = new, slot
    board.leaves[small]["spread"], board.leaves[large]["spread"] = spread, whole - spread
    clear(board.found[at])
    clear(board.found[new])


@kernel
def survey_share(bins, board, share, sums, desk, rules, scale, small, large):
    """Find a rank's best splits of two new leaves among its own features.

    Parameters
    ----------
    sums : int64 (2, n_cells), of the smaller leaf, over all ranks
    desk : Desk, its `best` and `members` are written
    small, large : the leaves; large is −1 for the root
    """
    one, two = board.leaves[small], board.leaves[max(large, 0)]
    clear(desk.best[0, 0])
    clear(desk.best[0, 1])
    scan_one, scan_two = may_split(one, rules), large >= 0 and may_split(two, rules)
    facts = facts_of(one, one["g"], one["h"], rules, scale)
    rest_facts = facts_of(two, two["g"], two["h"], rules, scale)
    zero, first, second = np.int64(0), np.int64(0), np.int64(1)
    kept, rest = share.planes[one["slot"]], share.planes[two["slot"]]
    g, h, rest_g, rest_h = desk.small[0, 0], desk.small[0, 1], desk.small[0, 2], desk.small[0, 3]
    for j in range(len(share.features)):
        f, begin = share.features[j], share.first[j]
        for b in range(bins.count[f]):
            cell = begin + b
            g[b], h[b] = sums[0, cell], sums[1, cell]
            if large >= 0:
                rest_g[b], rest_h[b] = rest[0, cell] - g[b], rest[1, cell] - h[b]
                rest[0, cell], rest[1, cell] = rest_g[b], rest_h[b]
            kept[0, cell], kept[1, cell] = g[b], h[b]
        if scan_two and two["groups"] & bins.groups[f]:
            search(bins, f, rest_g, rest_h, rest_facts, rules, scale, desk, zero, second)
        if scan_one and one["groups"] & bins.groups[f]:
            search(bins, f, g, h, facts, rules, scale, desk, zero, first)


@kernel
def choose_leaf(board, bins, full):
    """Name the leaf that is split next, and write which of its bins go left."""
    choose(board, bins, full)
