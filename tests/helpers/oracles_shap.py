"""Exact Shapley values and interactions of trees, by enumerating all sets of features."""

from itertools import combinations
from math import factorial

import numpy as np

from harness.trees.predict import goes_left


def known_value(trees, tree, x, known):
    """Return the mean leaf of a tree with some features known, by covers for the others."""

    def below(node):
        left, right = trees.left[node], trees.right[node]
        if left < 0:
            return trees.value[node]
        if trees.feature[node] in known:
            return below(left if is_left(trees, node, x) else right)
        cover = trees.cover
        return (cover[left] * below(left) + cover[right] * below(right)) / cover[node]

    return trees.weight[tree] * below(trees.offsets[tree])


def is_left(trees, node, x):
    """Return True if a row goes left at a node."""
    return goes_left(trees, node, np.array([x[trees.feature[node]]]))[0]


def known_values(trees, tree, x):
    """Return the mean leaf of a tree for each set of known features: dict, tuple → float64."""
    n = trees.n_features
    return {
        known: known_value(trees, tree, x, known)
        for size in range(n + 1)
        for known in combinations(range(n), size)
    }


def contributions(trees, X):
    """Return Shapley values and the base, float64 (n_rows, n_outputs, n_features + 1)."""
    n = trees.n_features
    out = np.zeros((len(X), trees.n_outputs, n + 1))
    out[:, :, n] = trees.base
    for t in range(trees.n_trees):
        columns = slice(trees.output[t], trees.output[t] + trees.value.shape[1])
        for x, row in zip(X, out, strict=True):
            worth = known_values(trees, t, x)
            row[columns, n] += worth[()]
            for f in range(n):
                for known, value in worth.items():
                    if f not in known:
                        more = worth[tuple(sorted((*known, f)))]
                        share = factorial(len(known)) * factorial(n - len(known) - 1) / factorial(n)
                        row[columns, f] += share * (more - value)
    return out


def interactions(trees, X):
    """Return SHAP interaction values, (n_rows, n_outputs, n_features + 1, n_features + 1)."""
    n = trees.n_features
    phi = contributions(trees, X)
    out = np.zeros((*phi.shape, n + 1))
    for t in range(trees.n_trees):
        columns = slice(trees.output[t], trees.output[t] + trees.value.shape[1])
        for x, row in zip(X, out, strict=True):
            worth = known_values(trees, t, x)
            for i, j in combinations(range(n), 2):
                for known in worth:
                    if i not in known and j not in known:
                        with_i, with_j, both = (
                            worth[tuple(sorted((*known, *more)))] for more in ((i,), (j,), (i, j))
                        )
                        share = factorial(len(known)) * factorial(n - len(known) - 2)
                        delta = both - with_i - with_j + worth[known]
                        row[columns, i, j] += 0.5 * share / factorial(n - 1) * delta
    out += out.swapaxes(2, 3)
    at = np.arange(n + 1)
    out[:, :, at, at] = phi - out.sum(axis=3)
    return out
