"""Leaf values of losses with one score per row, estimated in the calling thread.

It makes the same values as the steps of `symmetric/leaf_values.py`, without a call of Python for
each sum, which small tables spend most of their time on.
"""

import math
from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.symmetric.kernels.exponential import table_exp
from algorithms.symmetric.kernels.leaf_sums import (
    DER1,
    DER2,
    LOGISTIC,
    WEIGHT,
    add_to_scores,
    change_and_sum_leaves,
    sum_leaves,
    sum_losses,
)

MIN_WEIGHT = np.float64(np.finfo(np.float32).eps)  # a block's leaf of less weight is left out


LONGEST, LARGEST = 2.0, 460.0  # step, and |F|, up to which a decrease can be proven
UNIT = 2.0**-53  # rounding error of one operation
NOT_PROVEN = -1.0


class LeafScratch(NamedTuple):
    """Scratch space of `estimate_leaves`."""

    sums: np.ndarray  # float64 (n_blocks, n_leaves, 3)
    losses: np.ndarray  # float64 (n_blocks,)
    steps: np.ndarray  # float64 (3, n_leaves)
    after: np.ndarray  # float64 (n_rows,)


@kernel
def estimate_leaves(
    kind, loss_parameter, is_exp, score, y, weight, leaf_of, l2, iterations, is_newton,
    has_backtracking, block, scratch, values, weights,
):  # fmt: skip
    """Write the leaf values before the learning rate, and the weights of the leaves.

    Parameters
    ----------
    kind, loss_parameter, y, weight : as in `leaf_sums.differentiate`
    is_exp : whether scores are stored as eᶠ
    score : float64 (n_rows,); it is written if there are several iterations
    leaf_of : uint16 (n_rows,)
    l2 : λ′
    iterations : number of steps, at least 1; each halving of a step counts as one
    is_newton : whether steps are divided by second derivatives instead of weights
    has_backtracking : whether a step is halved until the loss falls
    block : number of rows of a block
    scratch : LeafScratch
    values, weights : float64 (n_leaves,), written
    """
    sums, losses = scratch.sums, scratch.losses
    step, changes = scratch.steps[0], scratch.steps[2]
    # additions on the longest path of a sum: within a block, then over blocks
    n_added = min(block, len(y)) + len(sums) * np.int64(len(sums) > 1)
    values[:] = 0.0
    can_prove = has_backtracking and kind == LOGISTIC and len(weight) == 0
    max_abs_score = largest_log(score) if can_prove else np.inf
    loss, bound, is_loss_computed = 0.0, loss_bound(len(y), max_abs_score), False
    left, is_first, is_step_pending = iterations, True, False
    while left > 0:
        sums[:] = 0.0
        if is_step_pending:  # the last step is not in the scores yet
            change_and_sum_leaves(score, y, changes, leaf_of, block, sums)
        else:
            sum_leaves(kind, loss_parameter, score, y, weight, leaf_of, block, sums, 0, len(sums))
        is_step_pending = False
        add_blocks(sums)
        if is_first:
            for leaf in range(len(weights)):
                weights[leaf] = sums[0, leaf, WEIGHT]
            is_first = False
        write_steps(sums[0], l2, is_newton, step)
        left -= 1
        if not has_backtracking:
            add_to(values, step)
            if left:
                add_leaf_values(is_exp, step, changes, leaf_of, score)
            continue
        write_changes(is_exp, step, changes)
        longest_step = largest_proven_step(sums[0], changes, len(y), n_added, max_abs_score, bound)
        if longest_step < 0.0 and not is_loss_computed:
            loss = loss_of(kind, loss_parameter, score, y, weight, block, losses)
            is_loss_computed = True
            bound = min(bound, loss)
            longest_step = largest_proven_step(
                sums[0], changes, len(y), n_added, max_abs_score, bound
            )
        if longest_step >= 0.0:
            add_to(values, step)
            max_abs_score, is_loss_computed = max_abs_score + longest_step, False
            is_step_pending = True
            continue
        rows = score, y, weight, leaf_of
        given = rows, block, scratch, values
        loss, left = shorten_step(kind, loss_parameter, is_exp, *given, loss, left)
        for leaf in range(len(step)):
            longest_step = max(longest_step, abs(step[leaf]))
        max_abs_score += max(longest_step, 0.0)


@linked_kernel
def shorten_step(kind, loss_parameter, is_exp, rows, block, scratch, values, loss, left):
    """Halve a step until the loss falls; add it to the values and scores.

    Returns the loss, and the iterations that are left.

    Parameters
    ----------
    rows : score, y, weight and leaf_of, as in `estimate_leaves`
    block, scratch, values : as in `estimate_leaves`
    loss : float, that of the scores
    left : int, iterations
    """
    score, y, weight, leaf_of = rows
    steps, after = scratch.steps, scratch.after
    step, scaled, changes = steps[0], steps[1], steps[2]
    scale = 1.0
    while left >= 0:
        for leaf in range(len(step)):
            scaled[leaf] = step[leaf] * scale
        copy_to(score, after)
        add_leaf_values(is_exp, scaled, changes, leaf_of, after)
        now = loss_of(kind, loss_parameter, after, y, weight, block, scratch.losses)
        if now < loss:
            add_to(values, scaled)
            copy_to(after, score)
            return now, left
        scale /= 2.0
        left -= 1
    return loss, left


