"""Grow a tree by LightGBM's rules: leaf by leaf, each sum in the library's own order.

Rows of a leaf keep the order of the table, and sums are double precision. Of two siblings the one
with fewer rows (the right one if equal) is summed up; the other's cells are its parent's less
those. A feature by which nothing gained in a leaf is not asked again below it.
"""

import numpy as np

from algorithms.parity.kernels.lightgbm_arrays import EPSILON
from algorithms.parity.kernels.lightgbm_categorical_split import split_set
from algorithms.parity.kernels.lightgbm_gain import bounded_value, gain_at, gain_of, note
from algorithms.parity.kernels.lightgbm_split import split_numbers
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
    leaf["value"] = bounded_value(total_g, total_h, rules.ridge, rules)
    node["left"], node["value"], node["count"] = -1, leaf["value"], len(g)
    work.usable[0] = 1


@inner_kernel
def sum_rows(table, f, g, h, rows, cells):
    """Write Σg and Σh of a feature's bins over some rows; the filler's are left to `fill`."""
    cells[:] = 0.0
    column = table.columns[f]
    for i in range(len(rows)):
        row = np.uint64(rows[i])
        b = np.uint64(column[row])
        cells[b, 0] += g[row]
        cells[b, 1] += h[row]


@inner_kernel
def fill(cells, filler, leaf):
    """Write the filler's cell: what the others, in their order, leave of the whole."""
    if filler == 0:
        return
    left_g, left_h = leaf["g"], leaf["h"]
    for b in range(len(cells)):
        if b != filler:
            left_g -= cells[b, 0]
            left_h -= cells[b, 1]
    cells[filler, 0], cells[filler, 1] = left_g, left_h


@inner_kernel
def search(table, f, k, rules, work):
    """Find a leaf's best split by one feature, and keep it where it is the leaf's best."""
    spare = len(work.splits) - 1
    split, best, leaf = work.splits[spare], work.splits[k], work.leaves[k]
    cells = work.cells[k, table.first[f] : table.first[f + 1]]
    g, h, parent = leaf["g"], leaf["h"] + 2.0 * EPSILON, leaf["value"]
    n, ridge = leaf["end"] - leaf["start"], rules.ridge
    shift = rules.min_gain + (
        gain_at(g, h, parent, ridge, rules)
        if table.is_set[f] and rules.smooth > EPSILON
        else gain_of(g, h, n, parent, ridge, rules)
    )
    if table.is_set[f]:
        members = work.members[spare, : len(cells)]
        gain, left_g, left_h, left_n, usable = split_set(
            cells, g, h, n, shift, parent, rules, members, work.scores, work.order
        )
        ridge += rules.set_ridge if len(cells) > rules.few_bins else 0.0
        split["missing_left"] = 0
    else:
        filler, has_missing = table.filler[f], table.has_missing[f]
        gain, left_g, left_h, left_n, usable = split_numbers(
            cells, filler, has_missing, g, h, n, shift, parent, rules, split
        )
    work.usable[k, f] = usable
    if gain > best["gain"]:
        split["gain"], split["feature"], split["is_set"] = gain, f, table.is_set[f]
        note(split, left_g, left_h, left_n, g, h, n, parent, ridge, rules)
        work.splits[k] = split
        if table.is_set[f]:
            copy(work.members[spare], work.members[k], 0, len(cells))


@inner_kernel
def find_splits(table, g, h, small, large, rules, work):
    """Find the best splits of two siblings, or of the root, which is ``small`` alone.

    The larger one's cells are those of their parent before.
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
        cells = work.cells[small, first:last]
        sum_rows(table, f, g, h, rows, cells)
        fill(cells, table.filler[f], leaf)
        if large >= 0:
            theirs = work.cells[large, first:last]
            for b in range(len(cells)):
                theirs[b, 0] -= cells[b, 0]
                theirs[b, 1] -= cells[b, 1]
        for k in (small, large):
            if k >= 0:
                search(table, f, k, rules, work)


@inner_kernel
def part_rows(table, k, work):
    """Bring a leaf's rows that go left before the others; return how many there are."""
    leaf, split = work.leaves[k], work.splits[k]
    f = split["feature"]
    column = table.columns[f]
    missing = table.first[f + 1] - table.first[f] - 1 if table.has_missing[f] else -1
    to, others = leaf["start"], 0
    for i in range(leaf["start"], leaf["end"]):
        row = work.rows[i]
        b = column[row]
        if split["is_set"]:
            left = work.members[k, b] == 1
        elif b == missing:
            left = split["missing_left"] == 1
        else:
            left = b <= split["bin"]
        if left:
            work.rows[to] = row
            to += 1
        else:
            work.spare[others] = row
            others += 1
    for i in range(others):
        work.rows[to + i] = work.spare[i]
    return to - leaf["start"]


