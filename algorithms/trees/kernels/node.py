"""Creation of a node: its value, and the best of the splits found for it."""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.best_first_heap import push_split
from algorithms.trees.kernels.criteria import LN2, improvement, impurity
from algorithms.trees.kernels.rank import value_of
from algorithms.trees.kernels.search import add_entries, first_missing
from algorithms.trees.kernels.tree_arrays import (
    COUNT,
    DEPTH,
    OPEN,
    PHASE,
    ROW,
    SLOT,
    SPLITTING,
    VISITS,
    WAITING,
)

EPSILON = 2.0**-52
ROUNDING = 1e-12  # relative tolerance of the mean gain
NO_FEATURE = -2
LEAF = -1
LEFT, RIGHT = 1, 2  # rows of `Scratch.sums`


@inner_kernel
def stays_leaf(rules, depth, n, weight, h):
    """Return whether a node is a leaf by its depth, its rows or its impurity."""
    return (
        depth >= rules.max_depth
        or n < rules.min_samples_split
        or n < 2 * rules.min_samples_leaf
        or weight < 2.0 * rules.min_weight_leaf
        or h <= EPSILON
    )


@inner_kernel
def write_node(growth, task, number, weight):
    """Write a node as a leaf, and its number to its parent; ``weight`` is that of its rows."""
    state = growth.state
    state[COUNT] = number + 1
    state[DEPTH] = max(state[DEPTH], task["depth"])
    node = growth.nodes[number]
    node["left"] = LEAF
    node["right"] = LEAF
    node["feature"] = NO_FEATURE
    node["threshold"] = NO_FEATURE
    node["missing_left"] = 0
    node["impurity"] = task["impurity"]
    node["n"] = task["end"] - task["start"]
    node["weight"] = weight
    if task["parent"] >= 0:
        parent = growth.nodes[task["parent"]]
        if task["is_left"]:
            parent["left"] = number
        else:
            parent["right"] = number


@inner_kernel
def make_node(table, rows, rules, growth, scratch):
    """Write the next node with its best split; split it now, or put it in the frontier."""
    state = growth.state
    state[WAITING] -= 1
    task = growth.todo[state[WAITING]]
    number = state[COUNT]
    write_node(growth, task, number, growth.totals[0])
    write_value(rules, growth, number, task["lower"], task["upper"])
    slot = number if rules.max_leaf_nodes else 0
    split = growth.splits[slot]
    split["node"] = number
    split["start"] = task["start"]
    split["end"] = task["end"]
    split["depth"] = task["depth"]
    split["n_constants"] = task["n_constants"]
    split["lower"] = task["lower"]
    split["upper"] = task["upper"]
    split["is_leaf"] = 1
    split["improvement"] = 0.0
    if rules.by_ratio:
        best = best_ratio(table, rows, rules, growth, scratch, task["start"], task["end"])
    else:
        best = best_visit(growth)
    if best >= 0:
        complete_split(table, rows, rules, growth, scratch, split, best, task["impurity"])
    state[SLOT] = slot
    state[PHASE] = OPEN if rules.max_leaf_nodes or split["is_leaf"] else SPLITTING
    if rules.max_leaf_nodes:
        push_split(growth, slot)


@inner_kernel
def write_value(rules, growth, number, lower, upper):
    """Write a node's mean, or its class shares, clipped to the monotonic bounds."""
    value = growth.values[number]
    n = growth.totals[0]
    for k in range(len(value)):
        value[k] = growth.totals[1 + k] / n
    if len(rules.monotonic):
        value[0] = min(max(value[0], lower), upper)
        if len(value) > 1:
            value[1] = 1.0 - value[0]


@inner_kernel
def best_visit(growth):
    """Return the index of the searched feature with the best proxy, the first if equal; or -1."""
    best = -1
    for v in range(growth.state[VISITS]):
        if growth.position[v] > 0 and (best < 0 or growth.proxy[v] > growth.proxy[best]):
            best = v
    return best


@inner_kernel
def best_ratio(table, rows, rules, growth, scratch, start, end):
    """Return the feature with the best gain ratio among those with at least the mean gain; or -1.

    A feature's gain is that of its best threshold, H + proxy / n.
    """
    n = growth.totals[0]
    h = impurity(rules.criterion, growth.totals)
    total = 0.0
    count = 0
    for v in range(growth.state[VISITS]):
        if growth.position[v] > 0:
            total += h + growth.proxy[v] / n
            count += 1
    best = -1
    top_ratio = -np.inf
    for v in range(growth.state[VISITS]):
        gain = h + growth.proxy[v] / n
        if growth.position[v] > 0 and gain >= total / count - ROUNDING:
            ratio = gain / split_information(table, rows, rules, growth, scratch, v, start, end)
            if ratio > top_ratio:
                best = v
                top_ratio = ratio
    return best


