"""Growth of a tree by the rules and the order of summation of HistGradientBoosting.

Rows of a leaf keep the order of the table, and sums are float64. The rows of the smaller of two
siblings (the right one if equal) are summed; the larger sibling's histograms are those of the
parent minus those of the smaller one. The next leaf to split is taken from a heap ordered by gain,
with the algorithm of Python's ``heapq``.
"""

import numpy as np

from algorithms.parity.kernels.hgb_arrays import MIN_H
from algorithms.parity.kernels.hgb_split import find_categorical_split, find_numeric_split, value_of
from algorithms.parity.kernels.leafwise import partition_rows
from algorithms.runtime.array_moves import copy
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.jit import inner_kernel, kernel


@inner_kernel
def add_leaf(work, k, node, start, end, depth, g, h, value):
    """Write a leaf and its node."""
    leaf, record = work.leaves[k], work.nodes[node]
    leaf["start"], leaf["end"], leaf["depth"], leaf["node"] = start, end, depth, node
    leaf["g"], leaf["h"], leaf["value"] = g, h, value
    record["left"], record["value"], record["count"] = -1, value, end - start


@inner_kernel
def build_histograms(table, g, h, work, k):
    """Build a leaf's histograms from its rows."""
    leaf = work.leaves[k]
    for f in range(len(table.columns)):
        if is_interrupted(work.flag):
            return
        column, histogram = table.columns[f], work.histogram[k, f]
        histogram[:] = 0.0
        for i in range(leaf["start"], leaf["end"]):
            row = np.uint64(work.rows[i])
            b = np.uint64(column[row])
            histogram[b, 0] += g[row]
            histogram[b, 1] += h[row]
            histogram[b, 2] += 1.0


@inner_kernel
def build_sibling_histograms(table, g, h, work, left, right):
    """Build the histograms of two siblings, or of a single leaf if ``right`` is −1.

    On entry ``left`` has the parent's histograms.
    """
    small, large = left, right
    if right >= 0:
        one, other = work.leaves[left], work.leaves[right]
        if one["end"] - one["start"] < other["end"] - other["start"]:
            for f in range(work.histogram.shape[1]):
                for b in range(work.histogram.shape[2]):
                    copy(work.histogram[left, f, b], work.histogram[right, f, b], 0, 3)
        else:
            small, large = right, left
    build_histograms(table, g, h, work, small)
    if large >= 0:
        for f in range(work.histogram.shape[1]):
            subtrahend, result = work.histogram[small, f], work.histogram[large, f]
            for b in range(len(subtrahend)):
                for k in range(3):
                    result[b, k] -= subtrahend[b, k]


@inner_kernel
def find_best_split(table, k, rules, work):
    """Find a leaf's best split; if equal, the one with the lowest feature."""
    spare = len(work.splits) - 1
    split, best, leaf = work.splits[spare], work.splits[k], work.leaves[k]
    n = leaf["end"] - leaf["start"]
    best["gain"] = -1.0
    for f in range(len(table.columns)):
        histogram, members = work.histogram[k, f], work.members[spare]
        count, has_missing = table.counts[f], table.has_missing[f]
        split["feature"], split["is_categorical"] = f, table.is_categorical[f]
        if table.is_categorical[f]:
            find_categorical_split(
                histogram,
                count,
                has_missing,
                leaf,
                n,
                rules,
                split,
                members,
                work.scores,
                work.order,
            )
        else:
            find_numeric_split(histogram, count, has_missing, leaf, n, rules, split)
        if split["gain"] > best["gain"]:
            work.splits[k] = split
            copy(members, work.members[k], 0, len(members))


@inner_kernel
def sift_up(work, place):
    """Move an entry of the heap up while its gain exceeds that of its parent."""
    k = work.heap[place]
    gain = work.splits[k]["gain"]
    while place > 0:
        above = (place - 1) >> 1
        if not gain > work.splits[work.heap[above]]["gain"]:
            break
        work.heap[place] = work.heap[above]
        place = above
    work.heap[place] = k


@inner_kernel
def pop(work, size):
    """Remove and return the leaf at the top of the heap, which has ``size`` entries before."""
    top, k = work.heap[0], work.heap[size - 1]
    place, child = 0, 1
    while child < size - 1:
        other = child + 1
        if other < size - 1:
            gain = work.splits[work.heap[child]]["gain"]
            if not gain > work.splits[work.heap[other]]["gain"]:
                child = other
        work.heap[place] = work.heap[child]
        place, child = child, 2 * child + 1
    work.heap[place] = k
    sift_up(work, place)
    return top


@inner_kernel
def split_leaf(table, k, new, rules, work):
    """Split a leaf: the left child keeps its number, the right child gets the new number."""
    split, leaf = work.splits[k], work.leaves[k]
    parent, start, end, depth = leaf["node"], leaf["start"], leaf["end"], leaf["depth"] + 1
    node = work.nodes[parent]
    node["left"], node["right"] = 2 * new - 1, 2 * new
    node["feature"], node["bin"], node["gain"] = split["feature"], split["bin"], split["gain"]
    node["missing_left"], node["is_categorical"] = split["missing_left"], split["is_categorical"]
    copy(work.members[k], work.goes_left[parent], 0, work.members.shape[1])
    column, missing = table.columns[split["feature"]], work.members.shape[1] - 1
    middle = partition_rows(column, missing, k, work)
    left_g, left_h = split["g"], split["h"]
    right_g, right_h = leaf["g"] - left_g, leaf["h"] - left_h
    left, right = (
        value_of(left_g, left_h, rules.reg_lambda),
        value_of(right_g, right_h, rules.reg_lambda),
    )
    add_leaf(work, k, 2 * new - 1, start, middle, depth, left_g, left_h, left)
    add_leaf(work, new, 2 * new, middle, end, depth, right_g, right_h, right)


@inner_kernel
def has_rows(work, left, right, rules):
    """Return whether one of two leaves has enough rows to be split; −1 means no leaf."""
    most = 0
    for k in (left, right):
        if k >= 0:
            most = max(most, work.leaves[k]["end"] - work.leaves[k]["start"])
    return most >= max(2 * rules.min_child_samples, 1)


@kernel
def grow_by_hgb_rules(table, g, h, total_g, total_h, rules, work):
    """Grow a tree on all rows; return its number of leaves.

    Parameters
    ----------
    table : hgb_arrays.Table
    g, h : (n_rows,) float32
    total_g, total_h : their sums, with scikit-learn's order of summation
    rules : hgb_arrays.Rules
    work : hgb_arrays.Work
    """
    for i in range(len(g)):
        work.rows[i] = i
    add_leaf(work, 0, 0, 0, len(g), 0, total_g, total_h, 0.0)
    count, size = 1, 0  # numbers of leaves, and of heap entries
    left, right = (0 if total_h >= MIN_H else -1), -1
    while True:
        if left >= 0 and has_rows(work, left, right, rules):
            build_sibling_histograms(table, g, h, work, left, right)
            for k in (left, right):
                if has_rows(work, k, k, rules):
                    find_best_split(table, k, rules, work)
                    if work.splits[k]["gain"] > 0.0:
                        work.heap[size] = k
                        sift_up(work, size)
                        size += 1
        if size == 0 or is_interrupted(work.flag):
            return count
        left, right = pop(work, size), count
        size -= 1
        split_leaf(table, left, right, rules, work)
        count += 1
        if count == rules.num_leaves:
            return count
        if work.leaves[left]["depth"] == rules.max_depth:
            left = -1
