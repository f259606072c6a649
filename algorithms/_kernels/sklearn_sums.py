"""The sums of a node and of the two sides of a split, added in scikit-learn's order.

The left side's sums move with the place of the split: rows between the old place and the new one
are added, or, where fewer rows lie to the right, all are taken as left and those at the right are
subtracted from the end. The right side is the difference. So a sum is rounded as the library
rounds it.
"""

from algorithms._kernels.jit import inner_kernel
from algorithms._kernels.sklearn_layout import (
    LEFT,
    POSITION,
    RIGHT,
    SQUARES,
    WHOLE,
)


@inner_kernel
def weight_of(given, row):
    """Return the weight of a row."""
    return given.weight[row] if len(given.weight) else 1.0


@inner_kernel
def sum_node(given, rules, work, start, end):
    """Add up the rows of a node."""
    whole = work.sums[WHOLE]
    whole[:] = 0.0
    weight = 0.0
    squares = 0.0
    for p in range(start, end):
        row = work.samples[p]
        w = weight_of(given, row)
        y = given.y[row]
        if rules.n_classes:
            whole[int(y)] += w
        else:
            whole[0] += w * y
            squares += w * y * y
        weight += w
    work.weights[WHOLE] = weight
    work.weights[SQUARES] = squares


@inner_kernel
def put_all(work, side, other):
    """Give all sums to one side."""
    for k in range(work.sums.shape[1]):
        work.sums[side, k] = work.sums[WHOLE, k]
        work.sums[other, k] = 0.0
    work.weights[side] = work.weights[WHOLE]
    work.weights[other] = 0.0


@inner_kernel
def add_row(given, rules, work, p, sign):
    """Add the row at a place to the left side, or take it away (sign −1)."""
    row = work.samples[p]
    w = sign * weight_of(given, row)
    if rules.n_classes:
        work.sums[LEFT, int(given.y[row])] += w
    else:
        work.sums[LEFT, 0] += w * given.y[row]
    work.weights[LEFT] += w


@inner_kernel
def move_to(given, rules, work, end, place, only_forward):
    """Let the left side reach up to a place.

    Parameters
    ----------
    end : of the node
    only_forward : whether rows are always added, however many they are
    """
    at = work.state[POSITION]
    if only_forward or place - at <= end - place:
        for p in range(at, place):
            add_row(given, rules, work, p, 1.0)
    else:
        put_all(work, LEFT, RIGHT)
        for p in range(end - 1, place - 1, -1):
            add_row(given, rules, work, p, -1.0)
    work.weights[RIGHT] = work.weights[WHOLE] - work.weights[LEFT]
    for k in range(work.sums.shape[1]):
        work.sums[RIGHT, k] = work.sums[WHOLE, k] - work.sums[LEFT, k]
    work.state[POSITION] = place
