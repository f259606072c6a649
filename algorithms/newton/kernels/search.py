"""Kernels that find the best split of every slot of a level in one pass over each sorted column.

With (G_L, H_L) the sums left of a threshold, and λ, a split of (G, H) scores

    S = G_L² / (H_L + λ) + (G − G_L)² / (H − H_L + λ)          gain = S − G² / (H + λ)

The entries of each slot come in ascending order, interleaved with those of other slots, so each
slot keeps its own sums. Rows are prefetched, because a sorted column visits them in random order.
The comparison of S with the best score needs no division; few thresholds pass it.

Missing rows are tried on the right and on the left, and the better side is kept (Chen & Guestrin
2016, algorithm 3). In a tie, missing rows on the right come first, then the lowest threshold; in a
column without missing values the highest threshold, and missing values go left.

With ε > 0 only thresholds ε H apart are tried: the weighted quantiles of the slot.
"""

import numpy as np

from algorithms.gbdt.kernels.node_score import gain_of, weigh
from algorithms.newton.kernels.exact_arrays import G, H, N
from algorithms.runtime.intrinsics import prefetch
from algorithms.runtime.jit import inner_kernel, kernel

AHEAD = 24  # entries
NEAR_END = np.float32(1e-6)


@kernel
def search_columns(lists, rows, level, rules, monotone, columns, states, found, first, last):
    """Write the best split of each slot in each of the columns first … last − 1.

    Parameters
    ----------
    lists : Lists
    rows : (n_rows,) ROW
    level : Level
    rules : Rules
    monotone : int64 (n_columns,): −1, 0, 1
    columns : int64, columns to search
    states : (K + 1,) STATE, scratch space
    found : (len(columns), K) FOUND, written
    """
    for j in range(first, last):
        f = columns[j]
        start, end = lists.start[f], lists.start[f + 1]
        is_full = end - start == len(rows)
        reset_states(states, level, rules, f)
        if not is_full:
            sum_missing(lists, rows, states, level, start, end)
        if rules.step > 0.0:
            space_thresholds(states, rules)
        if is_full and rules.plain:
            scan_full(lists, rows, rules, states, start, end)
        else:
            scan(lists, rows, rules, monotone[f], is_full, states, start, end)
        write_best_splits(states, found[j])


@inner_kernel
def reset_states(states, level, rules, f):
    """Initialize the states of the slots for a column."""
    masked = len(level.allowed) > 0
    states[0]["skip"] = 1
    for slot in range(len(level.open)):
        s = states[slot + 1]
        closed = not level.open[slot] or (masked and not level.allowed[slot, f])
        s["skip"] = 1 if closed else 0
        s["g"] = s["h"] = s["gap_g"] = s["gap_h"] = 0.0
        s["n"] = s["gaps"] = s["found"] = s["missing_left"] = 0
        s["total_g"], s["total_h"] = level.totals[slot, G], level.totals[slot, H]
        s["lower"], s["upper"] = level.lower[slot], level.upper[slot]
        s["score"] = level.least[slot]
        s["next"] = rules.least_h
        s["last"] = np.nan


@inner_kernel
def sum_missing(lists, rows, states, level, start, end):
    """Write each slot's sums over rows that are missing in the column."""
    for i in range(np.uint64(start), np.uint64(end)):
        fetch_ahead(lists, rows, i, end)
        row = rows[np.uint64(lists.order[i])]
        s = states[np.uint64(row["slot"])]
        s["g"] += row["g"]
        s["h"] += row["h"]
        s["n"] += 1
    for slot in range(len(level.open)):
        s = states[slot + 1]
        if s["n"] < level.totals[slot, N]:
            s["gaps"] = 1
            s["gap_g"] = s["total_g"] - s["g"]
            s["gap_h"] = max(s["total_h"] - s["h"], 0.0)
            s["next"] = -np.inf  # the left side may consist of missing rows only
        s["g"] = s["h"] = 0.0
        s["n"] = 0


@inner_kernel
def space_thresholds(states, rules):
    """Set the first threshold of each slot to at least ε H."""
    for slot in range(1, len(states)):
        s = states[slot]
        s["next"] = max(s["next"], rules.step * (s["total_h"] - s["gap_h"]))


@inner_kernel
def fetch_ahead(lists, rows, i, end):
    """Prefetch a row that is needed later."""
    ahead = min(i + np.uint64(AHEAD), np.uint64(end) - np.uint64(1))
    prefetch(rows, np.uint64(lists.order[ahead]))


