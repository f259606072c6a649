"""Leaf values of the tails of ordered boosting with the full history.

Each row of a tail gets the value of its leaf from the body and the rows of the tail up to itself.
With λ′ = λ Σw / i over the rows before row i and the weights up to it:

    Newton  ΣG / (−ΣH + λ′)      Gradient  ΣG / (ΣW + λ′)
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import kernel
from algorithms.symmetric.kernels.leaf_sums import (
    DER1,
    DER2,
    WEIGHT,
    first_derivative,
    second_derivative,
)


class SegmentTargets(NamedTuple):
    """Targets and weights of a segment's rows, in the order of the permutation."""

    y: np.ndarray  # float32 (n_rows,)
    weight: np.ndarray  # float32 (n_rows,), or (0,) if all are 1
    leaf_of: np.ndarray  # uint16 (n_rows,)
    body: int  # rows before the tail


@kernel
def step_through_tail(kind, loss_parameter, is_newton, l2, targets, score, sums, steps):
    """Write the step of each row of a tail.

    As in CatBoost's `approx_on_full_history`, the sums include the row itself.

    Parameters
    ----------
    kind, loss_parameter : as in `differentiate`
    is_newton : whether to take Newton steps, otherwise gradient steps
    l2 : λ
    targets : SegmentTargets
    score : float64 (n_rows,), F or eᶠ
    sums : float64 (n_leaves, 3), Σg, Σh and Σw of the body; written
    steps : float64 (n_rows,), written after the body
    """
    weight, total = targets.weight, 0.0
    for i in range(targets.body):
        total += np.float64(weight[i]) if len(weight) else 1.0
    for i in range(targets.body, len(steps)):
        leaf = np.uint64(targets.leaf_of[i])
        w = np.float64(weight[i]) if len(weight) else 1.0
        total += w
        y = np.float64(targets.y[i])
        sums[leaf, DER1] += first_derivative(kind, loss_parameter, score[i], y) * w
        sums[leaf, DER2] += second_derivative(kind, loss_parameter, score[i], y) * w
        sums[leaf, WEIGHT] += w
        scaled = l2 * (total / np.float64(i))
        if is_newton:
            steps[i] = sums[leaf, DER1] / (-sums[leaf, DER2] + scaled)
        else:
            inverse = 1.0 / (sums[leaf, WEIGHT] + scaled) if sums[leaf, WEIGHT] > 0.0 else 0.0
            steps[i] = sums[leaf, DER1] * inverse
