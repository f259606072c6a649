"""Look into the bins that may hide a better threshold than those between bins, entry by entry."""

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
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.trees.kernels.tree_arrays import ROW

DRAWN = 16  # doubts that a thread draws at once


class InsideSpace(NamedTuple):
    """Scratch space of a thread for some entries of a bin."""

    row: np.ndarray  # int64 (CODES,)
    entry: np.ndarray  # int64 (CODES,), places in the column's list
    w_left: np.ndarray  # float64 (CODES,)
    s_left: np.ndarray  # float64 (CODES,)
    found: np.ndarray  # uint8 (CODES,): whether the bound is passed


@kernel
def search_inside(table, codes, limits, level, doubts, best, space, taken):
    """Search the bins in doubt until all are taken; those of a column and slot in one thread.

    Parameters
    ----------
    doubts : (n,) DOUBT, those of a column and slot one behind the other
    best : float64, at least K: the best score of each slot, over all columns so far
    space : InsideSpace
    taken : int64, its first entry: how many are taken, by this thread and others
    """
    while True:
        first = add_atomic(taken, 0, DRAWN)
        if first >= len(doubts):
            return
        last = min(first + DRAWN, len(doubts))
        while first < last and first > 0 and go_together(doubts, first):
            first += 1
        while first < last < len(doubts) and go_together(doubts, last):
            last += 1
        search_doubts(table, codes, limits, level, doubts, best, space, first, last)


@inner_kernel
def go_together(doubts, at):
    """Return whether a doubt is of the same column and slot as the one before."""
    one, other = doubts[at - 1], doubts[at]
    return one["column"] == other["column"] and one["slot"] == other["slot"]


@linked_kernel
def search_doubts(table, codes, limits, level, doubts, best, space, first, last):
    """Search the bins of the doubts first … last − 1; others are as in `search_inside`.

    ``best`` may also be of one thread's columns alone: then more bins are searched than need be.
    """
    for k in range(first, last):
        doubt = doubts[k]
        f, slot = np.int64(doubt["column"]), np.int64(doubt["slot"])
        least = least_of(level, best, f, slot)
        at = doubt["w_left"], doubt["s_left"]
        held = doubt["w"], doubt["above"], doubt["below"]
        if bin_may_pass(level.totals[slot], at, held, limits.l2, least):
            search_bin(table, codes, limits, level, f, slot, doubt, least, space)


@inner_kernel
def search_bin(table, codes, limits, level, f, slot, doubt, least, space):
    """Score every threshold inside a bin that may be better than what is known.

    Some entries at a time: those of the slot are listed, what lies left of each is summed, all are
    held against the bound, and the few that pass are scored.

    Parameters
    ----------
    f, slot : of the doubt
    doubt : DOUBT
    least : scores up to it are no better
    """
    b, turn = np.int64(doubt["bin"]), np.int64(doubt["turn"])
    n_left, w_left, s_left = doubt["n_left"], doubt["w_left"], doubt["s_left"]
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
    """List a slot's entries among those from first to last − 1; return how many there are."""
    count = np.uint64(0)
    for j in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(table.order[f, j] & ROW)
        space.row[count] = np.int64(row)
        space.entry[count] = np.int64(j)
        count += np.uint64(level.slot[row] == slot)
    return np.int64(count)


@inner_kernel
def sum_left(level, space, count, w_left, s_left):
    """Write weight and sum left of each listed entry; return those left of what follows."""
    for k in range(np.uint64(count)):
        row = np.uint64(space.row[k])
        space.w_left[k], space.s_left[k] = w_left, s_left
        w_left += level.pair[row, 0]
        s_left += level.pair[row, 1]
    return w_left, s_left


@inner_kernel
def are_apart(table, f, before, row):
    """Return whether two rows that follow each other can be parted; not so the first of a bin."""
    return before >= 0 and value_at(table, f, row) > value_at(table, f, before) + table.close