@inner_kernel
def add_leaf(work, k, node, start, end, depth, g, h, value):
    """Write a leaf and its node."""
    leaf, own = work.leaves[k], work.nodes[node]
    leaf["start"], leaf["end"], leaf["depth"], leaf["node"] = start, end, depth, node
    leaf["g"], leaf["h"], leaf["value"] = g, h, value
    own["left"], own["count"] = -1, end - start
    own["value"] = 0.0 if np.isnan(value) else value


@inner_kernel
def split_leaf(table, k, new, rules, work):
    """Split a leaf: its left side keeps its number, the right one has the new number."""
    split, leaf = work.splits[k], work.leaves[k]
    parent = leaf["node"]
    node = work.nodes[parent]
    node["left"], node["right"] = 2 * new - 1, 2 * new
    node["feature"], node["bin"] = split["feature"], split["bin"]
    node["missing_left"], node["is_set"] = split["missing_left"], split["is_set"]
    node["gain"] = np.float32(split["gain"] + rules.min_gain)
    copy(work.members[k], work.goes_left[parent], 0, work.members.shape[1])
    start, end, depth = leaf["start"], leaf["end"], leaf["depth"] + 1
    middle = start + part_rows(table, k, work)
    values = split["left_value"], split["right_value"]
    sums = split["left_g"], split["left_h"], split["right_g"], split["right_h"]
    add_leaf(work, k, 2 * new - 1, start, middle, depth, sums[0], sums[1], values[0])
    add_leaf(work, new, 2 * new, middle, end, depth, sums[2], sums[3], values[1])


@inner_kernel
def rank_siblings(left, right, rules, work):
    """Return the smaller and the larger of two new leaves, whose parent's cells become its own.

    Where neither may be split, both are −1.
    """
    one, other = work.leaves[left], work.leaves[right]
    n_left, n_right = one["end"] - one["start"], other["end"] - other["start"]
    too_deep = 0 < rules.max_depth <= one["depth"]
    if too_deep or max(n_left, n_right) < 2 * rules.min_rows:
        work.splits[left]["gain"] = work.splits[right]["gain"] = -np.inf
        return -1, -1
    if n_left < n_right:
        for c in range(work.cells.shape[1]):
            copy(work.cells[left, c], work.cells[right, c], 0, 2)
        copy(work.usable[left], work.usable[right], 0, work.usable.shape[1])
        return left, right
    return right, left


@inner_kernel
def choose_leaf(work, count):
    """Return the leaf with the largest gain; of equal ones that of the lowest feature."""
    best = 0
    for k in range(1, count):
        one, other = work.splits[k], work.splits[best]
        if one["gain"] > other["gain"] or (
            one["gain"] == other["gain"] and one["feature"] < other["feature"]
        ):
            best = k
    return best


@kernel
def grow_by_lightgbm_rules(table, g, h, rules, work):
    """Grow a tree on all rows; return its number of leaves, or minus that where a side is empty.

    Parameters
    ----------
    table : lightgbm_layout.Table
    g, h : (n_rows,) float32
    rules : lightgbm_layout.Rules
    work : lightgbm_layout.Work
    """
    start_root(g, h, rules, work)
    work.splits[0]["gain"] = -np.inf
    small, large = (0 if len(g) >= 2 * rules.min_rows else -1), -1
    count = 1
    while count < rules.num_leaves:
        if small >= 0:
            find_splits(table, g, h, small, large, rules, work)
        if is_interrupted(work.flag):
            break
        k = choose_leaf(work, count)
        if not work.splits[k]["gain"] > 0.0:
            break
        split_leaf(table, k, count, rules, work)
        count += 1
        one, other = work.leaves[k], work.leaves[count - 1]
        if min(one["end"] - one["start"], other["end"] - other["start"]) == 0:
            return -count
        small, large = rank_siblings(k, count - 1, rules, work)
    return count
