"""Tests of our extensions of decision trees: criteria, reduced-error pruning, text and plot."""

import copy
import math
from xml.etree import ElementTree as ET

import numpy as np
import oracles
import pandas as pd
import pytest
from columns import seeds, table
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets, tree
from sktrees import difference

from algorithms import DecisionTreeClassifier, DecisionTreeRegressor


def rows_of_nodes(grown, X):
    """Return the rows at each node, from the root down."""
    rows = {0: np.arange(len(X))}
    for node in np.flatnonzero(grown.children_left >= 0):
        x = X[rows[node], grown.feature[node]].astype(np.float32)
        left = (x <= grown.threshold[node]) | (np.isnan(x) & grown.missing_go_to_left[node])
        rows[int(grown.children_left[node])] = rows[node][left]
        rows[int(grown.children_right[node])] = rows[node][~left]
    return rows


def gain_and_ratio(y, w, left):
    """Return the information gain of a split, and its gain ratio."""
    gain = oracles.decrease("entropy", y, w, left) / w.sum()
    share = w[left].sum() / w.sum()
    return gain, gain / -(share * math.log2(share) + (1 - share) * math.log2(1 - share))


def offers(X, y, w):
    """Return (gain, ratio) of the best threshold, by gain, of every feature that has one."""
    results = []
    for x in X.astype(np.float32).T:
        best = oracles.best_split("entropy", x, y, w)
        if best:
            results.append(gain_and_ratio(y, w, (x <= best[1]) | (np.isnan(x) & best[2])))
    return results


@given(
    seed=seeds,
    n=st.integers(2, 60),
    k=st.sampled_from([2, 3]),
    weights=st.booleans(),
    draws=st.sampled_from([None, None, 1]),
    missing=st.sampled_from([0.0, 0.3]),
)
def test_gain_ratio_is_the_best_among_at_least_mean_gain(seed, n, k, weights, draws, missing):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), table(rng, n, int(rng.integers(1, 5)), missing)])
    y = rng.integers(0, k, n)
    w = rng.integers(1, 4, n).astype(float) if weights else np.ones(n)
    model = DecisionTreeClassifier(criterion="gain_ratio", random_state=0, max_features=draws)
    grown = model.fit(X, y, sample_weight=w).tree_
    for node, rows in rows_of_nodes(grown, X).items():
        if grown.children_left[node] < 0:
            continue
        x = X[rows, grown.feature[node]].astype(np.float32)
        left = (x <= grown.threshold[node]) | (np.isnan(x) & grown.missing_go_to_left[node])
        gain, ratio = gain_and_ratio(y[rows], w[rows], left)
        offered = offers(X[rows], y[rows], w[rows])
        if draws is None:
            mean = np.mean([g for g, _ in offered])
            assert gain >= mean - 1e-9
            firm = [r for g, r in offered if g > mean + 1e-9]
            assert ratio >= max(firm, default=0.0) - 1e-9
        assert any(gain == pytest.approx(g, abs=1e-9) for g, _ in offered)


@given(seed=seeds, n=st.integers(2, 80), k=st.sampled_from([2, 3, 5]), weights=st.booleans())
@settings(max_examples=50)
def test_stump_makes_the_fewest_possible_errors(seed, n, k, weights):
    rng = np.random.default_rng(seed)
    X = table(rng, n, 3, missing=0.2)
    y = rng.integers(0, k, n)
    w = rng.uniform(0.1, 2.0, n) if weights else np.ones(n)
    stump = DecisionTreeClassifier(criterion="misclassification", max_depth=1, random_state=0)
    stump.fit(X, y, sample_weight=w)
    wrong = w[stump.predict(X) != y].sum()
    tried = [oracles.best_split("misclassification", x, y, w) for x in X.astype(np.float32).T]
    most = max((t[0] for t in tried if t), default=0.0)
    alone = oracles.impurity("misclassification", y, w) * w.sum()
    assert wrong == pytest.approx(alone - most, abs=1e-9)


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_node_sorting_criteria_equal_scikit_learn_without_parity(criterion):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.gamma(2.0, size=200)
    for limits in ({}, {"max_depth": 4, "max_features": 2}, {"max_leaf_nodes": 9}):
        params = {"criterion": criterion, "random_state": 3, **limits}
        ours = DecisionTreeRegressor(**params).fit(X, y)
        assert difference(ours, tree.DecisionTreeRegressor(**params).fit(X, y)) == ""


@pytest.mark.parametrize("criterion", ["gain_ratio", "misclassification"])
def test_own_criteria_have_no_parity(criterion):
    with pytest.raises(ValueError, match="not scikit-learn's"):
        DecisionTreeClassifier(criterion=criterion, parity="scikit-learn").fit([[0], [1]], [0, 1])


# ------------------------------------------------------------------ pruning by error


def error_of(model, X, y, w):
    if isinstance(model, DecisionTreeClassifier):
        return w[model.predict(X) != y].sum()
    return (w * (model.predict(X) - y) ** 2).sum()


