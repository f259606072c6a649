"""Exact equality of two splits: whether they send every possible value to the same side.

Ensembles may express the same split in different ways (``<`` instead of ``<=``, another code for
missing values). Therefore the sides of values are compared: the last value that a threshold sends
left, NaN, zero if it counts as missing, and every category.
"""

from __future__ import annotations

import numpy as np

from harness.trees import predict
from harness.trees.ensemble import Missing, TreeEnsemble


def same_splits(a: TreeEnsemble, b: TreeEnsemble, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a mask of equal splits of inner nodes ``x`` of ``a`` and ``y`` of ``b``, (n,)."""
    same: np.ndarray = a.feature[x] == b.feature[y]
    sets = a.categories[x] >= 0
    same &= sets == (b.categories[y] >= 0)
    same &= sets | same_thresholds(a, b, x, y)
    same &= missing_left(a, x) == missing_left(b, y)
    zero = (a.missing[x] == Missing.ZERO) | (b.missing[y] == Missing.ZERO)
    same &= ~zero | (_side_of(a, x, 0.0) == _side_of(b, y, 0.0))
    for i in np.flatnonzero(same & sets).tolist():
        same[i] = left_categories(a, int(x[i])) == left_categories(b, int(y[i]))
    return same


def same_thresholds(a: TreeEnsemble, b: TreeEnsemble, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a mask of numeric splits that send every value to the same side, (n,)."""
    one, other = a.threshold[x], b.threshold[y]
    if (a.comparison, a.input_dtype) != (b.comparison, b.input_dtype):
        one, other = last_left(a, one), last_left(b, other)
    return np.asarray(one == other)


def last_left(e: TreeEnsemble, threshold: np.ndarray) -> np.ndarray:
    """Return the largest value of the input dtype that goes left at thresholds, as float64."""
    dtype = np.dtype(e.input_dtype).type
    with np.errstate(over="ignore"):
        nearest = threshold.astype(dtype)
    passes = nearest < threshold if e.comparison == "<" else nearest <= threshold
    return np.where(passes, nearest, np.nextafter(nearest, dtype(-np.inf))).astype(np.float64)


def missing_left(e: TreeEnsemble, nodes: np.ndarray) -> np.ndarray:
    """Return whether NaN goes left at nodes, by whatever rule, (n,)."""
    return _side_of(e, nodes, np.nan)


def _side_of(e: TreeEnsemble, nodes: np.ndarray, value: float) -> np.ndarray:
    return predict.goes_left(e, nodes, np.full(len(nodes), value))


def left_categories(e: TreeEnsemble, node: int) -> tuple[bool, tuple[int, ...]]:
    """Return whether the category codes of a node go left, and the codes."""
    number = int(e.categories[node])
    codes = e.set_codes[e.set_indptr[number] : e.set_indptr[number + 1]]
    return bool(e.members_left[number]), tuple(codes.tolist())


def is_missing(e: TreeEnsemble, node: int, values: np.ndarray) -> np.ndarray:
    """Return which values a node treats as missing or cannot compare, (n,)."""
    missing: np.ndarray = np.isnan(values)
    return missing | (values == 0) if e.missing[node] == Missing.ZERO else missing
