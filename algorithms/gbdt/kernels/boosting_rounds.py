"""Begin and end a boosting round inside the kernel that grows its tree.

On tables of a few hundred rows a tree takes less time than the Python code between two trees. So
one call of the growing kernel adds many rounds. They are those of `gbdt.boosting.Booster`: one
score per row, all rows and columns, and leaf values that are not renewed.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import LEAVES, MAX_BINS, MOST_G, MOST_H
from algorithms.gbdt.kernels.gradient_packing import LEAST_ROOM, write_records
from algorithms.gbdt.kernels.gradients import differentiate
from algorithms.gbdt.kernels.partition import begin_with
from algorithms.runtime.jit import inner_kernel, linked_kernel


@linked_kernel
def begin_round(team, rounds, at, growth, records, steps):
    """Write the packed gradients and the rows of the next tree; return whether it can be grown.

    Parameters
    ----------
    team : ThreadTeam of one thread
    rounds : Rounds
    at : number of the round
    growth : Growth, whose rows are written
    records : int64 (n_rows,), written
    steps : float64 (3,), written: the `Scale` of the tree
    """
    zero, n_rows = np.int64(0), len(rounds.score)  # a literal 0 would be another type
    y, weight, g, h = rounds.y, rounds.weight, rounds.g, rounds.h
    differentiate(rounds.kind, rounds.constant, rounds.score, y, weight, g, h, zero, n_rows)
    order = rounds.no_rows, rounds.no_rows
    tables, sizes, bounds = rounds.tables, rounds.steps, rounds.bounds
    stride, seed = rounds.stride, rounds.seeds[at]
    write_records(team, zero, g, h, seed, stride, order, tables, sizes, bounds, records)
    if np.isnan(sizes[0]) or np.isnan(sizes[1]):
        return False
    room = min(MOST_G // bounds[0], MOST_H // bounds[1])
    steps[0], steps[1] = sizes[0], sizes[1]
    steps[2] = room if room >= LEAST_ROOM else 0
    begin_with(rounds.no_rows, growth.rows, zero, n_rows)
    return True


@linked_kernel
def end_round(rounds, at, growth):
    """Store the grown tree, add its values to the scores; return whether training goes on.

    It ends with a tree whose values are all 0, because all further trees would be the same.

    Parameters
    ----------
    rounds : Rounds
    at : number of the round
    growth : Growth
    """
    n_leaves = growth.state[LEAVES]
    rounds.n_leaves[at] = n_leaves
    goes_on = False
    for i in range(2 * n_leaves - 1):
        copy_node(growth.nodes[i], rounds.nodes[at, i], rounds.rate, rounds.weight_unit)
        goes_on |= rounds.nodes[at, i]["value"] != 0.0
        if growth.nodes[i]["is_set"]:
            for b in range(MAX_BINS):
                rounds.goes_left[at, i, b] = growth.goes_left[i, b]
    for k in range(n_leaves):
        leaf = growth.leaves[k]
        value = rounds.nodes[at, leaf["node"]]["value"]
        for i in range(np.uint64(leaf["start"]), np.uint64(leaf["end"])):
            rounds.score[np.uint64(growth.rows[i])] += value
    rounds.done[0] = at + 1
    return goes_on


@inner_kernel
def copy_node(node, to, rate, weight_unit):
    """Copy a node field by field; multiply its value by the learning rate."""
    to["left"], to["right"] = node["left"], node["right"]
    to["feature"], to["bin"] = node["feature"], node["bin"]
    to["missing_left"], to["is_set"] = node["missing_left"], node["is_set"]
    to["gain"], to["value"] = node["gain"] * weight_unit, node["value"] * rate
    to["h"], to["count"] = node["h"], node["count"]
