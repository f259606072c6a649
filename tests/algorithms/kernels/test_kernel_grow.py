"""Tests of a whole tree, checked node by node against the definition of the best split."""

import numpy as np
import oracles
import pytest
from columns import seeds, table
from hypothesis import given
from hypothesis import strategies as st

from algorithms import DecisionTreeClassifier, DecisionTreeRegressor


def rows_of_nodes(tree, X):
    """Return the rows at each node, from the root down."""
    rows = {0: np.arange(len(X))}
    for node in np.flatnonzero(tree.children_left >= 0):
        x = X[rows[node], tree.feature[node]].astype(np.float32)
        left = (x <= tree.threshold[node]) | (np.isnan(x) & tree.missing_go_to_left[node])
        rows[int(tree.children_left[node])] = rows[node][left]
        rows[int(tree.children_right[node])] = rows[node][~left]
    return rows


def check_node(tree, node, X, y, w, criterion, leaf):
    assert tree.n_node_samples[node] == len(y)
    assert tree.weighted_n_node_samples[node] == pytest.approx(w.sum())
    h = oracles.impurity(criterion, y, w)
    assert tree.impurity[node] == pytest.approx(h, abs=1e-9)
    tried = [oracles.best_split(criterion, x, y, w, leaf) for x in X.astype(np.float32).T]
    best = max((t[0] for t in tried if t), default=None)
    if tree.children_left[node] < 0:
        assert best is None or h < 1e-12
        return
    x = X[:, tree.feature[node]].astype(np.float32)
    left = (x <= tree.threshold[node]) | (np.isnan(x) & tree.missing_go_to_left[node])
    assert oracles.decrease(criterion, y, w, left) == pytest.approx(best, abs=1e-9 * w.sum())


@given(
    seed=seeds,
    n=st.integers(1, 60),
    criterion=st.sampled_from(["gini", "entropy", "squared_error"]),
    weights=st.sampled_from(["unit", "integer", "float"]),
    leaf=st.sampled_from([1, 2, 5]),
)
def test_every_node_takes_the_best_split(seed, n, criterion, weights, leaf):
    rng = np.random.default_rng(seed)
    X = table(rng, n, int(rng.integers(1, 4)), missing=0.3)
    weight = {
        "unit": None,
        "integer": rng.integers(0, 3, n) + (np.arange(n) == 0.0),
        "float": rng.uniform(0.1, 2, n),
    }[weights]
    classes = criterion != "squared_error"
    y = rng.integers(0, rng.integers(1, 5), n) if classes else rng.normal(size=n)
    estimator = DecisionTreeClassifier if classes else DecisionTreeRegressor
    model = estimator(criterion=criterion, min_samples_leaf=leaf, random_state=0)
    tree = model.fit(X, y, sample_weight=weight).tree_
    used = np.flatnonzero(np.ones(n) if weight is None else weight)
    w = np.ones(n) if weight is None else weight.astype(float)
    X, y, w = X[used], y[used], w[used]
    for node, rows in rows_of_nodes(tree, X).items():
        check_node(tree, node, X[rows], y[rows], w[rows], criterion, leaf)
        if classes:
            shares = [w[rows][y[rows] == c].sum() / w[rows].sum() for c in model.classes_]
        else:
            shares = [np.average(y[rows], weights=w[rows])]
        assert tree.value[node, 0] == pytest.approx(shares)
