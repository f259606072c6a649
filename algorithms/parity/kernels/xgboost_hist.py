"""Histograms of a node and the search over their bins, in XGBoost's order.

Bins are walked upwards with missing values on the right. Where the sums of a feature are not
those of the node, to the bit, they are walked downwards too, with missing values on the left;
rounding alone can cause that.
"""

from algorithms.parity.kernels.xgboost_gain import gain_of_sides, offer
from algorithms.runtime.jit import inner_kernel, kernel


@kernel
def add_rows(bins, rows, g, h, histogram):
    """Add the derivatives of a node's rows, in their order.

    Parameters
    ----------
    bins : (n_rows, n_features) int32
        Number of each value's bin among the bins of all features; −1 where missing.
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
    cuts : xgboost_layout.Cuts
    rules : xgboost_layout.Rules
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
    """Walk one feature's bins upwards or downwards; return its sums."""
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
    """Offer a split, and write the sums of its sides where it is taken."""
    gain = gain_of_sides(rules, node, feature, left_g, left_h, right_g, right_h) - node["gain"]
    if offer(split, gain, feature, threshold, missing_left):
        split["left_g"] = left_g
        split["left_h"] = left_h
        split["right_g"] = right_g
        split["right_h"] = right_h
