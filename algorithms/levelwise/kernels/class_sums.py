"""Weights of each bin for each class and slot; new row weights, and assignment of rows to nodes.

Every sum runs over rows in their order. Work is shared among threads in blocks of fixed size, so
the sums are the same bit for bit for any number of threads.
"""

import numpy as np

from algorithms.levelwise.kernels.class_arrays import BLOCK_ROWS, CODE_BITS, EPSILON
from algorithms.levelwise.kernels.level_arrays import value_at
from algorithms.runtime.jit import inner_kernel, kernel

FOUR = 4


@kernel
def sum_cells(code, lane, weight, sums, first, last):
    """Write the weight of each lane and bin, of the columns first … last − 1.

    Four columns are summed at once, so that a row's lane and weight are read once for four
    additions.

    Parameters
    ----------
    code : uint8 (n_columns, n_rows), bins
    lane : uint16 (n_rows,); weight : float64 (n_rows,)
    sums : float64 (n_columns, lanes * CODES), written
    """
    for f in range(first, last):
        for cell in range(sums.shape[1]):
            sums[f, cell] = 0.0
    f = first
    while f + FOUR <= last:
        add_to_four(code, lane, weight, sums, f)
        f += FOUR
    while f < last:
        add_to_one(code[f], lane, weight, sums[f])
        f += 1


@inner_kernel
def add_to_four(code, lane, weight, sums, f):
    """Add every row to the bins of four columns."""
    code_0, code_1, code_2, code_3 = code[f], code[f + 1], code[f + 2], code[f + 3]
    sums_0, sums_1, sums_2, sums_3 = sums[f], sums[f + 1], sums[f + 2], sums[f + 3]
    for i in range(np.uint64(len(lane))):
        w = weight[i]
        cell = np.uint64(lane[i]) << CODE_BITS
        sums_0[cell | np.uint64(code_0[i])] += w
        sums_1[cell | np.uint64(code_1[i])] += w
        sums_2[cell | np.uint64(code_2[i])] += w
        sums_3[cell | np.uint64(code_3[i])] += w


@inner_kernel
def add_to_one(code, lane, weight, sums):
    """Add every row to the bins of one column."""
    for i in range(np.uint64(len(lane))):
        sums[(np.uint64(lane[i]) << CODE_BITS) | np.uint64(code[i])] += weight[i]


@kernel
def reweigh(rows, vote, factors, blocks, first, last):
    """Update the row weights and put all rows into the root, for blocks first … last − 1.

    Parameters
    ----------
    rows : ClassRows; ``weight``, ``lane`` and ``at`` are written
    vote : uint8 (n_nodes,), the predicted class of each node, numbered level by level
    factors : float64 (2,), weight factors of correctly and of wrongly predicted rows
        A weight is then raised to at least the machine epsilon.
    blocks : float64 (n_blocks, 1, K + 1), written: weight of each class, then row count
    """
    n = len(rows.weight)
    for block in range(first, last):
        totals = blocks[block, 0]
        totals[:] = 0.0
        start, stop = block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, n)
        for i in range(np.uint64(start), np.uint64(stop)):
            k = rows.kind[i]
            # Used as an index: a branch would be mispredicted.
            wrong = np.uint64(vote[rows.at[i]] != k)
            w = max(rows.weight[i] * factors[wrong], EPSILON)
            rows.weight[i] = w
            rows.lane[i] = k
            rows.at[i] = 0
            totals[k] += w
        totals[len(totals) - 1] = stop - start


@kernel
def route_rows(table, code, rows, plan, blocks, base, first, last):
    """Move the rows of split nodes to their sides, for blocks first … last − 1 of rows.

    Parameters
    ----------
    table : CodedTable; code : uint8 (n_columns, n_rows), bins
    rows : ClassRows; ``lane`` and ``at`` are written
    plan : STEP (n_slots,), the split of each slot's node
    blocks : float64 (n_blocks, n_sides, K + 1), written: totals of the sides of split nodes
    base : number of the first node of the level
    """
    n_sides, n_classes = blocks.shape[1], blocks.shape[2] - 1
    for block in range(first, last):
        blocks[block] = 0.0
        start, stop = block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, len(rows.at))
        for i in range(np.uint64(start), np.uint64(stop)):
            side = n_sides
            slot = np.int64(rows.at[i]) - base
            if slot >= 0 and plan[slot]["feature"] >= 0:
                step = plan[slot]
                f = step["feature"]
                goes_left = code[f, i] < step["bin"]
                if code[f, i] == step["bin"]:
                    goes_left = value_at(table, f, i) <= step["threshold"]
                side = step["first_side"] + np.int64(not goes_left)
                rows.at[i] = base + len(plan) + side
                blocks[block, side, rows.kind[i]] += rows.weight[i]
                blocks[block, side, n_classes] += 1.0
            rows.lane[i] = side * n_classes + (rows.kind[i] if side < n_sides else 0)


@kernel
def add_blocks(blocks, totals):
    """Write each node's totals, summed over blocks in their order."""
    totals[:] = 0.0
    for block in range(len(blocks)):
        for node in range(totals.shape[0]):
            for k in range(totals.shape[1]):
                totals[node, k] += blocks[block, node, k]
