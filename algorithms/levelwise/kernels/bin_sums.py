"""Sums of each bin of a column for each slot, and totals of each node.

Every sum runs over rows in their order. Work is shared among threads in blocks of fixed size, so
the sums are the same bit for bit for any number of threads.
"""

import numpy as np

from algorithms.levelwise.kernels.level_arrays import (
    BASE,
    BLOCK_ROWS,
    CELL,
    CODES,
    LARGEST,
    MISSING,
    ROWS,
    SHIFT,
    SLOTS,
    SMALL,
    SPLITS,
    SQUARES,
    SUM,
    WEIGHT,
    plane_of,
    value_at,
)
from algorithms.runtime.intrinsics import add_sides
from algorithms.runtime.jit import inner_kernel

FOUR = 4
CODE_BITS = 8
TWO_SIDES = 2
TWO = np.uint64(2)  # bits of CELL


@inner_kernel
def sum_bins(codes, level, thread_row, first, last):
    """Write the sums of the columns first … last − 1.

    The picked rows are summed into the planes of the smaller siblings. The larger sibling's sums
    are the parent's minus these. Four columns are summed at once if four are left, so that a row's
    data is read once for four additions. A column's sums are the same in both cases.

    Parameters
    ----------
    thread_row : first of last − first rows of ``level.sums`` that only this thread writes; see
        `plane_of`
    """
    for f in range(first, last):
        clear_small(level, f, thread_row + f - first)
    if last - first == FOUR:
        add_to_four(codes.code, level, first, thread_row)
    else:
        for f in range(first, last):
            add_to_one(codes.code, level, f, thread_row + f - first)
    if level.state[SLOTS] > 1:
        for f in range(first, last):
            take_from_parents(level, f, thread_row + f - first)


@inner_kernel
def clear_small(level, f, thread_row):
    """Set the planes of the smaller siblings to 0."""
    size = np.uint64(CODES >> level.state[SHIFT]) * np.uint64(CELL)
    for pair in range(level.state[SMALL]):
        row, start = plane_of(level, f, thread_row, level.plane[level.small[pair]])
        level.sums[row, start : start + size] = 0.0


@inner_kernel
def take_from_parents(level, f, thread_row):
    """Subtract the smaller siblings' sums from their parents', which gives the larger siblings'."""
    size = np.uint64(CODES >> level.state[SHIFT]) * np.uint64(CELL)
    sums = level.sums
    for pair in range(level.state[SMALL]):
        slot = level.small[pair]
        row, start = plane_of(level, f, thread_row, level.plane[slot])
        of_rest, rest = plane_of(level, f, thread_row, level.plane[slot ^ 1])
        for k in range(size):
            sums[of_rest, rest + k] -= sums[row, start + k]


@inner_kernel
def start_of_picked(level, f, thread_row):
    """Return the offset of plane 0 of the picked rows, counted from the first of all sums.

    All planes of picked rows lie either with the column or in the thread's own rows.
    """
    new = level.plane[level.small[0]]
    row, start = plane_of(level, f, thread_row, new)
    size = np.uint64(CODES >> level.state[SHIFT]) * np.uint64(CELL)
    return row * np.uint64(level.sums.shape[1]) + start - np.uint64(new) * size


@inner_kernel
def add_to_four(code, level, f, thread_row):
    """Add the picked rows to the bins of four columns."""
    shift, width = np.uint64(level.state[SHIFT]), np.uint64(CODE_BITS - level.state[SHIFT])
    at_0, at_1 = (
        start_of_picked(level, f, thread_row),
        start_of_picked(level, f + 1, thread_row + 1),
    )
    at_2, at_3 = (
        start_of_picked(level, f + 2, thread_row + 2),
        start_of_picked(level, f + 3, thread_row + 3),
    )
    code_0, code_1, code_2, code_3 = code[f], code[f + 1], code[f + 2], code[f + 3]
    sums, pair = level.sums, level.pair
    for block in range(len(level.count)):
        start = np.uint64(block * BLOCK_ROWS)
        for j in range(start, start + np.uint64(level.count[block])):
            i = np.uint64(level.picked[j])
            begin = np.uint64(level.into[j]) << width
            places = (
                at_0 + ((begin + (np.uint64(code_0[i]) >> shift)) << TWO),
                at_1 + ((begin + (np.uint64(code_1[i]) >> shift)) << TWO),
                at_2 + ((begin + (np.uint64(code_2[i]) >> shift)) << TWO),
                at_3 + ((begin + (np.uint64(code_3[i]) >> shift)) << TWO),
            )
            add_sides(sums, places, pair, i)


@inner_kernel
def add_to_one(code, level, f, thread_row):
    """Add the picked rows to the bins of one column."""
    shift, width = np.uint64(level.state[SHIFT]), np.uint64(CODE_BITS - level.state[SHIFT])
    at = start_of_picked(level, f, thread_row)
    column, sums, pair = code[f], level.sums, level.pair
    for block in range(len(level.count)):
        start = np.uint64(block * BLOCK_ROWS)
        for j in range(start, start + np.uint64(level.count[block])):
            i = np.uint64(level.picked[j])
            begin = np.uint64(level.into[j]) << width
            place = at + ((begin + (np.uint64(column[i]) >> shift)) << TWO)
            add_sides(sums, (place,), pair, i)


