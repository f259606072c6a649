"""Grow a tree by the rules of scikit-learn's HistGradientBoosting, to the order of every sum.

Rows of a leaf keep the order of the table, and sums are double precision. Of two siblings the one
with fewer rows (the right one if equal) is summed up; the other's cells are its parent's less
those. The next leaf to split is the top of a heap by gain, kept as Python's ``heapq`` keeps it.
"""

import numpy as np

from algorithms.parity.kernels.hgb_arrays import LEAST_H
from algorithms.parity.kernels.hgb_split import split_numbers, split_set, value_of
from algorithms.runtime.array_moves import copy
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.jit import inner_kernel, kernel


@inner_kernel
def add_leaf(work, k, node, start, end, depth, g, h, value):
    """Write a leaf and its node."""
    leaf, own = work.leaves[k], work.nodes[node]
    leaf["start"], leaf["end"], leaf["depth"], leaf["node"] = start, end, depth, node
    leaf["g"], leaf["h"], leaf["value"] = g, h, value
    own["left"], own["value"], own["count"] = -1, value, end - start


@inner_kernel
def sum_rows(table, g, h, work, k):
    """Write a leaf's cells."""
    leaf = work.leaves[k]
    for f in range(len(table.columns)):
        if is_interrupted(work.flag):
            return
        column, cells = table.columns[f], work.cells[k, f]
        cells[:] = 0.0
        for i in range(leaf["start"], leaf["end"]):
            row = np.uint64(work.rows[i])
            b = np.uint64(column[row])
            cells[b, 0] += g[row]
            cells[b, 1] += h[row]
            cells[b, 2] += 1.0


@inner_kernel
def fill_cells(table, g, h, work, left, right):
    """Write the cells of two siblings, whose parent's are the left one's; −1: of one leaf alone."""
    small, large = left, right
    if right >= 0:
        one, other = work.leaves[left], work.leaves[right]
        if one["end"] - one["start"] < other["end"] - other["start"]:
            for f in range(work.cells.shape[1]):
                for b in range(work.cells.shape[2]):
                    copy(work.cells[left, f, b], work.cells[right, f, b], 0, 3)
        else:
            small, large = right, left
    sum_rows(table, g, h, work, small)
    if large >= 0:
        for f in range(work.cells.shape[1]):
            ours, theirs = work.cells[small, f], work.cells[large, f]
            for b in range(len(ours)):
                for part in range(3):
                    theirs[b, part] -= ours[b, part]


@inner_kernel
def search(table, k, rules, work):
    """Find a leaf's best split; of equal ones that of the lowest feature."""
    spare = len(work.splits) - 1
    split, best, leaf = work.splits[spare], work.splits[k], work.leaves[k]
    n = leaf["end"] - leaf["start"]
    best["gain"] = -1.0
    for f in range(len(table.columns)):
        cells, members = work.cells[k, f], work.members[spare]
        count, has_missing = table.counts[f], table.has_missing[f]
        split["feature"], split["is_set"] = f, table.is_set[f]
        if table.is_set[f]:
            split_set(
                cells, count, has_missing, leaf, n, rules, split, members, work.scores, work.order
            )
        else:
            split_numbers(cells, count, has_missing, leaf, n, rules, split)
        if split["gain"] > best["gain"]:
            work.splits[k] = split
            copy(members, work.members[k], 0, len(members))


@inner_kernel
def rise(work, place):
    """Bring a heap's entry up to where its gain belongs."""
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
    """Return the top of a heap, which is one entry smaller after."""
    top, k = work.heap[0], work.heap[size - 1]
    place, child = 0, 1
    while child < size - 1:
        other = child + 1
        if other < size - 1:
            ours = work.splits[work.heap[child]]["gain"]
            if not ours > work.splits[work.heap[other]]["gain"]:
                child = other
        work.heap[place] = work.heap[child]
        place, child = child, 2 * child + 1
    work.heap[place] = k
    rise(work, place)
    return top


@inner_kernel
def part_rows(table, k, work):
    """Bring a leaf's rows that go left before the others; return where these begin."""
    leaf, split = work.leaves[k], work.splits[k]
    column, missing = table.columns[split["feature"]], work.members.shape[1] - 1
    to, others = leaf["start"], 0
    for i in range(leaf["start"], leaf["end"]):
        row = work.rows[i]
        b = column[row]
        if split["is_set"]:
            left = work.members[k, b] == 1
        else:
            left = b <= split["bin"] or (b == missing and split["missing_left"] == 1)
        if left:
            work.rows[to] = row
            to += 1
        else:
            work.spare[others] = row
            others += 1
    for i in range(others):
        work.rows[to + i] = work.spare[i]
    return to


@inner_kernel
def split_leaf(table, k, new, rules, work):
    """Split a leaf: its left side keeps its number, the right one has the new number."""
    split, leaf = work.splits[k], work.leaves[k]
    parent, start, end, depth = leaf["node"], leaf["start"], leaf["end"], leaf["depth"] + 1
    node = work.nodes[parent]
    node["left"], node["right"] = 2 * new - 1, 2 * new
    node["feature"], node["bin"], node["gain"] = split["feature"], split["bin"], split["gain"]
    node["missing_left"], node["is_set"] = split["missing_left"], split["is_set"]
    copy(work.members[k], work.goes_left[parent], 0, work.members.shape[1])
    middle = part_rows(table, k, work)
    left_g, left_h = split["g"], split["h"]
    right_g, right_h = leaf["g"] - left_g, leaf["h"] - left_h
    left, right = value_of(left_g, left_h, rules.ridge), value_of(right_g, right_h, rules.ridge)
    add_leaf(work, k, 2 * new - 1, start, middle, depth, left_g, left_h, left)
    add_leaf(work, new, 2 * new, middle, end, depth, right_g, right_h, right)


@inner_kernel
def has_rows(work, left, right, rules):
    """Return whether any of two leaves has rows enough to be split; −1 is none."""
    most = 0
    for k in (left, right):
        if k >= 0:
            most = max(most, work.leaves[k]["end"] - work.leaves[k]["start"])
    return most >= max(2 * rules.min_rows, 1)


@kernel
def grow_by_hgb_rules(table, g, h, total_g, total_h, rules, work):
    """Grow a tree on all rows; return its number of leaves.

    Parameters
    ----------
    table : hgb_layout.Table
    g, h : (n_rows,) float32
    total_g, total_h : their sums, in the library's order
    rules : hgb_layout.Rules
    work : hgb_layout.Work
    """
    for i in range(len(g)):
        work.rows[i] = i
    add_leaf(work, 0, 0, 0, len(g), 0, total_g, total_h, 0.0)
    count, size = 1, 0  # leaves, and entries of the heap
    left, right = (0 if total_h >= LEAST_H else -1), -1
    while True:
        if left >= 0 and has_rows(work, left, right, rules):
            fill_cells(table, g, h, work, left, right)
            for k in (left, right):
                if has_rows(work, k, k, rules):
                    search(table, k, rules, work)
                    if work.splits[k]["gain"] > 0.0:
                        work.heap[size] = k
                        rise(work, size)
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
