"""Rows and results of many trees that one kernel call grows on the same table.

Each tree draws rows with replacement: a row that is drawn k times has weight k. For tables of a few
thousand rows the Python code for one tree took longer than its growth.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.presort import UNUSED, write_lists
from algorithms.trees.kernels.tree_arrays import (
    BUDGET,
    COUNT,
    DEPTH,
    RANDOM,
    STATES,
    WAITING,
    Growth,
    Rows,
)

TWO = 2
CODE_BITS = np.int64(32)
ONE = np.int64(1)


class Batch(NamedTuple):
    """Trees that are grown by one call; no trees: the caller's own rows are used."""

    seeds: np.ndarray  # int64 (n_trees,): states of the random streams, below 2³¹
    columns: np.ndarray  # int64 (n_trees, n_features): the table's column of each feature
    drawn: np.ndarray  # int32 (n_trees, n_drawn): rows of the table
    codes: np.ndarray  # int64 (n_rows,): class codes; (0,) for regression
    y: np.ndarray  # float64 (n_rows,); (0,) for classes
    counts: np.ndarray  # int64 (n_rows,), scratch: how often a tree drew each row
    place: np.ndarray  # uint32 (n_rows,), scratch
    sizes: np.ndarray  # int64 (n_trees, 2), written: nodes and depth; 0 nodes: not grown


@inner_kernel
def start_tree(table, rows, rules, growth, batch, tree, n_nodes):
    """Return the `Rows` and the `Growth` of a tree; without rows if it is to be grown alone.

    A tree is grown alone if its rows have equal weights other than 1, because these are divided by
    their common value (`split_unit`).

    Parameters
    ----------
    rows, growth : memory for all rows of the table
    n_nodes : nodes of the trees before; they come first in ``growth.nodes``
    """
    m = take_rows(rows, rules, batch, tree)
    columns = batch.columns[tree]
    if m > 0 and not len(table.ranks):
        lists = rows.lists
        write_lists(
            table.order, table.kind, columns, batch.place, lists, np.uint64(m), 0, len(columns)
        )
    weight = rows.weight[:m]
    is_weighted = False
    for i in range(len(weight)):
        is_weighted |= weight[i] != 1.0
    own = Rows(
        rows.lists,
        columns,
        rows.source[:m],
        rows.mark[:m],
        rows.target[:m],
        weight if is_weighted else weight[:0],
    )
    state = growth.state
    for i in range(STATES):
        state[i] = 0
    state[RANDOM] = batch.seeds[tree]
    state[BUDGET] = rules.max_leaf_nodes - 1
    state[WAITING] = 1
    for f in range(len(columns)):
        growth.features[f] = f
    root = growth.todo[0]
    root["start"] = 0
    root["end"] = m
    root["depth"] = 0
    root["parent"] = -1
    root["is_left"] = 0
    root["n_constants"] = 0
    root["impurity"] = 0.0
    root["lower"] = -np.inf
    root["upper"] = np.inf
    return own, Growth(
        growth.nodes[n_nodes:],
        growth.values[n_nodes:],
        growth.todo,
        growth.splits,
        growth.heap,
        growth.state,
        growth.totals,
        growth.features,
        growth.constants,
        growth.visit,
        growth.proxy,
        growth.position,
        growth.to_left,
        growth.place,
        growth.flag,
    )


@inner_kernel
def take_rows(rows, rules, batch, tree):
    """Write the rows that a tree drew, with target and weight; return their number.

    The number is 0 if all have the same weight other than 1.
    """
    drawn, counts = batch.drawn[tree], batch.counts
    for row in range(len(counts)):
        counts[row] = 0
    for i in range(len(drawn)):
        counts[drawn[i]] += ONE
    m = np.int64(0)
    most = np.int64(0)
    least = np.int64(len(drawn))
    is_regression = rules.n_classes == 0
    for row in range(len(counts)):
        count = counts[row]
        batch.place[row] = np.uint32(m) if count else UNUSED
        if count == 0:
            continue
        most = max(most, count)
        least = min(least, count)
        rows.source[m] = row
        if is_regression:
            rows.target[m] = batch.y[row]
            rows.weight[m] = count
        else:
            code = batch.codes[row] * (count if rules.n_classes == TWO else ONE)
            rows.mark[m] = (count << CODE_BITS) + code
        m += ONE
    return m if least < most or most == 1 else np.int64(0)


@inner_kernel
def end_tree(growth, batch, tree):
    """Store the size of a tree that was grown; return its number of nodes."""
    batch.sizes[tree, 0] = growth.state[COUNT]
    batch.sizes[tree, 1] = growth.state[DEPTH]
    return growth.state[COUNT]
