"""Kernels that assign rows to the nodes of the next level and sum the gradients of each node.

One thread sums the rows in order, so the sums are bitwise the same for any number of threads; this
takes less than a tenth of the time of the split search.
"""

import numpy as np

from algorithms.levelwise.kernels.level_arrays import value_at
from algorithms.newton.kernels.exact_arrays import G, H, N
from algorithms.runtime.jit import inner_kernel, kernel


@kernel
def start_rows(rows, g, h, used):
    """Assign all rows to the root.

    Parameters
    ----------
    rows : (n_rows,) ROW, written
    g, h : (n_rows,) float32
    used : (n_rows,) bool, the sampled rows; (0,): all rows
    """
    for i in range(np.uint64(len(rows))):
        row = rows[i]
        row["g"] = g[i]
        row["h"] = h[i]
        row["slot"] = 1 if len(used) == 0 or used[i] else 0
        row["at"] = 0


@kernel
def sum_rows(rows, totals):
    """Write Σg, Σh and the number of rows of each slot, float64 (K, 3)."""
    totals[:] = 0.0
    for i in range(np.uint64(len(rows))):
        row = rows[i]
        slot = np.uint64(row["slot"])
        if slot > np.uint64(0):
            total = totals[slot - np.uint64(1)]
            total[G] += np.float64(row["g"])
            total[H] += np.float64(row["h"])
            total[N] += 1.0


@kernel
def route_rows(X, rows, plan, base, first, last):
    """Assign the rows first … last − 1 to the child nodes.

    Parameters
    ----------
    X : (n_rows, n_columns) float32, C-contiguous
    rows : (n_rows,) ROW, written
    plan : (K,) PLAN, the split of each node of the level
    base : index of the level's first node
    """
    after = base + len(plan)
    for i in range(np.uint64(first), np.uint64(last)):
        row = rows[i]
        place = np.int64(row["at"]) - base
        if place < 0:
            continue
        step = plan[np.uint64(place)]
        if step["feature"] < 0:
            row["slot"] = 0
            continue
        x = X[i, np.uint64(step["feature"])]
        goes_left = x < step["threshold"]
        if np.isnan(x):
            goes_left = step["missing_left"] != 0
        side = step["first_side"] + np.int32(not goes_left)
        row["at"] = np.int32(after + side)
        if row["slot"]:
            row["slot"] = np.uint32(side + 1)


@kernel
def route_lists(lists, rows, plan, base, columns, side):
    """Assign rows to the child nodes, using the sorted columns of the split features.

    Parameters
    ----------
    lists : Lists
    columns : int64, the split features of the plan
    side : (n_rows,) int32, scratch space
    The other parameters are as in `route_rows`.
    """
    for i in range(np.uint64(len(rows))):
        place = np.int64(rows[i]["at"]) - base
        side[i] = -1
        if place >= 0 and plan[place]["feature"] >= 0:
            side[i] = plan[place]["first_side"] + np.int32(not plan[place]["missing_left"])
    for j in range(len(columns)):
        f = columns[j]
        for i in range(np.uint64(lists.start[f]), np.uint64(lists.start[f + 1])):
            row = np.uint64(lists.order[i])
            place = np.int64(rows[row]["at"]) - base
            if place >= 0 and plan[place]["feature"] == f:
                goes_left = lists.value[i] < plan[place]["threshold"]
                side[row] = plan[place]["first_side"] + np.int32(not goes_left)
    after = base + len(plan)
    for i in range(np.uint64(len(rows))):
        if side[i] >= 0:
            rows[i]["at"] = np.int32(after + side[i])
            if rows[i]["slot"]:
                rows[i]["slot"] = np.uint32(side[i] + 1)
        else:
            rows[i]["slot"] = 0


@kernel
def scan_node_columns(table, nodes, used, missing, largest, first, last):
    """Route the rows first … last − 1 down a tree; record each inner node's values of its column.

    Parameters
    ----------
    table : CodedTable
    nodes : newton.tree.NODE
    used : (n_rows,) bool, the rows to route; (0,): all rows
    missing : (n_nodes,) uint8, written: 1 if a row of the node is missing in its split column
    largest : (n_nodes,) float32, written: the largest present value of that column
    """
    for i in range(np.uint64(first), np.uint64(last)):
        if len(used) and not used[i]:
            continue
        at = 0
        while nodes[at]["left"] >= 0:
            x = value_at(table, nodes[at]["feature"], i)
            if np.isnan(x):
                missing[at] = 1
            else:
                largest[at] = max(largest[at], x)
            at = child_of(nodes[at], x)


@kernel
def place_unused(table, nodes, used, leaf, first, last):
    """Write the leaf of each row in first … last − 1 that is not in the sample.

    Parameters
    ----------
    used : (n_rows,) bool, the sampled rows
    leaf : (n_rows,) unsigned, written for the other rows: index of the leaf's node
    The other parameters are as in `scan_node_columns`.
    """
    for i in range(np.uint64(first), np.uint64(last)):
        if used[i]:
            continue
        at = 0
        while nodes[at]["left"] >= 0:
            at = child_of(nodes[at], value_at(table, nodes[at]["feature"], i))
        leaf[i] = at


@inner_kernel
def child_of(node, x):
    """Return the index of the child that x goes to."""
    goes_left = node["missing_left"] != 0 if np.isnan(x) else x < node["threshold"]
    return node["left"] if goes_left else node["right"]
