"""Splits that the user forces at the top of each tree, in breadth-first order.

A forced split is used if it has a gain. Otherwise it and all forced splits after it are left out,
as in LightGBM. Its sums are those of the rows of the leaf, so its feature need not be sampled.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import (
    FORCED_FIRST,
    FORCED_LAST,
    HALF,
    LEAVES,
    LOW,
    MAX_BINS,
    NEXT,
)
from algorithms.gbdt.kernels.column_scan import write_sides
from algorithms.gbdt.kernels.node_score import gain_of, weigh
from algorithms.gbdt.kernels.sparse_columns import clear_column, dense_column, spread_column
from algorithms.gbdt.kernels.split import copy_best, may_split
from algorithms.runtime.jit import inner_kernel


@inner_kernel
def force_next_split(bins, records, growth, scratch, rules, scale):
    """Select the leaf of the next forced split; return whether there is one that has a gain."""
    state = growth.state
    if state[FORCED_FIRST] == state[FORCED_LAST]:
        return False
    number, at = growth.queue[state[FORCED_FIRST], 0], growth.queue[state[FORCED_FIRST], 1]
    state[FORCED_FIRST] += 1
    leaf, best, left_bins = growth.leaves[at], scratch.best[0, 0], scratch.left_bins[0, 0]
    goes_left = growth.goes_left[leaf["node"]]
    f, last_bin = growth.forced[number, 0], growth.forced[number, 1]
    best["feature"], best["bin"], best["reg_lambda"] = f, last_bin, rules.reg_lambda
    best["is_categorical"], best["missing_left"] = (
        bins.is_categorical[f],
        1 - bins.is_categorical[f],
    )
    for b in range(MAX_BINS):
        left_bins[b] = b == last_bin
    write_sides(bins, best, left_bins, goes_left)
    if last_bin < 0 or not may_split(leaf, rules):
        state[FORCED_FIRST] = state[FORCED_LAST]
        return False
    sum_left_rows(bins, records, growth, leaf, goes_left, best)
    if not has_gain(leaf, bins.monotone[f], rules, scale, best):
        state[FORCED_FIRST] = state[FORCED_LAST]
        return False
    copy_best(growth.best[at], best)
    for b in range(MAX_BINS):
        growth.left_bins[at, b] = left_bins[b]
    state[NEXT] = at
    for side in range(2):
        below = growth.forced[number, 2 + side]
        if below >= 0:
            growth.queue[state[FORCED_LAST], 0] = below
            growth.queue[state[FORCED_LAST], 1] = state[LEAVES] if side else at
            state[FORCED_LAST] += 1
    return True


@inner_kernel
def sum_left_rows(bins, records, growth, leaf, goes_left, best):
    """Write the sums of the rows of a leaf that go left, in steps."""
    f = best["feature"]
    c = bins.layout.column[f]
    is_sparse = c >= bins.rows.shape[1]
    column, step = dense_column(bins, c, growth.column)
    if is_sparse:
        spread_column(bins.sparse, f, growth.column)
    g = h = 0
    for i in range(leaf["start"], leaf["end"]):
        row = growth.rows[i]
        if goes_left[column[np.uint64(row) * step]]:
            g += records[row] >> HALF
            h += records[row] & LOW
    best["g"], best["h"] = g, h
    if is_sparse:
        clear_column(bins.sparse, f, growth.column)


@inner_kernel
def has_gain(leaf, direction, rules, scale, best):
    """Write the gain of a split; return whether it is large enough.

    Parameters
    ----------
    direction : int, monotone constraint of the feature
    best : BEST, with the sums of the left side
    """
    right_g, right_h = leaf["g"] - best["g"], leaf["h"] - best["h"]
    if best["h"] < 1 or right_h < 1:
        return False
    lower, upper, gain = leaf["lower"], leaf["upper"], 0.0
    g, h = leaf["g"] * scale.g, leaf["h"] * scale.h
    gain -= gain_of(g, h, weigh(g, h, lower, upper, rules), rules)
    g, h = best["g"] * scale.g, best["h"] * scale.h
    left = weigh(g, h, lower, upper, rules)
    gain += gain_of(g, h, left, rules)
    g, h = right_g * scale.g, right_h * scale.h
    right = weigh(g, h, lower, upper, rules)
    gain += gain_of(g, h, right, rules)
    best["gain"] = gain
    return gain > rules.min_split_gain and direction * (right - left) >= 0.0
