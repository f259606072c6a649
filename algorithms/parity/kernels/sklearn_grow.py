"""Growth of a tree by scikit-learn's rules, depth first or best first.

In depth-first growth a node is split at once, and its left child is made first. In best-first
growth it is stored in a heap until no other node improves more; then both children are made, the
left one first.
"""

from algorithms.parity.kernels.sklearn_arrays import ALL, WHOLE
from algorithms.parity.kernels.sklearn_criteria import node_impurity
from algorithms.parity.kernels.sklearn_search import complete_split, search_features
from algorithms.parity.kernels.sklearn_sums import start_sides, sum_node
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.best_first_heap import pop_split, push_split
from algorithms.trees.kernels.node import push_task, write_node
from algorithms.trees.kernels.tree_arrays import (
    ABSOLUTE_ERROR,
    BUDGET,
    COUNT,
    DONE,
    HEAP,
    INTERRUPTED,
    MORE_ROOM,
    WAITING,
)

EPSILON = 2.0**-52


@kernel
def grow_by_sklearn_rules(given, rules, work, search):
    """Make nodes; return DONE, or the action that the caller must take.

    MORE_ROOM: extend nodes and values, and call again. INTERRUPTED: raise KeyboardInterrupt.
    """
    state = work.state
    if state[COUNT] == 0:
        list_rows(given, search)
    while state[WAITING] > 0 or open_best(rules, work):
        if is_interrupted(search.flag):
            return INTERRUPTED
        number = state[COUNT]
        if number == len(work.nodes):
            return MORE_ROOM
        task = work.todo[state[WAITING] - 1]
        split = work.splits[number if rules.max_leaf_nodes else 0]
        if open_node(given, rules, search, task, split, number):
            search_features(given, rules, search, split)
            if is_interrupted(search.flag):
                return INTERRUPTED
            if split["entry"] < split["end"]:
                complete_split(given, rules, search, split, task["impurity"])
        close_node(rules, work, search, task, split)
    return DONE


@inner_kernel
def list_rows(given, search):
    """Write the rows with nonzero weight, and the sum of all weights."""
    n = 0
    total = 0.0
    for row in range(len(given.weight)):
        total += given.weight[row]
        if given.weight[row] != 0.0:
            search.samples[n] = row
            n += 1
    search.weights[ALL] = total


@inner_kernel
def open_node(given, rules, search, task, split, number):
    """Sum the rows of a task and write its split record; return whether it may be split."""
    start, end = task["start"], task["end"]
    sum_node(given, rules, search, start, end)
    start_sides(given, rules, search, start, end)
    if task["parent"] < 0:
        task["impurity"] = node_impurity(given, rules, search, start, end)
    split["node"] = number
    split["start"] = start
    split["end"] = end
    split["depth"] = task["depth"]
    split["lower"] = task["lower"]
    split["upper"] = task["upper"]
    split["n_constants"] = 0 if rules.max_leaf_nodes else task["n_constants"]
    split["is_leaf"] = 1
    return may_split(rules, task, search.weights[WHOLE])


@inner_kernel
def may_split(rules, task, weight):
    """Return whether depth, number of rows, weight and impurity of a node allow a split."""
    n = task["end"] - task["start"]
    stays = (
        task["depth"] >= rules.max_depth
        or n < rules.min_samples_split
        or n < 2 * rules.min_samples_leaf
        or weight < 2.0 * rules.min_weight_leaf
        or task["impurity"] <= EPSILON
    )
    return not stays


@inner_kernel
def close_node(rules, work, search, task, split):
    """Write the node of the current task; split it now, or add it to the heap."""
    work.state[WAITING] -= 1
    write_node(work, task, split["node"], search.weights[WHOLE])
    write_value(rules, search, work.values[split["node"]], task)
    if split["is_leaf"]:
        split["improvement"] = 0.0
    if rules.max_leaf_nodes:
        push_split(work, split["node"])
    elif not split["is_leaf"]:
        open_split(rules, work, split)


@inner_kernel
def write_value(rules, search, value, task):
    """Write a node's means, medians or class shares, clipped to the monotonic bounds."""
    if rules.criterion == ABSOLUTE_ERROR:
        for k in range(len(value)):
            value[k] = search.medians[k]
    else:
        for k in range(len(value)):
            value[k] = search.sums[WHOLE, k] / search.weights[WHOLE]
    if len(rules.monotonic):
        value[0] = min(max(value[0], task["lower"]), task["upper"])
        if len(value) > 1:
            value[1] = 1.0 - value[0]


@inner_kernel
def open_best(rules, work):
    """Add tasks for both sides of the best split in the heap; return False if there is none."""
    while rules.max_leaf_nodes and work.state[HEAP] > 0 and work.state[BUDGET] > 0:
        split = work.splits[pop_split(work)]
        if not split["is_leaf"]:
            work.state[BUDGET] -= 1
            open_split(rules, work, split)
            return True
    return False


@inner_kernel
def open_split(rules, work, split):
    """Write a split to its node and add a task for each side, the left one on top."""
    node = work.nodes[split["node"]]
    node["feature"] = split["feature"]
    node["threshold"] = split["threshold"]
    node["missing_left"] = split["missing_left"]
    push_task(rules, work, split, split["entry"], split["end"], False, split["impurity_right"])
    push_task(rules, work, split, split["start"], split["entry"], True, split["impurity_left"])
