"""Nodes of a level of a classification tree: creation, choice of splits, order of columns."""

import numpy as np

from algorithms.levelwise.kernels.class_arrays import EPSILON
from algorithms.levelwise.kernels.class_search import tie_of, weight_of
from algorithms.levelwise.kernels.level_arrays import value_at
from algorithms.runtime.array_moves import swap
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.feature_sampling import draw_below
from algorithms.trees.kernels.tree_arrays import ROW

NO_FEATURE = -2
LEAF = -1


@kernel
def draw_columns(table, state, columns):
    """Write the columns in the order in which scikit-learn's tree visits them at its root.

    Constant columns come first; the others are visited from the end. Of equal splits the first
    visited one is taken.

    Parameters
    ----------
    table : CodedTable
    state : int64 (STATES,), the seed in `RANDOM`
    columns : int64 (n_columns,), 0, 1, … on entry, written
    """
    n_constant = 0
    stop = len(columns)
    while stop > n_constant:
        at = n_constant + draw_below(state, 0, stop - n_constant)
        f = columns[at]
        low = value_at(table, f, table.order[f, 0] & ROW)
        high = value_at(table, f, table.order[f, table.order.shape[1] - 1] & ROW)
        if high <= low + table.close:
            swap(columns, at, n_constant)
            n_constant += 1
        else:
            stop -= 1
            swap(columns, at, stop)


@kernel
def make_nodes(totals, limits, base, may_split, nodes, values, is_open):
    """Write the nodes of a level as leaves, and whether each may be split.

    Parameters
    ----------
    totals : float64 (n_slots, K + 1), as in `ClassLevel`
    base : number of the first node
    may_split : whether a further level is allowed
    nodes : NODE; values : float64 (capacity, K); is_open : uint8 (n_slots,); all written
    """
    n_classes = totals.shape[1] - 1
    for slot in range(len(totals)):
        n = weight_of(totals[slot])
        squares = 0.0
        for k in range(n_classes):
            squares += totals[slot, k] * totals[slot, k]
            values[base + slot, k] = totals[slot, k] / n
        node = nodes[base + slot]
        node["left"] = LEAF
        node["right"] = LEAF
        node["feature"] = NO_FEATURE
        node["threshold"] = NO_FEATURE
        node["missing_left"] = 0
        node["impurity"] = 1.0 - squares / (n * n)  # H = 1 − Σ (n_k / n)²
        node["n"] = np.int64(totals[slot, n_classes])
        node["weight"] = n
        is_open[slot] = (
            may_split
            and node["n"] >= limits.min_samples_split
            and n >= 2.0 * limits.min_weight_leaf
            and node["impurity"] > EPSILON
        )


@kernel
def choose_splits(table, code, limits, rows, level, columns, total_weight, base, nodes, plan):
    """Write the split of each node of a level; return the number of splits.

    Parameters
    ----------
    table : CodedTable; code : uint8 (n_columns, n_rows), bins
    limits : ClassLimits; rows : ClassRows; level : ClassLevel
    columns : int64 (n_columns,), from `draw_columns`
    total_weight : of the tree
    base : number of the first node of the level
    nodes : NODE, written
    plan : STEP (n_slots,), written
    """
    n_classes = level.totals.shape[1] - 1
    sides = 0
    for slot in range(len(plan)):
        plan[slot]["feature"] = LEAF
        f = best_column(level, columns, slot)
        if f < 0:
            continue
        node = nodes[base + slot]
        n = node["weight"]
        gain = level.score[f, slot] - n * (1.0 - node["impurity"])  # n H − n_L H_L − n_R H_R
        if max(gain, 0.0) / total_weight + EPSILON < limits.min_impurity_decrease:
            continue
        step = plan[slot]
        first_lane = np.uint16(slot * n_classes)
        step["feature"] = f
        step["first_side"] = sides
        below, above = rows_around(table, rows, n_classes, f, first_lane, level.entry[f, slot])
        step["bin"] = code[f, below]
        low, high = np.float64(value_at(table, f, below)), np.float64(value_at(table, f, above))
        step["threshold"] = low / 2.0 + high / 2.0
        node["feature"] = f
        node["threshold"] = step["threshold"]
        node["left"] = base + len(plan) + sides
        node["right"] = base + len(plan) + sides + 1
        sides += 2
    return sides // 2


@inner_kernel
def best_column(level, columns, slot):
    """Return the first visited column with the best score, or -1."""
    best = -np.inf
    if level.open[slot]:
        for f in range(len(columns)):
            best = max(best, level.score[f, slot])
    least = best - tie_of(level.totals[slot])
    for at in range(len(columns) - 1, -1, -1):  # visited from the end
        if best > -np.inf and level.score[columns[at], slot] >= least:
            return columns[at]
    return -1


@inner_kernel
def rows_around(table, rows, n_classes, f, first_lane, entry):
    """Return the slot's last row before an entry of a list, and its first row from there on."""
    last = entry - 1
    while np.uint16(rows.lane[table.order[f, last] & ROW] - first_lane) >= n_classes:
        last -= 1
    after = entry
    while np.uint16(rows.lane[table.order[f, after] & ROW] - first_lane) >= n_classes:
        after += 1
    return table.order[f, last] & ROW, table.order[f, after] & ROW


@kernel
def finish_nodes(nodes, number, count, finished):
    """Write nodes in depth-first order, with the side of missing values.

    Parameters
    ----------
    nodes : NODE, numbered level by level
    number : int64, their depth-first numbers
    count : number of nodes
    finished : NODE (count,), written
    """
    for at in range(count):
        node = finished[number[at]]
        node["left"] = nodes[at]["left"]
        node["right"] = nodes[at]["right"]
        node["feature"] = nodes[at]["feature"]
        node["threshold"] = nodes[at]["threshold"]
        node["impurity"] = nodes[at]["impurity"]
        node["n"] = nodes[at]["n"]
        node["weight"] = nodes[at]["weight"]
        node["missing_left"] = 0
        if nodes[at]["left"] >= 0:
            left, right = nodes[at]["left"], nodes[at]["right"]
            node["missing_left"] = nodes[left]["n"] > nodes[right]["n"]
            node["left"] = number[left]
            node["right"] = number[right]
