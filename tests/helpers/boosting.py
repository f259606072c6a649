"""Tables for tests of boosting, and the first difference between two trees."""

import numpy as np
from columns import table

from algorithms import DecisionTreeClassifier

CLASSIFIERS = {
    "stump": DecisionTreeClassifier(max_depth=1),
    "depth 3": DecisionTreeClassifier(max_depth=3),
    "pruned": DecisionTreeClassifier(max_depth=5, ccp_alpha=0.01),
    "leaves": DecisionTreeClassifier(max_leaf_nodes=5),
    "entropy": DecisionTreeClassifier(max_depth=2, criterion="entropy"),
}


def labeled(seed, n=120, n_classes=2, d=4):
    """Return X, string labels, and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = table(rng, n, d)
    raw = np.nan_to_num(X[:, 0] / (np.abs(X[:, 0]).max() + 1e-9)) + rng.normal(size=n)
    names = np.array(["a", "b", "c", "d"])[:n_classes]
    y = names[np.digitize(raw, np.linspace(-0.7, 0.7, n_classes - 1))]
    y[:n_classes] = names  # each of them is there, whatever was drawn
    weight = rng.exponential(size=n) * (rng.random(n) > 0.2)
    return X, y, weight / weight.sum()


def rounds_weights(model, X, y, weight):
    """Return the training weights of each member, recomputed by the textbook formula."""
    given = []
    for member, vote in zip(model, model.estimator_weights_, strict=False):
        weight = np.where(weight > 0, np.maximum(weight, 2.0**-52), 0.0)
        given.append(weight)
        weight = weight * np.exp(vote * (member.predict(X) != y))
        weight = weight / weight.sum()
    return given


def first_difference(a, b):
    """Return the first node of each tree, depth first, where the splits of two trees differ."""
    waiting = [(0, 0)]
    while waiting:
        i, j = waiting.pop()
        if (a.feature[i], a.threshold[i]) != (b.feature[j], b.threshold[j]):
            return i, j
        if a.children_left[i] >= 0:
            waiting.append((a.children_right[i], b.children_right[j]))
            waiting.append((a.children_left[i], b.children_left[j]))
    return ()


def decrease(t, node):
    """Return the impurity decrease of a node's split, in shares of the tree's weight."""
    left, right = t.children_left[node], t.children_right[node]
    if left < 0:
        return 0.0
    spread = t.weighted_n_node_samples * t.impurity
    return (spread[node] - spread[left] - spread[right]) / t.weighted_n_node_samples[0]
