"""Summaries of weighted values, merged and pruned in float32 as in XGBoost's quantile sketch.

An entry of a summary is a value with bounds of its rank: the weight of all smaller values is at
least r⁻, that of all values up to this one is at most r⁺, and w is a lower bound of its own weight.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

LOWEST, HIGHEST, WEIGHT, VALUE = range(4)  # fields of an entry: r⁻, r⁺, w and the value
ENTRY = 4
NOTHING, TWO = np.float32(0.0), np.float32(2.0)


@kernel
def fill_queue(values, weights, place, queue, queue_weights):
    """Add values to the queue until it is full; adjacent equal values share an entry.

    Parameters
    ----------
    values, weights : (n,) float32
    place : int
        Index of the first value.
    queue, queue_weights : (room,) float32, written

    Returns
    -------
    index of the first value that is not in the queue (n if all are), and number of entries
    """
    n = 0
    for i in range(place, len(values)):
        x, w = values[i], weights[i]
        if w == NOTHING:
            continue
        if n > 0 and queue[n - 1] == x:
            queue_weights[n - 1] += w
        elif n == len(queue):
            return i, n
        else:
            queue[n] = x
            queue_weights[n] = w
            n += 1
    return len(values), n


@kernel
def summarize(values, order, weights, out):
    """Write the summary of sorted values; return its size.

    Parameters
    ----------
    values : (n,) float32, ascending
    order : (n,) int32
        Index of each value's weight.
    weights : (n,) float32
    out : (n, ENTRY) float32, written
    """
    size, i, total = 0, 0, NOTHING
    while i < len(values):
        w = weights[order[i]]
        j = i + 1
        while j < len(values) and values[j] == values[i]:
            w += weights[order[j]]
            j += 1
        write(out, size, total, total + w, w, values[i])
        size += 1
        total += w
        i = j
    return size


@inner_kernel
def write(out, at, lowest, highest, weight, value):
    """Write an entry."""
    out[at, LOWEST] = lowest
    out[at, HIGHEST] = highest
    out[at, WEIGHT] = weight
    out[at, VALUE] = value


@inner_kernel
def above(entries, i):
    """Return r⁻ + w of an entry, the minimum rank of larger values."""
    return entries[i, LOWEST] + entries[i, WEIGHT]


@inner_kernel
def below(entries, i):
    """Return r⁺ − w of an entry, the maximum rank of smaller values."""
    return entries[i, HIGHEST] - entries[i, WEIGHT]


@kernel
def prune(entries, most, out):
    """Pick entries at evenly spaced ranks, including both ends; return their number.

    Parameters
    ----------
    entries : (n, ENTRY) float32, n > most
    most : int
    out : (most + 1, ENTRY) float32, written
    """
    n, parts = len(entries), most - 1
    begin = entries[0, HIGHEST]
    span = entries[n - 1, LOWEST] - begin
    take(entries, 0, out, 0)
    size, last, i = 1, 0, 1
    for k in range(1, parts):
        twice = TWO * ((np.float32(k) * span) / np.float32(parts) + begin)  # twice the wanted rank
        while i < n - 1 and twice >= entries[i + 1, HIGHEST] + entries[i + 1, LOWEST]:
            i += 1
        if i == n - 1:
            break
        nearest = i if twice < above(entries, i) + below(entries, i + 1) else i + 1
        if nearest != last:
            take(entries, nearest, out, size)
            size += 1
            last = nearest
    if last != n - 1:
        take(entries, n - 1, out, size)
        size += 1
    return size


@inner_kernel
def take(entries, i, out, at):
    """Copy an entry."""
    for k in range(ENTRY):
        out[at, k] = entries[i, k]


@kernel
def pick_ranks(entries, n_bins, out):
    """Write the values nearest to the ranks k / n_bins, k = 1 … n_bins − 1; return their number.

    A value that is not larger than the last one is replaced by the next larger value.

    Parameters
    ----------
    entries : (n, ENTRY) float32, n > n_bins, values strictly ascending
    n_bins : int
    out : (n_bins,) float32, written
    """
    n = len(entries)
    total = np.float64(entries[n - 1, HIGHEST])
    last, i, size = 0, 0, 0
    for k in range(1, n_bins):
        twice = 2.0 * (k * total / n_bins)  # twice the wanted rank
        while i < n - 2 and twice >= entries[i + 1, LOWEST] + entries[i + 1, HIGHEST]:
            i += 1
        nearest = i if twice < above(entries, i) + below(entries, i + 1) else i + 1
        last = max(nearest, last + 1)
        if last == n:
            break
        out[size] = entries[last, VALUE]
        size += 1
    return size


@kernel
def combine(first, second, out):
    """Merge two summaries; return the size of the result.

    Parameters
    ----------
    first, second : (n, ENTRY) float32, n ≥ 1
    out : (n_first + n_second, ENTRY) float32, written
    """
    n_a, n_b = len(first), len(second)
    a, b, size = 0, 0, 0
    a_above, b_above = NOTHING, NOTHING  # minimum ranks after the merged entries
    while a < n_a or b < n_b:
        from_a = b == n_b or (a < n_a and first[a, VALUE] <= second[b, VALUE])
        from_b = a == n_a or (b < n_b and second[b, VALUE] <= first[a, VALUE])
        if from_a and from_b:
            take(first, a, out, size)
            for k in range(VALUE):
                out[size, k] += second[b, k]
        elif from_a:
            most = below(second, b) if b < n_b else second[n_b - 1, HIGHEST]
            take_between(first, a, b_above, most, out, size)
        else:
            most = below(first, a) if a < n_a else first[n_a - 1, HIGHEST]
            take_between(second, b, a_above, most, out, size)
        if from_a:
            a_above = above(first, a)
            a += 1
        if from_b:
            b_above = above(second, b)
            b += 1
        size += 1
    make_ranks_ascend(out, size)
    return size


@inner_kernel
def take_between(entries, i, least, most, out, at):
    """Copy an entry, with the bounds of its rank in the other summary added to its own."""
    take(entries, i, out, at)
    out[at, LOWEST] += least
    out[at, HIGHEST] += most


@inner_kernel
def make_ranks_ascend(entries, n):
    """Make ranks non-decreasing where rounding errors made them decrease."""
    lowest, highest = NOTHING, NOTHING
    for i in range(n):
        entries[i, LOWEST] = max(entries[i, LOWEST], lowest)
        entries[i, HIGHEST] = max(entries[i, HIGHEST], highest, above(entries, i))
        lowest, highest = entries[i, LOWEST], entries[i, HIGHEST]
