"""Rounds of plain boosting of a small table, all in one call.

The rounds are those of `symmetric.boosting.Booster` for one score per row. On small tables a tree
takes less time than the Python code between two trees.
"""

import math
from typing import NamedTuple

import numpy as np

from algorithms.gbdt.kernels.gradient_packing import write_records
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import hash_of
from algorithms.runtime.thread_team import ThreadTeam
from algorithms.symmetric.kernels.category_tree import COMBINATION, start_search
from algorithms.symmetric.kernels.grow_category_tree import grow_category_tree
from algorithms.symmetric.kernels.grow_tree import TreeScoring, grow_alone
from algorithms.symmetric.kernels.leaf_steps import (
    LeafScratch,
    add_leaf_values,
    copy_to,
    estimate_leaves,
)
from algorithms.symmetric.kernels.leaf_sums import differentiate
from algorithms.symmetric.kernels.partition import find_leaves
from algorithms.symmetric.kernels.row_sampling import (
    BLOCK,
    draw_by_gradients,
    mean_size,
    sum_squares,
)

ALL_ROWS, MVS, BERNOULLI = range(3)  # kinds of sampling
HASHES = 2.0**32


class LossRows(NamedTuple):
    """The loss, and the rows it is computed on."""

    kind: int  # as in `leaf_sums.differentiate`
    loss_parameter: float  # as in `leaf_sums.differentiate`
    is_exp: bool  # whether scores are stored as eᶠ
    y: np.ndarray  # float32 (n_rows,)
    weight: np.ndarray  # float32 (n_rows,), or (0,) if all are 1


class LeafRules(NamedTuple):
    """How leaf values are estimated; see `leaf_steps.estimate_leaves`."""

    iterations: int  # leaf_estimation_iterations
    is_newton: bool
    has_backtracking: bool
    learning_rate: float


class SampleRules(NamedTuple):
    """How the rows of a tree are drawn."""

    kind: int  # ALL_ROWS, MVS or BERNOULLI
    subsample: float  # fraction of the rows to keep
    mvs_reg: float  # λ of MVS; NaN: that of the last tree's leaves


class RoundRules(NamedTuple):
    """What is the same in all rounds."""

    loss: LossRows
    leaves: LeafRules
    sampling: SampleRules
    quantiles: np.ndarray  # float64 (n_quantiles,), of the standard normal distribution


class RoundScratch(NamedTuple):
    """Scratch space of the rounds, and the scores of all rows."""

    team: ThreadTeam  # of one thread
    score: np.ndarray  # float64 (n_rows,), as stored by the objective; written
    g: np.ndarray  # float64 (1, n_rows), derivatives; written
    records: np.ndarray  # int64 (1, n_rows), packed derivatives and weights
    rows: np.ndarray  # uint32 (n_rows,), the sampled rows
    drawn: np.ndarray  # float32 (n_rows,), weight of each row in the sample
    packed: np.ndarray  # float32 (2, n_rows), derivatives and weights to pack
    values: np.ndarray  # float64 (2, BLOCK)
    noise: np.ndarray  # float64 (n_quantiles,)
    leaf_of: np.ndarray  # uint16 (n_rows,)
    tables: np.ndarray  # as in `write_records`
    steps: np.ndarray  # float64 (2,), quantization steps
    bounds: np.ndarray  # int64 (2,)
    order: np.ndarray  # uint32 (0,)
    leaves: LeafScratch


class RoundArrays(NamedTuple):
    """Random numbers and results of each round."""

    sample_seeds: np.ndarray  # uint32 (n_rounds,)
    packing_seeds: np.ndarray  # uint32 (n_rounds,)
    level_seeds: np.ndarray  # uint32 (n_rounds, depth, 2), as in `grow_alone`
    is_usable: np.ndarray  # bool (n_rounds, n_features)
    noise_factors: np.ndarray  # float64 (n_rounds, 3): the scale of the noise is σ(g) f₀ f₁ / f₂
    permutations: np.ndarray  # int64 (n_rounds,), of the statistics that choose splits
    splits: np.ndarray  # int64 (n_rounds, depth, 2 or 3), see `grow_alone` and `choose_split`
    keys: np.ndarray  # int64 (n_rounds, depth, width), of the splits by combinations; written
    n_splits: np.ndarray  # int64 (n_rounds,), written; −1: the round was not finished
    values: np.ndarray  # float64 (n_rounds, n_leaves), written: leaf values
    weights: np.ndarray  # float64 (n_rounds, n_leaves), written: Σ of the sample weights


