"""Grow a tree whose leaves hold one value for each output.

    gain = Σ_k score(G_kL, H_kL) + score(G_kR, H_kR) − score(G_k, H_k)     over the outputs k
    score(G, H) = T(G)² / (H + λ)     0 if H < `min_child_weight`, as in XGBoost 3.2

A histogram entry is a vector of `lanes` sums: G of all outputs, padded to a multiple of `WIDTH`,
then H in the same way; or G and one H if it is the same for all outputs. A row is read once for all
outputs. Derivatives are rounded at random to integer multiples of a unit, a power of two, that is
as small as int32 sums allow. So sums are exact: they do not depend on the order of the rows, and
the tree does not depend on the number of threads. Each thread builds and scans the histograms of
its own columns.
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import MAX_BINS
from algorithms.gbdt.kernels.interaction_groups import may_use
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.intrinsics import prefetch
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.math_functions import uniform
from algorithms.runtime.thread_team import barrier_wait, share_of
from algorithms.runtime.vector_lanes import (
    WIDTH,
    add_eight,
    copy_eight,
    is_zero,
    score_eight,
    sum_squares,
)

BLOCK = 1 << 10  # rows whose derivatives are copied at a time
NEARLY = 1.0 - 1e-5  # factor of a score, more than the rounding errors of float32
AHEAD = np.uint64(8)  # rows
NO_SPLIT = -1
TIE = 2.0**-24  # relative difference of gains that counts as a tie: XGBoost compares float32
LEAST_H = 1e-16
HALF_STEP = 2.0**-25  # half of the distance of two values of `uniform`
LEVEL_SEED, NODE_SEED = np.uint32(0x9E3779B9), np.uint32(0x85EBCA6B)
NEXT, N_NODES, N_OPEN, N_FREE, N_LEAVES, SMALL, LARGE, SUBTRACTS, STATES = range(9)
LIFO, LEVEL_ORDER, BEST_FIRST = range(3)

NODE = np.dtype(
    [
        ("left", np.int64),  # −1: a leaf
        ("right", np.int64),
        ("depth", np.int64),
        ("start", np.int64),  # its rows are rows[start : end]
        ("end", np.int64),
        ("slot", np.int64),  # index of its histogram, or −1
        ("feature", np.int64),  # of its best split, or `NO_SPLIT`
        ("bin", np.int64),  # the last bin that goes left
        ("missing_left", np.int64),
        ("gain", np.float64),
    ]
)


class VectorRules(NamedTuple):
    """Limits on a tree, and the regularisation of its values."""

    n_outputs: int
    shared_h: int  # 1: all outputs have the same H
    first_h: int  # lane of the first H
    max_depth: int  # 0: no limit
    max_leaves: int
    order: int  # of splits: LIFO, LEVEL_ORDER or BEST_FIRST
    min_child_weight: float
    reg_lambda: float
    reg_alpha: float
    max_delta_step: float
    least_gain: float
    level_columns: int  # columns drawn for each level, then for each node
    node_columns: int
    seed: int  # of these draws


class VectorGrowth(NamedTuple):
    """Arrays of a tree that grows."""

    rows: np.ndarray  # uint32 (n_used,), ascending at first; in the end by leaf
    spare: np.ndarray  # uint32 (n_used,)
    columns: np.ndarray  # int64: columns of the table that hold an allowed feature
    allowed: np.ndarray  # uint8 (n_features,)
    weights: np.ndarray  # float64 (n_features,), chances of the draws; (0,): equal
    offsets: np.ndarray  # int64 (n_columns,), first entry of each column in a histogram
    cells: np.ndarray  # int32 (n_slots, entries × lanes); the last two slots are temporary
    free: np.ndarray  # int64 (n_slots,), stack of free slots
    open: np.ndarray  # int64 (max_leaves,), leaves that may be split
    nodes: np.ndarray  # NODE (2 max_leaves − 1,)
    sums: np.ndarray  # int32 (n_nodes, lanes)
    groups: np.ndarray  # uint64 (n_nodes, n_words)
    goes_left: np.ndarray  # uint8 (n_nodes, MAX_BINS), by code of the column
    found: np.ndarray  # float64 (2, n_features, 3): gain, bin and missing_left of each feature
    drawn: np.ndarray  # uint8 (2, n_features)
    keys: np.ndarray  # float64 (n_features,)
    units: np.ndarray  # float64 (lanes,), unit of each lane; 0 in lanes that are not used
    g_units: np.ndarray  # float64 (lanes,), 0 also in the lanes of H
    singles: np.ndarray  # float32 (lanes,), units times `scales`
    scales: np.ndarray  # float64 (2,), factors of G and of H that keep scores in float32's range
    bins: np.ndarray  # int32 (n_threads, MAX_BINS × lanes)
    side: np.ndarray  # int32 (n_threads, lanes)
    work: np.ndarray  # int32 (n_threads, BLOCK × lanes)
    state: np.ndarray  # int64 (STATES,)


class ScanScratch(NamedTuple):
    """Scratch space of a thread that scans histograms."""

    units: np.ndarray  # as in `VectorGrowth`
    g_units: np.ndarray
    singles: np.ndarray
    scales: np.ndarray
    bins: np.ndarray  # int32 (MAX_BINS × lanes,), sums of the bins of a bundled feature
    side: np.ndarray  # int32 (lanes,), sums of one side of a threshold


@inner_kernel
def round_up(value, number):
    """Return ⌊value + u⌋, int32, where u is a number from 0 to 2 modulo 1."""
    return np.int32(np.floor(value + (number - (1.0 if number >= 1.0 else 0.0))))


@kernel
def round_derivatives(g, h, per_unit, shifts, first_h, seed, first, last, pairs):
    """Write the derivatives of rows first … last − 1 in units, rounded at random.

    Parameters
    ----------
    g : float32 (n_outputs, n_rows)
    h : float32 (n_outputs or 1, n_rows)
    per_unit : float64 (lanes,), units per 1
    shifts : float64 (lanes,), added to the random number of a row, modulo 1
    first_h : lane of the first h
    seed : uint32, of the rounding
    pairs : int32 (n_rows, lanes), written; other lanes remain
    """
    for i in range(np.uint64(first), np.uint64(last)):
        number = uniform(np.uint32(seed), np.uint32(i))
        for k in range(len(g)):
            pairs[i, k] = round_up(g[k, i] * per_unit[k], number + shifts[k])
        for k in range(len(h)):
            lane = first_h + k
            pairs[i, lane] = round_up(h[k, i] * per_unit[lane], number + shifts[lane])


@linked_kernel
def build_histogram(bins, pairs, rows, first, last, columns, low, high, offsets, work, cells):
    """Write the histograms of columns[low : high] over rows[first : last].

    The derivatives of a block of rows are copied to scratch space, where they are contiguous. Then
    one column after another reads them, so the histogram of a column stays in the first cache.

    Parameters
    ----------
    bins : uint8 (n_rows, n_columns)
    pairs : int32 (n_rows, lanes)
    work : int32 (BLOCK × lanes,), scratch space
    cells : int32 (entries × lanes,), zeros in these columns
    """
    lanes, width, zero = np.uint64(pairs.shape[1]), np.uint64(WIDTH), np.uint64(0)
    n_columns, end = np.uint64(bins.shape[1]), np.uint64(last)
    for begin in range(np.uint64(first), end, np.uint64(BLOCK)):
        count = min(np.uint64(BLOCK), end - begin)
        for i in range(count):
            row = np.uint64(rows[begin + i])
            later = np.uint64(rows[min(begin + i + AHEAD, end - np.uint64(1))])
            prefetch(pairs, later * lanes)
            prefetch(bins, later * n_columns)
            for lane in range(zero, lanes, width):
                copy_eight(work, i * lanes + lane, pairs, row * lanes + lane)
        for j in range(low, high):
            c = np.uint64(columns[j])
            offset = np.uint64(offsets[c])
            if lanes == np.uint64(2 * WIDTH):
                for i in range(count):
                    entry = offset + np.uint64(bins[np.uint64(rows[begin + i]), c])
                    at, start = entry * np.uint64(2 * WIDTH), i * np.uint64(2 * WIDTH)
                    add_eight(cells, at, work, start)
                    add_eight(cells, at + width, work, start + width)
            else:
                for i in range(count):
                    entry = offset + np.uint64(bins[np.uint64(rows[begin + i]), c])
                    for lane in range(zero, lanes, width):
                        add_eight(cells, entry * lanes + lane, work, i * lanes + lane)


@inner_kernel
def clear_columns(columns, low, high, offsets, lengths, lanes, cells):
    """Set the entries of columns[low : high] to 0."""
    for j in range(low, high):
        c = columns[j]
        cells[offsets[c] * lanes : (offsets[c] + lengths[c]) * lanes] = 0


@inner_kernel
def subtract_columns(columns, low, high, offsets, lengths, lanes, cells, other):
    """Subtract another histogram in columns[low : high]."""
    for j in range(low, high):
        c = columns[j]
        first, last = offsets[c] * lanes, (offsets[c] + lengths[c]) * lanes
        own, subtracted = cells[first:last], other[first:last]
        for at in range(len(own)):  # two slices: LLVM vectorises this loop
            own[at] -= subtracted[at]


@inner_kernel
def score_sums(g, h, rules):
    """Return the score of one output: the gain of its best value."""
    if h < max(rules.min_child_weight, LEAST_H):
        return 0.0
    size = max(abs(g) - rules.reg_alpha, 0.0)
    if rules.max_delta_step == 0.0:
        return size * size / (h + rules.reg_lambda)
    value = min(size / (h + rules.reg_lambda), rules.max_delta_step)
    return 2.0 * size * value - (h + rules.reg_lambda) * value * value


@inner_kernel
def h_lane(k, rules):
    """Return the lane of the hessian of output k."""
    return rules.first_h if rules.shared_h else rules.first_h + k


@inner_kernel
def score_node(sums, units, rules):
    """Return the score of a node, summed over the outputs."""
    total = 0.0
    for k in range(rules.n_outputs):
        at = h_lane(k, rules)
        total += score_sums(sums[k] * units[k], sums[at] * units[at], rules)
    return total


@inner_kernel
def total_h(sums, units, rules):
    """Return the sum of the hessians of all outputs; H itself if they share it."""
    total = 0.0
    for k in range(1 if rules.shared_h else rules.n_outputs):
        at = rules.first_h + k
        total += sums[at] * units[at]
    return total


@inner_kernel
def gather_bins(cells, entry, n_bins, default, sums, lanes, out):
    """Write the sums of all bins of a bundled feature.

    Parameters
    ----------
    cells : int32, the histogram of the node
    entry : index of the entry of the feature's first bin that has one
    default : the bin without an entry
    sums : (lanes,), of the node
    out : int32 (n_bins × lanes,), written
    """
    for lane in range(lanes):
        rest = sums[lane]
        for b in range(n_bins):
            if b != default:
                own = cells[np.uint64((entry + b - (1 if b > default else 0)) * lanes + lane)]
                out[np.uint64(b * lanes + lane)] = own
                rest -= own
        out[np.uint64(default * lanes + lane)] = rest


@inner_kernel
def score_own(side, totals, units, limits, rules):
    """Return the score of a threshold if each output has its own H, in the dtype of ``units``.

    Parameters
    ----------
    side, totals : (lanes,), sums of one side and of the node
    units : (lanes,)
    limits : minimum H of a side that has a value, λ and α
    """
    first_h, total = np.uint64(rules.first_h), 0.0
    for at in range(np.uint64(0), first_h, np.uint64(WIDTH)):
        total += score_eight(side, totals, units, at, at + first_h, limits)
    return total


@inner_kernel
def single_limits(limits, scratch):
    """Return the limits in the scaled units of float32, and the scale of scores."""
    least, reg_lambda, reg_alpha = limits
    scale_g, scale_h = scratch.scales[0], scratch.scales[1]
    scaled = (
        np.float32(least * scale_h),
        np.float32(reg_lambda * scale_h),
        np.float32(reg_alpha * scale_g),
    )
    return scaled, scale_g * scale_g / scale_h


@inner_kernel
def is_empty(own, at, lanes):
    """Return whether all sums of a bin are 0."""
    empty = True
    for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
        empty &= is_zero(own, at + lane)
    return empty


@inner_kernel
def score_shared(side, totals, scratch, limits, rules):
    """Return the score of a threshold if all outputs have the same H; see `score_own`."""
    first, other, first_h = 0.0, 0.0, np.uint64(rules.first_h)
    for at in range(np.uint64(0), np.uint64(len(side)), np.uint64(WIDTH)):
        one, two = sum_squares(side, totals, scratch.g_units, at, limits)
        first += one
        other += two
    h, other_h = side[first_h], totals[first_h] - side[first_h]
    unit, (least, reg_lambda, _) = scratch.units[first_h], limits
    size = h * unit + reg_lambda if h * unit >= least else np.inf
    other_size = other_h * unit + reg_lambda if other_h * unit >= least else np.inf
    return first / size + other / other_size


@inner_kernel
def score_bounded(side, totals, scratch, rules):
    """Return the score of a threshold if the values of the leaves are bounded."""
    total, units = 0.0, scratch.units
    for k in range(rules.n_outputs):
        at = h_lane(k, rules)
        g, h = side[k] * units[k], side[at] * units[at]
        other_g, other_h = (totals[k] - side[k]) * units[k], (totals[at] - side[at]) * units[at]
        total += score_sums(g, h, rules) + score_sums(other_g, other_h, rules)
    return total


@inner_kernel
def score_threshold(side, totals, scratch, limits, rules):
    """Return the score of a threshold in float64; the parameters are as in `score_own`."""
    if rules.max_delta_step > 0.0:
        return score_bounded(side, totals, scratch, rules)
    if rules.shared_h:
        return score_shared(side, totals, scratch, limits, rules)
    return score_own(side, totals, scratch.units, limits, rules)


@inner_kernel
def scan_bins(own, entry, last, missing_left, sums, score, h_total, scratch, rules, found):
    """Keep the best of the thresholds after bins 0 … last − 1, from the other end if missing_left.

    Scores are computed in float32 first; in float64 only if they may be the best. The threshold
    after an empty bin is that before it.

    Parameters
    ----------
    own, entry : sums of bins, and the number of the first one
    last : number of thresholds
    missing_left : 0, or 1: the summed side is the right one
    """
    side, lanes = scratch.side, np.uint64(len(sums))
    least = max(rules.min_child_weight, LEAST_H)
    limits = least, rules.reg_lambda, rules.reg_alpha
    singles, scale = single_limits(limits, scratch)
    in_singles = rules.max_delta_step == 0.0 and not rules.shared_h
    for lane in range(len(sums)):
        side[lane] = 0
    for step in range(last):
        number = last - step if missing_left else step
        at = np.uint64(entry + number) * lanes
        if is_empty(own, at, lanes):
            continue
        for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
            add_eight(side, lane, own, at + lane)
        if in_singles:
            near = score_own(side, sums, scratch.singles, singles, rules)
            if near < (found[0] + score) * scale * NEARLY:
                continue
        better = score_threshold(side, sums, scratch, limits, rules) - score
        if better > found[0] + TIE * found[0]:
            h_side = total_h(side, scratch.units, rules)
            if h_side > LEAST_H and h_total - h_side > LEAST_H:
                found[0], found[2] = better, missing_left
                found[1] = number - 1 if missing_left else number


@linked_kernel
def scan_feature(bins, f, cells, offsets, sums, score, h_total, scratch, rules, found):
    """Write the best split of a feature: gain, bin and missing_left; a gain of 0 means none.

    Thresholds are tried in ascending order with missing values on the right side, then in
    descending order with missing values on the left side, as in XGBoost. One side is summed bin by
    bin; the other one is the rest of the node.

    Parameters
    ----------
    cells : int32, the histogram of the node
    sums, score, h_total : sums of the node (lanes,), its score and its Σh
    scratch : ScanScratch of the thread
    found : float64 (3,), written
    """
    found[0], found[1], found[2] = 0.0, 0.0, 0.0
    layout, lanes = bins.layout, len(sums)
    missing_bin, default, n_bins = bins.missing[f], layout.default[f], bins.count[f]
    n_numeric = n_bins - (1 if missing_bin >= 0 else 0)
    entry, own = offsets[layout.column[f]] + layout.first[f], cells
    if default >= 0:
        gather_bins(cells, entry, n_bins, default, sums, lanes, scratch.bins)
        entry, own = 0, scratch.bins
    has_missing = False
    if missing_bin >= 0:
        for lane in range(lanes):
            has_missing |= own[np.uint64((entry + missing_bin) * lanes + lane)] != 0
    last = n_numeric if has_missing else n_numeric - 1
    scan_bins(own, entry, last, 0, sums, score, h_total, scratch, rules, found)
    if has_missing:
        scan_bins(own, entry, n_numeric - 1, 1, sums, score, h_total, scratch, rules, found)


@inner_kernel
def draw_columns(seed, number, share_count, weights, keys, allowed):
    """Keep ``share_count`` of the allowed features, drawn by hashes; all if there are fewer.

    Parameters
    ----------
    seed, number : uint32, of the draw
    weights : (n_features,), chances of the features; (0,): equal
    keys : (n_features,) scratch space
    allowed : uint8 (n_features,), written
    """
    own = np.uint32(seed ^ np.uint32(np.uint32(number) * NODE_SEED))
    count = 0
    for f in range(len(allowed)):
        if allowed[f]:
            count += 1
            keys[f] = uniform(own, np.uint32(f))
            if len(weights):
                keys[f] = -np.log(keys[f] + HALF_STEP) / weights[f]
    for _ in range(count - share_count):
        worst = -1
        for f in range(len(allowed)):
            if allowed[f] and (worst < 0 or keys[f] >= keys[worst]):
                worst = f
        allowed[worst] = 0


@inner_kernel
def draw_for_node(at, growth, rules, drawn):
    """Write which features a node may use, uint8 (n_features,)."""
    for f in range(len(drawn)):
        drawn[f] = growth.allowed[f]
    depth, seed = growth.nodes[at]["depth"], np.uint32(rules.seed)
    if rules.level_columns > 0:
        level_seed = np.uint32(seed ^ LEVEL_SEED)
        draw_columns(level_seed, depth, rules.level_columns, growth.weights, growth.keys, drawn)
    if rules.node_columns > 0:
        draw_columns(seed, at, rules.node_columns, growth.weights, growth.keys, drawn)


@inner_kernel
def may_split(node, growth, rules):
    """Return whether the limits on a tree allow to split a node."""
    is_shallow = rules.max_depth == 0 or node["depth"] < rules.max_depth
    has_room = growth.state[N_LEAVES] < rules.max_leaves
    return is_shallow and has_room and node["end"] - node["start"] > 1


@inner_kernel
def make_node(at, start, end, depth, growth):
    """Write a node without a split."""
    node = growth.nodes[at]
    node["left"], node["right"], node["slot"], node["feature"] = -1, -1, -1, NO_SPLIT
    node["start"], node["end"], node["depth"], node["gain"] = start, end, depth, 0.0


@inner_kernel
def take_slot(growth, temporary):
    """Return a free slot, or a temporary one (0 or 1) if there is none."""
    state = growth.state
    if state[N_FREE] == 0:
        return len(growth.cells) - 1 - temporary
    state[N_FREE] -= 1
    return growth.free[state[N_FREE]]


@inner_kernel
def release_slot(node, growth):
    """Return the slot of a node to the free ones."""
    slot = node["slot"]
    if 0 <= slot < len(growth.cells) - 2:
        growth.free[growth.state[N_FREE]] = slot
        growth.state[N_FREE] += 1
    node["slot"] = -1


@inner_kernel
def sum_rows(pairs, growth, at):
    """Write the sums of a node."""
    node, sums, lanes = growth.nodes[at], growth.sums[at], np.uint64(pairs.shape[1])
    for lane in range(lanes):
        sums[lane] = 0
    for i in range(np.uint64(node["start"]), np.uint64(node["end"])):
        row = np.uint64(growth.rows[i])
        for lane in range(np.uint64(0), lanes, np.uint64(WIDTH)):
            add_eight(sums, lane, pairs, row * lanes + lane)


@inner_kernel
def begin_tree(pairs, growth, rules):
    """Create the root and its sums."""
    state, n_rows = growth.state, len(growth.rows)
    make_node(0, 0, n_rows, 0, growth)
    sum_rows(pairs, growth, 0)
    for w in range(growth.groups.shape[1]):
        growth.groups[0, w] = np.uint64(0xFFFFFFFFFFFFFFFF)
    state[N_NODES], state[N_LEAVES], state[N_OPEN] = 1, 1, 0
    state[N_FREE] = len(growth.cells) - 2
    for k in range(state[N_FREE]):
        growth.free[k] = state[N_FREE] - 1 - k
    state[SMALL], state[LARGE], state[SUBTRACTS] = -1, -1, 0
    if may_split(growth.nodes[0], growth, rules):
        growth.nodes[0]["slot"] = take_slot(growth, 0)
        state[SMALL] = 0
        draw_for_node(0, growth, rules, growth.drawn[0])


@inner_kernel
def best_feature(number, growth):
    """Return the feature with the best split of one of the two scanned nodes, or `NO_SPLIT`."""
    best, gain, found = NO_SPLIT, 0.0, growth.found[number]
    for f in range(len(found)):
        if growth.drawn[number, f] and found[f, 0] > gain + TIE * gain:
            best, gain = f, found[f, 0]
    return best


@inner_kernel
def keep_best(at, number, bins, growth, rules):
    """Store the best split of a scanned node and mark which codes go left; keep it open."""
    node, f = growth.nodes[at], best_feature(number, growth)
    if f == NO_SPLIT or growth.found[number, f, 0] < rules.least_gain:
        release_slot(node, growth)
        return
    found = growth.found[number, f]
    node["feature"], node["gain"] = f, found[0]
    node["bin"], node["missing_left"] = np.int64(found[1]), np.int64(found[2])
    mark_codes(bins, f, node["bin"], node["missing_left"], growth.goes_left[at])
    growth.open[growth.state[N_OPEN]] = at
    growth.state[N_OPEN] += 1
    if node["slot"] >= len(growth.cells) - 2:
        node["slot"] = -1


@inner_kernel
def mark_codes(bins, f, last, missing_left, goes_left):
    """Write which codes of the column of a feature go left.

    Parameters
    ----------
    last : the last bin that goes left
    goes_left : uint8 (MAX_BINS,), written
    """
    layout, missing_bin = bins.layout, bins.missing[f]
    default, first = layout.default[f], layout.first[f]
    side = missing_left if default == missing_bin else np.int64(default <= last)
    for code in range(MAX_BINS):
        goes_left[code] = side if default >= 0 else 0
    for b in range(bins.count[f]):
        side = missing_left if b == missing_bin else np.int64(b <= last)
        if default < 0:
            goes_left[b] = side
        elif b != default:
            goes_left[first + b - (1 if b > default else 0)] = side


@inner_kernel
def pick_leaf(growth, rules):
    """Return the next leaf to split and remove it from the open ones; −1 if there is none."""
    state = growth.state
    count = state[N_OPEN]
    if count == 0 or state[N_LEAVES] >= rules.max_leaves:
        return np.int64(-1)
    place = count - 1
    if rules.order != LIFO:
        for k in range(count - 1):
            one, best = growth.open[k], growth.open[place]
            if rules.order == BEST_FIRST:
                gain, most = growth.nodes[one]["gain"], growth.nodes[best]["gain"]
                if gain > most or (gain == most and one < best):
                    place = k
            elif one < best:
                place = k
    at = growth.open[place]
    growth.open[place] = growth.open[count - 1]
    state[N_OPEN] -= 1
    return at


@inner_kernel
def partition_rows(growth, start, end, column, goes_left):
    """Move the rows that go left to the front, in order; return their number."""
    n_left, n_right = np.uint64(0), np.uint64(0)
    for i in range(np.uint64(start), np.uint64(end)):
        row = growth.rows[i]
        is_left = np.uint64(goes_left[column[np.uint64(row)]])
        growth.rows[np.uint64(start) + n_left] = row
        growth.spare[n_right] = row
        n_left += is_left
        n_right += np.uint64(1) - is_left
    for i in range(n_right):
        growth.rows[np.uint64(start) + n_left + i] = growth.spare[i]
    return np.int64(n_left)


@linked_kernel
def split_leaf(at, bins, pairs, growth, rules):
    """Split a leaf; set which of its children get a histogram."""
    node, state = growth.nodes[at], growth.state
    left, right = state[N_NODES], state[N_NODES] + 1
    start, end = node["start"], node["end"]
    column = bins.columns[bins.layout.column[node["feature"]]]
    middle = start + partition_rows(growth, start, end, column, growth.goes_left[at])
    node["left"], node["right"] = left, right
    make_node(left, start, middle, node["depth"] + 1, growth)
    make_node(right, middle, end, node["depth"] + 1, growth)
    state[N_NODES] += 2
    state[N_LEAVES] += 1
    for w in range(growth.groups.shape[1]):
        growth.groups[at, w] &= bins.groups[node["feature"], w]
        growth.groups[left, w] = growth.groups[right, w] = growth.groups[at, w]
    small, large = (left, right) if middle - start <= end - middle else (right, left)
    sum_rows(pairs, growth, small)
    for lane in range(pairs.shape[1]):
        growth.sums[large, lane] = growth.sums[at, lane] - growth.sums[small, lane]
    assign_slots(at, small, large, growth, rules)


@inner_kernel
def assign_slots(at, small, large, growth, rules):
    """Choose the histograms of two children: the larger one takes over that of its parent.

    A child that must not be split has none, except a smaller one whose histogram is subtracted.
    """
    node, state = growth.nodes[at], growth.state
    large_splits = may_split(growth.nodes[large], growth, rules)
    small_splits = may_split(growth.nodes[small], growth, rules)
    state[SMALL], state[LARGE], state[SUBTRACTS] = -1, -1, 0
    if large_splits:
        state[LARGE], state[SUBTRACTS] = large, np.int64(node["slot"] >= 0)
        draw_for_node(large, growth, rules, growth.drawn[1])
        if state[SUBTRACTS]:
            growth.nodes[large]["slot"] = node["slot"]
            node["slot"] = -1
    release_slot(node, growth)
    if small_splits or state[SUBTRACTS]:
        state[SMALL] = small
        draw_for_node(small, growth, rules, growth.drawn[0])
        growth.nodes[small]["slot"] = take_slot(growth, 0)
    if large_splits and not state[SUBTRACTS]:
        growth.nodes[large]["slot"] = take_slot(growth, 1)


@inner_kernel
def build_children(rank, low, high, bins, pairs, growth):
    """Build the histograms of the two chosen nodes in growth.columns[low : high]."""
    small, large = growth.state[SMALL], growth.state[LARGE]
    lanes, lengths, columns = pairs.shape[1], bins.layout.length, growth.columns
    for number in range(2):
        at = large if number else small
        if at >= 0:
            node = growth.nodes[at]
            own = growth.cells[node["slot"]]
            if number and growth.state[SUBTRACTS]:
                other = growth.cells[growth.nodes[small]["slot"]]
                subtract_columns(columns, low, high, growth.offsets, lengths, lanes, own, other)
            else:
                clear_columns(columns, low, high, growth.offsets, lengths, lanes, own)
                first, last = node["start"], node["end"]
                given = bins.rows, pairs, growth.rows, first, last, columns
                build_histogram(*given, low, high, growth.offsets, growth.work[rank], own)


@inner_kernel
def scan_children(rank, low, high, bins, growth, rules):
    """Find the best split of each feature of growth.columns[low : high] in the chosen nodes."""
    layout = bins.layout
    units = growth.units, growth.g_units, growth.singles, growth.scales
    scratch = ScanScratch(*units, growth.bins[rank], growth.side[rank])
    for number in range(2):
        at = growth.state[LARGE] if number else growth.state[SMALL]
        if at < 0 or not may_split(growth.nodes[at], growth, rules):
            continue
        sums, cells = growth.sums[at], growth.cells[growth.nodes[at]["slot"]]
        score, h_total = score_node(sums, growth.units, rules), total_h(sums, growth.units, rules)
        for j in range(low, high):
            c = growth.columns[j]
            for k in range(layout.start[c], layout.start[c + 1]):
                f = layout.features[k]
                found = growth.found[number, f]
                found[0] = 0.0
                if growth.drawn[number, f] and may_use(growth.groups[at], bins.groups[f]):
                    given = bins, f, cells, growth.offsets, sums, score, h_total
                    scan_feature(*given, scratch, rules, found)


@inner_kernel
def go_on(bins, pairs, growth, rules):
    """Store the best splits of the chosen nodes and split leaves until others must be scanned."""
    state = growth.state
    for step in range(2):
        number = 1 - step  # the smaller child last, so that it is split first
        at = state[LARGE] if number else state[SMALL]
        if at >= 0:
            if may_split(growth.nodes[at], growth, rules):
                keep_best(at, number, bins, growth, rules)
            else:
                release_slot(growth.nodes[at], growth)
    while True:
        at = pick_leaf(growth, rules)
        state[NEXT] = at
        if at < 0:
            return
        split_leaf(at, bins, pairs, growth, rules)
        if state[SMALL] >= 0 or state[LARGE] >= 0:
            return


@kernel
def grow_vector_tree(team, rank, bins, pairs, growth, rules):
    """Grow a tree on ``growth.rows``; every thread of the team calls this.

    Parameters
    ----------
    team : ThreadTeam
    rank : rank of the calling thread, 0 … size − 1
    bins : Bins, without sparse columns
    pairs : int32 (n_rows, lanes), from `round_derivatives`
    growth : VectorGrowth; its nodes, sums and rows are written
    rules : VectorRules
    """
    if rank == 0:
        begin_tree(pairs, growth, rules)
    if not barrier_wait(team):
        return
    low, high = share_of(team, rank, 0, len(growth.columns))
    while True:
        build_children(rank, low, high, bins, pairs, growth)
        scan_children(rank, low, high, bins, growth, rules)
        barrier_wait(team)
        if rank == 0:
            go_on(bins, pairs, growth, rules)
            if is_interrupted(team.flag):
                growth.state[NEXT] = -1
        barrier_wait(team)
        if growth.state[NEXT] < 0:
            return


@kernel
def find_nodes(nodes, feature_columns, goes_left, columns, rows, first, last, at):
    """Write the leaf of each of rows[first : last].

    Parameters
    ----------
    nodes : NODE
    feature_columns : int64 (n_features,), column of each feature
    columns : uint8 (n_columns, n_rows)
    rows : uint32; (0,): the rows first … last − 1
    at : uint32 (n_rows,), written
    """
    for i in range(first, last):
        row = rows[i] if len(rows) else np.uint32(i)
        node = np.int64(0)
        while nodes[node]["left"] >= 0:
            code = columns[feature_columns[nodes[node]["feature"]], row]
            node = nodes[node]["left"] if goes_left[node, code] else nodes[node]["right"]
        at[row] = np.uint32(node)


@kernel
def mark_nodes(nodes, rows, at):
    """Write the leaf of each row that the tree was grown on."""
    for number in range(len(nodes)):
        node = nodes[number]
        if node["left"] < 0:
            for i in range(np.uint64(node["start"]), np.uint64(node["end"])):
                at[np.uint64(rows[i])] = np.uint32(number)


@kernel
def add_vectors(values, at, first, last, score):
    """Add the values of the leaves to the scores of rows first … last − 1.

    Parameters
    ----------
    values : float64 (n_outputs, n_nodes)
    at : uint32 (n_rows,), node of each row
    score : float64 (n_outputs, n_rows), written
    """
    for k in range(len(values)):
        own, scores = values[k], score[k]
        for i in range(np.uint64(first), np.uint64(last)):
            scores[i] += own[np.uint64(at[i])]
