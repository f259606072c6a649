"""Ensembles of real libraries on small data, and functions that plant faults in them."""

from dataclasses import replace

import numpy as np

from harness import Spec, Task, TreeEnsemble
from harness.analysis.parity import Side, Training
from harness.plugins.registry import load_registry
from harness.trees.ensemble import Tree

N = 400
N_CLASSES = {Task.BINARY: 2, Task.MULTICLASS: 3, Task.REGRESSION: 0}
LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost")
REGISTRY = load_registry(modules=[f"algorithms.reference.{name}" for name in LIBRARIES])


def rows(task, *, missing=False, weight=False, copies=0, seed=0):
    """Return training rows of five columns, the first ``copies`` of them repeated at the end."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N, 5)), 1)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=N)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    X = np.column_stack([X, X[:, :copies]])
    y = signal
    if k := N_CLASSES[task]:
        y = np.searchsorted(np.quantile(signal, np.arange(1, k) / k), signal).astype(np.int64)
    return Training(X, y, rng.uniform(0.5, 2, N) if weight else None)


def grow(name, task, training, categorical=(), **params):
    """Return one side: a library's few trees."""
    algorithm = REGISTRY.algorithm(name)
    trees = {algorithm.capacity["trees"].name: 4} if "trees" in algorithm.capacity else {}
    given = {**algorithm.params, **trees, **params}
    spec = Spec(task, given, 1, 1, N_CLASSES[task], categorical)
    adapter = algorithm.adapter(spec)
    adapter.fit(adapter.prepare(training.X, training.y, training.weight))
    return Side(adapter.export_trees(), name, given, name)


def edited(side, **arrays):
    """Return a side with other arrays in its ensemble."""
    return replace(side, ensemble=replace(side.ensemble, **arrays))


def put(array, place, value):
    """Return a copy of an array with one value replaced."""
    values = np.array(array)
    values[place] = value
    return values


def node_at(e, tree, path):
    """Return the node number at the end of a path."""
    node = int(e.offsets[tree])
    for step in path:
        node = int((e.left if step == "L" else e.right)[node])
    return node


def places(e, tree):
    """Yield (path, node) of a tree, level by level."""
    level = [("", int(e.offsets[tree]))]
    while level:
        yield from level
        level = [
            (path + step, int(child[node]))
            for path, node in level
            if e.left[node] >= 0
            for step, child in (("L", e.left), ("R", e.right))
        ]


def rows_at(training, e, tree, path):
    """Return the rows that reach the end of a path, one decision at a time."""
    result = np.arange(training.rows)
    node = int(e.offsets[tree])
    for step in path:
        left = training.goes_left(e, node, result)
        result = result[left if step == "L" else ~left]
        node = int((e.left if step == "L" else e.right)[node])
    return result


def rest_of(e):
    """Return the fields of an ensemble that are not its nodes."""
    names = ("n_features", "weight", "output", "base", "comparison", "combination", "against")
    more = ("link", "temperature", "input_dtype", "zero_within", "sum_dtype", "base_first")
    last = ("absent", "classes", "library", "version", "cover_kind")
    return {name: getattr(e, name) for name in (*names, *more, *last)}


def rebuilt(side, change):
    """Return a side whose trees are each changed by a function of (number, Tree)."""
    e = side.ensemble
    trees = [change(t, e.tree(t)) for t in range(e.n_trees)]
    return replace(side, ensemble=TreeEnsemble.join(trees, **rest_of(e)))


def renumbered(side, rng):
    """Return a side with renumbered nodes, parents still before children."""

    def change(_, tree):
        order, ready = [], [0]
        while ready:
            node = ready.pop(int(rng.integers(len(ready))))
            order.append(node)
            if tree.left[node] >= 0:
                ready += [int(tree.left[node]), int(tree.right[node])]
        return reordered(tree, np.array(order))

    return rebuilt(side, change)


def reordered(tree, order):
    """Return a tree whose new node i is the old node ``order[i]``."""
    number = np.empty(len(order) + 1, np.int64)
    number[order] = np.arange(len(order))
    number[-1] = -1
    columns = ("feature", "threshold", "value", "default_left", "missing", "gain", "cover")
    return Tree(
        **{name: getattr(tree, name)[order] for name in columns},
        left=number[tree.left[order]],
        right=number[tree.right[order]],
        sets={int(number[node]): held for node, held in tree.sets.items()},
    )


def with_split(tree, leaf, feature, threshold, values):
    """Return a tree in which a leaf is split once more."""
    n = len(tree)
    width = tree.value.shape[1]

    def more(array, at_leaf, new):
        return np.concatenate([put(array, leaf, at_leaf), new])

    return replace(
        tree,
        feature=more(tree.feature, feature, [-1, -1]),
        threshold=more(tree.threshold, threshold, [0.0, 0.0]),
        left=more(tree.left, n, [-1, -1]),
        right=more(tree.right, n + 1, [-1, -1]),
        value=np.concatenate([tree.value, np.reshape(values, (2, 1)) * np.ones((1, width))]),
        default_left=more(tree.default_left, tree.default_left[leaf], [False, False]),
        missing=more(tree.missing, tree.missing[0], [0, 0]),
        gain=more(tree.gain, 0.0, [0.0, 0.0]),
        cover=more(tree.cover, tree.cover[leaf], [0.0, 0.0]),
    )
