"""Summaries of sorted values, built and pruned as in XGBoost for each tree of ``approx``.

Ranks are summed in float64 and stored as float32.
"""

import numpy as np

from algorithms.parity.kernels.xgboost_sketch import (
    HIGHEST,
    LOWEST,
    TWO,
    VALUE,
    above,
    below,
    take,
    write,
)
from algorithms.runtime.jit import inner_kernel, kernel

MIN_SPAN = np.float32(1e-3)


@kernel
def summarize_sorted(values, rows, weights, most, keeps_few, out):
    """Pick values at evenly spaced ranks, and the last one; return their number.

    Parameters
    ----------
    values : (n,) float32, ascending, n ≥ 1
    rows : (n,) int32
    weights : (n_rows,) float32
    most : int
    keeps_few : bool
        Whether all values are picked if at most ``most`` are distinct, as since XGBoost 3.3.
    out : (most + 1, ENTRY) float32, written
    """
    total, distinct = 0.0, 1
    for i in range(len(values)):
        total += weights[rows[i]]
        distinct += i > 0 and values[i] != values[i - 1]
    keeps_all = keeps_few and distinct <= most
    size, goal, rank, weight = 0, 0.0, 0.0, 0.0
    for i in range(len(values)):
        if i > 0 and values[i] != values[i - 1]:
            if keeps_all or (rank + weight >= goal and size != most):
                size = add(out, size, rank, weight, values[i - 1])
                goal = np.float64(np.float32(size * total / most))
                if size == most:
                    goal = total * 2.0 + np.float32(1e-5)
            rank += weight
            weight = 0.0
        weight += weights[rows[i]]
    return add(out, size, rank, weight, values[len(values) - 1])


@inner_kernel
def add(out, size, rank, weight, value):
    """Append an entry if its value is larger than the last one; return the size."""
    if size > 0 and not value > out[size - 1, VALUE]:
        return size
    write(out, size, np.float32(rank), np.float32(rank + weight), np.float32(weight), value)
    return size + 1


@inner_kernel
def is_heavy(entries, i, chunk):
    """Return whether an entry has more weight than a chunk."""
    return above(entries, i) > below(entries, i) + chunk


@kernel
def prune_between(entries, most, out):
    """Pick all heavy entries, and between them others at evenly spaced ranks.

    Parameters
    ----------
    entries : (n, ENTRY) float32, n > most
    most : int
    out : (most, ENTRY) float32, written

    Returns
    -------
    number of picked entries
    """
    end = len(entries) - 1
    begin = entries[0, HIGHEST]
    span = entries[end, LOWEST] - begin
    take(entries, 0, out, 0)
    if span == 0.0 or most <= 2:
        take(entries, end, out, 1)
        return 2
    chunk = TWO * max(span, MIN_SPAN) / np.float32(most - 2)
    parts, light = count_parts(entries, chunk, most - 2)
    size, last, k, before = 1, 0, 1, 0
    for heavy in range(1, end + 1):
        if heavy < end and not is_heavy(entries, heavy, chunk):
            continue
        i = before
        while before != heavy - 1 and k < parts:
            twice = TWO * ((np.float32(k) * light) / np.float32(parts) + begin)
            if twice >= below(entries, heavy) * TWO:
                break
            while i < heavy and twice >= entries[i + 1, HIGHEST] + entries[i + 1, LOWEST]:
                i += 1
            if i == heavy:
                break
            nearest = i if twice < above(entries, i) + below(entries, i + 1) else i + 1
            if nearest != last:
                take(entries, nearest, out, size)
                size += 1
                last = nearest
            k += 1
        if last != heavy:
            take(entries, heavy, out, size)
            size += 1
            last = heavy
        before = heavy
        begin += above(entries, heavy) - below(entries, heavy)
    return size


@inner_kernel
def count_parts(entries, chunk, parts):
    """Return the maximum number of light entries, and the weight of all light entries."""
    end = len(entries) - 1
    light, before = np.float32(0.0), 0
    for i in range(1, end):
        if is_heavy(entries, i, chunk):
            if before != i - 1:
                light += below(entries, i) - above(entries, before)
            before = i
            parts -= 1
    if before != end - 1:
        light += below(entries, end) - above(entries, before)
    return parts, light
