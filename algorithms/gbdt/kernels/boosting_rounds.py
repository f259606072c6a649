"""Begin and end the trees of boosting rounds inside the kernel that grows them.

On small tables a tree takes less time than the Python code between two trees. So one call of the
growing kernel adds many rounds. They are those of `gbdt.boosting.Booster`: all columns and the same
rows are used in each round, and leaf values are not renewed.

With several scores per row, a team of threads divides the trees of a round: each thread takes the
next tree and grows it alone. Barriers separate the rounds.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import LEAVES, MAX_BINS, MAX_G, MAX_H, ROWS
from algorithms.gbdt.kernels.gradient_packing import MIN_ROOM, write_records
from algorithms.gbdt.kernels.gradients import SOFTMAX, differentiate, differentiate_classes
from algorithms.gbdt.kernels.partition import begin_with
from algorithms.gbdt.kernels.sparse_columns import cell_of
from algorithms.runtime.intrinsics import add_atomic
from algorithms.runtime.jit import inner_kernel, linked_kernel
from algorithms.runtime.thread_team import GONE, barrier_wait, share_of


@linked_kernel
def next_tree(rounds, last):
    """Return the number of the next tree that the calling thread grows, −1 if there is none.

    Training ends after a round that changes no score, because all further trees would be the same.

    Parameters
    ----------
    rounds : Rounds
    last : number of the thread's last tree, −1 at first; round · n_scores + score
    """
    n_rounds, n_scores = rounds.seeds.shape
    at = last // n_scores  # −1 at first
    while True:
        if at >= 0:
            k = add_atomic(rounds.taken, at, 1)
            if k < n_scores:
                return at * n_scores + k
        at += 1
        if at == n_rounds or not begin_round(rounds, at):
            return np.int64(-1)


@linked_kernel
def begin_round(rounds, at):
    """Write the gradients of all scores; return whether the round can begin.

    Every thread of the team calls this, after the trees of the last round.
    """
    team, n_rows = rounds.team, rounds.score.shape[1]
    if not barrier_wait(team) or (at > 0 and not rounds.changes[at - 1]):
        return False
    first, last = share_of(team, rounds.rank, np.int64(0), n_rows)
    score, y, weight, g, h = rounds.score, rounds.y, rounds.weight, rounds.g, rounds.h
    if rounds.kind == SOFTMAX:
        differentiate_classes(score, y[0], weight, rounds.work, g, h, first, last)
    else:
        for k in range(len(score)):
            kind, constant = rounds.kind, rounds.constant
            differentiate(kind, constant, score[k], y[k], weight, g[k], h[k], first, last)
    return barrier_wait(team)


@linked_kernel
def begin_tree(team, rounds, number, growth, records, steps):
    """Write the packed gradients and the rows of a tree; return whether it can be grown.

    Parameters
    ----------
    team : ThreadTeam of one thread
    rounds : Rounds
    number : number of the tree, as of `next_tree`
    growth : Growth, whose rows are written
    records : int64 (n_rows,), written
    steps : float64 (4,), written: the `Scale` of the tree
    """
    n_scores = rounds.score.shape[0]
    at, k, zero = number // n_scores, number % n_scores, np.int64(0)  # 0 would be another type
    order = rounds.no_rows, rounds.no_rows
    tables, sizes, bounds = rounds.tables, rounds.steps[k], rounds.bounds
    stride, seed, g, h = rounds.stride, rounds.seeds[at, k], rounds.g[k], rounds.h[k]
    bounds[0] = bounds[1] = 1
    write_records(team, zero, g, h, seed, stride, order, tables, sizes, bounds, records)
    if np.isnan(sizes[0]) or np.isnan(sizes[1]):
        return False
    room = min(MAX_G // bounds[0], MAX_H // bounds[1])
    steps[0], steps[1] = sizes[0], sizes[1]
    steps[2] = room if room >= MIN_ROOM else 0
    steps[3] = rounds.extra_seeds[at, k]
    begin_with(rounds.rows, growth.rows, zero, growth.state[ROWS])
    return True


@linked_kernel
def end_tree(rounds, number, bins, growth):
    """Store the grown tree, and add its values to its score.

    Parameters
    ----------
    rounds : Rounds
    number : number of the tree, as of `next_tree`
    bins : Bins
    growth : Growth
    """
    n_scores = rounds.score.shape[0]
    at, k = number // n_scores, number % n_scores
    n_leaves, score, nodes = growth.state[LEAVES], rounds.score[k], rounds.nodes[at, k]
    is_changed = False
    for i in range(2 * n_leaves - 1):
        copy_node(growth.nodes[i], nodes[i], rounds.rate, rounds.weight_unit)
        is_changed |= nodes[i]["value"] != 0.0
        if growth.nodes[i]["is_categorical"]:
            for b in range(MAX_BINS):
                rounds.goes_left[at, k, i, b] = growth.goes_left[i, b]
    if is_changed:
        rounds.changes[at] = 1
    for j in range(n_leaves):
        leaf = growth.leaves[j]
        value = nodes[leaf["node"]]["value"]
        for i in range(np.uint64(leaf["start"]), np.uint64(leaf["end"])):
            score[np.uint64(growth.rows[i])] += value
    add_to_held_out(rounds, at, k, bins, growth)
    rounds.n_leaves[at, k] = n_leaves


@inner_kernel
def add_to_held_out(rounds, at, k, bins, growth):
    """Add a tree's values to the scores of the held-out rows, and store these scores."""
    score, nodes = rounds.score[k], rounds.nodes[at, k]
    stride = growth.cells.shape[1] // len(bins.layout.length)
    for i in range(np.uint64(len(rounds.held_out))):
        row, node = np.uint64(rounds.held_out[i]), np.int64(0)
        while nodes[node]["left"] >= 0:
            b = cell_of(bins, row, nodes[node]["feature"], stride)
            left = growth.goes_left[node, b]
            node = nodes[node]["left"] if left else nodes[node]["right"]
        score[row] += nodes[node]["value"]
        rounds.held_out_scores[at, k, i] = score[row]


@inner_kernel
def leave_rounds(rounds):
    """Make the other threads of the team leave at the next barrier."""
    add_atomic(rounds.team.counters, GONE, 1)


@inner_kernel
def copy_node(node, to, rate, weight_unit):
    """Copy a node field by field; multiply its value by the learning rate."""
    to["left"], to["right"] = node["left"], node["right"]
    to["feature"], to["bin"] = node["feature"], node["bin"]
    to["missing_left"], to["is_categorical"] = node["missing_left"], node["is_categorical"]
    to["gain"], to["value"] = node["gain"] * weight_unit, node["value"] * rate
    to["h"], to["count"] = node["h"], node["count"]