@inner_kernel
def coarsen(sums, n_planes, width, by, first, last):
    """Merge 2^by neighboring bins into one, in the columns first … last − 1.

    Parameters
    ----------
    sums : (rows, room) float64, of which the columns' rows are written: planes of ``width`` bins on
        entry, of width / 2^by bins on return
    """
    for f in range(first, last):
        column_sums = sums[f]
        # In place: an entry is written after it was read.
        for cell in range(n_planes * (width >> by)):
            for k in range(CELL):
                total = 0.0
                for b in range(cell << by, (cell + 1) << by):
                    total += column_sums[b * CELL + k]
                column_sums[cell * CELL + k] = total


@inner_kernel
def add_row(totals, v, w, count):
    """Add a row to the totals of its node; no effect if its count and weight are 0."""
    totals[ROWS] += count
    totals[WEIGHT] += w
    totals[SUM] += w * v
    totals[SQUARES] += w * v * v


@inner_kernel
def start_rows(level, first, last):
    """Put all rows into the root, and write its totals, for blocks first … last − 1 of rows.

    Parameters
    ----------
    level : ``value``, ``weight`` and ``wanted`` are read; ``at``, ``slot``, ``pair``, ``used``,
        ``blocks`` and the picked rows (all used rows) are written
    """
    n, wanted = len(level.at), level.wanted
    for block in range(first, last):
        totals = level.blocks[block, 0]
        totals[:] = 0.0
        largest = 0.0
        taken = block * BLOCK_ROWS
        for i in range(block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, n)):
            w = level.weight[i] if len(level.weight) else 1.0
            v = level.value[i]
            level.at[i] = 0
            level.pair[i, 0], level.pair[i, 1] = w, w * v
            used = w != 0.0 and (len(wanted) == 0 or wanted[i])
            level.used[i] = used
            level.slot[i] = np.uint16(0) if used else np.uint16(1)
            if used:
                add_row(totals, v, w, 1.0)
                largest = max(largest, abs(v))
                level.picked[taken], level.into[taken] = i, np.uint16(0)
                taken += 1
        totals[LARGEST] = largest
        level.count[block] = taken - block * BLOCK_ROWS


@inner_kernel
def route_rows(table, code, level, goes_on, first, last):
    """Move the rows of split nodes to their sides, for blocks first … last − 1 of rows.

    Parameters
    ----------
    table : CodedTable; code : uint8 (n_columns, n_rows), bins
    level : ``at`` and the totals of the sides in ``blocks`` are written
    goes_on : whether slots are written and rows are picked, for a further level
    """
    n, plan, plane, blocks = len(level.at), level.plan, level.next_plane, level.blocks
    n_sides, base = TWO_SIDES * level.state[SPLITS], level.state[BASE]
    nowhere = np.uint16(n_sides)
    after = base + level.state[SLOTS]
    for block in range(first, last):
        blocks[block, :n_sides] = 0.0
        taken = np.uint64(block * BLOCK_ROWS)
        for i in range(np.uint64(block * BLOCK_ROWS), np.uint64(min((block + 1) * BLOCK_ROWS, n))):
            slot = np.int64(level.at[i]) - base
            if slot < 0 or plan[slot]["feature"] < 0:
                level.slot[i] = nowhere
                continue
            step = plan[slot]
            f = np.uint64(step["feature"])
            row_bin = np.int64(code[f, i])
            place = row_bin - np.int64(step["first_asked"])
            right = np.int64(place >= 0)
            if row_bin == MISSING:
                right = np.int64(1 - step["missing_left"])
            # Rare, so the branch is well predicted.
            if np.uint64(place) < np.uint64(step["n_asked"]):
                right = np.int64(not value_at(table, f, i) <= step["threshold"])
            side = step["first_side"] + right
            level.at[i] = np.uint16(after + side)
            used = np.uint16(level.used[i])
            if goes_on:
                level.slot[i] = np.uint16(side) if used else nowhere
                # Overwritten by the next row if this one is not picked.
                level.picked[taken] = np.uint32(i)
                level.into[taken] = np.uint16(plane[side])
                taken += np.uint64(used) & np.uint64(right == step["small"])
            w = level.weight[i] if len(level.weight) else np.float64(used)
            add_row(blocks[block, side], level.value[i], w if used else 0.0, np.float64(used))
        level.count[block] = np.int64(taken) - block * BLOCK_ROWS


@inner_kernel
def add_blocks(blocks, totals, n_nodes):
    """Write the totals of the first nodes, summed over blocks in their order."""
    totals[:n_nodes] = 0.0
    for block in range(len(blocks)):
        for node in range(n_nodes):
            for k in range(LARGEST):
                totals[node, k] += blocks[block, node, k]
            totals[node, LARGEST] = max(totals[node, LARGEST], blocks[block, node, LARGEST])
