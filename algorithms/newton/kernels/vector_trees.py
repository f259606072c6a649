"""Grow a tree whose leaves hold one value for each output.

    gain = Σ_k score(G_kL, H_kL) + score(G_kR, H_kR) − score(G_k, H_k)     over the outputs k
    score(G, H) = T(G)² / (H + λ)     0 if H < `min_child_weight`, as in XGBoost 3.2

A histogram entry is a vector of `lanes` sums: G of all outputs, then H of all outputs, or one H if
it is the same for all. A row is read once for all outputs. The sums are float64. Each thread builds
and scans the histograms of its own columns, so the order of all sums, and hence the tree, does not
depend on the number of threads.
"""

from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import MAX_BINS
from algorithms.gbdt.kernels.interaction_groups import may_use
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.math_functions import uniform
from algorithms.runtime.thread_team import barrier_wait, share_of

WIDTH = 8  # lanes are a multiple of this number
TILE = 8  # columns whose histograms are built together
NO_SPLIT = -1
TIE = 2.0**-24  # relative difference of gains that counts as a tie: XGBoost compares float32
LEAST_SHARE = 1e-12  # of the hessians of a node; a side with less is empty
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
    shared_h: int  # 1: all outputs have the same H, in the lane after those of G
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
    cells: np.ndarray  # float64 (n_slots, entries × lanes); the last two slots are temporary
    free: np.ndarray  # int64 (n_slots,), stack of free slots
    open: np.ndarray  # int64 (max_leaves,), leaves that may be split
    nodes: np.ndarray  # NODE (2 max_leaves − 1,)
    sums: np.ndarray  # float64 (n_nodes, lanes)
    groups: np.ndarray  # uint64 (n_nodes, n_words)
    goes_left: np.ndarray  # uint8 (n_nodes, MAX_BINS), by code of the column
    found: np.ndarray  # float64 (2, n_features, 3): gain, bin and missing_left of each feature
    drawn: np.ndarray  # uint8 (2, n_features)
    keys: np.ndarray  # float64 (n_features,)
    prefix: np.ndarray  # float64 (n_threads, lanes + 3, MAX_BINS)
    missing: np.ndarray  # float64 (n_threads, lanes)
    state: np.ndarray  # int64 (STATES,)


@kernel
def lay_derivatives(g, h, n_h, first, last, pairs):
    """Write the derivatives of rows first … last − 1 as vectors.

    Parameters
    ----------
    g, h : float32 (n_outputs, n_rows)
    n_h : number of lanes of h: n_outputs or 1
    pairs : float32 (n_rows, lanes), written; other lanes are 0
    """
    n_outputs = len(g)
    for i in range(first, last):
        for k in range(n_outputs):
            pairs[i, k] = g[k, i]
        for k in range(n_h):
            pairs[i, n_outputs + k] = h[k, i]
        for k in range(n_outputs + n_h, pairs.shape[1]):
            pairs[i, k] = 0.0


@inner_kernel
def add_vector(cells, at, p0, p1, p2, p3, p4, p5, p6, p7):
    """Add eight numbers to cells[at], cells[at + 1] and so on; all are read before one is written.

    So the compiler needs no check whether the arrays overlap.
    """
    one = np.uint64(1)
    a1 = at + one
    a2 = a1 + one
    a3 = a2 + one
    a4 = a3 + one
    a5 = a4 + one
    a6 = a5 + one
    a7 = a6 + one
    c0 = cells[at] + p0
    c1 = cells[a1] + p1
    c2 = cells[a2] + p2
    c3 = cells[a3] + p3
    c4 = cells[a4] + p4
    c5 = cells[a5] + p5
    c6 = cells[a6] + p6
    c7 = cells[a7] + p7
    cells[at] = c0
    cells[a1] = c1
    cells[a2] = c2
    cells[a3] = c3
    cells[a4] = c4
    cells[a5] = c5
    cells[a6] = c6
    cells[a7] = c7


