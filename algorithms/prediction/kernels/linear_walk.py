"""Traversal of trees whose leaves are linear models, and the sum of the leaves' outputs."""

from typing import NamedTuple

import numpy as np

from algorithms.prediction.kernels.walk import BLOCK, GROUP, walk
from algorithms.runtime.jit import inner_kernel, kernel


class LinearTerms(NamedTuple):
    """Linear models of the leaves of an ensemble; see `harness.LinearLeaves`."""

    constant: np.ndarray  # float64 (n_nodes,)
    value: np.ndarray  # float64 (n_nodes,): output if a value is missing
    start: np.ndarray  # int64 (n_nodes + 1,)
    feature: np.ndarray  # int32 (n_terms,)
    coefficient: np.ndarray  # float64 (n_terms,)


@kernel
def add_linear_trees(steps, bits, roots, weight, output, terms, X, reading, at, out):
    """Add the outputs of the trees' linear leaves to the scores of the rows of X.

    Parameters
    ----------
    steps, bits, roots, output, X, reading, at, out : as in `walk.add_trees`
    weight : (n_trees,) float64
    terms : LinearTerms
    """
    for start in range(0, len(out), BLOCK):
        n = min(BLOCK, len(out) - start)
        for t in range(len(roots)):
            for i in range(n):
                at[i] = roots[t]
            for group in range(0, n, GROUP):
                walk(steps, bits, X, reading, at, start, group, min(group + GROUP, n))
            for i in range(np.uint64(n)):
                row = np.uint64(start) + i
                given = output_of(terms, X, reading.zero, row, at[i])
                out[row, np.uint64(output[t])] += weight[t] * given


@inner_kernel
def output_of(terms, X, zero, row, node):
    """Return the output of a leaf for a row."""
    total = terms.constant[node]
    for k in range(np.uint64(terms.start[node]), np.uint64(terms.start[node + 1])):
        x = np.float64(X[row, np.uint64(terms.feature[k])])
        if abs(x) <= zero:
            x = 0.0
        if np.isnan(x):
            return terms.value[node]
        total += terms.coefficient[k] * x
    return total