@inner_kernel
def scan_full(lists, rows, rules, states, start, end):
    """Try the thresholds of a column without missing values, with the unconstrained score."""
    ridge = rules.reg_lambda
    for i in range(np.uint64(start), np.uint64(end)):
        fetch_ahead(lists, rows, i, end)
        row = rows[np.uint64(lists.order[i])]
        s = states[np.uint64(row["slot"])]
        if s["skip"]:
            continue
        x = lists.value[i]
        g, h = s["g"], s["h"]
        if x > s["last"] and h >= s["next"]:
            g_right, h_right = s["total_g"] - g, s["total_h"] - h
            a, c = h + ridge, h_right + ridge
            numerator = g * g * c + g_right * g_right * a
            if numerator >= s["score"] * (a * c) and h_right >= rules.least_h:
                score = numerator / (a * c)
                if score >= s["score"]:
                    update_best_split(s, score, x, 1, g, h)
            if rules.step > 0.0:
                s["next"] = h + rules.step * s["total_h"]
        s["g"] = g + np.float64(row["g"])
        s["h"] = h + np.float64(row["h"])
        s["last"] = x


@inner_kernel
def scan(lists, rows, rules, direction, is_full, states, start, end):
    """Try the thresholds of any column, with missing values and constraints."""
    for i in range(np.uint64(start), np.uint64(end)):
        fetch_ahead(lists, rows, i, end)
        row = rows[np.uint64(lists.order[i])]
        s = states[np.uint64(row["slot"])]
        if s["skip"]:
            continue
        x = lists.value[i]
        if x > s["last"] and s["h"] >= s["next"]:
            try_threshold(s, x, rules, direction, is_full)
            if rules.step > 0.0:
                s["next"] = s["h"] + rules.step * (s["total_h"] - s["gap_h"])
        s["g"] += np.float64(row["g"])
        s["h"] += np.float64(row["h"])
        s["last"] = x
    for slot in range(1, len(states)):
        s = states[slot]
        if s["gaps"] and not s["skip"] and not np.isnan(s["last"]):
            try_threshold(s, np.float32(np.inf), rules, direction, is_full)
            if s["threshold"] == np.inf:  # the split separates missing rows from all others
                s["threshold"] = s["last"] + (abs(s["last"]) + NEAR_END)


@inner_kernel
def try_threshold(s, x, rules, direction, is_full):
    """Try the threshold between the previous value and x, with missing rows on either side."""
    for to_left in range(1 + s["gaps"]):
        g = s["g"] + (s["gap_g"] if to_left else 0.0)
        h = s["h"] + (s["gap_h"] if to_left else 0.0)
        score = score_split(s, g, h, rules, direction)
        comes_first = is_full or to_left < s["missing_left"] or (to_left and s["missing_left"])
        if score > s["score"] or (score == s["score"] and comes_first):
            update_best_split(s, score, x, 1 if is_full else to_left, g, h)


@inner_kernel
def score_split(s, g, h, rules, direction):
    """Return S of a split, or −inf where it is not allowed."""
    g_right, h_right = s["total_g"] - g, s["total_h"] - h
    if h < rules.least_h or h_right < rules.least_h:
        return -np.inf
    if rules.plain:
        return g * g / (h + rules.reg_lambda) + g_right * g_right / (h_right + rules.reg_lambda)
    left = weigh(g, h, s["lower"], s["upper"], rules)
    right = weigh(g_right, h_right, s["lower"], s["upper"], rules)
    if direction * (right - left) < 0.0:
        return -np.inf
    return gain_of(g, h, left, rules) + gain_of(g_right, h_right, right, rules)


@inner_kernel
def update_best_split(s, score, x, missing_left, g, h):
    """Store a split as the best of a slot; the threshold is halfway, above the previous value."""
    s["score"], s["found"], s["missing_left"] = score, 1, missing_left
    s["best_g"], s["best_h"] = g, h
    half = np.float32(np.float64(s["last"]) / 2.0 + np.float64(x) / 2.0)
    s["threshold"] = half if half > s["last"] else x


@inner_kernel
def write_best_splits(states, found):
    """Write the best split of each slot."""
    for slot in range(len(found)):
        s, best = states[slot + 1], found[slot]
        best["score"] = s["score"] if s["found"] else -np.inf
        best["g"], best["h"] = s["best_g"], s["best_h"]
        best["threshold"], best["missing_left"] = s["threshold"], s["missing_left"]