@kernel
def largest_log(score):
    """Return the largest |log eᶠ| of some scores; infinite or NaN if one is not positive."""
    low, high = np.inf, 0.0
    for i in range(len(score)):
        low, high = min(low, score[i]), max(high, score[i])
    return max(abs(math.log(low)), abs(math.log(high)))


@kernel
def loss_bound(n_rows, max_abs_score):
    """Return a bound on the log loss of rows without weights.

    Parameters
    ----------
    max_abs_score : largest |F|
    """
    return n_rows * (2.0 * max_abs_score + 1.0)


@kernel
def largest_proven_step(sums, changes, n_rows, n_added, max_abs_score, bound):
    """Return the largest |step| if a step surely lowers the computed log loss; else NOT_PROVEN.

    Within a step s the second derivative of a row's loss grows at most by the factor e^|s|, so

        loss(F + s) ≤ loss(F) − s ΣG − (e^|s| − 1 − |s|) ΣH

    summed over the leaves. The decrease must exceed a bound on the rounding errors of both losses
    and of the sums. Then the losses need not be computed.

    Parameters
    ----------
    sums : float64 (n_leaves, 3), as in `sum_leaves`, of rows without weights
    changes : float64 (n_leaves,), eˢ
    n_rows : int
    n_added : largest number of additions between a row's loss and the total
    max_abs_score : largest |F|; infinite if the loss is not that of rows without weights
    bound : bound on the loss
    """
    if not max_abs_score <= LARGEST:
        return NOT_PROVEN
    decrease = longest = 0.0
    for leaf in range(len(changes)):
        step = math.log(changes[leaf])
        length = abs(step)
        curvature = sums[leaf, DER2] * (math.expm1(length) - length)
        decrease += sums[leaf, DER1] * step + curvature
        longest = max(longest, length)
    of_sums = (n_added + 8.0) * (bound + n_rows * longest)
    error = 4.0 * UNIT * (of_sums + 16.0 * (max_abs_score + 2.0) * n_rows)
    return longest if longest <= LONGEST and decrease > error else NOT_PROVEN


@inner_kernel
def add_to(total, more):
    """Add one array to another."""
    for i in range(len(total)):
        total[i] += more[i]


@inner_kernel
def copy_to(source, target):
    """Copy an array."""
    for i in range(len(source)):
        target[i] = source[i]


@inner_kernel
def write_steps(sums, l2, is_newton, step):
    """Write ΣG / (−ΣH + λ′) of each leaf for Newton steps, otherwise ΣG / (ΣW + λ′)."""
    for leaf in range(len(step)):
        der1, der2, weight = sums[leaf, DER1], sums[leaf, DER2], sums[leaf, WEIGHT]
        if weight <= MIN_WEIGHT:
            der1 = der2 = 0.0
        if is_newton:
            step[leaf] = der1 / (-der2 + l2)
        else:
            step[leaf] = der1 * (1.0 / (weight + l2)) if weight > 0.0 else 0.0


@inner_kernel
def add_blocks(sums):
    """Add the sums of all blocks to those of the first; leave out leaves of tiny weight."""
    for part in range(len(sums)):
        for leaf in range(sums.shape[1]):
            if sums[part, leaf, WEIGHT] <= MIN_WEIGHT:
                sums[part, leaf, DER1] = sums[part, leaf, DER2] = 0.0
            if part > 0:
                for field in range(sums.shape[2]):
                    sums[0, leaf, field] += sums[part, leaf, field]


@inner_kernel
def loss_of(kind, loss_parameter, score, y, weight, block, losses):
    """Return the sum of the losses of all rows; NaN counts as infinite."""
    for part in range(len(losses)):
        rows = part * block, min((part + 1) * block, len(y))
        losses[part] = sum_losses(kind, loss_parameter, score, y, weight, *rows)
    loss = sum_few(losses)
    return np.inf if np.isnan(loss) else loss


@inner_kernel
def sum_few(values):
    """Return the sum of at most 128 numbers, added in the order of `numpy.sum`."""
    total, n_whole = 0.0, len(values) // 8 * 8
    if n_whole:
        a, b, c, d = values[0], values[1], values[2], values[3]
        e, f, g, h = values[4], values[5], values[6], values[7]
        for i in range(8, n_whole, 8):
            a += values[i]
            b += values[i + 1]
            c += values[i + 2]
            d += values[i + 3]
            e += values[i + 4]
            f += values[i + 5]
            g += values[i + 6]
            h += values[i + 7]
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(n_whole, len(values)):
        total += values[i]
    return total


@inner_kernel
def add_leaf_values(is_exp, values, changes, leaf_of, score):
    """Add leaf values to the scores of all rows; ``changes`` is scratch space."""
    write_changes(is_exp, values, changes)
    add_to_scores(is_exp, changes, leaf_of, score, 0, len(score))


@inner_kernel
def write_changes(is_exp, values, changes):
    """Write leaf values as they change stored scores: v, or eᵛ."""
    for leaf in range(len(values)):
        changes[leaf] = table_exp(values[leaf]) if is_exp else values[leaf]
