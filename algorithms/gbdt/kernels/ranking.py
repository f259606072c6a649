"""Gradients of the ranking objectives, and ranking metrics, query by query.

With s the score of a document, y its label, G its gain, D = 1 / log₂(2 + rank) the discount of its
rank (from 0, by falling score; documents of equal score keep their order), σ the slope:

    LAMBDARANK   for each pair with G_a > G_b, of which one has a rank below the truncation level
                 δ = |G_a − G_b| |D_a − D_b| / maxDCG, divided by 0.01 + |s_a − s_b| if normalized
                 p = 1 / (1 + e^(σ (s_a − s_b))),  λ = σ δ p
                 g_a −= λ,  g_b += λ,  h_a and h_b += σ λ (1 − p)
                 if normalized, g and h are multiplied by log₂(1 + Λ) / Λ, with Λ = 2 Σ λ
    RANK_XENDCG  ρ = softmax(s),  φ = 2^y − u with u uniform in [0, 1),  t = φ / Σ φ
                 g = ρ − t, plus terms of second and third order;  h = ρ (1 − ρ)

LambdaRank: Burges, From RankNet to LambdaRank to LambdaMART, 2010. XE-NDCG: Bruch, An alternative
cross entropy loss for learning-to-rank, WWW 2021. Sums over pairs are float64. Each query is
independent of the others, so the results do not depend on the number of threads.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import exp, log, uniform

RUN = 16  # lengths up to which a part of a query is sorted by insertion
FLOOR = 0.01  # added to |s_a − s_b| before division, so that equal scores have a finite weight
MIN_REST = 1e-15  # minimum of 1 − ρ in a division
PER_LN2 = 1.4426950408889634
SCORES, GAINS, G_SUMS, H_SUMS, PAIR_G, PAIR_H, PARTS = range(7)  # rows of the scratch space


@inner_kernel
def is_before(score, start, a, b):
    """Return whether document a ranks before document b."""
    first, second = score[start + a], score[start + b]
    return first > second or (first == second and a < b)


@inner_kernel
def sort_query(score, start, n, order, spare):
    """Sort the documents of a query by falling score; equal scores by their number.

    Parameters
    ----------
    score : (n_rows,) float64
    start, n : first row and number of documents
    order : (n_rows,) int32; from ``start`` on a permutation of the n documents, sorted in place.
        If it is nearly sorted, as after the round before, few moves are needed.
    spare : (n,) int32, scratch space
    """
    for low in range(0, n, RUN):
        for i in range(low + 1, min(low + RUN, n)):
            document, at = order[start + i], i
            while at > low and is_before(score, start, document, order[start + at - 1]):
                order[start + at] = order[start + at - 1]
                at -= 1
            order[start + at] = document
    width = RUN
    while width < n:
        for low in range(0, n - width, 2 * width):
            merge(score, start, low, low + width, min(low + 2 * width, n), order, spare)
        width *= 2


@inner_kernel
def merge(score, start, low, middle, high, order, spare):
    """Merge two sorted parts of a query's order."""
    if is_before(score, start, order[start + middle - 1], order[start + middle]):
        return
    n_left = middle - low
    for i in range(n_left):
        spare[i] = order[start + low + i]
    left, right, at = 0, middle, low
    while left < n_left:
        if right < high and is_before(score, start, order[start + right], spare[left]):
            order[start + at] = order[start + right]
            right += 1
        else:
            order[start + at] = spare[left]
            left += 1
        at += 1