@kernel
def add_rounds(rules, growth, scoring, last, scratch, rounds):
    """Add rounds on numeric columns until one has values that are not finite.

    Parameters
    ----------
    rules : RoundRules
    growth : GrowthArrays
    scoring : TreeScoring; its noise and step are not used
    last : float64 (a power of 2,), leaf values of the last tree
    scratch : RoundScratch
    rounds : RoundArrays, written
    """
    for at in range(len(rounds.n_splits)):
        n_rows = begin_round(rules, at, last, scratch, rounds)
        if n_rows < 0:
            return
        rows, splits, n_splits = scratch.rows[:n_rows], rounds.splits[at], 0
        if n_rows:
            n_noise = scale_noise(rules, at, scratch, rounds)
            noise = scratch.noise[:n_noise]
            own = TreeScoring(scoring.kind, scoring.l2, scratch.steps, noise)
            given = scratch.records, rows, rounds.is_usable[at], own, rounds.level_seeds[at]
            n_splits = grow_alone(growth, *given, splits)
        given = scratch.leaf_of, 0, len(scratch.leaf_of)
        find_leaves(growth.columns, splits[:n_splits, 0], splits[:n_splits, 1], *given)
        if not end_round(rules, at, n_splits, scoring.l2, scratch, rounds):
            return
        last = rounds.values[at]
        last = last[: 1 << n_splits]


@kernel
def add_category_rounds(rules, growth, scoring, last, scratch, rounds, tree, tree_scratch):
    """Add rounds on a table with categorical columns, as `add_rounds` does.

    Parameters
    ----------
    rules, growth, scoring, last, scratch, rounds : as in `add_rounds`
    tree : CategoryTree
    tree_scratch : TreeScratch
    """
    for at in range(len(rounds.n_splits)):
        n_rows = begin_round(rules, at, last, scratch, rounds)
        if n_rows < 0:
            return
        rows, splits, n_splits = scratch.rows[:n_rows], rounds.splits[at], 0
        if n_rows:
            permutation = rounds.permutations[at]
            order = tree.orders[permutation]
            start_search(tree.search, tree.static, rounds.is_usable[at], order, permutation)
            n_noise = scale_noise(rules, at, scratch, rounds)
            noise = scratch.noise[:n_noise]
            own = TreeScoring(scoring.kind, scoring.l2, scratch.steps, noise)
            given = scratch.records, rows, own, rounds.level_seeds[at], splits, scratch.leaf_of
            n_splits = grow_category_tree(growth, tree, tree_scratch, *given)
        else:
            scratch.leaf_of[:] = 0
        for level in range(n_splits):
            if splits[level, COMBINATION] >= 0:
                copy_to(tree.search.keys[splits[level, COMBINATION]], rounds.keys[at, level])
        if not end_round(rules, at, n_splits, scoring.l2, scratch, rounds):
            return
        last = rounds.values[at]
        last = last[: 1 << n_splits]


@inner_kernel
def begin_round(rules, at, last, scratch, rounds):
    """Write the sampled rows and their packed derivatives of a round; return how many rows.

    The result is −1 if a derivative is not finite.
    """
    loss, g, n_rows = rules.loss, scratch.g, len(scratch.score)
    differentiate(
        loss.kind, loss.loss_parameter, scratch.score, loss.y, loss.weight, g[0], 0, n_rows
    )
    n_drawn = draw_rows(rules.sampling, rounds.sample_seeds[at], last, scratch)
    n_packed = write_packed(g[0], loss.weight, scratch, n_drawn)
    weights = scratch.packed[1]
    scratch.steps[0] = scratch.steps[1] = 1.0
    write_records(
        scratch.team, 0, scratch.packed[0], weights[:n_packed],
        rounds.packing_seeds[at], 1, (scratch.order, scratch.order), scratch.tables,
        scratch.steps, scratch.bounds, scratch.records[0],
    )  # fmt: skip
    if np.isnan(scratch.steps[0]) or np.isnan(scratch.steps[1]):
        return np.int64(-1)
    return list_rows(scratch, n_packed)


