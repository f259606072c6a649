"""Histograms of a node, and the split search over their bins, in XGBoost's order.

Bins are scanned upwards with missing values on the right. If the sums over a feature's bins are not
bitwise those of the node, bins are also scanned downwards, with missing values on the left. Mere
rounding errors can cause this.
"""

from algorithms.parity.kernels.xgboost_gain import gain_of_sides, update_best_split
from algorithms.runtime.jit import inner_kernel, kernel


@kernel
def add_rows(bins, rows, g, h, histogram):
    """Add the gradients and hessians of a node's rows to its histogram, in row order.

    Parameters
    ----------
    bins : (n_rows, n_features) int32
        Bin of each value, numbered over all features; −1 if missing.
    rows : (n,) int64
    g, h : (n_rows,) float32
    histogram : (n_bins, 2) float64, added to
    """
    for i in range(len(rows)):
        row = rows[i]
        for feature in range(bins.shape[1]):
            at = bins[row, feature]
            if at >= 0:
                histogram[at, 0] += g[row]
                histogram[at, 1] += h[row]


@kernel
def scan_bins(histogram, cuts, rules, nodes, splits):
    """Write the best split of one node.

    Parameters
    ----------
    histogram : (n_bins, 2) float64
    cuts : xgboost_arrays.Cuts
    rules : xgboost_arrays.Rules
    nodes : (1,) STATS
    splits : (1,) SPLIT, zeros; written to
    """
    node, split = nodes[0], splits[0]
    for feature in range(len(cuts.least)):
        whole = True
        for step in (1, -1):
            if step > 0 or not whole:
                g, h = scan(histogram, cuts, rules, feature, step, node, split)
                whole = g == node["g"] and h == node["h"]


@inner_kernel
def scan(histogram, cuts, rules, feature, step, node, split):
    """Scan one feature's bins upwards or downwards; return their sums."""
    start, end = cuts.start[feature], cuts.start[feature + 1]
    g, h = 0.0, 0.0
    for k in range(end - start):
        at = start + k if step > 0 else end - 1 - k
        g += histogram[at, 0]
        h += histogram[at, 1]
        other_g, other_h = node["g"] - g, node["h"] - h
        if not (h >= rules.min_child_weight and other_h >= rules.min_child_weight):
            continue
        if step > 0:
            threshold = cuts.values[at]
            try_split(rules, node, split, feature, threshold, False, g, h, other_g, other_h)
        else:
            threshold = cuts.least[feature] if at == start else cuts.values[at - 1]
            try_split(rules, node, split, feature, threshold, True, other_g, other_h, g, h)
    return g, h


@inner_kernel
def try_split(
    rules, node, split, feature, threshold, missing_left, left_g, left_h, right_g, right_h
):
    """Score a split; if it is the best one so far, store it with the sums of its children."""
    gain = gain_of_sides(rules, node, feature, left_g, left_h, right_g, right_h) - node["gain"]
    if update_best_split(split, gain, feature, threshold, missing_left):
        split["left_g"] = left_g
        split["left_h"] = left_h
        split["right_g"] = right_g
        split["right_h"] = right_h