@kernel
def write_max_dcg(label, bounds, gain, discount, level, counts, out):
    """Write the largest possible DCG of each query, of its first ``level`` ranks.

    Parameters
    ----------
    label : (n_rows,) float64, whole numbers below len(gain)
    bounds : (n_queries + 1,) int64, first rows of the queries
    gain : (n_labels,) float64
    discount : (≥ longest query,) float64
    counts : (n_labels,) int64, scratch space
    out : (n_queries,) float64, written
    """
    for q in range(len(out)):
        counts[:] = 0
        for i in range(bounds[q], bounds[q + 1]):
            counts[int(label[i])] += 1
        top, total = len(gain) - 1, 0.0
        for rank in range(min(level, bounds[q + 1] - bounds[q])):
            while top > 0 and counts[top] <= 0:
                top -= 1
            total += discount[rank] * gain[top]
            counts[top] -= 1
        out[q] = total


@inner_kernel
def add_pairs(work, discount, i, n, slope, factor, floor, per_gap):
    """Add the pairs of the document of rank i with those of higher ranks; return 2 Σ λ."""
    score, gain, rank_discount = work[SCORES, i], work[GAINS, i], discount[i]
    one = np.uint64(1)
    for j in range(np.uint64(i) + one, np.uint64(n)):
        gap = gain - work[GAINS, j]
        side = 1.0 if gap > 0.0 else -1.0
        difference = side * (score - work[SCORES, j])
        delta = gap * abs(rank_discount - discount[j]) * factor
        power = exp(slope * difference)
        p = 1.0 / (1.0 + power)
        pair = delta * p / (floor + per_gap * abs(difference))
        work[PAIR_G, j] = pair
        work[PAIR_H, j] = slope * abs(pair) * power * p
    total_g = total_h = total = 0.0
    for j in range(np.uint64(i) + one, np.uint64(n)):
        pair, pair_h = work[PAIR_G, j], work[PAIR_H, j]
        work[G_SUMS, j] += pair
        work[H_SUMS, j] += pair_h
        total_g += pair
        total_h += pair_h
        total += abs(pair)
    work[G_SUMS, i] -= total_g
    work[H_SUMS, i] += total_h
    return 2.0 * total


@kernel
def differentiate_lambdarank(
    score,
    gains,
    weight,
    bounds,
    max_dcg,
    discount,
    level,
    slope,
    normalized,
    order,
    spare,
    work,
    g,
    h,
    first,
    last,
):
    """Write g and h of lambdarank for the queries first … last − 1.

    Parameters
    ----------
    score : (n_rows,) float64
    gains : (n_rows,) float64, the gain of each document's label
    weight : (n_rows,) float64, or (0,) if every row has weight 1
    bounds : (n_queries + 1,) int64, first rows of the queries
    max_dcg : (n_queries,) float64
    discount : (≥ longest query,) float64
    level : int, the truncation level
    slope : float, σ
    normalized : bool
    order : (n_rows,) int32, as in `sort_query`
    spare : (≥ longest query,) int32, scratch space
    work : (PARTS, ≥ longest query) float64, scratch space
    g, h : (n_rows,) float32, written
    """
    for q in range(first, last):
        start, n = bounds[q], bounds[q + 1] - bounds[q]
        sort_query(score, start, n, order, spare)
        for i in range(n):
            row = start + order[start + i]
            work[SCORES, i], work[GAINS, i] = score[row], gains[row]
            work[G_SUMS, i] = work[H_SUMS, i] = 0.0
        total = 0.0
        if max_dcg[q] > 0.0:
            divides = normalized and work[SCORES, 0] != work[SCORES, n - 1]
            floor, per_gap = (FLOOR, 1.0) if divides else (1.0, 0.0)
            factor = slope / max_dcg[q]
            for i in range(min(n - 1, level)):
                total += add_pairs(work, discount, i, n, slope, factor, floor, per_gap)
        scale = 1.0
        if normalized and total > 0.0:
            scale = log(1.0 + total) * PER_LN2 / total
        for i in range(n):
            row = start + order[start + i]
            w = weight[row] * scale if len(weight) else scale
            g[row] = np.float32(work[G_SUMS, i] * w)
            h[row] = np.float32(work[H_SUMS, i] * w)


