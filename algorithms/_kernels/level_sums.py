"""Sum what each bin of a column holds of each slot, and what each node holds as a whole.

Every sum runs over rows in their order, within blocks of fixed size where blocks are shared among
threads, so it is the same to the bit for any number of them.
"""

import numpy as np

from algorithms._kernels.jit import inner_kernel, kernel
from algorithms._kernels.level_layout import (
    BLOCK_ROWS,
    CODES,
    LARGEST,
    MISSING,
    ROWS,
    SQUARES,
    SUM,
    WEIGHT,
    value_at,
)


@kernel
def sum_bins(codes, level, first, last):
    """Write ``level.sums`` of the columns first … last − 1: w and |w v| of each lane and bin."""
    shift = np.uint64(level.shift)
    width = np.uint64(CODES >> level.shift)
    lane, size, weight = level.lane, level.size, level.weight
    n = np.uint64(len(lane))
    for f in range(np.uint64(first), np.uint64(last)):
        sums = level.sums[f]
        code = codes.code[f]
        for cell in range(len(sums)):
            for k in range(sums.shape[1]):
                sums[cell, k] = 0.0
        if len(weight):
            for i in range(n):
                cell = np.uint64(lane[i]) * width + (np.uint64(code[i]) >> shift)
                sums[cell, 0] += weight[i]
                sums[cell, 1] += size[i]
                sums[cell, 2] += 1.0
        else:
            for i in range(n):
                cell = np.uint64(lane[i]) * width + (np.uint64(code[i]) >> shift)
                sums[cell, 0] += 1.0
                sums[cell, 1] += size[i]


@inner_kernel
def add_row(totals, v, w, count):
    """Add a row to the totals of its node; nothing, where its count and weight are 0."""
    totals[ROWS] += count
    totals[WEIGHT] += w
    totals[SUM] += w * v
    totals[SQUARES] += w * v * v


@kernel
def start_rows(level, wanted, blocks, first, last):
    """Bring all rows into the root, and write its totals, for blocks first … last − 1 of rows.

    Parameters
    ----------
    level : ``value`` and ``weight`` are read; ``at``, ``lane``, ``size``, ``used`` are written
    wanted : (n_rows,) bool, whether to use a row; (0,): all that weigh something
    blocks : (n_blocks, 1, TOTALS) float64, written
    """
    n = len(level.at)
    for block in range(first, last):
        totals = blocks[block, 0]
        totals[:] = 0.0
        largest = 0.0
        for i in range(block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, n)):
            w = level.weight[i] if len(level.weight) else 1.0
            v = level.value[i]
            level.at[i] = 0
            level.size[i] = abs(w * v)
            used = w != 0.0 and (len(wanted) == 0 or wanted[i])
            level.used[i] = used
            level.lane[i] = np.uint16(v < 0.0) if used else np.uint16(2)
            if used:
                add_row(totals, v, w, 1.0)
                largest = max(largest, abs(v))
        totals[LARGEST] = largest


@kernel
def route_rows(table, code, level, plan, blocks, base, lanes, first, last):
    """Send the rows of split nodes to their sides, for blocks first … last − 1 of rows.

    Parameters
    ----------
    table : CodedTable; code : uint8 (n_columns, n_rows), bins
    plan : STEPS (K,), how each slot's node is split
    blocks : (n_blocks, 2 K', TOTALS) float64, written: totals of the K' split nodes' sides
    base : number of the first node of the level
    lanes : whether lanes are written, for a further level
    """
    n = len(level.at)
    nowhere = np.uint16(2 * blocks.shape[1])
    after = base + len(plan)
    for block in range(first, last):
        blocks[block] = 0.0
        for i in range(np.uint64(block * BLOCK_ROWS), np.uint64(min((block + 1) * BLOCK_ROWS, n))):
            slot = np.int64(level.at[i]) - base
            if slot < 0 or plan[slot]["feature"] < 0:
                level.lane[i] = nowhere
                continue
            step = plan[slot]
            f = np.uint64(step["feature"])
            own = np.int64(code[f, i])
            goes_left = own < step["first_asked"]
            if own == MISSING:
                goes_left = step["missing_left"] != 0
            elif own >= step["first_asked"] and own <= step["last_asked"]:
                goes_left = value_at(table, f, i) <= step["threshold"]
            side = step["first_side"] + np.int64(not goes_left)
            level.at[i] = np.uint16(after + side)
            used = np.uint16(level.used[i])
            if lanes:
                v = level.value[i]
                lane = np.uint16(2 * side + np.int64(v < 0.0))
                level.lane[i] = lane if used else nowhere
            w = level.weight[i] if len(level.weight) else np.float64(used)
            add_row(blocks[block, side], level.value[i], w if used else 0.0, np.float64(used))


@kernel
def add_blocks(blocks, totals):
    """Write the sums over blocks, in their order, of each node's totals."""
    totals[:] = 0.0
    for block in range(len(blocks)):
        for node in range(len(totals)):
            for k in range(LARGEST):
                totals[node, k] += blocks[block, node, k]
            totals[node, LARGEST] = max(totals[node, LARGEST], blocks[block, node, LARGEST])
