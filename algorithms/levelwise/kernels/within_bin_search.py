"""Search inside the candidate bins, which may contain better thresholds, entry by entry."""

from typing import NamedTuple

import numpy as np

from algorithms.levelwise.kernels.level_arrays import CODES, value_at
from algorithms.levelwise.kernels.split_scores import (
    bin_may_pass,
    first_entry,
    keep_best,
    least_of,
    passes,
    score_if_allowed,
)
from algorithms.runtime.intrinsics import add_atomic
from algorithms.runtime.jit import inner_kernel, linked_kernel
from algorithms.trees.kernels.tree_arrays import ROW

DRAWN = 16  # candidate bins that a thread takes at once


class InsideSpace(NamedTuple):
    """Scratch space of a thread for some entries of a bin."""

    row: np.ndarray  # int64 (CODES,)
    entry: np.ndarray  # int64 (CODES,), indices in the column's list
    w_left: np.ndarray  # float64 (CODES,)
    s_left: np.ndarray  # float64 (CODES,)
    found: np.ndarray  # uint8 (CODES,): whether the score exceeds the bound


@inner_kernel
def search_inside(table, codes, limits, level, space, list_of):
    """Search candidate bins until all are taken; one thread takes all of a column and slot.

    Parameters
    ----------
    level : ``candidates``, those of a column and slot in sequence, and ``best`` are read; the best
        splits of each column are updated
    space : InsideSpace
    list_of : rank of the thread that stored the candidates
    """
    candidates = level.candidates[list_of, : level.n_candidates[list_of]]
    best, taken = level.best, level.taken[list_of]
    while True:
        first = add_atomic(taken, 0, DRAWN)
        if first >= len(candidates):
            return
        last = min(first + DRAWN, len(candidates))
        while first < last and first > 0 and is_same_slot(candidates, first):
            first += 1
        while first < last < len(candidates) and is_same_slot(candidates, last):
            last += 1
        search_candidates(table, codes, limits, level, candidates, best, space, first, last)


@inner_kernel
def is_same_slot(candidates, at):
    """Return whether a candidate bin has the same column and slot as the one before."""
    one, other = candidates[at - 1], candidates[at]
    return one["column"] == other["column"] and one["slot"] == other["slot"]


@linked_kernel
def search_candidates(table, codes, limits, level, candidates, best, space, first, last):
    """Search the candidate bins first … last − 1.

    Parameters
    ----------
    candidates : (n,) CANDIDATE, candidate bins, those of a column and slot in sequence
    best : float64, at least K: the best score of each slot, over all columns so far, or over those
        of a single thread; then more bins are searched than necessary
    space : InsideSpace
    """
    for k in range(first, last):
        candidate = candidates[k]
        f, slot = np.int64(candidate["column"]), np.int64(candidate["slot"])
        least = least_of(level, best, f, slot)
        at = candidate["w_left"], candidate["s_left"]
        held = candidate["w"], candidate["above"], candidate["below"]
        if bin_may_pass(level.totals[slot], at, held, limits.l2, least):
            search_bin(table, codes, limits, level, f, slot, candidate, least, space)


@inner_kernel
def search_bin(table, codes, limits, level, f, slot, candidate, least, space):
    """Score every threshold inside a bin that may be better than the best known.

    Entries are processed in groups: list those of the slot, sum what lies left of each, compare all
    with the bound, and score the few that exceed it.

    Parameters
    ----------
    f, slot : of the candidate bin
    candidate : CANDIDATE
    least : only scores above it count
    """
    b, turn = np.int64(candidate["bin"]), np.int64(candidate["turn"])
    n_left, w_left, s_left = candidate["n_left"], candidate["w_left"], candidate["s_left"]
    totals = level.totals[slot]
    end = first_entry(codes, level, f, b + 1)
    before = np.int64(-1)
    for start in range(first_entry(codes, level, f, b), end, CODES):
        count = list_rows(table, level, f, slot, start, min(start + CODES, end), space)
        w_left, s_left = sum_left(level, space, count, w_left, s_left)
        for k in range(np.uint64(count)):
            space.found[k] = passes(totals, space.w_left[k], space.s_left[k], limits.l2, least)
        for k in range(count):
            row = space.row[k]
            if space.found[k] and are_apart(table, f, before, row):
                place = n_left + k, space.w_left[k], space.s_left[k]
                score = score_if_allowed(limits, totals, *place)
                if score > -np.inf:
                    keep_best(level, f, slot, score, n_left + k, turn, space.entry[k])
            before = row
        n_left += count


@inner_kernel
def list_rows(table, level, f, slot, first, last, space):
    """List a slot's entries among those from first to last − 1; return their number."""
    count = np.uint64(0)
    for j in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(table.order[f, j] & ROW)
        space.row[count] = np.int64(row)
        space.entry[count] = np.int64(j)
        count += np.uint64(level.slot[row] == slot)
    return np.int64(count)


@inner_kernel
def sum_left(level, space, count, w_left, s_left):
    """Write weight and sum left of each listed entry; return those after the last one."""
    for k in range(np.uint64(count)):
        row = np.uint64(space.row[k])
        space.w_left[k], space.s_left[k] = w_left, s_left
        w_left += level.pair[row, 0]
        s_left += level.pair[row, 1]
    return w_left, s_left


@inner_kernel
def are_apart(table, f, before, row):
    """Return whether a split between two consecutive rows is allowed; False at a bin's start."""
    return before >= 0 and value_at(table, f, row) > value_at(table, f, before) + table.close
