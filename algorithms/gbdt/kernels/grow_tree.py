"""Grow a tree leaf-wise (best-first) on one machine; this kernel calls all others.

Until there are `num_leaves` leaves, the leaf whose best split has the largest gain is split
(Shi 2007):

    1. partition its rows                                                (partition)
    2. create its children: sums, bounds, values                         (split_leaf)
    3. build the smaller child's histogram, subtract, and scan both      (best_splits)

All threads of a team run this kernel and follow the same steps. Only rank 0 writes the decisions,
and a barrier separates its writes from the reads of the others. To pass fewer barriers, rank 0
splits a small leaf alone, right after it has chosen the leaf. Threads divide the histograms by
columns, and those of large leaves by rows, so that the bins of a row are loaded only once.
"""

import numpy as np

from algorithms.gbdt.kernels.best_splits import find_best_splits
from algorithms.gbdt.kernels.booster_arrays import (
    FORCED_FIRST,
    FORCED_LAST,
    HALF,
    IS_SPLIT,
    LEAVES,
    LOW,
    MIN_USEFUL_GAIN,
    NEXT,
    NO_FEATURE,
    PLANES,
    ROWS,
    Scale,
)
from algorithms.gbdt.kernels.boosting_rounds import (
    begin_tree,
    end_tree,
    leave_rounds,
    next_tree,
)
from algorithms.gbdt.kernels.feature_weights import weigh_features
from algorithms.gbdt.kernels.interaction_groups import allow_all_groups, restrict_groups
from algorithms.gbdt.kernels.leaf_values import standing_value, value_of
from algorithms.gbdt.kernels.partition import partition
from algorithms.gbdt.kernels.sparse_columns import clear_column, dense_column, spread_column
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.intrinsics import bits_of_double
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.thread_team import ThreadTeam, barrier_wait, wait_for_job

FEW_ROWS = 4096  # a leaf of at most this many rows is split by one thread; the others wait


@kernel
def grow_when_called(
    counters,
    index,
    target,
    max_spins,
    call,
    scale,
    team,
    rank,
    bins,
    records,
    growth,
    scratch,
    rules,
    rounds,
):
    """Grow a tree for each job of this thread; return if a task or the spin limit ends the wait.

    With rounds, each job adds all of them. If ``team`` has one thread, the threads of
    ``rounds.team`` take whole trees; otherwise ``team`` is ``rounds.team``, and its threads grow
    each tree together.

    Parameters
    ----------
    counters, index, target, max_spins : as in `spin_until`
    call : int64 (CALLS,), as in `wait_for_job`
    scale : float64 (4,), the `Scale` of the tree; with rounds it is overwritten for each tree
    team, rank, bins, records, growth, scratch, rules : as in `grow`
    rounds : RoundArrays
    """
    has_rounds = len(rounds.seeds) > 0
    while wait_for_job(call, counters, index, target, max_spins):
        number = np.int64(-1)
        while True:
            if has_rounds:
                number = next_tree(rounds, team.size > 1, number)
                if number < 0:
                    break
                if not begin_tree(team, rank, rounds, number, bins, growth, records, scale):
                    leave_rounds(rounds)
                    break
            current = Scale(scale[0], scale[1], np.int64(scale[2]), np.int64(scale[3]))
            grow(team, rank, bins, records, growth, scratch, rules, current)
            if not has_rounds:
                break
            if is_interrupted(team.flag):
                leave_rounds(rounds)
                break
            end_tree(team, rank, rounds, number, bins, growth)


