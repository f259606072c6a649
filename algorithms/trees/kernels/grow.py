"""Growth of one tree, depth first or best first, on lists that were sorted once.

`grow` makes nodes until the tree is complete, or until the caller must act: extend the arrays, or
share the work on a big node among threads. The next call continues from there; all state is in
`Growth`. A node passes four phases:

    OPEN       take a task, sum its rows and draw the features
    OPENED     search them
    SEARCHED   make the node, with the best split that was found
    SPLITTING  renumber its rows and partition its lists: each side becomes a task

Depth first, a node is split at once, and its left side is made first. Best first, it waits in the
frontier until no other node improves more. A subtree of few rows on sorted lists is made at once,
see `small_subtree`.
"""

import numpy as np

from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.batch import end_tree, start_tree
from algorithms.trees.kernels.best_first_heap import pop_split
from algorithms.trees.kernels.criteria import impurity
from algorithms.trees.kernels.feature_sampling import draw_features
from algorithms.trees.kernels.node import make_node, push_task, stays_leaf, write_split
from algorithms.trees.kernels.partition import partition_lists, renumber, reorder
from algorithms.trees.kernels.search import first_missing, search_visit, sum_rows
from algorithms.trees.kernels.small_subtree import allows_small_subtrees, grow_small_subtree
from algorithms.trees.kernels.tree_arrays import (
    BUDGET,
    COUNT,
    DONE,
    HEAP,
    INTERRUPTED,
    MAX_SUBTREE_ROWS,
    MORE_ROOM,
    NOTHING,
    OPEN,
    OPENED,
    ORDER,
    PARTITION,
    PHASE,
    SEARCH,
    SEARCHED,
    SLOT,
    SPLITTING,
    VISITS,
    WAITING,
)


@kernel
def grow(table, rows, rules, growth, scratch, batch):
    """Grow the trees of a batch, or one tree; return DONE, or the action that the caller must take.

    Parameters
    ----------
    rows, growth : the tree's; with a batch, memory that its trees use one after another
    batch : Batch

    Returns
    -------
    MORE_ROOM: extend ``nodes`` and ``values``. ORDER: order the category lists of the next node.
    SEARCH: search all of ``visit`` in the next node. PARTITION: partition all lists for the split
    in the current slot. INTERRUPTED: raise KeyboardInterrupt. After the action, the next call goes
    on. For a batch the action is DONE or INTERRUPTED.
    """
    n_nodes = np.int64(0)
    for tree in range(max(len(batch.seeds), 1)):
        own, grown = rows, growth
        if len(batch.seeds):
            own, grown = start_tree(table, rows, rules, growth, batch, tree, n_nodes)
            if len(own.source) == 0:
                continue
        action = make_nodes(table, own, rules, grown, scratch)
        if action != DONE:
            return action
        if len(batch.seeds):
            n_nodes += end_tree(grown, batch, tree)
    return DONE


@inner_kernel
def make_nodes(table, rows, rules, growth, scratch):
    """Make nodes until the tree is complete or the caller must act; return the action."""
    state = growth.state
    action = NOTHING
    allows_small = allows_small_subtrees(table, rows, rules, scratch.small)
    while action == NOTHING:
        if is_interrupted(growth.flag):
            return INTERRUPTED
        if state[PHASE] == OPEN:
            if (
                allows_small
                and starts_small_subtree(rules, growth)
                and grow_small_subtree(table, rows, rules, growth, scratch)
            ):
                continue
            action = open_next(table, rows, rules, growth)
        elif state[PHASE] == OPENED:
            action = search_opened(table, rows, rules, growth, scratch)
        elif state[PHASE] == SEARCHED:
            make_node(table, rows, rules, growth, scratch)
        else:
            action = split_and_partition(table, rows, rules, growth, scratch)
    return action


@inner_kernel
def starts_small_subtree(rules, growth):
    """Return whether the next node has few rows, may be split, and ``nodes`` has enough room."""
    state = growth.state
    if state[WAITING] == 0:
        return False
    task = growth.todo[state[WAITING] - 1]
    n = task["end"] - task["start"]
    if n > MAX_SUBTREE_ROWS or state[COUNT] + 2 * n > len(growth.nodes) or task["parent"] < 0:
        return False
    return not stays_leaf(rules, task["depth"], n, np.inf, task["impurity"])