@inner_kernel
def split_information(table, rows, rules, growth, scratch, v, start, end):
    """Return −(n_L / n) log₂ (n_L / n) − (n_R / n) log₂ (n_R / n) of a feature's best split."""
    sum_sides(table, rows, rules, growth, scratch, v, start, end, False)
    left = scratch.sums[LEFT]
    share = left[0] / growth.totals[0]
    return -(share * math.log(share) + (1.0 - share) * math.log(1.0 - share)) / LN2


@inner_kernel
def sum_sides(table, rows, rules, growth, scratch, v, start, end, both):
    """Write the totals of the left side of a feature's best split, or of both sides.

    Returns
    -------
    int : the first missing entry
    """
    feature = growth.visit[v]
    f = v if len(table.ranks) else feature
    entry = growth.position[v]
    stop = first_missing(table, rows, f, rows.columns[feature], start, end)
    scratch.sums[LEFT:] = 0.0
    for part in range(3):  # entries before the split, after it, and missing
        first = entry if part == 1 else (stop if part == 2 else start)
        last = entry if part == 0 else (stop if part == 1 else end)
        is_left = part == 0 or (part == 2 and growth.to_left[v] != 0)
        if is_left or both:
            add_entries(rules, rows, f, first, last, scratch.sums[LEFT if is_left else RIGHT])
    return stop


@inner_kernel
def complete_split(table, rows, rules, growth, scratch, split, best, h):
    """Write a split's sides, and unmark the node as a leaf if the split improves enough.

    Parameters
    ----------
    best : index of the searched feature
    h : impurity of the node
    """
    start, end = split["start"], split["end"]
    feature = growth.visit[best]
    f = best if len(table.ranks) else feature
    column = rows.columns[feature]
    entry = growth.position[best]
    missing_left = growth.to_left[best]
    stop = sum_sides(table, rows, rules, growth, scratch, best, start, end, True)
    n_left = entry - start + (end - stop if missing_left else 0)
    split["feature"] = feature
    split["list"] = f
    split["entry"] = entry
    split["n_left"] = n_left
    split["threshold"] = threshold_before(table, rows, f, column, entry, stop)
    split["missing_left"] = missing_left if stop < end else n_left > end - start - n_left
    write_sides(rules, growth, scratch, split, h)


@inner_kernel
def write_sides(rules, growth, scratch, split, h):
    """Write what follows from the totals of a split's sides, and whether it improves too little."""
    whole = growth.totals
    left, right = scratch.sums[LEFT], scratch.sums[RIGHT]
    split["weight_left"] = left[0]
    split["weight_right"] = right[0]
    split["impurity_left"] = impurity(rules.criterion, left)
    split["impurity_right"] = impurity(rules.criterion, right)
    split["middle"] = left[1] / (2.0 * left[0]) + right[1] / (2.0 * right[0])
    split["improvement"] = improvement(
        rules.total_weight,
        whole[0],
        h,
        left[0],
        split["impurity_left"],
        right[0],
        split["impurity_right"],
    )
    split["is_leaf"] = split["improvement"] + EPSILON < rules.min_impurity_decrease


@inner_kernel
def write_split(growth, split):
    """Write the feature and the threshold of a split into its node."""
    node = growth.nodes[split["node"]]
    node["feature"] = split["feature"]
    node["threshold"] = split["threshold"]
    node["missing_left"] = split["missing_left"]


@inner_kernel
def threshold_before(table, rows, f, column, entry, stop):
    """Return the midpoint of the values around a split, or infinity before missing values."""
    if entry == stop:
        return np.inf
    below = value_of(table, rows, column, rows.lists[f, entry - 1] & ROW)
    above = value_of(table, rows, column, rows.lists[f, entry] & ROW)
    return np.float64(below) / 2.0 + np.float64(above) / 2.0


@inner_kernel
def push_task(rules, growth, split, start, end, is_left, h):
    """Push one side of a split on the stack."""
    state = growth.state
    task = growth.todo[state[WAITING]]
    state[WAITING] += 1
    task["start"] = start
    task["end"] = end
    task["depth"] = split["depth"] + 1
    task["parent"] = split["node"]
    task["is_left"] = is_left
    task["n_constants"] = split["n_constants"]
    task["impurity"] = h
    task["lower"] = split["lower"]
    task["upper"] = split["upper"]
    sign = rules.monotonic[split["feature"]] if len(rules.monotonic) else np.int8(0)
    if sign != 0 and (sign > 0) == is_left:
        task["upper"] = split["middle"]
    elif sign != 0:
        task["lower"] = split["middle"]