@linked_kernel
def build_histogram(bins, pairs, rows, first, last, columns, low, high, offsets, cells):
    """Write the histograms of columns[low : high] over rows[first : last].

    Parameters
    ----------
    bins : uint8 (n_rows, n_columns)
    pairs : float32 (n_rows, lanes)
    cells : float64 (entries × lanes,), zeros in these columns
    """
    lanes = np.uint64(pairs.shape[1])
    width = np.uint64(WIDTH)
    for begin in range(low, high, TILE):
        begin_at, end_at = np.uint64(begin), np.uint64(min(begin + TILE, high))
        for i in range(np.uint64(first), np.uint64(last)):
            row = np.uint64(rows[i])
            for lane in range(np.uint64(0), lanes, width):
                one = np.uint64(1)
                l1 = lane + one
                l2 = l1 + one
                l3 = l2 + one
                l4 = l3 + one
                l5 = l4 + one
                l6 = l5 + one
                l7 = l6 + one
                p0 = np.float64(pairs[row, lane])
                p1 = np.float64(pairs[row, l1])
                p2 = np.float64(pairs[row, l2])
                p3 = np.float64(pairs[row, l3])
                p4 = np.float64(pairs[row, l4])
                p5 = np.float64(pairs[row, l5])
                p6 = np.float64(pairs[row, l6])
                p7 = np.float64(pairs[row, l7])
                for j in range(begin_at, end_at):
                    c = np.uint64(columns[j])
                    entry = np.uint64(offsets[c]) + np.uint64(bins[row, c])
                    add_vector(cells, entry * lanes + lane, p0, p1, p2, p3, p4, p5, p6, p7)


@inner_kernel
def clear_columns(columns, low, high, offsets, lengths, lanes, cells):
    """Set the entries of columns[low : high] to 0."""
    for j in range(low, high):
        c = columns[j]
        for at in range(offsets[c] * lanes, (offsets[c] + lengths[c]) * lanes):
            cells[np.uint64(at)] = 0.0


@inner_kernel
def subtract_columns(columns, low, high, offsets, lengths, lanes, cells, other):
    """Subtract another histogram in columns[low : high]."""
    for j in range(low, high):
        c = columns[j]
        for at in range(offsets[c] * lanes, (offsets[c] + lengths[c]) * lanes):
            cells[np.uint64(at)] -= other[np.uint64(at)]


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
    return rules.n_outputs if rules.shared_h else rules.n_outputs + k


@inner_kernel
def score_node(sums, rules):
    """Return the score of a node, summed over the outputs."""
    total = 0.0
    for k in range(rules.n_outputs):
        total += score_sums(sums[k], sums[h_lane(k, rules)], rules)
    return total


@inner_kernel
def total_h(sums, rules):
    """Return the sum of the hessians of all outputs; H itself if they share it."""
    total = 0.0
    for k in range(rules.n_outputs, rules.n_outputs + (1 if rules.shared_h else rules.n_outputs)):
        total += sums[k]
    return total


@inner_kernel
def gather_bins(cells, first_entry, n_numeric, missing_bin, default, sums, lanes, prefix, missing):
    """Write the inclusive prefix sums of a feature's numeric bins, and the sums of missing values.

    Parameters
    ----------
    cells : float64, the histogram of the node
    first_entry : index of the entry of the feature's first bin that has one
    default : the bin without an entry, or −1
    sums : (lanes,), of the node
    prefix : (lanes, MAX_BINS), written
    missing : (lanes,), written
    """
    for lane in range(lanes):
        rest = sums[lane]
        if default >= 0:
            n_bins = n_numeric + (1 if missing_bin >= 0 else 0)
            for b in range(n_bins - 1):
                rest -= cells[np.uint64((first_entry + b) * lanes + lane)]
        total = 0.0
        for b in range(n_numeric):
            if b == default:
                total += rest
            else:
                shift = 1 if 0 <= default < b else 0
                total += cells[np.uint64((first_entry + b - shift) * lanes + lane)]
            prefix[lane, b] = total
        missing[lane] = 0.0
        if missing_bin >= 0:
            if missing_bin == default:
                missing[lane] = rest
            else:
                shift = 1 if default >= 0 else 0
                missing[lane] = cells[np.uint64((first_entry + missing_bin - shift) * lanes + lane)]


