"""Leaf values of losses with one score per row, estimated in the calling thread.

It makes the same values as the steps of `symmetric/leaf_values.py`, without a call of Python for
each sum, which small tables spend most of their time on.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.symmetric.kernels.exponential import table_exp
from algorithms.symmetric.kernels.leaf_sums import (
    DER1,
    DER2,
    WEIGHT,
    add_to_scores,
    sum_leaves,
    sum_losses,
)

MIN_WEIGHT = np.float64(np.finfo(np.float32).eps)  # a block's leaf of less weight is left out


@kernel
def estimate_leaves(
    kind, slope, is_exp, score, y, weight, leaf_of, l2, iterations, is_newton, has_backtracking,
    sums, steps, after, values, weights,
):  # fmt: skip
    """Write the leaf values before the learning rate, and the weights of the leaves.

    Parameters
    ----------
    kind, slope, y, weight : as in `leaf_sums.differentiate`
    is_exp : whether scores are stored as eᶠ
    score : float64 (n_rows,); it is written if there are several iterations
    leaf_of : uint16 (n_rows,)
    l2 : λ′
    iterations : number of steps, at least 1; each halving of a step counts as one
    is_newton : whether steps are divided by second derivatives instead of weights
    has_backtracking : whether a step is halved until the loss falls
    sums, steps, after : float64 (1, n_leaves, 3), (3, n_leaves) and (n_rows,), scratch space
    values, weights : float64 (n_leaves,), written
    """
    step, scaled, changes = steps[0], steps[1], steps[2]
    values[:] = 0.0
    loss = loss_of(kind, slope, score, y, weight) if has_backtracking else 0.0
    left, is_first = iterations, True
    while left > 0:
        sums[:] = 0.0
        sum_leaves(kind, slope, score, y, weight, leaf_of, len(y), sums, 0, 1)
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
        scale = 1.0
        while left >= 0:
            for leaf in range(len(step)):
                scaled[leaf] = step[leaf] * scale
            copy_to(score, after)
            add_leaf_values(is_exp, scaled, changes, leaf_of, after)
            now = loss_of(kind, slope, after, y, weight)
            if now < loss:
                add_to(values, scaled)
                copy_to(after, score)
                loss = now
                break
            scale /= 2.0
            left -= 1


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
def loss_of(kind, slope, score, y, weight):
    """Return the sum of the losses of all rows; NaN counts as infinite."""
    loss = sum_losses(kind, slope, score, y, weight, 0, len(y))
    return np.inf if np.isnan(loss) else loss


@inner_kernel
def add_leaf_values(is_exp, values, changes, leaf_of, score):
    """Add leaf values to the scores of all rows; ``changes`` is scratch space."""
    for leaf in range(len(values)):
        changes[leaf] = table_exp(values[leaf]) if is_exp else values[leaf]
    add_to_scores(is_exp, changes, leaf_of, score, 0, len(score))