@inner_kernel
def grow(team, rank, bins, records, growth, scratch, rules, scale):
    """Grow a tree on the first ROWS of ``growth.rows``; every thread of the team calls this.

    Parameters
    ----------
    team : ThreadTeam
    rank : rank of the calling thread, 0 … size − 1
    bins : Bins
    records : int64 (n_rows,), of all rows of the table
    growth : Growth; its nodes, leaves and rows are written
    scratch : Scratch
    rules : Rules
    scale : Scale
    """
    small, large = np.int64(0), np.int64(-1)  # a literal 0 would be another numba type
    alone = ThreadTeam(1, team.counters, team.flag)
    if rank == 0:
        make_root(growth, scale)
        weigh_features(bins, growth, rules, scale, small, np.int64(0))
    if not barrier_wait(team):
        return
    while True:
        find_best_splits(team, rank, bins, records, growth, scratch, rules, scale, small, large)
        if rank == 0:
            at = growth.state[NEXT]
            n_rows = growth.leaves[at]["end"] - growth.leaves[at]["start"] if at >= 0 else 0
            growth.state[IS_SPLIT] = at >= 0 and (team.size == 1 or n_rows <= FEW_ROWS)
            if growth.state[IS_SPLIT]:
                split(alone, rank, bins, growth, scratch, rules, scale)
            write_root(records, growth, rules, scale)
        barrier_wait(team)
        at = growth.state[NEXT]
        if at < 0:
            return
        if not growth.state[IS_SPLIT]:
            split(team, rank, bins, growth, scratch, rules, scale)
            barrier_wait(team)
        small, large = by_rows(growth, at, growth.state[LEAVES] - 1)


@inner_kernel
def by_rows(growth, at, new):
    """Return both leaves, the one with fewer rows first; ``at`` first in a tie."""
    n_left = growth.leaves[at]["end"] - growth.leaves[at]["start"]
    n_right = growth.leaves[new]["end"] - growth.leaves[new]["start"]
    return (at, new) if n_left <= n_right else (new, at)


@inner_kernel
def split(team, rank, bins, growth, scratch, rules, scale):
    """Partition the rows of the next leaf and create its children.

    All threads of the team call this. With several threads a barrier must follow.
    """
    at, new = growth.state[NEXT], growth.state[LEAVES]
    leaf, best = growth.leaves[at], growth.best[at]
    f = best["feature"]
    c = bins.layout.column[f]
    is_sparse = c >= bins.rows.shape[1]
    strided_column = dense_column(bins, c, growth.column)
    if is_sparse:
        if rank == 0:
            spread_column(bins.sparse, f, growth.column)
        barrier_wait(team)
    goes_left = growth.goes_left[leaf["node"]]
    start, end = leaf["start"], leaf["end"]
    n_left = partition(
        team, rank, growth.rows, growth.spare, strided_column, goes_left, start, end, scratch.sums
    )
    if is_sparse:
        barrier_wait(team)
    if rank == 0:
        if is_sparse:
            clear_column(bins.sparse, f, growth.column)
        split_leaf(at, new, n_left, bins, growth, rules, scale)
        small, large = by_rows(growth, at, new)
        weigh_features(bins, growth, rules, scale, small, np.int64(0))
        weigh_features(bins, growth, rules, scale, large, np.int64(1))


@inner_kernel
def make_root(growth, scale):
    """Create the root, a leaf of all rows; its sums are not known yet."""
    root, n_rows = growth.leaves[0], growth.state[ROWS]
    root["start"], root["end"], root["depth"], root["node"] = 0, n_rows, 0, 0
    root["wide"], root["slot"], root["plane"] = n_rows > scale.room, 0, 0
    root["lower"], root["upper"], root["value"] = -np.inf, np.inf, 0.0
    growth.state[LEAVES] = growth.state[PLANES] = 1
    growth.state[MIN_USEFUL_GAIN] = bits_of_double(0.0)
    growth.state[FORCED_FIRST], growth.state[FORCED_LAST] = 0, min(len(growth.forced), 1)
    growth.queue[:1] = 0
    allow_all_groups(growth.groups[0])
    make_leaf(growth.nodes[0], root)


