"""Scores of the splits of a tree with monotone constraints.

A split is scored with leaf averages that satisfy the constraints of the splits so far and its own.
Pairs of leaves in the wrong order get their common average, until no pair is left or
`MAX_SCORE_PASSES` passes were made.
"""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import hash_of
from algorithms.symmetric.kernels.split_scores import COSINE, MIN_DENOMINATOR, NOISE_BITS

MAX_SCORE_PASSES = 8
FALSE_G, FALSE_W = 0, 1  # rows of `cumulated`
VALUE, WEIGHT = 0, 1  # rows of `averages`


@kernel
def scan_monotone(
    planes, n_leaves, n_bins, low, high, signs, stride, l2, step, kind, noise, seed, cumulated,
    averages, best_score, best_bin,
):  # fmt: skip
    """Write the best split of each of the columns low … high − 1, for one output.

    Parameters
    ----------
    signs : int64 (n_columns, n_splits + 1): the constraints of the splits so far, and the
        column's own; 1, −1, or 0 for none
    cumulated : float64 (n_leaves, 2, stride), scratch space
    averages : float64 (2, 2 n_leaves), scratch space
    others : as in `split_scores.scan_features`
    """
    for f in range(low, high):
        count, first = n_bins[f] - 1, f * stride
        for leaf in range(n_leaves):
            g = w = np.int64(0)
            for b in range(count + 1):
                g += planes[leaf, 0, 0, first + b]
                w += planes[leaf, 0, 1, first + b]
                cumulated[leaf, FALSE_G, b] = np.float64(g) * step[0]
                cumulated[leaf, FALSE_W, b] = np.float64(w) * step[1]
        best, at, found = -np.inf, np.int64(0), -np.inf
        for b in range(count):
            write_averages(cumulated, n_leaves, b, count, l2, averages)
            order_averages(averages, n_leaves, signs[f])
            score = score_averages(cumulated, averages, n_leaves, b, count, kind)
            noisy = score
            if len(noise):
                index = hash_of(seed, first + b) >> np.uint32(32 - NOISE_BITS)
                noisy += noise[np.int64(index)]
            if noisy > best:
                best, at, found = noisy, np.int64(b), score
        best_score[f], best_bin[f] = found, at


@inner_kernel
def write_averages(cumulated, n_leaves, b, count, l2, averages):
    """Write the average and the weight plus λ of both sides of a split of all leaves."""
    for leaf in range(n_leaves):
        own = cumulated[leaf]
        false_w = own[FALSE_W, b] + l2
        true_w = own[FALSE_W, count] - own[FALSE_W, b] + l2
        true_g = own[FALSE_G, count] - own[FALSE_G, b]
        averages[VALUE, leaf] = own[FALSE_G, b] / false_w
        averages[WEIGHT, leaf] = false_w
        averages[VALUE, n_leaves + leaf] = true_g / true_w
        averages[WEIGHT, n_leaves + leaf] = true_w


@inner_kernel
def order_averages(averages, n_leaves, signs):
    """Give pairs of sides in the wrong order their common average."""
    value, weight = averages[VALUE], averages[WEIGHT]
    for _ in range(MAX_SCORE_PASSES):
        is_ordered = True
        for j in range(len(signs)):
            if signs[j] == 0:
                continue
            bit = 1 << j
            for side in range(2 * n_leaves):
                other = side + bit
                if side & bit == 0 and (value[other] - value[side]) * signs[j] < 0.0:
                    total = weight[side] + weight[other]
                    mean = (value[side] * weight[side] + value[other] * weight[other]) / total
                    value[side] = value[other] = mean
                    is_ordered = False
        if is_ordered:
            return


@inner_kernel
def score_averages(cumulated, averages, n_leaves, b, count, kind):
    """Return the score of a split with given averages of its sides."""
    numerator, denominator = 0.0, MIN_DENOMINATOR
    for leaf in range(n_leaves):
        own = cumulated[leaf]
        low, high = averages[VALUE, leaf], averages[VALUE, n_leaves + leaf]
        false_g, false_w = own[FALSE_G, b], own[FALSE_W, b]
        true_g, true_w = own[FALSE_G, count] - false_g, own[FALSE_W, count] - false_w
        numerator += low * false_g + high * true_g
        denominator += low * low * false_w + high * high * true_w
    return numerator / math.sqrt(denominator) if kind == COSINE else numerator
