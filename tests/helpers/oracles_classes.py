"""Oracles of the kernels that grow boosted classification trees."""

from itertools import pairwise

import numpy as np

CLOSE = np.float32(1e-7)
CODES, EPSILON = 256, 2.0**-52


def class_histogram(code, lane, weight, n_lanes):
    """Return the weight of each lane and bin of one column, float64 (n_lanes, CODES)."""
    values = np.zeros((n_lanes, CODES))
    for c, k, w in zip(code, lane, weight, strict=True):
        values[k, c] += w
    return values


def score(kinds, weights, left, n_classes):
    """Return S = Σ l_k² / Σ l_k + Σ r_k² / Σ r_k of a split of rows."""
    total = 0.0
    for side in (left, ~left):
        of_class = [weights[side & (kinds == k)].sum() for k in range(n_classes)]
        total += sum(w * w for w in of_class) / sum(of_class)
    return total


def splits(x, kinds, weights, n_classes, least=0.0):
    """Return (threshold, score) of every split of a column that leaves both sides enough weight."""
    values = np.sort(np.unique(x.astype(np.float32)))
    results = []
    for below, above in pairwise(values):
        if not above > below + CLOSE:
            continue
        left = x <= below
        if min(weights[left].sum(), weights[~left].sum()) >= least:
            threshold = np.float64(below) / 2 + np.float64(above) / 2
            results.append((threshold, score(kinds, weights, left, n_classes)))
    return results


def best_split(X, kinds, weights, n_classes, least=0.0):
    """Return the highest score of any split of any column, -inf where there is none."""
    scores = [s for x in X.T for _, s in splits(x, kinds, weights, n_classes, least)]
    return max(scores, default=-np.inf)


def reweighed(weight, wrong, right_factor, wrong_factor):
    """Return new weights of rows, at least the machine's epsilon."""
    factors = [wrong_factor if w else right_factor for w in wrong]
    return np.array([max(a * b, EPSILON) for a, b in zip(weight, factors, strict=True)])


def weighted_median(values, votes):
    """Return the smallest value at which half of the votes is reached."""
    reached = 0.0
    total = sum(votes[i] for i in np.argsort(values))
    for i in np.argsort(values):
        reached += votes[i]
        if reached >= 0.5 * total:
            return values[i]
    raise AssertionError("votes are not numbers")
