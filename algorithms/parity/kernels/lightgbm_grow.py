"""Leaf-wise growth of a tree by LightGBM's rules, with LightGBM's order of summation.

Rows of a leaf keep the order of the table, and sums are double precision. The rows of the smaller
of two siblings (the right one if equal) are summed; the larger sibling's histogram is that of the
parent minus that of the smaller one. A feature that has no split in a leaf is not searched in the
leaves below it.

Forced splits come first, in breadth-first order, until one has no gain.
"""

import numpy as np

from algorithms.parity.kernels.leafwise import partition_rows
from algorithms.parity.kernels.lightgbm_arrays import EPSILON, FIRST, LAST, NUMBER
from algorithms.parity.kernels.lightgbm_categorical_split import find_categorical_split
from algorithms.parity.kernels.lightgbm_gain import (
    bounded_value,
    gain_at,
    gain_of,
    rows_in,
    value_of,
    write_children,
)
from algorithms.parity.kernels.lightgbm_split import find_numeric_split
from algorithms.runtime.array_moves import copy
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.jit import inner_kernel, kernel


@inner_kernel
def start_root(g, h, rules, work):
    """Write the first leaf and its node, with sums in the order of rows."""
    leaf, node = work.leaves[0], work.nodes[0]
    total_g, total_h = 0.0, 0.0
    for i in range(len(g)):
        total_g += g[i]
        total_h += h[i]
        work.rows[i] = i
    leaf["start"], leaf["end"], leaf["depth"], leaf["node"] = 0, len(g), 0, 0
    leaf["g"], leaf["h"] = total_g, total_h
    leaf["value"] = bounded_value(total_g, total_h, rules.reg_lambda, rules)
    node["left"], node["value"], node["count"] = -1, leaf["value"], len(g)
    work.usable[0] = 1
    work.forced_state[FIRST], work.forced_state[LAST] = 0, min(len(work.forced), 1)
    work.queue[:1] = 0


@inner_kernel
def sum_rows(table, f, g, h, rows, histogram):
    """Write Σg and Σh of a feature's bins over some rows."""
    histogram[:] = 0.0
    column = table.columns[f]
    for i in range(len(rows)):
        row = np.uint64(rows[i])
        b = np.uint64(column[row])
        histogram[b, 0] += g[row]
        histogram[b, 1] += h[row]


@inner_kernel
def fix_histogram(histogram, most_freq_bin, leaf):
    """Write the entry of ``most_freq_bin``: the leaf's total minus all others, in their order."""
    if most_freq_bin == 0:
        return
    left_g, left_h = leaf["g"], leaf["h"]
    for b in range(len(histogram)):
        if b != most_freq_bin:
            left_g -= histogram[b, 0]
            left_h -= histogram[b, 1]
    histogram[most_freq_bin, 0], histogram[most_freq_bin, 1] = left_g, left_h


@inner_kernel
def find_feature_split(table, f, k, rules, work):
    """Find a leaf's best split by one feature; store it if it is the best one so far."""
    spare = len(work.splits) - 1
    split, best, leaf = work.splits[spare], work.splits[k], work.leaves[k]
    histogram = work.histogram[k, table.first[f] : table.first[f + 1]]
    g, h, parent = leaf["g"], leaf["h"] + 2.0 * EPSILON, leaf["value"]
    n, reg_lambda = leaf["end"] - leaf["start"], rules.reg_lambda
    shift = rules.min_split_gain + (
        gain_at(g, h, parent, reg_lambda, rules)
        if table.is_categorical[f] and rules.path_smooth > EPSILON
        else gain_of(g, h, n, parent, reg_lambda, rules)
    )
    if table.is_categorical[f]:
        members = work.members[spare, : len(histogram)]
        gain, left_g, left_h, left_n, usable = find_categorical_split(
            histogram, g, h, n, shift, parent, rules, members, work.scores, work.order
        )
        reg_lambda += rules.cat_l2 if len(histogram) > rules.max_cat_to_onehot else 0.0
        split["missing_left"] = 0
    else:
        most_freq_bin, has_missing = table.most_freq_bin[f], table.has_missing[f]
        gain, left_g, left_h, left_n, usable = find_numeric_split(
            histogram, most_freq_bin, has_missing, g, h, n, shift, parent, rules, split
        )
    work.usable[k, f] = usable
    gain *= table.weight[f]
    if gain > best["gain"]:
        split["gain"], split["feature"], split["is_categorical"] = gain, f, table.is_categorical[f]
        write_children(split, left_g, left_h, left_n, g, h, n, parent, reg_lambda, rules)
        work.splits[k] = split
        if table.is_categorical[f]:
            copy(work.members[spare], work.members[k], 0, len(histogram))