@inner_kernel
def write_root(records, growth, rules, scale):
    """Write Σh of the root and the value that it would have as a leaf, 0 if Σh is 0.

    Does nothing until the tree is complete, or if ``rules.root_value`` is 0.
    """
    if growth.state[NEXT] >= 0 or not rules.root_value:
        return
    root, n_leaves, n_rows = growth.nodes[0], growth.state[LEAVES], growth.state[ROWS]
    total_g, total_h = np.int64(0), np.int64(0)
    if n_leaves > 1:
        for j in range(n_leaves):
            total_g += growth.leaves[j]["g"]
            total_h += growth.leaves[j]["h"]
    else:  # a leaf that is not searched for splits has no sums
        for i in range(np.uint64(n_rows)):
            record = records[np.uint64(growth.rows[i])]
            total_g += record >> HALF
            total_h += record & LOW
    g, h = total_g * scale.g, total_h * scale.h
    bounds = -np.inf, np.inf
    value = value_of(g, h, np.float64(n_rows), rules.reg_lambda, 0.0, *bounds, rules)
    root["h"], root["value"] = h, value if total_h > 0 else 0.0


@inner_kernel
def make_leaf(node, leaf):
    """Write a node without children."""
    node["left"] = node["right"] = -1
    node["feature"], node["is_categorical"], node["gain"] = NO_FEATURE, 0, np.nan
    node["value"] = leaf["value"]
    node["count"] = leaf["end"] - leaf["start"]


@inner_kernel
def split_leaf(at, new, n_left, bins, growth, rules, scale):
    """Replace a leaf by its children: the left one takes its place, the right one is appended."""
    leaf, best = growth.leaves[at], growth.best[at]
    node = growth.nodes[leaf["node"]]
    node["left"], node["right"] = 2 * new - 1, 2 * new
    node["feature"], node["bin"], node["gain"] = best["feature"], best["bin"], best["gain"]
    node["missing_left"], node["is_categorical"] = best["missing_left"], best["is_categorical"]
    right = growth.leaves[new]
    g_left, h_left = best["g"], best["h"]
    parent = standing_value(leaf, leaf["g"], leaf["h"], rules, scale)
    right["start"], right["end"], right["depth"] = (
        leaf["start"] + n_left,
        leaf["end"],
        leaf["depth"],
    )
    right["g"], right["h"] = leaf["g"] - g_left, leaf["h"] - h_left
    right["lower"], right["upper"], right["wide"] = leaf["lower"], leaf["upper"], leaf["wide"]
    right["node"], right["spread"] = 2 * new, leaf["spread"]
    right["slot"], right["plane"] = new, growth.state[PLANES]
    growth.state[PLANES] += leaf["wide"]
    if n_left <= leaf["end"] - leaf["start"] - n_left:  # the larger child keeps the histogram
        right["slot"], leaf["slot"] = leaf["slot"], right["slot"]
        right["plane"], leaf["plane"] = leaf["plane"], right["plane"]
    restrict_groups(growth.groups, at, new, bins.groups[best["feature"]])
    leaf["end"], leaf["g"], leaf["h"] = leaf["start"] + n_left, g_left, h_left
    leaf["node"] = 2 * new - 1
    for side in (at, new):
        child = growth.leaves[side]
        child["depth"] += 1
        child["value"] = value_of(
            child["g"] * scale.g,
            child["h"] * scale.h,
            np.float64(child["end"] - child["start"]),
            best["reg_lambda"],
            parent,
            leaf["lower"],
            leaf["upper"],
            rules,
        )
    direction = bins.monotone[best["feature"]]
    if direction:
        middle = (leaf["value"] + right["value"]) / 2.0
        above, below = (right, leaf) if direction > 0 else (leaf, right)
        above["lower"] = middle
        below["upper"] = middle
    for side in (at, new):
        child = growth.leaves[side]
        make_leaf(growth.nodes[child["node"]], child)
        growth.nodes[child["node"]]["h"] = child["h"] * scale.h
    growth.state[LEAVES] = new + 1
