"""Choose the borders of a column: greedy bisection of bins, and an exact dynamic program.

Greedy methods split the bin with the best score until there are enough borders:

    score = penalty(n) − penalty(l) − penalty(r)        l + r = n rows
    penalty(n) = −log(n + 1e−8)  (GreedyLogSum)   or   n log(n + 1e−8)  (GreedyMinEntropy)

The split of a bin is next to its middle element: before or after the run of values equal to it.
Bins with equal scores leave the priority queue in the order of CatBoost's C++ library: its `pop`
moves the hole to the bottom of the heap and then sifts the last element up.
"""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

LOG_SUM, ENTROPY = 0, 1
TINY = 1e-8


@inner_kernel
def penalty(kind, weight):
    """Return the penalty of a bin with ``weight`` rows."""
    log = math.log(weight + TINY)
    return -log if kind == LOG_SUM else weight * log


@inner_kernel
def split_score(kind, start, at, end):
    """Return the score of the split of rows start … end − 1 at ``at``."""
    if at in (start, end):
        return -np.inf
    left = -penalty(kind, np.float64(at - start))
    right = -penalty(kind, np.float64(end - at))
    return left + right + penalty(kind, np.float64(end - start))


@inner_kernel
def first_not_below(values, start, end, value):
    """Return the first index in start … end whose value is at least ``value``."""
    while start < end:
        middle = (start + end) // 2
        if values[middle] < value:
            start = middle + 1
        else:
            end = middle
    return start


@inner_kernel
def first_above(values, start, end, value):
    """Return the first index in start … end whose value is above ``value``."""
    while start < end:
        middle = (start + end) // 2
        if values[middle] <= value:
            start = middle + 1
        else:
            end = middle
    return start


@inner_kernel
def find_split(kind, values, bins, scores, at):
    """Write the best split and the score of bin ``at``."""
    start, end = bins[at, 0], bins[at, 1]
    middle = start + (end - start) // 2
    low = first_not_below(values, start, middle, values[middle])
    high = first_above(values, middle, end, values[middle])
    score_low, score_high = split_score(kind, start, low, end), split_score(kind, start, high, end)
    bins[at, 2] = low if score_low >= score_high else high
    scores[at] = max(score_low, score_high)


@inner_kernel
def sift_up(heap, size, scores):
    """Move the last element of a heap up to its place."""
    if size < 2:
        return
    at, parent = size - 1, (size - 2) // 2
    moved = heap[at]
    if not scores[heap[parent]] < scores[moved]:
        return
    while True:
        heap[at] = heap[parent]
        at = parent
        if at == 0:
            break
        parent = (at - 1) // 2
        if not scores[heap[parent]] < scores[moved]:
            break
    heap[at] = moved


@inner_kernel
def pop(heap, size, scores):
    """Move the largest element of a heap to its last place."""
    top, hole = heap[0], 0
    while 2 * hole + 1 < size:
        child = 2 * hole + 1
        if child + 1 < size and scores[heap[child]] < scores[heap[child + 1]]:
            child += 1
        heap[hole] = heap[child]
        hole = child
    if hole != size - 1:
        heap[hole] = heap[size - 1]
        sift_up(heap, hole + 1, scores)
    heap[size - 1] = top


@kernel
def split_greedily(kind, values, most_borders, bins, scores, heap):
    """Split the sorted values into bins; return how many.

    Parameters
    ----------
    kind : LOG_SUM or ENTROPY
    values : (n,) float32, ascending, with repeats
    most_borders : int
    bins : int64 (most_borders + 1, 3), written: first row, last row + 1, and best split of each bin
    scores : float64 (most_borders + 1,), scratch space
    heap : int64 (most_borders + 1,), scratch space
    """
    bins[0, 0], bins[0, 1] = 0, len(values)
    find_split(kind, values, bins, scores, 0)
    heap[0] = 0
    size = 1
    while size <= most_borders:
        top = heap[0]
        start, end, at = bins[top, 0], bins[top, 1], bins[top, 2]
        if at in (start, end):
            break
        pop(heap, size, scores)
        bins[size, 0], bins[size, 1] = start, at
        find_split(kind, values, bins, scores, size)
        bins[top, 0] = at
        find_split(kind, values, bins, scores, top)
        heap[size - 1] = size  # the left part is pushed first
        sift_up(heap, size, scores)
        heap[size] = top
        size += 1
        sift_up(heap, size, scores)
    return size


@inner_kernel
def find_best_end(kind, weights, before, now, at, first, last):
    """Write the least cost of the distinct values 0 … at; return its previous cut."""
    best, best_cut = np.inf, first
    for cut in range(first, min(last, at) + 1):
        cost = before[cut] + penalty(kind, weights[at] - weights[cut])
        if cost < best:
            best, best_cut = cost, cut
    now[at] = best
    return best_cut


@kernel
def split_exactly(kind, weights, before, now, cuts, stack):
    """Write the cuts of the division into bins with the least sum of penalties.

    Each level adds one bin. The best cut never decreases, so a level is solved by halves.

    Parameters
    ----------
    kind : LOG_SUM or ENTROPY
    weights : float64 (n,), number of rows up to each distinct value
    before, now : float64 (n,), scratch space
    cuts : int64 (n_bins − 1, n), written: the last value before the bin that ends at each value
    stack : int64 (n_values, 4), scratch space
    """
    n = len(weights)
    for i in range(n):
        before[i] = penalty(kind, weights[i])
    for level in range(len(cuts)):
        first = level + 1
        for i in range(first):
            now[i] = np.inf
        size = 1
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = first, n - 1, level, n - 2
        while size > 0:
            size -= 1
            low, high = stack[size, 0], stack[size, 1]
            from_, to = stack[size, 2], stack[size, 3]
            if low > high:
                continue
            middle = (low + high) // 2
            cut = find_best_end(kind, weights, before, now, middle, from_, min(to, middle - 1))
            cuts[level, middle] = cut
            stack[size, 0], stack[size, 1] = low, middle - 1
            stack[size, 2], stack[size, 3] = from_, cut
            stack[size + 1, 0], stack[size + 1, 1] = middle + 1, high
            stack[size + 1, 2], stack[size + 1, 3] = cut, to
            size += 2
        for i in range(n):
            before[i] = now[i]
