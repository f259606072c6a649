"""Absolute errors from the weighted median, for all split positions of a node.

Let W be the weight of a set of rows, and m its median: the value at which the cumulative weight
reaches W / 2, or the midpoint of two values if it is exactly W / 2 between them. The error is

    Σ w |y − m| = (Σ_{y ≥ m} w y − m Σ_{y ≥ m} w) + (m Σ_{y < m} w − Σ_{y < m} w y)

Rows are added one by one, forward for left sides and backward for right sides. A Fenwick tree
(1994) over the ranks of their values stores Σ w and Σ w y below each rank; the median is found by
descending its powers of two. The cost per node and feature is O(n log n).
"""

from algorithms.parity.kernels.sklearn_arrays import (
    ERROR_LEFT,
    ERROR_RIGHT,
    MEDIAN_LEFT,
    MEDIAN_RIGHT,
    ORDER,
    RANK,
    SORTED,
    TREE_VALUE,
    TREE_WEIGHT,
)
from algorithms.parity.kernels.sklearn_sort import sort_pairs
from algorithms.runtime.jit import inner_kernel, linked_kernel


@linked_kernel
def measure_deviations(y, weight, samples, start, end, adds, deviations, ranks, pending):
    """Write the errors and medians of all left and right sides of a node.

    Parameters
    ----------
    y, weight : float64 (n_rows,)
    samples : int64 (m,); the node's rows are the entries start … end − 1
    adds : whether to add the errors to those of other outputs
    deviations : float64 (DEVIATIONS, m + 1), written to
    ranks : int64 (2, m), written to
    pending : int64 (PENDING, 3), scratch of the sort
    """
    n = end - start
    ordered, order, rank = deviations[SORTED], ranks[ORDER], ranks[RANK]
    for i in range(n):
        ordered[i] = y[samples[start + i]]
        order[i] = i
    sort_pairs(ordered, order, 0, n, pending)
    for i in range(n):
        rank[order[i]] = i
    for backward in range(2):
        error = deviations[ERROR_RIGHT if backward else ERROR_LEFT]
        median = deviations[MEDIAN_RIGHT if backward else MEDIAN_LEFT]
        for k in (TREE_WEIGHT, TREE_VALUE):
            for i in range(n + 1):
                deviations[k, i] = 0.0
        total = 0.0
        total_value = 0.0
        for step in range(n):
            i = n - 1 - step if backward else step
            w = weight[samples[start + i]]
            value = w * ordered[rank[i]]
            add(deviations, n, rank[i], w, value)
            total += w
            total_value += value
            half = 0.5 * total
            below, _, _ = descend(deviations, n, half, False)
            at, w_below, value_below = descend(deviations, n, half, True)
            m = (ordered[below] + ordered[at]) / 2 if at != below else ordered[at]
            # Σ w |y − m|
            above = (total_value - value_below) - m * (total - w_below)
            one = above + (m * w_below - value_below)
            error[start + i] = error[start + i] + one if adds else one
            median[start + i] = m


@inner_kernel
def add(deviations, n, rank, w, value):
    """Add a row to the Fenwick tree over n ranks."""
    i = rank + 1
    while i <= n:
        deviations[TREE_WEIGHT, i] += w
        deviations[TREE_VALUE, i] += value
        i += i & -i


@inner_kernel
def descend(deviations, n, target, reached):
    """Return the last rank with Σ w before it below a target, and Σ w and Σ w y before it.

    Parameters
    ----------
    n : number of ranks
    reached : whether Σ w may also equal the target; ranks without weight are then skipped
    """
    bit = 1
    while 2 * bit <= n:
        bit *= 2
    at = 0
    weight = 0.0
    value = 0.0
    while bit:
        step = at + bit
        if step <= n:
            w = deviations[TREE_WEIGHT, step]
            if target > w or (reached and target == w):
                target -= w
                at = step
                weight += w
                value += deviations[TREE_VALUE, step]
        bit >>= 1
    return at, weight, value
