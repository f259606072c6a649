"""Begin and end the trees of boosting rounds inside the kernel that grows them.

On small tables a tree takes less time than the Python code between two trees. So one call of the
growing kernel adds many rounds. They are those of `gbdt.boosting.Booster` or of `newton.rounds`:
all columns and the same rows are used in each round, and leaf values are not renewed.

A team of several threads works in one of two ways. With several scores per row, it can divide the
trees of a round: each thread takes the next tree and grows it alone. Otherwise all threads grow
each tree together, and divide the rows of all other steps. Barriers separate the rounds.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import LEAVES, MAX_BINS, MAX_G, MAX_H, ROWS
from algorithms.gbdt.kernels.category_codes import assign_category_bins
from algorithms.gbdt.kernels.gradient_packing import MIN_ROOM, write_records
from algorithms.gbdt.kernels.gradients import (
    MIN_H,
    SOFTMAX,
    differentiate,
    differentiate_classes,
)
from algorithms.gbdt.kernels.partition import begin_with
from algorithms.gbdt.kernels.sparse_columns import cell_of
from algorithms.runtime.intrinsics import add_atomic
from algorithms.runtime.jit import inner_kernel, linked_kernel
from algorithms.runtime.thread_team import GONE, barrier_wait, share_of


@linked_kernel
def next_tree(rounds, is_shared, last):
    """Return the number of the next tree that the calling thread grows, −1 if there is none.

    Training ends after a round that changes no score, because all further trees would be the same.

    Parameters
    ----------
    rounds : RoundArrays
    is_shared : whether all threads grow each tree together
    last : number of the thread's last tree, −1 at first; round · n_scores + score
    """
    n_scores = rounds.seeds.shape[1]
    if is_shared:
        number = last + 1
        at = number // n_scores
        is_new = number % n_scores == 0
        return np.int64(-1) if is_new and not may_begin(rounds, at) else number
    at = last // n_scores  # −1 at first
    while True:
        if at >= 0:
            k = add_atomic(rounds.taken, at, 1)
            if k < n_scores:
                return at * n_scores + k
        at += 1
        if not may_begin(rounds, at):
            return np.int64(-1)


@inner_kernel
def may_begin(rounds, at):
    """Begin a round, if there is one; return whether its trees can be grown."""
    return at < len(rounds.seeds) and begin_round(rounds, at)


@linked_kernel
def begin_round(rounds, at):
    """Write the gradients of all scores; return whether the round can begin.

    Every thread of the team calls this, after the trees of the last round.
    """
    team, n_rows = rounds.team, rounds.score.shape[1]
    if not barrier_wait(team) or (at > 0 and not rounds.continues[at - 1]):
        return False
    first, last = share_of(team, rounds.rank, np.int64(0), n_rows)
    score, y, weight, g, h = rounds.score, rounds.y, rounds.weight, rounds.g, rounds.h
    if rounds.kind == SOFTMAX:
        differentiate_classes(score, y[0], weight, rounds.work, g, h, first, last)
        if rounds.h_factor != 1.0:
            scale_hessians(h, rounds.h_factor, first, last)
    else:
        for k in range(len(score)):
            kind, constant = rounds.kind, rounds.constant
            differentiate(kind, constant, score[k], y[k], weight, g[k], h[k], first, last)
    return barrier_wait(team)


@inner_kernel
def scale_hessians(h, factor, first, last):
    """Multiply the hessians of the rows first … last − 1; they are at least MIN_H."""
    times, least = np.float32(factor), np.float32(MIN_H)
    for k in range(len(h)):
        for i in range(np.uint64(first), np.uint64(last)):
            h[k, i] = max(h[k, i] * times, least)


@inner_kernel
def all_one(h):
    """Return whether there are hessians and all are 1."""
    for i in range(np.uint64(len(h))):
        if h[i] != 1.0:
            return False
    return len(h) > 0


@linked_kernel
def begin_tree(team, rank, rounds, number, bins, growth, records, scale):
    """Write the packed gradients and the rows of a tree; return whether it can be grown.

    Parameters
    ----------
    team : ThreadTeam that grows the tree
    rank : rank of the calling thread in this team
    rounds : RoundArrays
    number : number of the tree, as in `next_tree`
    bins : Bins; those of high-cardinality columns are written
    growth : Growth, whose rows are written
    records : int64 (n_rows,), written
    scale : float64 (4,), of the thread, written: the fields of the tree's `Scale`
    """
    n_scores = rounds.score.shape[0]
    at, k = number // n_scores, number % n_scores
    order = rounds.no_rows, rounds.no_rows
    tables, steps, bounds = rounds.tables, rounds.steps[k], rounds.bounds
    stride, seed, g, h = rounds.stride, rounds.seeds[at, k], rounds.g[k], rounds.h[k]
    is_one = rounds.is_newton and all_one(h)
    if is_one:  # then Σh is the number of rows
        h = h[:0]
    if rank == 0:
        bounds[0] = bounds[1] = 1
        steps[1] = 1.0 if is_one else steps[1]
    given = order, tables, steps, bounds, records
    if not write_records(team, rank, g, h, seed, stride, *given):
        return False
    if np.isnan(steps[0]) or np.isnan(steps[1]):
        return False
    if len(rounds.categories.features) and not assign_category_bins(
        team, rank, rounds.categories, at, k, records, steps[1], bins
    ):
        return False
    room = min(MAX_G // bounds[0], MAX_H // bounds[1])
    scale[0], scale[1] = steps[0], steps[1]
    scale[2] = room if room >= MIN_ROOM else 0
    scale[3] = rounds.extra_seeds[at, k]
    first, last = share_of(team, rank, np.int64(0), growth.state[ROWS])
    begin_with(rounds.rows, growth.rows, first, last)
    return True


@linked_kernel
def end_tree(team, rank, rounds, number, bins, growth):
    """Store the grown tree, and add its values to its score.

    Parameters
    ----------
    team : ThreadTeam that has grown the tree; its threads divide the rows
    rank : rank of the calling thread in this team
    rounds : RoundArrays
    number : number of the tree, as in `next_tree`
    bins : Bins
    growth : Growth
    """
    n_scores = rounds.score.shape[0]
    at, k = number // n_scores, number % n_scores
    n_leaves, score = growth.state[LEAVES], rounds.score[k]
    if rank == 0:
        store_tree(rounds, at, k, growth)
    first, last = share_of(team, rank, np.int64(0), growth.state[ROWS])
    for j in range(n_leaves):
        leaf = growth.leaves[j]
        value = shrink(growth.nodes[leaf["node"]]["value"], rounds)
        start, end = max(leaf["start"], first), min(leaf["end"], last)
        for i in range(np.uint64(start), np.uint64(max(start, end))):
            score[np.uint64(growth.rows[i])] += value
    if rounds.float32_scores:
        for i in range(np.uint64(first), np.uint64(last)):
            row = np.uint64(growth.rows[i])
            score[row] = np.float32(score[row])
    first, last = share_of(team, rank, np.int64(0), np.int64(len(rounds.held_out)))
    add_to_held_out(rounds, at, k, bins, growth, first, last)


@inner_kernel
def store_tree(rounds, at, k, growth):
    """Copy the grown tree, and record whether training goes on after its round."""
    n_leaves, nodes = growth.state[LEAVES], rounds.nodes[at, k]
    is_changed = False
    for i in range(2 * n_leaves - 1):
        copy_node(growth.nodes[i], nodes[i], rounds)
        is_changed |= nodes[i]["value"] != 0.0
        if growth.nodes[i]["is_categorical"]:
            for b in range(MAX_BINS):
                rounds.goes_left[at, k, i, b] = growth.goes_left[i, b]
    if is_changed or rounds.is_newton:
        rounds.continues[at] = 1
    rounds.n_leaves[at, k] = n_leaves


@inner_kernel
def add_to_held_out(rounds, at, k, bins, growth, first, last):
    """Add a tree's values to the scores of held-out rows first … last − 1; store these scores."""
    score, nodes = rounds.score[k], growth.nodes
    stride = growth.cells.shape[1] // len(bins.layout.length)
    for i in range(np.uint64(first), np.uint64(last)):
        row, node = np.uint64(rounds.held_out[i]), np.int64(0)
        while nodes[node]["left"] >= 0:
            b = cell_of(bins, row, nodes[node]["feature"], stride)
            left = growth.goes_left[node, b]
            node = nodes[node]["left"] if left else nodes[node]["right"]
        score[row] += shrink(nodes[node]["value"], rounds)
        rounds.held_out_scores[at, k, i] = score[row]


@inner_kernel
def shrink(value, rounds):
    """Return a leaf value times the learning rate, float64.

    With ``is_newton`` both factors and the product are float32.
    """
    if rounds.is_newton:
        return np.float64(np.float32(value) * np.float32(rounds.learning_rate))
    return value * rounds.learning_rate


@inner_kernel
def leave_rounds(rounds):
    """Make the other threads of the team leave at the next barrier."""
    add_atomic(rounds.team.counters, GONE, 1)


@inner_kernel
def copy_node(node, to, rounds):
    """Copy a node field by field; multiply its value by the learning rate."""
    to["left"], to["right"] = node["left"], node["right"]
    to["feature"], to["bin"] = node["feature"], node["bin"]
    to["missing_left"], to["is_categorical"] = node["missing_left"], node["is_categorical"]
    to["gain"], to["value"] = node["gain"] * rounds.weight_unit, shrink(node["value"], rounds)
    to["h"], to["count"] = node["h"], node["count"]
