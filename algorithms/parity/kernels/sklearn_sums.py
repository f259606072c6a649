"""The sums of a node and of the two sides of a split, added in scikit-learn's order.

The left side's sums move with the place of the split: rows between the old place and the new one
are added, or, where fewer rows lie to the right, all are taken as left and those at the right are
subtracted from the end. The right side is the difference. So a sum is rounded as the library
rounds it.
"""

from algorithms.parity.kernels.sklearn_arrays import LEFT, POSITION, RIGHT, SQUARES, WHOLE
from algorithms.parity.kernels.sklearn_deviations import measure_deviations
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.tree_arrays import ABSOLUTE_ERROR


@inner_kernel
def sum_node(given, rules, search, start, end):
    """Add up the rows of a node."""
    whole = search.sums[WHOLE]
    whole[:] = 0.0
    weight = 0.0
    squares = 0.0
    for p in range(start, end):
        row = search.samples[p]
        w, y = given.weight[row], given.y[row]
        if rules.n_classes:
            whole[int(y)] += w
        else:
            whole[0] += w * y
            squares += w * y * y
        weight += w
    search.weights[WHOLE] = weight
    search.weights[SQUARES] = squares


@inner_kernel
def start_sides(given, rules, search, start, end):
    """Put all rows of a node, in their present order, on the right side."""
    put_all(search.sums, search.weights, RIGHT, LEFT)
    search.state[POSITION] = start
    if rules.criterion == ABSOLUTE_ERROR:
        measure_deviations(
            given.y, given.weight, search.samples, start, end,
            search.deviations, search.ranks, search.pending,
        )  # fmt: skip


@inner_kernel
def put_all(sums, weights, side, other):
    """Give all sums to one side."""
    for k in range(sums.shape[1]):
        sums[side, k] = sums[WHOLE, k]
        sums[other, k] = 0.0
    weights[side] = weights[WHOLE]
    weights[other] = 0.0


@inner_kernel
def move_to(given, rules, search, end, place):
    """Let the left side reach up to a place; absolute errors are always added forward."""
    at = search.state[POSITION]
    sums, weights = search.sums, search.weights
    forward = rules.criterion == ABSOLUTE_ERROR or place - at <= end - place
    if not forward:
        put_all(sums, weights, LEFT, RIGHT)
    for i in range(place - at if forward else end - place):
        row = search.samples[at + i if forward else end - 1 - i]
        w = given.weight[row] if forward else -given.weight[row]
        if rules.n_classes:
            sums[LEFT, int(given.y[row])] += w
        else:
            sums[LEFT, 0] += w * given.y[row]
        weights[LEFT] += w
    weights[RIGHT] = weights[WHOLE] - weights[LEFT]
    for k in range(sums.shape[1]):
        sums[RIGHT, k] = sums[WHOLE, k] - sums[LEFT, k]
    search.state[POSITION] = place
