"""Send rows down a level of the tree, and sum what each node holds.

Sums run over rows in their order, in one thread: they are the same to the bit for any number of
threads, and cost less than a tenth of a search.
"""

import numpy as np

from algorithms.levelwise.kernels.level_arrays import value_at
from algorithms.newton.kernels.exact_arrays import G, H, N
from algorithms.runtime.jit import inner_kernel, kernel


@kernel
def start_rows(rows, g, h, used):
    """Bring all rows into the root.

    Parameters
    ----------
    rows : (n_rows,) ROW, written
    g, h : (n_rows,) float32
    used : (n_rows,) bool, the rows that a tree is grown on; (0,): all
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
            own = totals[slot - np.uint64(1)]
            own[G] += np.float64(row["g"])
            own[H] += np.float64(row["h"])
            own[N] += 1.0


@kernel
def route_rows(X, rows, plan, base, first, last):
    """Send the rows first … last − 1 to their sides.

    Parameters
    ----------
    X : (n_rows, n_columns) float32, C-contiguous
    rows : (n_rows,) ROW, written
    plan : (K,) PLAN, how each node of the level is split
    base : number of the level's first node
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
    """Send rows to their sides, by the lists of the columns that are asked.

    Parameters
    ----------
    lists : Lists
    columns : int64, the columns that the plan names
    side : (n_rows,) int32, scratch space
    Others are as in `route_rows`.
    """
    for i in range(np.uint64(len(rows))):
        place = np.int64(rows[i]["at"]) - base
        side[i] = -1
        if place >= 0 and plan[place]["feature"] >= 0:
            side[i] = plan[place]["first_side"] + np.int32(not plan[place]["missing_left"])
    for j in range(len(columns)):
        f = columns[j]
        for i in range(np.uint64(lists.start[f]), np.uint64(lists.start[f + 1])):
            here = np.uint64(lists.order[i])
            place = np.int64(rows[here]["at"]) - base
            if place >= 0 and plan[place]["feature"] == f:
                goes_left = lists.value[i] < plan[place]["threshold"]
                side[here] = plan[place]["first_side"] + np.int32(not goes_left)
    after = base + len(plan)
    for i in range(np.uint64(len(rows))):
        if side[i] >= 0:
            rows[i]["at"] = np.int32(after + side[i])
            if rows[i]["slot"]:
                rows[i]["slot"] = np.uint32(side[i] + 1)
        else:
            rows[i]["slot"] = 0


@kernel
def survey_nodes(table, nodes, used, missing, largest, first, last):
    """Walk the rows first … last − 1 down a tree; note what each inner node sees of its column.

    Parameters
    ----------
    table : CodedTable
    nodes : newton.tree.NODE
    used : (n_rows,) bool, the rows that are walked; (0,): all
    missing : (n_nodes,) uint8, written: 1 where a value is missing
    largest : (n_nodes,) float32, written: the largest present value
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
    """Write the leaves of those rows first … last − 1 that a tree was not grown on.

    Parameters
    ----------
    used : (n_rows,) bool, the rows that the tree was grown on
    leaf : (n_rows,) unsigned, written at the others: number of the leaf's node
    Others are as in `survey_nodes`.
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
    """Return the number of the child that x goes to."""
    goes_left = node["missing_left"] != 0 if np.isnan(x) else x < node["threshold"]
    return node["left"] if goes_left else node["right"]
