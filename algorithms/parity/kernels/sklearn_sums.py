"""Sums of a node and of both sides of a split, with scikit-learn's order of summation.

The left sums are updated from one split position to the next: the rows in between are added. If
fewer rows are to the right of the new position, the left sums are set to those of the node, and the
rows on the right are subtracted, from the last one on. The right sums are the difference. So all
sums are rounded as in scikit-learn.
"""

from algorithms.parity.kernels.sklearn_arrays import (
    LEFT,
    MEDIAN_RIGHT,
    POSITION,
    RIGHT,
    SQUARES,
    WHOLE,
)
from algorithms.parity.kernels.sklearn_deviations import measure_deviations
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.tree_arrays import ABSOLUTE_ERROR


@inner_kernel
def sum_node(given, rules, search, start, end):
    """Write the sums of the rows of a node."""
    whole = search.sums[WHOLE]
    whole[:] = 0.0
    weight = 0.0
    squares = 0.0
    for p in range(start, end):
        row = search.samples[p]
        w = given.weight[row]
        for output in range(search.n_outputs):
            y = given.y[output, row]
            if rules.n_classes:
                whole[output * rules.n_classes + int(y)] += w
            else:
                whole[output] += w * y
                squares += w * y * y
        weight += w
    search.weights[WHOLE] = weight
    search.weights[SQUARES] = squares


@inner_kernel
def start_sides(given, rules, search, start, end):
    """Assign all rows of a node, in their current order, to the right side."""
    assign_all(search.sums, search.weights, RIGHT, LEFT)
    search.state[POSITION] = start
    if rules.criterion == ABSOLUTE_ERROR:
        for output in range(search.n_outputs):
            measure_deviations(
                given.y[output], given.weight, search.samples, start, end, output > 0,
                search.deviations, search.ranks, search.pending,
            )  # fmt: skip
            search.medians[output] = search.deviations[MEDIAN_RIGHT, start]


@inner_kernel
def assign_all(sums, weights, side, other):
    """Assign the sums of the node to one side, and 0 to the other."""
    for k in range(sums.shape[1]):
        sums[side, k] = sums[WHOLE, k]
        sums[other, k] = 0.0
    weights[side] = weights[WHOLE]
    weights[other] = 0.0


@inner_kernel
def move_to(given, rules, search, end, place):
    """Update the sums for a split at a position; with absolute errors only by adding rows."""
    at = search.state[POSITION]
    sums, weights = search.sums, search.weights
    forward = rules.criterion == ABSOLUTE_ERROR or place - at <= end - place
    if not forward:
        assign_all(sums, weights, LEFT, RIGHT)
    for i in range(place - at if forward else end - place):
        row = search.samples[at + i if forward else end - 1 - i]
        w = given.weight[row] if forward else -given.weight[row]
        for output in range(search.n_outputs):
            y = given.y[output, row]
            if rules.n_classes:
                sums[LEFT, output * rules.n_classes + int(y)] += w
            else:
                sums[LEFT, output] += w * y
        weights[LEFT] += w
    weights[RIGHT] = weights[WHOLE] - weights[LEFT]
    for k in range(sums.shape[1]):
        sums[RIGHT, k] = sums[WHOLE, k] - sums[LEFT, k]
    search.state[POSITION] = place