@inner_kernel
def score_thresholds(prefix, missing, share, sums, last, rules):
    """Write the score of both sides of each threshold, and Σh of the left side.

    Parameters
    ----------
    prefix : (lanes + 3, MAX_BINS); its last rows are written: scores, Σh, work
    missing : (lanes,), sums of missing values
    share : 1.0 if missing values go left, 0.0 if they go right
    last : number of thresholds
    """
    lanes, n = len(missing), rules.n_outputs
    for row in range(lanes, lanes + 3):
        for b in range(last):
            prefix[row, b] = 0.0
    if rules.shared_h and rules.max_delta_step == 0.0:
        score_shared(prefix, missing, share, sums, last, rules)
    elif rules.max_delta_step == 0.0:
        for k in range(n):
            score_output(prefix, missing, share, sums, k, last, rules)
    else:
        for k in range(n):
            score_bounded(prefix, missing, share, sums, k, last, rules)
    if rules.shared_h:
        for b in range(last):
            prefix[lanes + 1, b] = prefix[n, b] + missing[n] * share


@inner_kernel
def score_shared(prefix, missing, share, sums, last, rules):
    """Write the scores of outputs with one H; see `score_thresholds`."""
    lanes, n, alpha, reg_lambda = len(missing), rules.n_outputs, rules.reg_alpha, rules.reg_lambda
    least = max(rules.min_child_weight, LEAST_H)
    gain, work = prefix[lanes], prefix[lanes + 2]
    for k in range(n):
        g, g_missing, g_total = prefix[k], missing[k] * share, sums[k]
        for b in range(last):
            left = g[b] + g_missing
            right = max(abs(g_total - left) - alpha, 0.0)
            left = max(abs(left) - alpha, 0.0)
            gain[b] += left * left
            work[b] += right * right
    h, h_missing, h_total = prefix[n], missing[n] * share, sums[n]
    for b in range(last):
        left = h[b] + h_missing
        right = h_total - left
        left_size = left + reg_lambda if left >= least else np.inf
        right_size = right + reg_lambda if right >= least else np.inf
        gain[b] = gain[b] / left_size + work[b] / right_size


@inner_kernel
def score_output(prefix, missing, share, sums, k, last, rules):
    """Add the scores of an output, and its H; see `score_thresholds`."""
    lanes, at, alpha, reg_lambda = len(missing), h_lane(k, rules), rules.reg_alpha, rules.reg_lambda
    least = max(rules.min_child_weight, LEAST_H)
    gain, left_h = prefix[lanes], prefix[lanes + 1]
    g, g_missing, g_total = prefix[k], missing[k] * share, sums[k]
    h, h_missing, h_total = prefix[at], missing[at] * share, sums[at]
    for b in range(last):
        left = g[b] + g_missing
        right = max(abs(g_total - left) - alpha, 0.0)
        left = max(abs(left) - alpha, 0.0)
        h_left = h[b] + h_missing
        h_right = h_total - h_left
        left_h[b] += h_left
        left_size = h_left + reg_lambda if h_left >= least else np.inf
        right_size = h_right + reg_lambda if h_right >= least else np.inf
        gain[b] += left * left / left_size + right * right / right_size


@inner_kernel
def score_bounded(prefix, missing, share, sums, k, last, rules):
    """Add the scores of an output whose values are bounded; see `score_thresholds`."""
    lanes, at = len(missing), h_lane(k, rules)
    g_total, h_total = sums[k], sums[at]
    for b in range(last):
        g_left, h_left = prefix[k, b] + missing[k] * share, prefix[at, b] + missing[at] * share
        prefix[lanes + 1, b] += h_left
        prefix[lanes, b] += score_sums(g_left, h_left, rules)
        prefix[lanes, b] += score_sums(g_total - g_left, h_total - h_left, rules)


