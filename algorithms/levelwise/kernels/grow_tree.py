"""Growth of a whole tree, level by level, by a team of threads in one kernel call.

Every thread calls the kernel with its rank. Barriers separate the steps of a level; the first
thread makes nodes and chooses splits, and all threads share columns and blocks of rows.
"""

import numpy as np

from algorithms.levelwise.kernels.bin_search import search_columns
from algorithms.levelwise.kernels.bin_sums import FOUR, add_blocks, coarsen, route_rows, start_rows
from algorithms.levelwise.kernels.level_arrays import (
    BASE,
    BLOCK_ROWS,
    CODES,
    DEPTH,
    KEPT,
    LARGEST,
    NEW_SHIFT,
    OLD_PLANES,
    OPEN,
    PLANES,
    SHIFT,
    SLOTS,
    SMALL,
    SPLITS,
)
from algorithms.levelwise.kernels.nodes import choose_splits, make_nodes, number_nodes
from algorithms.levelwise.kernels.within_bin_search import search_inside
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.thread_team import barrier_wait, share_of

FEW_PLANES = 4  # planes of four columns summed at once; their entries fit in the cache
TWO = 2
CONTINUE, DONE, INTERRUPTED = range(3)  # results of `split_level`


@kernel
def grow_tree(team, rank, table, codes, limits, level, space):
    """Grow one tree; parameters are as in `grow_levels`."""
    grow_levels(team, rank, table, codes, limits, level, space)


@linked_kernel
def grow_levels(team, rank, table, codes, limits, level, space):
    """Grow the tree of ``level.value``; return False if a thread was interrupted before.

    Parameters
    ----------
    team : ThreadTeam
    rank : rank of the calling thread
    table : CodedTable
    codes : Codes
    limits : Limits
    level : Level, shared by the threads; ``nodes``, ``values``, ``at`` and ``state`` are the result
    space : Space, of this thread
    """
    first, last = share_of(team, rank, np.int64(0), np.int64(len(level.count)))
    start_rows(level, first, last)
    depth, result = np.int64(0), CONTINUE
    while result == CONTINUE:
        result = split_level(team, rank, table, codes, limits, level, space, depth)
        depth += 1
    if result == INTERRUPTED:
        return False
    if rank == 0:
        order_nodes(level)
    if not barrier_wait(team):
        return False
    for i in range(np.uint64(first * BLOCK_ROWS), np.uint64(end_of_blocks(level, last))):
        level.at[i] = np.uint16(level.number[np.uint64(level.at[i])])
    return True


@inner_kernel
def split_level(team, rank, table, codes, limits, level, space, depth):
    """Make the nodes of a level, and split them; return CONTINUE, DONE or INTERRUPTED."""
    state = level.state
    if not begin_level(team, rank, limits, level, depth):
        return INTERRUPTED
    if state[OPEN] == 0:
        return DONE
    if not search_level(team, rank, table, codes, limits, level, space):
        return INTERRUPTED
    if rank == 0:
        state[SPLITS] = choose_splits(table, codes, limits, level)
        assign_planes(level)
    if not barrier_wait(team):
        return INTERRUPTED
    if state[SPLITS] == 0:
        return DONE
    first, last = share_of(team, rank, np.int64(0), np.int64(len(level.count)))
    route_rows(table, codes.code, level, depth + 1 < level.max_depth, first, last)
    return CONTINUE


@inner_kernel
def end_of_blocks(level, last):
    """Return the number of rows in the first ``last`` blocks."""
    return min(last * BLOCK_ROWS, np.int64(len(level.at)))


@inner_kernel
def begin_level(team, rank, limits, level, depth):
    """Begin a level after the last one; return False if a thread was interrupted."""
    if not barrier_wait(team):
        return False
    if rank == 0:
        make_level(limits, level, depth)
    return barrier_wait(team)


