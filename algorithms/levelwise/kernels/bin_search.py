"""Search of the thresholds between bins for every slot; lists the bins to search inside.

A column's bins are summed and searched at once, while its sums are in the cache. A bin is a
candidate if its bound (`split_scores`) exceeds the best score of the slot that this thread has
found. After all columns, `within_bin_search` searches the candidates that exceed the best score of
all threads. If a thread's space is full before that, the thread searches its own candidates
that exceed its best score.
"""

from typing import NamedTuple

import numpy as np

from algorithms.levelwise.kernels.bin_sums import sum_bins
from algorithms.levelwise.kernels.level_arrays import (
    ABOVE,
    BELOW,
    CELL,
    CODES,
    MISSING,
    OF_ROWS,
    OF_WEIGHT,
    SHIFT,
    SLOTS,
    plane_of,
)
from algorithms.levelwise.kernels.split_scores import (
    bin_may_pass,
    first_entry,
    keep_best,
    least_of,
    score_if_allowed,
)
from algorithms.levelwise.kernels.within_bin_search import InsideSpace, search_candidates
from algorithms.runtime.intrinsics import add_atomic
from algorithms.runtime.jit import inner_kernel

TWO = 2
# A line: for each bin with rows of a slot, the sums left of it, its own sums, and its score
# or mark.
N_LEFT, W_LEFT, S_LEFT, N, W, P, M, FOUND = range(8)
LINE = 8


class Space(NamedTuple):
    """Scratch space of a thread."""

    line: np.ndarray  # float64 (LINE, CODES)
    bins: np.ndarray  # int64 (CODES,): bins of a line
    known: np.ndarray  # float64 (2^DEEPEST,), at least K: best score of each slot in this thread
    inside: InsideSpace


@inner_kernel
def search_columns(team, rank, table, codes, limits, level, space, many):
    """Search columns until all are taken; store the number of candidate bins that are left.

    Parameters
    ----------
    level : ``sums``, ``score``, ``entry``, ``has_missing``, ``to_left``, ``n_left`` and the
        thread's candidates are written
    many : number of columns that are taken and summed at once; the last ones are taken one by one,
        to balance the load
    """
    n_columns, n_candidates, n_slots = np.int64(len(codes.code)), np.int64(0), level.state[SLOTS]
    together = n_columns - n_columns % (many * team.size)
    n_batches, thread_row = together // many, n_columns + level.many * rank
    candidates, taken = level.candidates[rank], level.taken[len(level.n_candidates)]
    while True:
        ticket = add_atomic(taken, 0, 1)
        if ticket < n_batches:
            first = ticket * many
            last = first + many
        else:
            first = together + (ticket - n_batches)
            last = first + 1
        if first >= n_columns:
            level.n_candidates[rank] = n_candidates
            return
        sum_bins(codes, level, thread_row, first, last)
        for f in range(first, last):
            for slot in range(n_slots):
                level.score[f, slot] = -np.inf
                if level.open[slot] == 0:
                    continue
                if n_candidates + TWO * CODES > len(candidates):
                    where = table, codes, limits, level, candidates, space.known, space.inside
                    search_candidates(*where, np.int64(0), n_candidates)
                    n_candidates = np.int64(0)
                row, start = plane_of(level, f, thread_row + f - first, level.plane[slot])
                cells = level.sums[row, start:]
                n_candidates = search_slot(
                    codes, limits, level, space, cells, f, slot, candidates, n_candidates
                )