@linked_kernel
def scan_feature(bins, f, cells, offsets, sums, score, h_total, prefix, missing, rules, found):
    """Write the best split of a feature: gain, bin and missing_left; a gain of 0 means none.

    Thresholds are tried in ascending order with missing values on the right side, then in
    descending order with missing values on the left side, as in XGBoost.

    Parameters
    ----------
    cells : float64, the histogram of the node
    sums, score, h_total : sums of the node (lanes,), its score and its Σh
    prefix, missing : scratch space of the thread
    found : float64 (3,), written
    """
    found[0], found[1], found[2] = 0.0, 0.0, 0.0
    layout, lanes = bins.layout, len(missing)
    missing_bin, default = bins.missing[f], layout.default[f]
    n_numeric = bins.count[f] - (1 if missing_bin >= 0 else 0)
    entry = offsets[layout.column[f]] + layout.first[f]
    gather_bins(cells, entry, n_numeric, missing_bin, default, sums, lanes, prefix, missing)
    has_missing = False
    for lane in range(lanes):
        has_missing |= missing[lane] != 0.0
    least_h = max(LEAST_SHARE * h_total, LEAST_H)
    gain, left_h = prefix[lanes], prefix[lanes + 1]
    for direction in range(2 if has_missing else 1):
        last = n_numeric if has_missing and direction == 0 else n_numeric - 1
        score_thresholds(prefix, missing, np.float64(direction), sums, last, rules)
        for step in range(last):
            b = step if direction == 0 else last - 1 - step
            better, h_left = gain[b] - score, left_h[b]
            is_valid = h_left > least_h and h_total - h_left > least_h
            if is_valid and better > found[0] + TIE * found[0]:
                found[0], found[1], found[2] = better, b, direction


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
    node, sums = growth.nodes[at], growth.sums[at]
    for lane in range(pairs.shape[1]):
        sums[lane] = 0.0
    for i in range(np.uint64(node["start"]), np.uint64(node["end"])):
        row = np.uint64(growth.rows[i])
        for lane in range(np.uint64(pairs.shape[1])):
            sums[lane] += np.float64(pairs[row, lane])


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
def build_children(low, high, bins, pairs, growth):
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
                build_histogram(*given, low, high, growth.offsets, own)


@inner_kernel
def scan_children(rank, low, high, bins, growth, rules):
    """Find the best split of each feature of growth.columns[low : high] in the chosen nodes."""
    layout = bins.layout
    for number in range(2):
        at = growth.state[LARGE] if number else growth.state[SMALL]
        if at < 0 or not may_split(growth.nodes[at], growth, rules):
            continue
        sums, cells = growth.sums[at], growth.cells[growth.nodes[at]["slot"]]
        score, h_total = score_node(sums, rules), total_h(sums, rules)
        for j in range(low, high):
            c = growth.columns[j]
            for k in range(layout.start[c], layout.start[c + 1]):
                f = layout.features[k]
                found = growth.found[number, f]
                found[0] = 0.0
                if growth.drawn[number, f] and may_use(growth.groups[at], bins.groups[f]):
                    work = growth.prefix[rank], growth.missing[rank]
                    given = bins, f, cells, growth.offsets, sums, score, h_total
                    scan_feature(*given, *work, rules, found)


@inner_kernel
def go_on(bins, pairs, growth, rules):
    """Store the best splits of the chosen nodes and split leaves until others must be scanned."""
    state = growth.state
    for number in range(2):
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
    pairs : float32 (n_rows, lanes), from `lay_derivatives`
    growth : VectorGrowth; its nodes, sums and rows are written
    rules : VectorRules
    """
    if rank == 0:
        begin_tree(pairs, growth, rules)
    if not barrier_wait(team):
        return
    low, high = share_of(team, rank, 0, len(growth.columns))
    while True:
        build_children(low, high, bins, pairs, growth)
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