@inner_kernel
def end_round(rules, at, n_splits, l2, scratch, rounds):
    """Write the leaf values of a round and add them to the scores, unless one is not finite.

    Returns whether all are finite.
    """
    values = rounds.values[at]
    add_tree(rules.loss, rules.leaves, l2, scratch, values, rounds.weights[at])
    values = values[: 1 << n_splits]
    if not is_finite(values):
        return False
    is_exp, changes = rules.loss.is_exp, scratch.leaves.steps[0]
    add_leaf_values(is_exp, values, changes, scratch.leaf_of, scratch.score)
    rounds.n_splits[at] = n_splits
    return True


@inner_kernel
def draw_rows(sampling, seed, last, scratch):
    """Draw the weight of each row in the sample; return the number of weights, 0 if all are 1.

    Parameters
    ----------
    last : float64 (n_leaves,), leaf values of the last tree
    """
    drawn, n_rows = scratch.drawn, len(scratch.drawn)
    if sampling.kind == ALL_ROWS:
        return 0
    if sampling.kind == BERNOULLI:
        for i in range(n_rows):
            drawn[i] = np.float32(hash_of(seed, i) < sampling.subsample * HASHES)
        return n_rows
    l2 = sampling.mvs_reg
    if np.isnan(l2):
        mean = mean_size(last, scratch.values[0])
        l2 = mean * mean
    n_blocks = -(-n_rows // BLOCK)
    draw_by_gradients(scratch.g, sampling.subsample, l2, seed, scratch.values, drawn, 0, n_blocks)
    return n_rows


@inner_kernel
def write_packed(g, weight, scratch, n_drawn):
    """Write the derivatives and weights of the sample; return the number of weights."""
    drawn, packed = scratch.drawn, scratch.packed
    if n_drawn == 0:
        for i in range(len(g)):
            packed[0, i] = np.float32(g[i])
        for i in range(len(weight)):
            packed[1, i] = weight[i]
        return len(weight)
    for i in range(len(g)):
        packed[0, i] = np.float32(g[i] * np.float64(drawn[i]))
        packed[1, i] = drawn[i] * weight[i] if len(weight) else drawn[i]
    return n_drawn


@inner_kernel
def list_rows(scratch, n_packed):
    """Write the rows whose weight is not 0; return how many."""
    rows, count = scratch.rows, 0
    for i in range(len(rows)):
        if n_packed == 0 or scratch.packed[1, i] != 0.0:
            rows[count] = i
            count += 1
    return count


@inner_kernel
def scale_noise(rules, at, scratch, rounds):
    """Write the quantiles of the noise of a score; return how many, 0 if there is no noise."""
    g, quantiles, noise = scratch.g, rules.quantiles, scratch.noise
    factors = rounds.noise_factors[at]
    deviation = math.sqrt(sum_squares(g[0]) / g.shape[1])
    scale = factors[0] * deviation * factors[1] / factors[2]
    if not scale > 0.0:
        return 0
    for i in range(len(quantiles)):
        noise[i] = quantiles[i] * scale
    return len(quantiles)


@inner_kernel
def add_tree(loss, leaves, l2, scratch, values, weights):
    """Write the leaf values of a tree, times the learning rate, and the weights of its leaves."""
    score, n_rows = scratch.score, len(scratch.score)
    if leaves.iterations > 1:  # such an estimation changes the scores
        copy_to(score, scratch.g[0])
        score = scratch.g[0]
    estimate_leaves(
        loss.kind, loss.loss_parameter, loss.is_exp, score, loss.y, loss.weight, scratch.leaf_of,
        l2, leaves.iterations, leaves.is_newton, leaves.has_backtracking, n_rows, scratch.leaves,
        values, weights,
    )  # fmt: skip
    for leaf in range(len(values)):
        values[leaf] *= leaves.learning_rate


@inner_kernel
def is_finite(values):
    """Return whether all values are finite."""
    found = True
    for i in range(len(values)):
        found &= math.isfinite(values[i])
    return found
