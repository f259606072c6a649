"""Grower of scikit-learn's trees: ``parity="scikit-learn"``.

The rules are those of scikit-learn 1.9.1 (`estimator.library_versions`), including the order in
which weights and values are summed. So the tree is bitwise that of scikit-learn.
"""

import numpy as np

from algorithms.parity.kernels import sklearn_arrays
from algorithms.parity.kernels.sklearn_grow import grow_by_sklearn_rules
from algorithms.runtime.interrupt_flag import interrupt_flag
from algorithms.trees.kernels import tree_arrays
from algorithms.trees.tree import Tree

INITIAL_CAPACITY = 2047  # nodes


def grow_like_sklearn(values, columns, target, rules, seed, *, missing=None):
    """Return a `Tree` that equals scikit-learn's.

    Parameters
    ----------
    values : (n_columns, n_rows) float32, C-contiguous
        Columns of X, NaN where missing: ``Table.values``, or X transposed.
    columns : (n_features,) int64
        Row of ``values`` of each feature; ``np.arange(n_columns)`` for all in order.
    target : trees.grower.Target
        Class codes or values of all n_rows, (n_rows,) or (n_rows, n_outputs), and the weights of
        the rows; rows of weight 0 are left out.
    rules : tree_arrays.Rules
        Result of `cart.make_rules`.
    seed : int
        State of the random stream, below 2³¹: a result of ``random_state.randint(0, 2**31 - 1)``.
    missing : (n_features,) bool, optional
        Whether any value of a feature is missing; by default computed from ``values``.

    Returns
    -------
    Tree
    """
    if missing is None:
        missing = find_missing(values, columns)
    y = target.y if target.codes is None else target.codes
    weight = np.ones(len(y)) if target.weight is None else target.weight
    outputs = y[None, :] if y.ndim == 1 else y.T
    given = sklearn_arrays.Given(
        *(
            np.require(array, kind, "CW")  # numba treats read-only arrays as another type
            for array, kind in (
                (values, np.float32),
                (columns, np.int64),
                (missing, bool),
                (outputs, float),
                (weight, float),
            )
        )
    )
    m = np.count_nonzero(weight)
    work = new_work(m, rules, seed, len(outputs))
    search = new_search(m, rules, len(columns), work.state, len(outputs))
    while (action := grow_by_sklearn_rules(given, rules, work, search)) == tree_arrays.MORE_ROOM:
        work = double_capacity(work)
    if action == tree_arrays.INTERRUPTED:
        raise KeyboardInterrupt
    count, depth = work.state[[tree_arrays.COUNT, tree_arrays.DEPTH]].tolist()
    return Tree(
        work.nodes[:count].copy(),
        work.values[:count].copy(),
        n_features=len(columns),
        is_classifier=rules.n_classes > 0,
        max_depth=depth,
        n_outputs=len(outputs),
    )


def find_missing(values, columns):
    """Return whether any value of each feature is missing, bool (n_features,)."""
    return np.array([np.isnan(values[column]).any() for column in columns], bool)


def new_work(m, rules, seed, n_outputs=1):
    """Return the arrays of a tree on m rows, with its root as the first task."""
    leaves = rules.max_leaf_nodes
    most = min(max(2 * m - 1, 1), 2 ** min(rules.max_depth + 1, 40) - 1)
    capacity = min(most, 2 * leaves - 1) if leaves else min(most, INITIAL_CAPACITY)
    work = sklearn_arrays.Work(
        nodes=np.empty(capacity, tree_arrays.NODE),
        values=np.empty((capacity, n_outputs * max(rules.n_classes, 1))),
        todo=np.empty(min(m, rules.max_depth) + 2, tree_arrays.TASK),
        splits=np.empty(capacity if leaves else 1, tree_arrays.SPLIT),
        heap=np.empty(capacity if leaves else 0, np.int64),
        state=np.zeros(tree_arrays.STATES + 1, np.int64),
    )
    work.state[tree_arrays.RANDOM] = seed
    work.state[tree_arrays.BUDGET] = leaves - 1
    work.state[tree_arrays.WAITING] = 1
    root = {"start": 0, "end": m, "parent": -1, "lower": -np.inf, "upper": np.inf}
    work.todo[0] = tuple(root.get(name, 0) for name in tree_arrays.TASK.names)
    return work


def new_search(m, rules, n_features, state, n_outputs=1):
    """Return the scratch arrays of the split search, for nodes of up to m rows."""
    n_ranks = m if rules.criterion == tree_arrays.ABSOLUTE_ERROR else 0
    return sklearn_arrays.Search(
        state=state,
        features=np.arange(n_features),
        constants=np.empty(n_features, np.int64),
        samples=np.empty(m, np.int64),
        x=np.empty(m),
        sums=np.empty((3, n_outputs * max(rules.n_classes, 1))),
        weights=np.empty(sklearn_arrays.WEIGHTS),
        deviations=np.empty((sklearn_arrays.DEVIATIONS, n_ranks + 1)),
        ranks=np.empty((2, n_ranks), np.int64),
        pending=np.empty((sklearn_arrays.PENDING, 3), np.int64),
        medians=np.empty(n_outputs),
        n_outputs=n_outputs,
        flag=interrupt_flag(),
    )


def double_capacity(work):
    """Return a copy of ``work`` with twice the capacity for nodes."""
    n = len(work.nodes)
    nodes = np.empty(2 * n, tree_arrays.NODE)
    values = np.empty((2 * n, work.values.shape[1]))
    nodes[:n], values[:n] = work.nodes, work.values
    return work._replace(nodes=nodes, values=values)
