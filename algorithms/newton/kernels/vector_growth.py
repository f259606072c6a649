"""Grow trees whose leaves hold one value for each output, one by one or in boosting rounds.

All threads of a team build and scan the histograms of their own columns; one of them splits the
leaves. See `vector_arrays` for the gain of a split and the layout of a histogram.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import MAX_BINS
from algorithms.gbdt.kernels.interaction_groups import may_use
from algorithms.newton.kernels.filled_entries import is_filled, mark_column, subtract_column
from algorithms.newton.kernels.softmax import differentiate_softmax
from algorithms.newton.kernels.vector_arrays import (
    BEST_FIRST,
    LARGE,
    LIFO,
    MIN_H,
    N_FREE,
    N_LEAVES,
    N_NODES,
    N_OPEN,
    NEXT,
    SMALL,
    SUBTRACTS,
    NodeStats,
    Rounding,
    ScanScratch,
)
from algorithms.newton.kernels.vector_histogram import (
    SUMMED,
    build_histogram,
    round_derivatives,
    sum_absolute_values,
    sum_all_rows,
    write_units,
)
from algorithms.newton.kernels.vector_leaves import add_vectors, write_tree
from algorithms.newton.kernels.vector_split import TIE, scan_feature, score_node, total_h
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.math_functions import uniform
from algorithms.runtime.thread_team import barrier_wait, share_of

NO_SPLIT = -1
HALF_STEP = 2.0**-25  # half of the distance of two values of `uniform`
LEVEL_SEED, NODE_SEED = np.uint32(0x9E3779B9), np.uint32(0x85EBCA6B)


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
def may_split(at, growth, rules):
    """Return whether a node may be split: the limits allow it, and an output has enough hessian."""
    node = growth.nodes[at]
    is_shallow = rules.max_depth == 0 or node["depth"] < rules.max_depth
    has_room = growth.state[N_LEAVES] < rules.max_leaves
    has_rows = node["end"] - node["start"] > 1
    return (
        is_shallow
        and has_room
        and has_rows
        and has_min_hessian(growth.sums[at], growth.units, rules)
    )


@inner_kernel
def has_min_hessian(sums, units, rules):
    """Return whether any output has the minimum hessian; otherwise all scores below are 0."""
    for lane in range(rules.first_h, rules.first_h + (1 if rules.shared_h else rules.n_outputs)):
        if sums[lane] * units[lane] >= max(rules.min_child_weight, MIN_H):
            return True
    return False


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
def begin_tree(pairs, growth, rules):
    """Create the root and its sums."""
    state, n_rows = growth.state, len(growth.rows)
    make_node(0, 0, n_rows, 0, growth)
    sum_all_rows(pairs, growth)
    for w in range(growth.groups.shape[1]):
        growth.groups[0, w] = np.uint64(0xFFFFFFFFFFFFFFFF)
    state[N_NODES], state[N_LEAVES], state[N_OPEN] = 1, 1, 0
    state[N_FREE] = len(growth.cells) - 2
    for k in range(state[N_FREE]):
        growth.free[k] = state[N_FREE] - 1 - k
    state[SMALL], state[LARGE], state[SUBTRACTS] = -1, -1, 0
    if may_split(0, growth, rules):
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
    for lane in range(growth.sums.shape[1]):
        growth.left_sums[at, lane] = growth.found_left[number, f, lane]
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
    for lane in range(pairs.shape[1]):
        own = growth.left_sums[at, lane]
        growth.sums[left, lane], growth.sums[right, lane] = own, growth.sums[at, lane] - own
    assign_slots(at, small, large, growth, rules)


@inner_kernel
def assign_slots(at, small, large, growth, rules):
    """Choose the histograms of two children: the larger one takes over that of its parent.

    A child that must not be split has none; the rows of a smaller one are then subtracted from the
    histogram of the larger one.
    """
    node, state = growth.nodes[at], growth.state
    large_splits = may_split(large, growth, rules)
    small_splits = may_split(small, growth, rules)
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
        if small_splits:
            draw_for_node(small, growth, rules, growth.drawn[0])
            growth.nodes[small]["slot"] = take_slot(growth, 0)
    if large_splits and not state[SUBTRACTS]:
        growth.nodes[large]["slot"] = take_slot(growth, 1)


@inner_kernel
def build_children(rank, low, high, bins, pairs, growth):
    """Build the histograms of the chosen nodes in growth.columns[low : high], from their rows."""
    small, large = growth.state[SMALL], growth.state[LARGE]
    if small >= 0:
        build_histogram(small, low, high, bins, pairs, growth, rank)
    if large >= 0 and not growth.state[SUBTRACTS]:
        build_histogram(large, low, high, bins, pairs, growth, rank)


@inner_kernel
def node_stats(at, growth, rules):
    """Return the `NodeStats` of a node."""
    sums, units = growth.sums[at], growth.units
    return NodeStats(sums, score_node(sums, units, rules), total_h(sums, units, rules))


@inner_kernel
def scan_column(c, number, at, stats, bins, growth, rank, rules):
    """Find the best split of each feature of column c in a node.

    Parameters
    ----------
    number : 0 for the smaller of the two chosen nodes, 1 for the larger one
    at : the node, which has a slot
    stats : NodeStats
    rank : rank of the calling thread
    """
    layout, slot = bins.layout, growth.nodes[at]["slot"]
    column = growth.cells[slot], growth.offsets[c], growth.filled[slot, c]
    for k in range(layout.start[c], layout.start[c + 1]):
        f = layout.features[k]
        found, scratch = growth.found[number, f], scan_scratch(number, f, rank, growth)
        found[0] = 0.0
        if has_one_stored_bin(f, bins) and not is_filled(column[2], np.uint64(layout.first[f])):
            continue  # all rows are in one bin
        if growth.drawn[number, f] and may_use(growth.groups[at], bins.groups[f]):
            scan_feature(bins, f, column, stats, scratch, rules, found)


@inner_kernel
def has_one_stored_bin(f, bins):
    """Return whether a feature has two bins, and histograms store only one of them."""
    return bins.layout.default[f] >= 0 and bins.count[f] == 2


@inner_kernel
def scan_scratch(number, f, rank, growth):
    """Return the `ScanScratch` of a thread for a feature in one of the two chosen nodes."""
    units = growth.units, growth.g_units, growth.approximate, growth.scale
    approximate_scores, scores = growth.approximate_scores[rank], growth.scores[rank]
    gathered = growth.bins[rank], growth.bins_filled[rank]
    lists = growth.left[rank], approximate_scores, scores, growth.numbers[rank]
    found = growth.best[rank, number], growth.found_left[number, f]
    return ScanScratch(*units, *gathered, *lists, *found)


@inner_kernel
def scan_children(rank, low, high, bins, growth, rules):
    """Find the best split of each feature of growth.columns[low : high] in the chosen nodes.

    The histogram of a larger child is its parent's minus that of the smaller child. It is computed
    column by column, so that both are scanned while they are in the L1 cache.
    """
    state, nodes = growth.state, growth.nodes
    subtracts = state[LARGE] >= 0 and state[SUBTRACTS] != 0
    subtracts = subtracts and nodes[state[SMALL]]["slot"] >= 0
    scans_small = state[SMALL] >= 0 and may_split(state[SMALL], growth, rules)
    scans_large = state[LARGE] >= 0 and may_split(state[LARGE], growth, rules)
    small, large = max(state[SMALL], 0), max(state[LARGE], 0)
    small_stats, large_stats = node_stats(small, growth, rules), node_stats(large, growth, rules)
    growth.best[rank, :, 0] = 0.0
    for j in range(low, high):
        c = growth.columns[j]
        if state[SMALL] >= 0 and nodes[small]["slot"] >= 0:
            mark_column(c, small, bins, growth)
        if state[LARGE] >= 0 and not state[SUBTRACTS]:
            mark_column(c, large, bins, growth)
        if subtracts:
            subtract_column(c, nodes[large]["slot"], nodes[small]["slot"], growth)
        if scans_small:
            scan_column(c, 0, small, small_stats, bins, growth, rank, rules)
        if scans_large:
            scan_column(c, 1, large, large_stats, bins, growth, rank, rules)


@inner_kernel
def go_on(bins, pairs, growth, rules):
    """Store the best splits of the chosen nodes and split leaves until others must be scanned."""
    state = growth.state
    for step in range(2):
        number = 1 - step  # the smaller child last, so that it is split first
        at = state[LARGE] if number else state[SMALL]
        if at >= 0:
            if may_split(at, growth, rules):
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


@linked_kernel
def grow_vector_tree(team, rank, bins, pairs, growth, rules):
    """Grow a tree on ``growth.rows``; the parameters are those of `grow_vector_trees`."""
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
def grow_vector_trees(team, rank, bins, pairs, growth, rules, rounds):
    """Grow a tree, or add boosting rounds of one tree; every thread of the team calls this.

    A tree without rounds is grown on ``growth.rows``, and rounds use all rows. Rounds end early if
    derivatives are not finite or if the threads are interrupted.

    Parameters
    ----------
    team : ThreadTeam
    rank : rank of the calling thread, 0 … size − 1
    bins : Bins, without sparse columns
    pairs : int32 (n_rows, lanes), from `round_derivatives`; written by rounds
    growth : VectorGrowth; its nodes, sums and rows are written
    rules : VectorRules
    rounds : VectorRoundArrays
    """
    n_rounds = len(rounds.seeds)
    for round_number in range(max(n_rounds, 1)):
        if n_rounds and not begin_round(team, rank, round_number, pairs, growth, rules, rounds):
            return
        grow_vector_tree(team, rank, bins, pairs, growth, rules)
        if n_rounds:
            end_round(team, rank, round_number, growth, rules, rounds)


@linked_kernel
def begin_round(team, rank, round_number, pairs, growth, rules, rounds):
    """Write the rows of a tree and their quantized derivatives; return whether it can be grown."""
    if not barrier_wait(team):
        return False
    g, h, n_blocks, score = rounds.g, rounds.h, len(rounds.g_totals), rounds.score
    low, high = share_of(team, rank, 0, n_blocks)
    first, last = low * SUMMED, min(high * SUMMED, g.shape[1])
    work = rounds.work[rank]
    differentiate_softmax(score, rounds.code, rounds.weight, work, g, h, first, last)
    sum_absolute_values(g, low, high, rounds.g_totals)
    sum_absolute_values(h, low, high, rounds.h_totals)
    for row in range(np.uint64(first), np.uint64(last)):
        growth.rows[row] = row
    barrier_wait(team)
    if rank == 0:
        totals, n_rows = (rounds.g_totals, rounds.h_totals), g.shape[1]
        rounds.problem[0] = write_units(*totals, n_rows, growth, rules, rounds.per_unit)
        if is_interrupted(team.flag):  # one thread reads it, so that all leave together
            rounds.problem[0] = -1
    barrier_wait(team)
    if rounds.problem[0]:
        return False
    rounding = Rounding(rounds.per_unit, rounds.shifts, rules.first_h, rounds.seeds[round_number])
    scratch = rounds.numbers[rank], rounds.whole[rank]
    round_derivatives(g, h, rounding, *scratch, first, last, pairs)
    return barrier_wait(team)


@linked_kernel
def end_round(team, rank, round_number, growth, rules, rounds):
    """Store the grown tree, and add its values to the scores."""
    n_nodes, nodes = growth.state[N_NODES], growth.nodes
    values = rounds.values[round_number, :n_nodes]
    if rank == 0:
        thresholds = rounds.first_threshold, rounds.thresholds
        written = rounds.nodes[round_number, :n_nodes]
        write_tree(nodes[:n_nodes], growth, rules, thresholds, written, values)
        for node in range(n_nodes):
            for k in range(rules.n_outputs):
                values[node, k] *= np.float32(rounds.learning_rate)
                rounds.added[k, node] = values[node, k]
        rounds.n_nodes[round_number] = n_nodes
    first, last = share_of(team, rank, 0, len(growth.rows))
    for node in range(n_nodes):
        if nodes[node]["left"] < 0:
            start, end = max(nodes[node]["start"], first), min(nodes[node]["end"], last)
            for i in range(np.uint64(start), np.uint64(max(start, end))):
                rounds.leaf_of[np.uint64(growth.rows[i])] = np.uint32(node)
    barrier_wait(team)
    add_vectors(rounds.added, rounds.leaf_of, first, last, rounds.score)