@inner_kernel
def force_split(table, f, b, k, parent, rules, work):
    """Write a forced split as the split of a leaf; return whether it has a gain.

    Parameters
    ----------
    f, b : the feature, and the last bin that goes left, or the category's bin
    k : the leaf
    parent : value of the leaf; of the root it is that of the smaller leaf of the split before, as
        in LightGBM
    """
    first, count = table.first[f], table.first[f + 1] - table.first[f]
    if count < 2 or not work.usable[k, f]:
        return False
    leaf, split, histogram = work.leaves[k], work.splits[k], work.histogram[k, first:]
    g, h, n, reg_lambda = leaf["g"], leaf["h"], leaf["end"] - leaf["start"], rules.reg_lambda
    if table.is_categorical[f]:
        if b < 1:
            return False
        left_g, left_h = histogram[b, 0], histogram[b, 1] + EPSILON
        left_n = rows_in(histogram[b, 1], n / h)
        right_g, right_h = g - left_g, h - left_h
    else:
        right_g, right_h, left_n = 0.0, EPSILON, n
        for t in range(count - 1 - table.has_missing[f], b, -1):
            right_g += histogram[t, 0]
            right_h += histogram[t, 1]
            left_n -= rows_in(histogram[t, 1], n / h)
        left_g, left_h = g - right_g, h - right_h
    left_value = value_of(left_g, left_h, left_n, parent, reg_lambda, rules)
    right_value = value_of(right_g, right_h, n - left_n, parent, reg_lambda, rules)
    gain = gain_at(left_g, left_h, left_value, reg_lambda, rules)
    gain += gain_at(right_g, right_h, right_value, reg_lambda, rules)
    shift = gain_at(g, h, parent, reg_lambda, rules) + rules.min_split_gain
    if not gain > shift:
        return False
    split["gain"], split["feature"], split["bin"] = gain - shift, f, b
    split["is_categorical"] = table.is_categorical[f]
    split["missing_left"] = 1 - table.is_categorical[f]
    work.members[k] = 0
    work.members[k, b] = 1
    write_children(split, left_g, left_h, left_n, g, h, n, parent, reg_lambda, rules)
    return True


@inner_kernel
def find_splits(table, g, h, small, large, rules, work):
    """Find the best splits of two siblings, or of the root as ``small`` (``large`` is −1).

    On entry the larger sibling has its parent's histograms.
    """
    leaf = work.leaves[small]
    rows = work.rows[leaf["start"] : leaf["end"]]
    work.splits[small]["gain"] = -np.inf
    if large >= 0:
        work.splits[large]["gain"] = -np.inf
    for f in range(len(table.first) - 1):
        if is_interrupted(work.flag):
            return
        first, last = table.first[f], table.first[f + 1]
        parent = small if large < 0 else large
        if last - first < 2 or not work.usable[parent, f]:
            work.usable[small, f] = 0
            continue
        histogram = work.histogram[small, first:last]
        sum_rows(table, f, g, h, rows, histogram)
        fix_histogram(histogram, table.most_freq_bin[f], leaf)
        if large >= 0:
            larger = work.histogram[large, first:last]
            for b in range(len(histogram)):
                larger[b, 0] -= histogram[b, 0]
                larger[b, 1] -= histogram[b, 1]
        for k in (small, large):
            if k >= 0:
                find_feature_split(table, f, k, rules, work)


@inner_kernel
def add_leaf(work, k, node, start, end, depth, g, h, value):
    """Write a leaf and its node."""
    leaf, record = work.leaves[k], work.nodes[node]
    leaf["start"], leaf["end"], leaf["depth"], leaf["node"] = start, end, depth, node
    leaf["g"], leaf["h"], leaf["value"] = g, h, value
    record["left"], record["count"] = -1, end - start
    record["value"] = 0.0 if np.isnan(value) else value


