"""Gradients of XGBoost's ranking objectives, query by query.

With s the score of a document, y its label, r its rank (from 1, by falling score) and for each pair
with y_a > y_b, of which one has a rank of at most ``level``:

    p = 1 / (1 + e^(s_b − s_a)),  λ = (p − 1) δ
    g_a += λ,  g_b −= λ,  h_a and h_b += 2 p (1 − p) δ

    PAIRWISE   δ = 1
    NDCG       δ = |G_a − G_b| |D_a − D_b| / maxDCG,  D = 1 / log₂(1 + r)
    MAP        δ = change of the average precision if a and b swap their ranks

δ is divided by 0.01 + |s_a − s_b| if ``by_difference``. If ``normalised``, g and h are multiplied
by log₂(1 + Λ) / Λ, with Λ = −2 Σ λ. Burges: From RankNet to LambdaRank to LambdaMART, 2010.
"""

from algorithms.gbdt.kernels.ranking import sort_query
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import exp, log

PAIRWISE, NDCG, MAP = range(3)
FLOOR = 0.01
LEAST_H = 1e-16
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
    normalised,
    by_difference,
    order,
    spare,
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
    level : int, number of ranks that are paired with all lower ones
    normalised, by_difference : bool
    order : (n_rows,) int32, as in `sort_query`
    spare : (≥ longest query,) int32, scratch space
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
        for i in range(min(n - 1, level)):
            for j in range(i + 1, n):
                gap = work[LABELS, i] - work[LABELS, j]
                if gap == 0.0:
                    continue
                side = 1.0 if gap > 0.0 else -1.0
                difference = side * (work[SCORES, i] - work[SCORES, j])
                gains = gain[start + order[start + i]] - gain[start + order[start + j]]
                dcg = abs(gains) * (discount[i] - discount[j]) / max_dcg[q]
                delta = pair_weight(kind, work, i, j, n, dcg)
                if divides:
                    delta /= FLOOR + abs(difference)
                p = 1.0 / (1.0 + exp(-difference))
                pair = side * (p - 1.0) * delta
                pair_h = 2.0 * max(p * (1.0 - p), LEAST_H) * delta
                work[G_SUMS, i] += pair
                work[G_SUMS, j] -= pair
                work[H_SUMS, i] += pair_h
                work[H_SUMS, j] += pair_h
                total += 2.0 * abs(pair)
        scale = weight[q] if len(weight) else 1.0
        if normalised and total > 0.0:
            scale *= log(1.0 + total) * PER_LN2 / total
        for i in range(n):
            row = start + order[start + i]
            g[row] = work[G_SUMS, i] * scale
            h[row] = work[H_SUMS, i] * scale
