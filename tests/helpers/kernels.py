"""Calls of kernels in tests, and the arrays for them."""

import numpy as np
from numba import config, njit

from algorithms.runtime.threads import Workers
from algorithms.trees.grower import new_growth, new_scratch
from algorithms.trees.kernels import tree_arrays
from algorithms.trees.kernels.scan import fits
from algorithms.trees.presorted_table import sort_table


def callable_kernel(inner):
    """Return an inner or linked kernel in a form that Python can call."""
    if config.DISABLE_JIT:
        return inner
    return njit(inner.py_func, nogil=True, error_model="numpy", _nrt=False)


_fits = callable_kernel(fits)


def read_places(table, rows, f, stop):
    """Return, for the entries 1 … stop − 1 of a list, whether a split fits before them."""
    return [bool(_fits(table, rows, f, rows.columns[f], j, -1)) for j in range(1, stop)]


def table_of(X):
    """Return the sorted table of X."""
    with Workers(1) as workers:
        return sort_table(np.asarray(X, np.float64), workers, "test")


def rules_of(**changes):
    """Return rules of a tree without limits, by gini on two classes, with given changes."""
    plain = tree_arrays.Rules(
        criterion=tree_arrays.GINI,
        n_classes=2,
        max_depth=2**31 - 1,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_leaf=0.0,
        min_impurity_decrease=0.0,
        max_features=1,
        max_leaf_nodes=0,
        total_weight=1.0,
        filtered=1,
        big=0,
        x_log_x=np.empty(0),
        monotonic=np.empty(0, np.int8),
    )
    return plain._replace(**changes)


def growth_of(m, rules, n_features, seed=1):
    """Return new arrays of a growing tree, and scratch."""
    return new_growth(m, rules, n_features, seed), new_scratch(m, rules)