@inner_kernel
def make_level(limits, level, depth):
    """Make the nodes of a level, and write its state."""
    state = level.state
    if depth == 0:
        add_blocks(level.blocks, level.totals, np.int64(1))
        state[:] = 0
        state[SLOTS] = state[PLANES] = state[SMALL] = 1
        level.small[0] = level.plane[0] = 0
    else:
        largest, n_sides = level.totals[0, LARGEST], TWO * state[SPLITS]
        add_blocks(level.blocks, level.totals, n_sides)
        for side in range(n_sides):
            level.totals[side, LARGEST] = largest
            level.plane[side] = level.next_plane[side]
        state[BASE] += state[SLOTS]
        state[SLOTS], state[SMALL] = n_sides, state[SPLITS]
        state[PLANES] += state[SPLITS]
    state[DEPTH] = depth
    state[OPEN] = make_nodes(limits, level, depth < level.max_depth)
    if state[OPEN]:
        begin_search(level, depth + 1 == level.max_depth)


@inner_kernel
def begin_search(level, is_last):
    """Write what the search of a level needs; in the last level new sums are not kept."""
    state = level.state
    state[OLD_PLANES] = state[PLANES] - state[SMALL]
    state[NEW_SHIFT] = max(level.shifts[state[PLANES]] - state[SHIFT], np.int64(0))
    state[SHIFT] += state[NEW_SHIFT]
    state[KEPT] = state[OLD_PLANES] if is_last else state[PLANES]
    level.taken[:] = 0


@inner_kernel
def search_level(team, rank, table, codes, limits, level, space):
    """Search the best split of each column and slot; return False if a thread was interrupted."""
    state, n_columns = level.state, np.int64(len(codes.code))
    n_slots = state[SLOTS]
    if state[NEW_SHIFT]:
        first, last = share_of(team, rank, np.int64(0), n_columns)
        width = CODES >> (state[SHIFT] - state[NEW_SHIFT])
        coarsen(level.sums, state[OLD_PLANES], width, state[NEW_SHIFT], first, last)
        if not barrier_wait(team):
            return False
    many = level.many if state[KEPT] < state[PLANES] else FOUR
    many = many if state[SMALL] <= FEW_PLANES else 1
    space.known[:n_slots] = -np.inf
    search_columns(team, rank, table, codes, limits, level, space, many)
    if not barrier_wait(team):
        return False
    first, last = share_of(team, rank, np.int64(0), n_slots)
    for slot in range(first, last):
        level.best[slot] = -np.inf
        for f in range(n_columns):
            level.best[slot] = max(level.best[slot], level.score[f, slot])
    if not barrier_wait(team):
        return False
    for turn in range(team.size):  # the thread's own candidates first
        search_inside(table, codes, limits, level, space.inside, (rank + turn) % team.size)
    return barrier_wait(team)


@inner_kernel
def assign_planes(level):
    """Write the planes of the sides of all splits: the larger one takes over its parent's plane."""
    plan, n_planes, k = level.plan, level.state[PLANES], np.int64(0)
    for slot in range(level.state[SLOTS]):
        if plan[slot]["feature"] >= 0:
            small = plan[slot]["first_side"] + plan[slot]["small"]
            level.small[k] = small
            level.next_plane[small] = n_planes + k
            level.next_plane[small ^ 1] = level.plane[slot]
            k += 1


@inner_kernel
def order_nodes(level):
    """Write the tree with its nodes in depth-first order."""
    grown, number = level.grown, level.number
    n_nodes = level.state[BASE] + level.state[SLOTS]
    number_nodes(grown[:n_nodes], level.stack, number)
    for i in range(n_nodes):
        at = number[i]
        level.values[at] = level.grown_values[i]
        node, to = grown[i], level.nodes[at]
        is_leaf = node["left"] < 0
        to["left"] = node["left"] if is_leaf else number[node["left"]]
        to["right"] = node["right"] if is_leaf else number[node["right"]]
        to["feature"], to["missing_left"] = node["feature"], node["missing_left"]
        to["threshold"], to["impurity"] = node["threshold"], node["impurity"]
        to["n"], to["weight"] = node["n"], node["weight"]