@inner_kernel
def split_leaf(table, k, new, rules, work):
    """Split a leaf: the left child keeps its number, the right child gets the new number."""
    split, leaf = work.splits[k], work.leaves[k]
    parent = leaf["node"]
    node = work.nodes[parent]
    node["left"], node["right"] = 2 * new - 1, 2 * new
    node["feature"], node["bin"] = split["feature"], split["bin"]
    node["missing_left"], node["is_categorical"] = split["missing_left"], split["is_categorical"]
    node["gain"] = np.float32(split["gain"] + rules.min_split_gain)
    copy(work.members[k], work.goes_left[parent], 0, work.members.shape[1])
    start, end, depth = leaf["start"], leaf["end"], leaf["depth"] + 1
    f = split["feature"]
    missing = table.first[f + 1] - table.first[f] - 1 if table.has_missing[f] else -1
    middle = partition_rows(table.columns[f], missing, k, work)
    values = split["left_value"], split["right_value"]
    sums = split["left_g"], split["left_h"], split["right_g"], split["right_h"]
    add_leaf(work, k, 2 * new - 1, start, middle, depth, sums[0], sums[1], values[0])
    add_leaf(work, new, 2 * new, middle, end, depth, sums[2], sums[3], values[1])


@inner_kernel
def rank_siblings(left, right, rules, work):
    """Return the smaller and the larger of two new leaves; the larger gets the parent's histograms.

    If neither may be split, both are −1.
    """
    one, other = work.leaves[left], work.leaves[right]
    n_left, n_right = one["end"] - one["start"], other["end"] - other["start"]
    too_deep = 0 < rules.max_depth <= one["depth"]
    if too_deep or max(n_left, n_right) < 2 * rules.min_child_samples:
        work.splits[left]["gain"] = work.splits[right]["gain"] = -np.inf
        return -1, -1
    if n_left < n_right:
        for c in range(work.histogram.shape[1]):
            copy(work.histogram[left, c], work.histogram[right, c], 0, 2)
        copy(work.usable[left], work.usable[right], 0, work.usable.shape[1])
        return left, right
    return right, left


@inner_kernel
def pick_next_leaf(work, count):
    """Return the leaf with the largest gain; if equal, the one with the lowest feature."""
    best = 0
    for k in range(1, count):
        one, other = work.splits[k], work.splits[best]
        if one["gain"] > other["gain"] or (
            one["gain"] == other["gain"] and one["feature"] < other["feature"]
        ):
            best = k
    return best


@inner_kernel
def pick_forced_leaf(table, count, rules, work):
    """Return the leaf of the next forced split if it has a gain, or −1."""
    state = work.forced_state
    state[NUMBER] = -1
    if state[FIRST] == state[LAST]:
        return -1
    number, k = work.queue[state[FIRST], 0], work.queue[state[FIRST], 1]
    state[FIRST] += 1
    f, b = work.forced[number, 0], work.forced[number, 1]
    parent = work.last_value[0] if count == 1 else work.leaves[k]["value"]
    if force_split(table, f, b, k, parent, rules, work):
        state[NUMBER] = number
        return k
    state[FIRST] = state[LAST]
    return -1


@inner_kernel
def queue_forced_children(work, left, right, small):
    """Append the forced splits of two new leaves to the queue.

    Parameters
    ----------
    left, right : the leaves
    small : the smaller one, or −1 if neither may be split
    """
    one, other, state = work.leaves[left], work.leaves[right], work.forced_state
    left_is_small = one["end"] - one["start"] < other["end"] - other["start"]
    work.last_value[0] = one["value"] if left_is_small else other["value"]
    if state[NUMBER] < 0 or small < 0:
        return
    for side in range(2):
        below = work.forced[state[NUMBER], 2 + side]
        if below >= 0:
            work.queue[state[LAST], 0] = below
            work.queue[state[LAST], 1] = right if side else left
            state[LAST] += 1


@kernel
def grow_by_lightgbm_rules(table, g, h, rules, work):
    """Grow a tree on all rows; return its number of leaves, negative if a child is empty.

    Parameters
    ----------
    table : lightgbm_arrays.Table
    g, h : (n_rows,) float32
    rules : lightgbm_arrays.Rules
    work : lightgbm_arrays.Work
    """
    start_root(g, h, rules, work)
    work.splits[0]["gain"] = -np.inf
    small, large = (0 if len(g) >= 2 * rules.min_child_samples else -1), -1
    count = 1
    while count < rules.num_leaves:
        if small >= 0:
            find_splits(table, g, h, small, large, rules, work)
        if is_interrupted(work.flag):
            break
        k = pick_forced_leaf(table, count, rules, work)
        if k < 0:
            k = pick_next_leaf(work, count)
            if not work.splits[k]["gain"] > 0.0:
                break
        split_leaf(table, k, count, rules, work)
        count += 1
        one, other = work.leaves[k], work.leaves[count - 1]
        if min(one["end"] - one["start"], other["end"] - other["start"]) == 0:
            return -count
        small, large = rank_siblings(k, count - 1, rules, work)
        queue_forced_children(work, k, count - 1, small)
    return count
