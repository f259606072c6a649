"""Rounds of gradient boosting in one kernel call: gradients, trees, leaf values, scores, losses.

On small tables the kernels of a round take less time than the Python code between them. So one call
adds many rounds, if the loss computes gradients and leaf values by the kernels of `losses`. The
results are those of `gradient_rounds`, bit for bit.

All threads of a team call the kernel. Each one has its own blocks of rows, in all steps.
"""

from typing import NamedTuple

import numpy as np

from algorithms.boosting.kernels.losses import (
    SMALLEST,
    SQUARED,
    add_newton_sums,
    add_row_losses,
    write_gradients,
)
from algorithms.levelwise.kernels.grow_tree import grow_levels
from algorithms.levelwise.kernels.level_arrays import BASE, BLOCK_ROWS, DEPTH, SLOTS
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.thread_team import barrier_wait, share_of

EVERY_ROW = -1


class RoundArrays(NamedTuple):
    """Data of a batch of R rounds with K trees each, and its results.

    C rows are drawn in each round; a tree has at most N nodes.
    """

    kind: int  # of the loss, as in `losses`
    parameter: float  # of the loss
    scale: float  # factor of the loss
    factor: float  # factor of Newton steps
    l2: float  # λ, penalty of squared leaf values
    learning_rate: float
    y: np.ndarray  # float64 (n_rows,)
    raw: np.ndarray  # float64 (K, n_rows): scores, updated
    gradient: np.ndarray  # float64 (K, n_rows), written
    masks: np.ndarray  # bool (R, n_rows): drawn rows; (R, 0): all rows are used
    drawn: np.ndarray  # uint32 (C,), written: drawn rows of a round
    others: np.ndarray  # uint32 (n_rows − C,), written
    newton_sums: np.ndarray  # float64 (n_blocks, N, 2), written
    loss_sums: np.ndarray  # float64 (n_blocks, 2), written
    nodes: np.ndarray  # NODE (R, K, N), written
    values: np.ndarray  # float64 (R, K, N), written: means of inner nodes, steps of leaves
    n_nodes: np.ndarray  # int64 (R, K), written
    depth: np.ndarray  # int64 (R, K), written
    train_scores: np.ndarray  # float64 (R,), written
    oob_scores: np.ndarray  # float64 (R,), written if there are masks


@kernel
def add_rounds(team, rank, table, codes, limits, level, space, rounds):
    """Add the rounds, unless a thread was interrupted before.

    Parameters
    ----------
    rounds : RoundArrays
        The other parameters are as in `grow_levels`. ``level.value`` is a row of its own, or
        ``rounds.gradient[0]`` if there is one tree in a round.
    """
    first, last = share_of(team, rank, np.int64(0), np.int64(len(level.count)))
    for r in range(len(rounds.n_nodes)):
        begin_round(rank, level, rounds, r, first, last)
        for k in range(len(rounds.raw)):
            if len(rounds.raw) > 1:
                copy_rows(rounds.gradient[k], level.value, first, last)
            if not grow_levels(team, rank, table, codes, limits, level, space):
                return
            if not find_leaf_values(team, rank, level, rounds, k, first, last):
                return
            if rank == 0:
                store_tree(level, rounds, r, k)
            add_leaf_values(level, rounds, k, first, last)
        if not add_losses(team, rank, level, rounds, r):
            return


@inner_kernel
def copy_rows(source, target, first, last):
    """Copy the rows of blocks first … last − 1."""
    for i in range(np.uint64(first * BLOCK_ROWS), np.uint64(min(last * BLOCK_ROWS, len(target)))):
        target[i] = source[i]


@linked_kernel
def begin_round(rank, level, rounds, r, first, last):
    """Write the gradients, and which rows are drawn, of blocks first … last − 1."""
    if rounds.masks.shape[1]:
        copy_rows(rounds.masks[r], level.wanted, first, last)
        if rank == 0:
            list_rows(rounds.masks[r], rounds.drawn, rounds.others)
    kind, parameter, y, raw = rounds.kind, rounds.parameter, rounds.y, rounds.raw
    write_gradients(kind, parameter, y, raw, rounds.gradient, first, last)


