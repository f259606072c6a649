"""Monotone constraints of symmetric trees.

A split on a column with a constraint orders the leaves: those above the border must not have a
lower value than those below it, or not a higher one. With several such splits the order is that of
a hypercube. The leaf values are the isotonic regression in this order, weighted by the leaves'
weights, found by Dykstra's algorithm (Boyle and Dykstra 1986): the projection for one split
averages the pairs of leaves that violate it.
"""

import numpy as np

from algorithms.estimator.constraints import read_signs
from algorithms.symmetric.boosting import Booster
from algorithms.symmetric.feature_penalties import parse_column_numbers
from algorithms.symmetric.kernels.leaf_sums import SOFTMAX
from algorithms.symmetric.leaf_values import LeafEstimator

MAX_VALUE_PASSES = 100  # maximum number of passes over the splits
TOLERANCE = 1e-12  # of a pass, relative to the largest value
LEAST_WEIGHT = 1e-12  # of an empty leaf, relative to the total


def read_monotone(params, names, objective, n_features, categorical):
    """Return the constraints, int64 (n_features,): −1, 0, 1.

    Parameters
    ----------
    params : the estimator, with resolved parameters
    names : list of the columns' names, or empty
    objective : Objective
    n_features : int
    categorical : sequence of int, the categorical columns

    Raises
    ------
    ValueError, TypeError
        If the constraints cannot be parsed, or the training does not support them.
    """
    wanted = params.monotone_constraints
    if isinstance(wanted, str) and ":" in wanted:
        wanted = parse_column_numbers(wanted, "monotone_constraints", int, "age:1,price:-1")
    signs = read_signs(wanted, n_features, names)
    if not signs.any():
        return signs
    name = "monotone_constraints"
    if off := [column for column in categorical if signs[column]]:
        shown = names[off[0]] if names else off[0]
        raise ValueError(f"{name} is not supported for categorical columns, such as {shown!r}")
    if params.parity is not None:
        raise ValueError(f"{name} is not supported with parity='catboost'")
    if params.boosting_type == "Ordered":
        raise ValueError(f"{name} is not supported with boosting_type='Ordered'")
    if params.grow_policy != "SymmetricTree":
        raise ValueError(f"{name} needs grow_policy='SymmetricTree', not {params.grow_policy!r}")
    is_single = objective.kind != SOFTMAX and not objective.has_several_outputs
    if not is_single or objective.is_pairwise:
        raise ValueError(f"{name} is not supported for loss {objective.name}")
    return signs


class MonotoneLeafEstimator(LeafEstimator):
    """Estimator of leaf values that satisfy the constraints of the tree's splits.

    Parameters
    ----------
    table : the table on which trees are grown
    params, others : as in `LeafEstimator`
    """

    def __init__(self, table, params, *others):
        self.table, self.signs = table, params.signs
        super().__init__(params, *others)

    def estimate(self, score, grown):
        """Return the leaf values before the learning rate, (n_leaves, 1), and Σw."""
        values, weights = super().estimate(score, grown)
        columns = grown.describe(self.table)[0]
        signs = np.append(self.signs, 0)[np.minimum(columns, len(self.signs))]  # derived: 0
        order_leaves(values[:, 0], weights, signs)
        return values, weights


class MonotoneBooster(Booster):
    """Boosting with monotone constraints; the parameters are those of `Booster`."""

    def leaf_estimator(self, *given):
        """Return the estimator of leaf values."""
        return MonotoneLeafEstimator(self.table, *given)


def order_leaves(values, weights, signs):
    """Replace leaf values by their isotonic regression.

    Parameters
    ----------
    values : float64 (2 ** depth,), written
    weights : float64 (2 ** depth,)
    signs : int64 (depth,): the leaves with bit j set must not have a lower value (1), not a higher
        value (−1), or any value (0)
    """
    bits = [(1 << j, sign) for j, sign in enumerate(signs.tolist()) if sign]
    if not bits:
        return
    leaves = np.arange(len(values))
    pairs = []
    for bit, sign in bits:
        unset = leaves[leaves & bit == 0]
        pairs.append((unset, unset + bit) if sign > 0 else (unset + bit, unset))
    weights = np.maximum(weights, LEAST_WEIGHT * max(weights.sum(), 1.0))
    steps = np.zeros((len(pairs), len(values)))  # Dykstra's corrections
    limit = TOLERANCE * np.abs(values).max()
    for _ in range(MAX_VALUE_PASSES if len(pairs) > 1 else 1):
        before = values.copy()
        for k, (low, high) in enumerate(pairs):
            values += steps[k]
            steps[k] = values
            average_pairs(values, weights, low, high)
            steps[k] -= values
        if np.abs(values - before).max() <= limit:
            break
    for low, high in pairs:  # the passes above may leave small violations
        values[high] = np.maximum(values[high], values[low])


def average_pairs(values, weights, low, high):
    """Replace the values of pairs in the wrong order by their weighted means."""
    is_wrong = values[low] > values[high]
    low, high = low[is_wrong], high[is_wrong]
    total = weights[low] + weights[high]
    mean = (values[low] * weights[low] + values[high] * weights[high]) / total
    values[low] = values[high] = mean