@inner_kernel
def open_next(table, rows, rules, growth):
    """Begin the next node; return the caller's action."""
    state = growth.state
    if state[COUNT] == len(growth.nodes):
        return MORE_ROOM
    if not open_node(table, rows, rules, growth):
        return DONE
    return ORDER if rules.ordered and state[PHASE] == OPENED and state[VISITS] > 0 else NOTHING


@inner_kernel
def search_opened(table, rows, rules, growth, scratch):
    """Search the node that was begun, unless it is big; return the caller's action."""
    state = growth.state
    state[PHASE] = SEARCHED
    if state[VISITS] > 0:
        task = growth.todo[state[WAITING] - 1]
        if is_big(rules, task["start"], task["end"]):
            return SEARCH
        bounds = (task["start"], task["end"], task["lower"], task["upper"])
        search_visit(table, rows, rules, growth, scratch, bounds, 0, state[VISITS])
    return NOTHING


@inner_kernel
def split_and_partition(table, rows, rules, growth, scratch):
    """Split the current node and partition its lists, unless it is big; return the action."""
    split = growth.splits[growth.state[SLOT]]
    start, end = split["start"], split["end"]
    split_rows(table, rows, rules, growth, scratch)
    if len(table.ranks) or not may_grow(rules, growth.state):
        return NOTHING
    depth, n_left = split["depth"] + 1, split["n_left"]
    n_right = end - start - n_left
    left = not stays_leaf(rules, depth, n_left, split["weight_left"], split["impurity_left"])
    right = not stays_leaf(rules, depth, n_right, split["weight_right"], split["impurity_right"])
    if not (left or right):
        return NOTHING
    if is_big(rules, start, end):
        return PARTITION
    node = (start, start + n_left, end, left, right)
    kind, columns = table.kind, rows.columns
    place, spare = growth.place, scratch.entries
    partition_lists(rows.lists, kind, columns, node, place, spare, 0, len(columns))
    return NOTHING


@inner_kernel
def is_big(rules, start, end):
    """Return whether several threads share the work on a node."""
    return rules.big > 0 and end - start >= rules.big


@inner_kernel
def open_node(table, rows, rules, growth):
    """Begin the next node, or split the best one of the frontier; return False at the end."""
    state = growth.state
    if state[WAITING] == 0:
        if not rules.max_leaf_nodes or state[HEAP] == 0 or state[BUDGET] == 0:
            return False
        slot = pop_split(growth)
        if growth.splits[slot]["is_leaf"] == 0:
            state[BUDGET] -= 1
            state[SLOT] = slot
            state[PHASE] = SPLITTING
        return True
    task = growth.todo[state[WAITING] - 1]
    start, end = task["start"], task["end"]
    sum_rows(rules, rows, start, end, growth.totals)
    if task["parent"] < 0:
        task["impurity"] = impurity(rules.criterion, growth.totals)
    state[VISITS] = 0
    state[PHASE] = OPENED
    n, weight = end - start, growth.totals[0]
    if not stays_leaf(rules, task["depth"], n, weight, task["impurity"]) and may_grow(rules, state):
        known = 0 if rules.max_leaf_nodes else task["n_constants"]
        task["n_constants"] = draw_features(table, rows, rules, growth, start, end, known)
    return True


@inner_kernel
def may_grow(rules, state):
    """Return whether a further split is allowed by the number of leaves."""
    return not rules.max_leaf_nodes or state[BUDGET] > 0


@inner_kernel
def split_rows(table, rows, rules, growth, scratch):
    """Renumber the rows of the current split and make a task of each side."""
    state = growth.state
    split = growth.splits[state[SLOT]]
    start, end, f = split["start"], split["end"], split["list"]
    column = rows.columns[split["feature"]]
    write_split(growth, split)
    stop = first_missing(table, rows, f, column, start, end)
    middle = start + split["n_left"]
    bits = rows.target.view(np.int64), rows.weight.view(np.int64)
    entry, missing_left = split["entry"], split["missing_left"]
    if len(table.ranks):
        reorder(rows, bits, f, start, entry, stop, end, missing_left, scratch)
    else:
        place = growth.place
        renumber(rows, bits, f, start, entry, stop, end, missing_left, place, scratch)
    push_task(rules, growth, split, middle, end, False, split["impurity_right"])
    push_task(rules, growth, split, start, middle, True, split["impurity_left"])
    state[PHASE] = OPEN
