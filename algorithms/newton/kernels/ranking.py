"""Gradients of XGBoost's ranking objectives, query by query.

With s the score of a document, y its label, r its rank (from 1, by falling score) and for each
chosen pair with y_a > y_b:

    p = 1 / (1 + e^(s_b − s_a)),  λ = (p − 1) δ
    g_a += λ,  g_b −= λ,  h_a and h_b += 2 p (1 − p) δ

    PAIRWISE   δ = 1
    NDCG       δ = |G_a − G_b| |D_a − D_b| / maxDCG,  D = 1 / log₂(1 + r)
    MAP        δ = change of the average precision if a and b swap their ranks

δ is divided by 0.01 + |s_a − s_b| if ``by_difference``.

Pairs: with a negative seed, each document among the first ``level`` ranks and each document of a
lower rank. Otherwise each document and ``level`` random documents with other labels. If
``normalized``, g and h are multiplied by log₂(1 + Λ) / Λ, with Λ = −2 Σ λ, or with random pairs by
1 / level. Burges: From RankNet to LambdaRank to LambdaMART, 2010.

Position bias: with i and j the positions of a and b in the table of their query, λ and its h are
divided by t⁺_i t⁻_j. The costs of the pair, log(1 + e^(s_a − s_b)) δ, divided by t⁻_j and by t⁺_i,
are added to those of a and b; `newton/position_bias.py` computes t⁺ and t⁻ from them. Hu et al.:
Unbiased LambdaMART, WWW 2019.
"""

from algorithms.gbdt.kernels.ranking import sort_query
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import exp, log

PAIRWISE, NDCG, MAP = range(3)
FLOOR = 0.01
MIN_H = 1e-16
MIN_BIAS = 1e-16  # least t⁺ and t⁻ that divide
MULTIPLIER, MODULUS = 48271, 2**31 - 1  # of minstd
PER_LN2 = 1.4426950408889634
SCORES, LABELS, G_SUMS, H_SUMS, COUNTS, PRECISIONS, PARTS = range(7)  # rows of the scratch space


@inner_kernel
def precision_change(work, i, j, n):
    """Return the absolute change of the average precision if ranks i < j (from 0) are swapped."""
    between = work[PRECISIONS, j - 1] - work[PRECISIONS, i]
    last = work[COUNTS, j] / (j + 1.0)
    if work[LABELS, i] > work[LABELS, j]:
        change = last - work[COUNTS, i] / (i + 1.0) - between
    else:
        change = (work[COUNTS, i] + 1.0) / (i + 1.0) + between - last
    return abs(change) / work[COUNTS, n - 1]


@inner_kernel
def pair_weight(kind, work, i, j, n, dcg):
    """Return δ of the ranks i < j (from 0) without the division; ``dcg`` is that of NDCG."""
    if kind == NDCG:
        return dcg
    return precision_change(work, i, j, n) if kind == MAP else 1.0


@inner_kernel
def next_random(state):
    """Return the next state of the generator minstd (Park and Miller), 1 … 2³¹ − 2."""
    return state * MULTIPLIER % MODULUS


@inner_kernel
def add_pair(
    kind, work, i, j, n, gain, discount, max_dcg, divides, plus, minus, costs, order, start
):
    """Add the derivatives of the documents of two ranks (from 0); return 2 |λ|.

    Parameters
    ----------
    i, j : int, different ranks
    n : int, number of documents of the query
    max_dcg : float, that of the query
    divides : bool, whether δ is divided by the difference of the scores
    start : int, first row of the query
    The others are those of `differentiate_ranking`.
    """
    i, j = min(i, j), max(i, j)
    gap = work[LABELS, i] - work[LABELS, j]
    if gap == 0.0:
        return 0.0
    side = 1.0 if gap > 0.0 else -1.0
    difference = side * (work[SCORES, i] - work[SCORES, j])
    gains = gain[start + order[start + i]] - gain[start + order[start + j]]
    dcg = abs(gains) * (discount[i] - discount[j]) / max_dcg
    delta = pair_weight(kind, work, i, j, n, dcg)
    if divides:
        delta /= FLOOR + abs(difference)
    p = 1.0 / (1.0 + exp(-difference))
    pair = side * (p - 1.0) * delta
    pair_h = 2.0 * max(p * (1.0 - p), MIN_H) * delta
    if len(plus):
        high, low = (i, j) if gap > 0.0 else (j, i)
        high, low = order[start + high], order[start + low]
        if high < len(plus) and low < len(plus):
            cost = (log(1.0 + exp(-abs(difference))) + max(difference, 0.0)) * delta
            if minus[low] >= MIN_BIAS:
                costs[0, start + high] += cost / minus[low]
            if plus[high] >= MIN_BIAS:
                costs[1, start + low] += cost / plus[high]
            if minus[low] >= MIN_BIAS and plus[high] >= MIN_BIAS:
                pair /= plus[high] * minus[low]
                pair_h /= plus[high] * minus[low]
    work[G_SUMS, i] += pair
    work[G_SUMS, j] -= pair
    work[H_SUMS, i] += pair_h
    work[H_SUMS, j] += pair_h
    return 2.0 * abs(pair)


