"""Random ensembles of trees, and rows at their thresholds."""

import numpy as np

from algorithms.symmetric.model import join_trees
from algorithms.symmetric.tree import SymmetricTree
from harness import Missing, Tree, TreeEnsemble

WIDTH = 4  # columns
CODES = 80  # more than a word of bits


def random_tree(rng, *, values=1, kinds=tuple(Missing), sets=True, depth=4):
    """Return a tree whose covers add up."""
    nodes, todo = [], [(0, -1, 0, float(rng.integers(200, 400)))]
    left, right = {}, {}
    while todo:
        level, parent, side, cover = todo.pop(0)
        me = len(nodes)
        nodes.append(cover)
        if parent >= 0:
            (left if side == 0 else right)[parent] = me
        if level < depth and cover > 4 and rng.random() < 0.8:
            part = float(rng.integers(1, int(cover)))
            todo += [(level + 1, me, 0, part), (level + 1, me, 1, cover - part)]
    n = len(nodes)
    inner = np.array([i in left for i in range(n)])
    asks_set = inner & (rng.random(n) < (0.3 if sets else 0.0))
    size = rng.integers(0, 12, n)
    return Tree(
        feature=np.where(inner, rng.integers(0, WIDTH, n), -1).astype(np.int32),
        threshold=np.where(inner, thresholds(rng, n), 0.0),
        left=np.array([left.get(i, -1) for i in range(n)], np.int32),
        right=np.array([right.get(i, -1) for i in range(n)], np.int32),
        value=rng.normal(size=(n, values)),
        default_left=rng.random(n) < 0.5,
        missing=rng.choice(np.array(kinds, np.uint8), n),
        gain=rng.random(n),
        cover=np.array(nodes),
        sets={
            int(i): (np.sort(rng.choice(CODES, size[i], replace=False)), bool(rng.random() < 0.5))
            for i in np.flatnonzero(asks_set)
        },
    )


def thresholds(rng, n):
    """Return thresholds near and far, integers, tiny, infinite and float32 ones."""
    normal = rng.normal(size=n)
    kinds = [
        normal,
        normal.astype(np.float32),
        rng.integers(-2, 3, n),
        1e-35 * normal,
        1e39 * normal,
    ]
    values = np.array(kinds, np.float64)[rng.integers(0, len(kinds), n), np.arange(n)]
    rare = rng.random(n) < 0.03
    values[rare] = rng.choice([np.inf, -np.inf, 0.0, -0.0], rare.sum())
    return values


def random_ensemble(rng, *, n_trees=6, outputs=1, values=1, tree=None, **rest):
    """Return an ensemble of random trees, each adding to the next output."""
    n_outputs = values if values > 1 else outputs
    return TreeEnsemble.join(
        [random_tree(rng, values=values, **(tree or {})) for _ in range(n_trees)],
        n_features=WIDTH,
        **{
            "weight": rng.uniform(0.2, 2.0, n_trees),
            "output": np.arange(n_trees) % outputs,
            "base": rng.normal(size=n_outputs),
            **rest,
        },
    )


def rows_for(trees, rng, n=200):
    """Return rows of codes, zeros, missing and infinite values, many of them at thresholds."""
    X = rng.normal(size=(n, WIDTH))
    whole = rng.random(X.shape) < 0.3
    X[whole] = rng.integers(-2, CODES + 60, whole.sum())
    inner = np.flatnonzero((trees.left >= 0) & (trees.categories < 0))
    for node in rng.permutation(inner)[: 2 * n].tolist():
        t = trees.threshold[node]
        near = [t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf), rounding_end(t, rng)]
        X[rng.integers(n), trees.feature[node]] = near[rng.integers(4)]
    odd = rng.random(X.shape) < 0.15
    X[odd] = rng.choice(
        [np.nan, 0.0, -0.0, 1e-36, -1e-36, 1e-35, np.inf, -np.inf, 5e-46], odd.sum()
    )
    return X


def rounding_end(t, rng):
    """Return the midpoint between a float32 near t and an adjacent one, or one step beside it."""
    with np.errstate(over="ignore"):
        near = np.float32(t)
        other = np.nextafter(near, np.float32(rng.choice([-np.inf, np.inf])))
    middle = np.float64(near) / 2 + np.float64(other) / 2
    return rng.choice([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])


def random_symmetric_ensemble(rng, *, n_scores=1, link="identity", n_features=4, n_trees=3):
    """Return an ensemble of random symmetric trees, as boosting of symmetric trees makes them."""
    trees = []
    nan_right = rng.random(n_features) < 0.5
    for _ in range(n_trees):
        depth = int(rng.integers(0, 4))
        features = rng.integers(0, n_features, depth)
        borders = rng.normal(size=depth).astype(np.float32)
        values = rng.normal(size=(1 << depth, n_scores))
        weights = rng.integers(0, 9, 1 << depth).astype(float)
        trees.append(SymmetricTree(features, borders, nan_right[features], values, weights))
    classes = {"sigmoid": 2, "softmax": n_scores}.get(link, 0)
    labels = np.arange(classes) if classes else None
    return join_trees(trees, rng.normal(size=n_scores), link, labels, n_features)