def least_error(model, X, y, w):
    """Return the least error of all subtrees and the fewest leaves that reach it, by recursion."""
    grown, rows = model.tree_, rows_of_nodes(model.tree_, X)
    classes = isinstance(model, DecisionTreeClassifier)

    def below(node):
        here = rows[node]
        value = grown.value[node, 0]
        missed = y[here] != value.argmax() if classes else (value[0] - y[here]) ** 2
        alone = (w[here] * missed).sum()
        if grown.children_left[node] < 0:
            return alone, 1
        sides = [below(int(c[node])) for c in (grown.children_left, grown.children_right)]
        error, leaves = (sum(part) for part in zip(*sides, strict=True))
        return (alone, 1) if alone <= error + 1e-9 else (error, leaves)

    return below(0)


@given(seed=seeds, classes=st.booleans(), weighted=st.booleans())
@settings(max_examples=40)
def test_reduced_error_pruning_keeps_the_smallest_best_subtree(seed, classes, weighted):
    rng = np.random.default_rng(seed)
    X = table(rng, 120, 4, missing=0.2)
    signal = np.nan_to_num(X[:, 0]) > 0
    y = (signal + rng.integers(0, 2, 120)) if classes else signal + np.round(rng.normal(size=120))
    w = rng.integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    model = kind(random_state=0).fit(X[:60], y[:60])
    codes = np.searchsorted(np.unique(y[:60]), y[60:]) if classes else y[60:]
    held = np.isin(y[60:], y[:60]) if classes else np.ones(60, bool)
    X, y, codes, w = X[60:][held], y[60:][held], codes[held], w[held]
    error, leaves = least_error(model, X, codes, w)
    assert model.prune_by_error(X, y, w if weighted else None) is model
    assert error_of(model, X, y, w) == pytest.approx(error, abs=1e-9)
    assert model.get_n_leaves() <= leaves
    assert model.get_depth() == model.tree_.compute_node_depths().max() - 1


def test_reduced_error_pruning_needs_known_labels():
    model = DecisionTreeClassifier().fit([[0], [1]], ["a", "b"])
    with pytest.raises(ValueError, match=r"not trained on: .'c'"):
        model.prune_by_error([[0]], ["c"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.prune_by_error([[0], [1]], ["a"])


# ------------------------------------------------------------------ text and drawing


@pytest.mark.parametrize("limits", [{}, {"max_depth": 2}, {"spacing": 1, "decimals": 4}])
@pytest.mark.parametrize("classes", [True, False])
def test_text_export_equals_scikit_learn(limits, classes):
    X, y = datasets.load_iris(return_X_y=True)
    ours = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(random_state=0)
    theirs = (tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor)(
        random_state=0
    )
    ours.fit(X, y)
    assert ours.export_text(**limits) == tree.export_text(theirs.fit(X, y), **limits)
    names = ["sepal", "petal", "long", "wide"]
    expected = tree.export_text(theirs, feature_names=names, **limits)
    assert ours.export_text(names, **limits) == expected
    with pytest.raises(ValueError, match="must contain 4 elements, got 1"):
        ours.export_text(["one"])


def test_frame_column_names_are_in_the_text():
    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    text = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y).export_text()
    assert "petal" in text


@pytest.mark.parametrize("max_depth", [None, 0, 2])
def test_plot_has_a_box_per_node_and_a_line_per_branch(max_depth):
    X, y = datasets.load_iris(return_X_y=True)
    names = ["<script>", "a & b", "c", '"d"']
    model = DecisionTreeClassifier(random_state=0).fit(pd.DataFrame(X, columns=names), y)
    root = ET.fromstring(model.draw(max_depth=max_depth))
    boxes = root.findall("{*}rect")
    depths = model.tree_.compute_node_depths() - 1
    shown = depths if max_depth is None else depths[depths <= max_depth]
    assert len(boxes) == len(shown)
    assert len(root.findall("{*}line")) == len(shown) - 1
    dashed = [b for b in boxes if b.get("stroke-dasharray")]
    cut = (depths == max_depth) & (model.tree_.children_left >= 0)
    assert len(dashed) == (0 if max_depth is None else cut.sum())
    corners = [(b.get("x"), b.get("y")) for b in boxes]
    assert len(set(corners)) == len(corners)
    assert all(float(b.get("x")) >= 0 for b in boxes)
    words = [t.text for t in root.findall("{*}text")]
    assert sum("rows" in word for word in words) == len(shown)


def test_errors_of_values_far_from_zero_prune_like_those_near_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.normal(scale=2.0, size=400)
    y[X[:, 0] > 0.5] += 8.0
    near = DecisionTreeRegressor(random_state=0).fit(X[:200], y[:200])
    far, shift = copy.deepcopy(near), 2.0**32
    far.tree_.value[:] += shift
    near.prune_by_error(X[200:], y[200:])
    far.prune_by_error(X[200:], y[200:] + shift)
    assert near.get_n_leaves() < 100
    np.testing.assert_allclose(far.predict(X) - shift, near.predict(X), atol=1e-5)