@inner_kernel
def add_random_pairs(
    kind, work, n, level, state, by_label, spare,
    gain, discount, max_dcg, divides, plus, minus, costs, order, start,
):  # fmt: skip
    """Add the pairs of each document with ``level`` random documents that have other labels.

    The pairs are those of XGBoost 3.2, in its order.

    Parameters
    ----------
    state : int, state of the random numbers
    by_label : (n,) int32, scratch space for the ranks, sorted by falling label
    The others are those of `add_pair` and `differentiate_ranking`.
    """
    labels = work[LABELS]
    for i in range(n):
        by_label[i] = i
    sort_query(labels, 0, n, by_label, spare)
    first = 0
    while first < n:
        last = first + 1
        while last < n and labels[by_label[first]] == labels[by_label[last]]:
            last += 1
        n_others = n - (last - first)
        if n_others > 0:
            width = (MODULUS - 2) // n_others
            for _ in range(level):
                for at in range(first, last):
                    state = next_random(state)
                    while state - 1 >= width * n_others:
                        state = next_random(state)
                    other = (state - 1) // width
                    if other >= first:
                        other += last - first
                    add_pair(
                        kind, work, by_label[at], by_label[other], n, gain, discount, max_dcg,
                        divides, plus, minus, costs, order, start,
                    )  # fmt: skip
        first = last


@kernel
def differentiate_ranking(
    kind,
    score,
    label,
    gain,
    weight,
    bounds,
    max_dcg,
    discount,
    level,
    seed,
    normalized,
    by_difference,
    plus,
    minus,
    costs,
    order,
    spare,
    by_label,
    work,
    g,
    h,
    first,
    last,
):
    """Write g and h of the queries first … last − 1.

    Parameters
    ----------
    kind : int, PAIRWISE, NDCG or MAP
    score, label : (n_rows,) float64; labels of MAP are 0 and 1
    gain : (n_rows,) float64, the gain of each document's label
    weight : (n_queries,) float64, or (0,) if every query has weight 1
    bounds : (n_queries + 1,) int64, first rows of the queries
    max_dcg : (n_queries,) float64
    discount : (≥ longest query,) float64
    level : int, number of ranks that are paired with all lower ones, or of random pairs
    seed : int, of the random pairs; negative: pairs of the first ranks
    normalized, by_difference : bool
    plus, minus : (n_positions,) float64, t⁺ and t⁻; or (0,) without position bias
    costs : (2, n_rows) float64, the costs of documents are added to; or (2, 0)
    order : (n_rows,) int32, as in `sort_query`
    spare, by_label : (≥ longest query,) int32, scratch space
    work : (PARTS, ≥ longest query) float64, scratch space
    g, h : (n_rows,) float32, written
    """
    for q in range(first, last):
        start, n = bounds[q], bounds[q + 1] - bounds[q]
        sort_query(score, start, n, order, spare)
        count = precision = total = 0.0
        for i in range(n):
            row = start + order[start + i]
            work[SCORES, i], work[LABELS, i] = score[row], label[row]
            work[G_SUMS, i] = work[H_SUMS, i] = 0.0
            count += label[row]
            precision += label[row] / (i + 1.0)
            work[COUNTS, i], work[PRECISIONS, i] = count, precision
        divides = by_difference and n > 0 and work[SCORES, 0] != work[SCORES, n - 1]
        scale = weight[q] if len(weight) else 1.0
        if seed >= 0:
            state = max((seed + q) % MODULUS, 1)
            add_random_pairs(
                kind, work, n, level, state, by_label, spare,
                gain, discount, max_dcg[q], divides, plus, minus, costs, order, start,
            )  # fmt: skip
            if normalized:
                scale /= level
        else:
            for i in range(min(n - 1, level)):
                for j in range(i + 1, n):
                    total += add_pair(
                        kind, work, i, j, n, gain, discount, max_dcg[q],
                        divides, plus, minus, costs, order, start,
                    )  # fmt: skip
            if normalized and total > 0.0:
                scale *= log(1.0 + total) * PER_LN2 / total
        for i in range(n):
            row = start + order[start + i]
            g[row] = work[G_SUMS, i] * scale
            h[row] = work[H_SUMS, i] * scale
