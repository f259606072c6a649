"""Oracles of categorical splits, which try every subset."""

from itertools import combinations

import numpy as np
import oracles


def subsets(codes):
    """Yield every nonempty set of the present codes."""
    known = sorted(set(codes[~np.isnan(codes)].tolist()))
    for size in range(1, len(known) + 1):
        for chosen in combinations(known, size):
            yield set(chosen)


def splits_of(codes):
    """Yield the rows on the left of every split of a column, missing ones on the right."""
    for chosen in subsets(codes):
        left = np.isin(codes, sorted(chosen))
        if not left.all():
            yield left


def best_decrease(criterion, codes, y, w, min_samples_leaf=1, min_weight_leaf=0.0):
    """Return the largest impurity decrease of a column's splits, or None."""
    best = None
    for left in splits_of(codes):
        rows, weights = (left.sum(), (~left).sum()), (w[left].sum(), w[~left].sum())
        if min(rows) < min_samples_leaf or min(weights) < min_weight_leaf:
            continue
        result = oracles.decrease(criterion, y, w, left)
        best = result if best is None else max(best, result)
    return best


def principal_axis(shares, weight):
    """Return the unit vector along which the class shares vary most, by weight."""
    mean = np.average(shares, axis=0, weights=weight)
    off = shares - mean
    values, vectors = np.linalg.eigh((off * weight[:, None]).T @ off)
    return vectors[:, values.argmax()]


def find_leaf(tree, x):
    """Return the leaf of one row of codes and numbers, going down a tree."""
    node = 0
    while tree.children_left[node] >= 0:
        value = np.float32(x[tree.feature[node]])
        if np.isnan(value):
            left = tree.missing_go_to_left[node]
        elif node in tree.sets:
            codes, to_left = tree.sets[node]
            left = (value in codes) == to_left
        else:
            left = np.float64(value) <= tree.threshold[node]
        node = int(tree.children_left[node] if left else tree.children_right[node])
    return node