@inner_kernel
def search_slot(codes, limits, level, space, cells, f, slot, candidates, n_candidates):
    """Score the thresholds between a slot's bins; return the new number of candidate bins.

    Missing values go right in the first turn, left in the second.
    """
    totals, line, known = level.totals[slot], space.line, space.known
    shift = level.state[SHIFT]
    n_bins = ((codes.bins[f] - 1) >> shift) + 1
    in_gap = read_bin(cells, MISSING >> shift)
    level.has_missing[f, slot] = in_gap[0] > 0.0
    for turn in range(1 + level.has_missing[f, slot]):
        count = write_line(cells, in_gap, turn, n_bins, line, space.bins)
        score_borders(limits, totals, line, count)
        keep_best_border(codes, level, f, slot, turn, line, space.bins, count)
        known[slot] = max(known[slot], level.score[f, slot])
        least = least_of(level, known, f, slot)
        mark_bins(totals, line, count, limits.l2, least)
        for k in range(count):
            if line[FOUND, k] != 0.0:
                b = space.bins[k]
                if shift != 0 or codes.plain[f, b] == 0:
                    store_candidate(candidates[n_candidates], f, slot, turn, b, line, k)
                    n_candidates += 1
    return n_candidates


@inner_kernel
def store_candidate(candidate, f, slot, turn, b, line, k):
    """Store a candidate bin, entry k of a line."""
    candidate["column"], candidate["slot"], candidate["turn"], candidate["bin"] = f, slot, turn, b
    candidate["n_left"], candidate["w_left"] = line[N_LEFT, k], line[W_LEFT, k]
    candidate["s_left"], candidate["w"] = line[S_LEFT, k], line[W, k]
    candidate["above"], candidate["below"] = line[P, k], line[M, k]


@inner_kernel
def read_bin(cells, b):
    """Return rows, weight, and the sums p and m of a bin."""
    at = np.uint64(b) * np.uint64(CELL)
    n, w = cells[at + np.uint64(OF_ROWS)], cells[at + np.uint64(OF_WEIGHT)]
    return n, w, cells[at + np.uint64(ABOVE)], cells[at + np.uint64(BELOW)]


@inner_kernel
def write_line(cells, in_gap, turn, n_bins, line, bins):
    """Write a line: the sums of each bin of a slot, and the sums left of it; return its length.

    The line holds only bins with rows, listed in ``bins``. Scores and bounds of all its bins are
    then computed by vector instructions.
    """
    n_left, w_left, s_left = 0.0, 0.0, 0.0
    if turn == 1:
        n_left, w_left, s_left = in_gap[0], in_gap[1], in_gap[2] - in_gap[3]
    k = np.uint64(0)
    for b in range(np.uint64(n_bins)):
        n, w, p, m = read_bin(cells, b)
        if n == 0.0:
            continue
        w, p, m = max(w, 0.0), max(p, 0.0), max(m, 0.0)  # subtraction leaves rounding errors
        line[N_LEFT, k], line[W_LEFT, k], line[S_LEFT, k] = n_left, w_left, s_left
        line[N, k], line[W, k], line[P, k], line[M, k] = n, w, p, m
        bins[k] = b
        n_left += n
        w_left += w
        s_left += p - m
        k += np.uint64(1)
    return np.int64(k)


@inner_kernel
def score_borders(limits, totals, line, count):
    """Write the score of the threshold after each bin of a line."""
    for k in range(np.uint64(count)):
        n_left = line[N_LEFT, k] + line[N, k]
        w_left = line[W_LEFT, k] + line[W, k]
        s_left = line[S_LEFT, k] + (line[P, k] - line[M, k])
        line[FOUND, k] = score_if_allowed(limits, totals, n_left, w_left, s_left)


@inner_kernel
def keep_best_border(codes, level, f, slot, turn, line, bins, count):
    """Store the first of the best thresholds of a line."""
    best, at = -np.inf, -1
    for k in range(count):
        if line[FOUND, k] > best:
            best, at = line[FOUND, k], k
    if at >= 0:
        n_left = line[N_LEFT, at] + line[N, at]
        keep_best(level, f, slot, best, n_left, turn, first_entry(codes, level, f, bins[at] + 1))


@inner_kernel
def mark_bins(totals, line, count, l2, least):
    """Mark the bins of a line that may contain a score above ``least``."""
    for k in range(np.uint64(count)):
        at = line[W_LEFT, k], line[S_LEFT, k]
        held = line[W, k], line[P, k], line[M, k]
        is_candidate = bin_may_pass(totals, at, held, l2, least) & (line[N, k] >= TWO)
        line[FOUND, k] = 1.0 if is_candidate else 0.0