@inner_kernel
def list_rows(mask, drawn, others):
    """List the rows in the mask, and the others."""
    n_drawn, n_others = 0, 0
    for i in range(len(mask)):
        if mask[i]:
            drawn[n_drawn] = i
            n_drawn += 1
        else:
            others[n_others] = i
            n_others += 1


@linked_kernel
def find_leaf_values(team, rank, level, rounds, k, first, last):
    """Replace the means of leaves by Newton steps; return False if a thread was interrupted.

    A step is Σ w g / (Σ w h + λ), times ``factor``. For the squared error it is the mean.
    """
    if rounds.kind != SQUARED:
        label = k if len(rounds.raw) > 1 else EVERY_ROW
        sums, y, weight = rounds.newton_sums, rounds.y, level.weight
        add_newton_sums(
            rounds.kind, label, y, level.value, weight, level.wanted, level.at, sums, first, last
        )
        if not barrier_wait(team):
            return False
        if rank == 0:
            for node in range(level.state[BASE] + level.state[SLOTS]):
                if level.nodes[node]["left"] < 0:
                    level.values[node] = newton_step(sums, node, rounds.l2, rounds.factor)
    return barrier_wait(team)


@inner_kernel
def newton_step(sums, node, l2, factor):
    """Return the step of a node; 0 if the curvature vanishes."""
    g, h = 0.0, 0.0
    for block in range(len(sums)):
        g += sums[block, node, 0]
        h += sums[block, node, 1]
    h += l2
    return 0.0 if abs(h) < SMALLEST else factor * g / h


@inner_kernel
def store_tree(level, rounds, r, k):
    """Copy the tree of a round."""
    n_nodes = level.state[BASE] + level.state[SLOTS]
    rounds.n_nodes[r, k], rounds.depth[r, k] = n_nodes, level.state[DEPTH]
    for i in range(n_nodes):
        rounds.values[r, k, i] = level.values[i]
        rounds.nodes[r, k, i] = level.nodes[i]


@inner_kernel
def add_leaf_values(level, rounds, k, first, last):
    """Add the leaf values times the learning rate to the scores of blocks first … last − 1."""
    raw, rate = rounds.raw[k], rounds.learning_rate
    for i in range(np.uint64(first * BLOCK_ROWS), np.uint64(min(last * BLOCK_ROWS, len(raw)))):
        raw[i] += rate * level.values[np.uint64(level.at[i])]


@linked_kernel
def add_losses(team, rank, level, rounds, r):
    """Write the mean losses after a round; return False if a thread was interrupted."""
    if not barrier_wait(team):
        return False
    n_drawn = np.int64(len(rounds.drawn) if rounds.masks.shape[1] else len(rounds.y))
    if not sum_row_losses(team, rank, level, rounds, rounds.drawn, n_drawn):
        return False
    if rank == 0:
        rounds.train_scores[r] = mean_of(rounds, n_drawn)
    if rounds.masks.shape[1]:
        n_others = np.int64(len(rounds.others))
        if not barrier_wait(team):
            return False
        if not sum_row_losses(team, rank, level, rounds, rounds.others, n_others):
            return False
        if rank == 0:
            rounds.oob_scores[r] = mean_of(rounds, n_others)
    return barrier_wait(team)


@inner_kernel
def sum_row_losses(team, rank, level, rounds, rows, n_rows):
    """Sum the losses of some rows by blocks; return False if a thread was interrupted."""
    y, raw, weight, sums = rounds.y, rounds.raw, level.weight, rounds.loss_sums
    first, last = share_of(team, rank, np.int64(0), count_blocks(n_rows))
    add_row_losses(rounds.kind, rounds.parameter, y, raw, weight, rows, sums, first, last)
    return barrier_wait(team)


@inner_kernel
def count_blocks(n_rows):
    """Return the number of blocks of rows."""
    return (n_rows + BLOCK_ROWS - 1) // BLOCK_ROWS


@inner_kernel
def mean_of(rounds, n_rows):
    """Return the mean of summed losses."""
    total, weights = 0.0, 0.0
    for block in range(count_blocks(n_rows)):
        total += rounds.loss_sums[block, 0]
        weights += rounds.loss_sums[block, 1]
    return rounds.scale * total / weights
