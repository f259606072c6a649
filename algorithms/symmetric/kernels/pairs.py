"""Derivatives of pairwise ranking losses, query by query.

Scores F are stored as eᶠ. A pair of a winner a and a loser b of one query with weight w has the
loss w log(1 + e^(F_b − F_a)). With p = e^(F_b) / (e^(F_a) + e^(F_b)), −loss has the derivatives

    g_a = w p,  g_b = −w p        h_a = h_b = −w p (1 − p)

PAIRLOGIT takes given pairs. YETIRANK draws orders of each query: the documents are sorted by
e^F u / (1 − u) with u uniform in [0, 1), which adds logistic noise to F. The neighbors at the
ranks r and r + 1 (from 0) form a pair of weight 0.15 decayʳ |y_a − y_b| / number of orders.

Gulin, Kuralenok, Pavlov: Winning the transfer learning track of Yahoo's learning to rank challenge
with YetiRank. JMLR W&CP 14, 2011. Burges et al.: Learning to rank using gradient descent. ICML
2005.
"""

import numpy as np

from algorithms.gbdt.kernels.ranking import sort_query
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import hash_of, uniform
from algorithms.symmetric.kernels.leaf_sums import DER1, DER2, WEIGHT

ABOVE_ONE = 1.000001  # replaces 1 in 1 − u, so that the quotient is finite
PAIR_SCALE = 0.15


@inner_kernel
def add_pair(score, winner, loser, w, sums):
    """Add the derivatives and the weight of a pair to those of its rows."""
    p = score[loser] / (score[winner] + score[loser])
    der1 = w * p
    der2 = der1 * (p - 1.0)
    sums[DER1, winner] += der1
    sums[DER1, loser] -= der1
    sums[DER2, winner] += der2
    sums[DER2, loser] += der2
    sums[WEIGHT, winner] += w
    sums[WEIGHT, loser] += w


@kernel
def differentiate_pairs(score, winner, loser, weight, spans, bounds, sums, first, last):
    """Write the derivatives of PAIRLOGIT of the queries first … last − 1.

    Parameters
    ----------
    score : (n_rows,) float64, eᶠ
    winner, loser : (n_pairs,) int64, rows
    weight : (n_pairs,) float64
    spans : (n_queries + 1,) int64, first pair of each query
    bounds : (n_queries + 1,) int64, first row of each query
    sums : (3, n_rows) float64, written: g, h and the weights of the pairs of each row
    """
    for i in range(bounds[first], bounds[last]):
        sums[DER1, i] = sums[DER2, i] = sums[WEIGHT, i] = 0.0
    for k in range(spans[first], spans[last]):
        add_pair(score, winner[k], loser[k], weight[k], sums)


@kernel
def differentiate_orders(
    score, label, weight, bounds, n_orders, decay, seed, noisy, order, spare, sums, first, last
):
    """Write the derivatives of YETIRANK of the queries first … last − 1.

    Parameters
    ----------
    score, bounds, sums : as in `differentiate_pairs`
    label : (n_rows,) float64
    weight : (n_queries,) float64
    n_orders : number of drawn orders
    decay : float, ratio of the weights of successive ranks
    seed : uint32
    noisy : (n_rows,) float64, scratch space
    order : (n_rows,) int32, scratch space: within each query a permutation of its documents
    spare : (longest query,) int32, scratch space
    """
    for q in range(first, last):
        start, n = bounds[q], bounds[q + 1] - bounds[q]
        for i in range(start, start + n):
            sums[DER1, i] = sums[DER2, i] = sums[WEIGHT, i] = 0.0
        for number in range(n_orders):
            own = hash_of(seed, number)
            for i in range(start, start + n):
                u = uniform(own, i)
                noisy[i] = score[i] * (u / (ABOVE_ONE - u))
            sort_query(noisy, start, n, order, spare)
            w = PAIR_SCALE * weight[q] / n_orders
            for rank in range(n - 1):
                a, b = start + order[start + rank], start + order[start + rank + 1]
                if label[a] > label[b]:
                    add_pair(score, a, b, w * (label[a] - label[b]), sums)
                elif label[b] > label[a]:
                    add_pair(score, b, a, w * (label[b] - label[a]), sums)
                w *= decay


@kernel
def write_pair_losses(score, winner, loser, weight, spans, out, first, last):
    """Write the sum of the losses of the pairs of each query first … last − 1.

    Parameters
    ----------
    score, winner, loser, weight, spans : as in `differentiate_pairs`
    out : (n_queries,) float64, written
    """
    for q in range(first, last):
        total = 0.0
        for k in range(spans[q], spans[q + 1]):
            won, lost = score[winner[k]], score[loser[k]]
            total += weight[k] * np.log1p(lost / won)
        out[q] = total