@inner_kernel
def write_softmax_of_query(score, start, n, out):
    """Write the softmax of a query's scores."""
    top = score[start]
    for i in range(1, n):
        top = max(top, score[start + i])
    total = 0.0
    for i in range(n):
        out[i] = exp(score[start + i] - top)
        total += out[i]
    for i in range(n):
        out[i] /= total


@inner_kernel
def add_order(share, term, n, total, result):
    """Add the next order of XE-NDCG to g; return the sum of terms for the order after it."""
    following = 0.0
    for i in range(n):
        value = share[i] * (total - term[i])
        result[i] += value
        term[i] = value / max(1.0 - share[i], MIN_REST)
        following += term[i]
    return following


@kernel
def differentiate_xendcg(score, power, weight, bounds, seed, work, g, h, first, last):
    """Write g and h of rank_xendcg for the queries first … last − 1.

    Parameters
    ----------
    score, weight, bounds, g, h : as in `differentiate_lambdarank`
    power : (n_rows,) float64, 2^y
    seed : uint32, of this round
    work : (≥ 3, ≥ longest query) float64, scratch space
    """
    share, term, result = work[0], work[1], work[2]
    for q in range(first, last):
        start, n = bounds[q], bounds[q + 1] - bounds[q]
        if n == 1:
            g[start] = h[start] = np.float32(0.0)
            continue
        write_softmax_of_query(score, start, n, share)
        whole = 0.0
        for i in range(n):
            term[i] = power[start + i] - uniform(seed, start + i)
            whole += term[i]
        whole = max(whole, MIN_REST)
        total = 0.0
        for i in range(n):
            result[i] = share[i] - term[i] / whole
            term[i] = result[i] / max(1.0 - share[i], MIN_REST)
            total += term[i]
        total = add_order(share, term, n, total, result)
        add_order(share, term, n, total, result)
        for i in range(n):
            w = weight[start + i] if len(weight) else 1.0
            g[start + i] = np.float32(result[i] * w)
            h[start + i] = np.float32(share[i] * (1.0 - share[i]) * w)


@kernel
def write_ndcg(score, label, bounds, gain, discount, levels, order, spare, counts, out):
    """Write the NDCG of each query at some ranks; 1 if no document has a gain.

    Parameters
    ----------
    score, label, bounds, gain, discount, order, spare, counts : as above
    levels : (n_levels,) int64, ascending
    out : (n_queries, n_levels) float64, written
    """
    for q in range(len(out)):
        start, n = bounds[q], bounds[q + 1] - bounds[q]
        sort_query(score, start, n, order, spare)
        counts[:] = 0
        for i in range(start, start + n):
            counts[int(label[i])] += 1
        top, rank, best, found = len(gain) - 1, 0, 0.0, 0.0
        for k in range(len(levels)):
            while rank < min(levels[k], n):
                while top > 0 and counts[top] <= 0:
                    top -= 1
                best += discount[rank] * gain[top]
                counts[top] -= 1
                found += discount[rank] * gain[int(label[start + order[start + rank]])]
                rank += 1
            out[q, k] = found / best if best > 0.0 else 1.0


@kernel
def write_average_precision(score, label, bounds, levels, order, spare, out):
    """Write the average precision of each query at some ranks; 1 if no label is above 0.5.

    Parameters are those of `write_ndcg`.
    """
    for q in range(len(out)):
        start, n = bounds[q], bounds[q + 1] - bounds[q]
        sort_query(score, start, n, order, spare)
        n_positive = 0
        for i in range(start, start + n):
            n_positive += label[i] > 0.5
        rank, hits, total = 0, 0, 0.0
        for k in range(len(levels)):
            reached = min(levels[k], n)
            while rank < reached:
                if label[start + order[start + rank]] > 0.5:
                    hits += 1
                    total += hits / (rank + 1.0)
                rank += 1
            out[q, k] = total / min(n_positive, reached) if n_positive else 1.0
