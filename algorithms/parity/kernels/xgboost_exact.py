"""Split search over every distinct value, for all nodes of a level, in XGBoost's order.

A feature's present values are scanned upwards with missing values on the right, if there are any,
and then downwards with missing values on the left. For each node, the sums of its scanned rows are
updated, and the threshold between two distinct values of the node is scored. So sums are rounded as
in XGBoost, and of equal gains the first split is kept.
"""

import numpy as np

from algorithms.parity.kernels.xgboost_arrays import RT_EPS
from algorithms.parity.kernels.xgboost_gain import gain_of_sides, update_best_split
from algorithms.runtime.jit import inner_kernel, kernel

HALF = np.float32(0.5)


@kernel
def scan_columns(columns, slots, g, h, rules, nodes, sums, last, splits):
    """Write the best split of each open node.

    Parameters
    ----------
    columns : xgboost_arrays.Columns
    slots : (n_rows,) int32
        Index of each row's open node; −1 if the row is in a final leaf.
    g, h : (n_rows,) float32
    rules : xgboost_arrays.Rules
    nodes : (n_open,) STATS
    sums : (n_open, 2) float64, scratch space
    last : (n_open,) float32, zeros
        Value scanned last. It is not reset between features, as in XGBoost.
    splits : (n_open,) SPLIT, zeros; written to
    """
    for feature in range(len(columns.forward)):
        for step in (1, -1):
            if step < 0 or columns.forward[feature]:
                scan(columns, feature, step, slots, g, h, rules, nodes, sums, last, splits)


@inner_kernel
def scan(columns, feature, step, slots, g, h, rules, nodes, sums, last, splits):
    """Scan one feature upwards or downwards."""
    for slot in range(len(nodes)):
        sums[slot, 0] = 0.0
        sums[slot, 1] = 0.0
    start, end = columns.start[feature], columns.start[feature + 1]
    for k in range(end - start):
        entry = start + k if step > 0 else end - 1 - k
        row = columns.rows[entry]
        slot = slots[row]
        if slot < 0:
            continue
        x = columns.values[entry]
        if sums[slot, 1] != 0.0 and x != last[slot]:
            middle = (x + last[slot]) * HALF
            threshold = last[slot] if middle == x else middle
            try_split(rules, nodes[slot], sums[slot], feature, step, threshold, splits[slot])
        sums[slot, 0] += g[row]
        sums[slot, 1] += h[row]
        last[slot] = x
    for slot in range(len(nodes)):
        gap = abs(last[slot]) + RT_EPS
        threshold = last[slot] + gap if step > 0 else last[slot] - gap
        try_split(rules, nodes[slot], sums[slot], feature, step, threshold, splits[slot])


@inner_kernel
def try_split(rules, node, scanned, feature, step, threshold, split):
    """Score the split between the scanned rows of a node and its other rows."""
    g, h = scanned[0], scanned[1]
    other_g, other_h = node["g"] - g, node["h"] - h
    if h < rules.min_child_weight or other_h < rules.min_child_weight:
        return
    if step > 0:
        gain = gain_of_sides(rules, node, feature, g, h, other_g, other_h)
    else:
        gain = gain_of_sides(rules, node, feature, other_g, other_h, g, h)
    update_best_split(split, gain - node["gain"], feature, threshold, step < 0)
