"""Nodes of a level: creation and choice of splits."""

import numpy as np

from algorithms.levelwise.kernels.level_arrays import (
    BASE,
    MISSING,
    ROWS,
    SLOTS,
    SQUARES,
    SUM,
    WEIGHT,
    value_at,
)
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.tree_arrays import ROW

EPSILON = 2.0**-52
NO_FEATURE = -2
LEAF = -1
STEP = np.dtype(
    [
        ("threshold", np.float64),
        ("feature", np.int32),  # -1: a leaf
        ("first_side", np.int32),  # index of the left side among all sides of the level
        ("missing_left", np.int32),
        ("first_asked", np.int32),  # first of the bins whose rows are split by value; rows of
        ("n_asked", np.int32),  # lower bins go left, those of higher ones right
        ("small", np.int32),  # 1 if the right side has fewer rows
    ]
)


@inner_kernel
def make_nodes(limits, level, may_split):
    """Write the nodes of a level as leaves, and whether each may be split; return if any may.

    Parameters
    ----------
    level : ``grown``, ``grown_values`` and ``open`` are written
    may_split : whether a further level is allowed
    """
    totals, base, nodes = level.totals, level.state[BASE], level.grown
    is_any_open = False
    for slot in range(level.state[SLOTS]):
        n, w, s = totals[slot, ROWS], totals[slot, WEIGHT], totals[slot, SUM]
        mean = s / w
        impurity = totals[slot, SQUARES] / w - mean * mean  # q / n − (s / n)²
        node = nodes[base + slot]
        node["left"] = LEAF
        node["right"] = LEAF
        node["feature"] = NO_FEATURE
        node["threshold"] = NO_FEATURE
        node["missing_left"] = 0
        node["impurity"] = impurity
        node["n"] = np.int64(n)
        node["weight"] = w
        level.grown_values[base + slot] = s / (w + limits.l2)
        is_open = (
            may_split
            and n >= limits.min_samples_split
            and n >= 2 * limits.min_samples_leaf
            and w >= 2.0 * limits.min_weight_leaf
            and impurity > EPSILON
        )
        level.open[slot] = is_open
        is_any_open |= is_open
    return is_any_open


@inner_kernel
def choose_splits(table, codes, limits, level):
    """Write the split of each node of a level, the first of equal columns; return their number.

    Parameters
    ----------
    level : ``grown`` and ``plan`` are written
    """
    n_slots, base, nodes, plan = level.state[SLOTS], level.state[BASE], level.grown, level.plan
    sides = np.int64(0)
    for slot in range(n_slots):
        plan[slot]["feature"] = LEAF
        f = best_column(level, slot)
        if f < 0 or improves_too_little(limits, level.totals[slot], level.score[f, slot]):
            continue
        node = nodes[base + slot]
        step = plan[slot]
        step["feature"] = f
        step["first_side"] = sides
        place_threshold(table, codes, level, f, slot, step)
        step["missing_left"] = missing_left(level, f, slot)
        step["small"] = 2.0 * level.n_left[f, slot] > level.totals[slot, ROWS]
        node["feature"] = f
        node["threshold"] = step["threshold"]
        node["missing_left"] = step["missing_left"]
        node["left"] = base + n_slots + sides
        node["right"] = base + n_slots + sides + 1
        sides += 2
    return sides // 2


@inner_kernel
def missing_left(level, f, slot):
    """Return whether missing values go left; without any, they go to the side with more rows."""
    if level.has_missing[f, slot]:
        return level.to_left[f, slot] != 0
    return 2.0 * level.n_left[f, slot] > level.totals[slot, ROWS]


@inner_kernel
def best_column(level, slot):
    """Return the first column with the best score, or -1 if there is no split."""
    best = -1
    if level.open[slot]:
        for f in range(len(level.score)):
            score = level.score[f, slot]
            if score > -np.inf and (best < 0 or score > level.score[best, slot]):
                best = f
    return best


@inner_kernel
def improves_too_little(limits, totals, score):
    """Return whether a split improves less than required; without λ no split makes it worse."""
    s, w = totals[SUM], totals[WEIGHT]
    gain = score - s * s / (w + limits.l2)
    if limits.l2 == 0.0:
        gain = max(gain, 0.0)
    return gain / limits.total_weight + EPSILON < limits.min_impurity_decrease


@inner_kernel
def place_threshold(table, codes, level, f, slot, step):
    """Write the midpoint of the slot's values around a split, or infinity before missing values.

    Rows that do not belong to the tree may lie between the two values. So the bins of both values,
    and all bins between, are split by value, unless all values of a bin are equal.
    """
    last = level.entry[f, slot] - 1
    while level.slot[table.order[f, last] & ROW] != slot:
        last -= 1
    stop = table.order.shape[1] - table.missing[f]
    after = last + 1
    while after < stop and level.slot[table.order[f, after] & ROW] != slot:
        after += 1
    if after == stop:
        step["threshold"] = np.inf
        step["first_asked"] = MISSING
        step["n_asked"] = 0
        return
    below, above = table.order[f, last] & ROW, table.order[f, after] & ROW
    low, high = np.float64(value_at(table, f, below)), np.float64(value_at(table, f, above))
    step["threshold"] = low / 2.0 + high / 2.0
    first, final = np.int64(codes.code[f, below]), np.int64(codes.code[f, above])
    first += np.int64(codes.plain[f, first])
    final -= np.int64(codes.plain[f, final])
    step["first_asked"] = first
    step["n_asked"] = max(final + 1 - first, 0)


@kernel
def number_nodes(nodes, stack, number):
    """Write the number of each node in depth-first order, left sides first.

    Parameters
    ----------
    nodes : (n,) NODE, numbered level by level
    stack : (n,) int64, scratch
    number : (n,) int64, written
    """
    waiting = 1
    stack[0] = 0
    count = 0
    while waiting > 0:
        waiting -= 1
        at = stack[waiting]
        number[at] = count
        count += 1
        if nodes[at]["left"] >= 0:
            stack[waiting] = nodes[at]["right"]
            stack[waiting + 1] = nodes[at]["left"]
            waiting += 2
